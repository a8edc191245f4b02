import { describe, expect, test } from 'vitest'
import { noon, slot } from './fixture-world.ts'
import { emptyLedger, isSoaking, slotOf, withClaim, withoutSlot, withRelease, withSlot } from './ledger.ts'

describe('the ledger', () => {
  const claim = (request: string, name: string) => ({ request, node: name, nodeUID: `uid-${name}` })

  test('gives every new slot the next token', () => {
    const ledger = [claim('r1', 'a'), claim('r2', 'b')].reduce(
      (status, one) => withClaim(status, one, noon),
      emptyLedger,
    )
    expect(ledger).toEqual({
      nextToken: 3,
      slots: [
        { node: 'a', nodeUID: 'uid-a', token: 1, takenAt: noon, requests: ['r1'] },
        { node: 'b', nodeUID: 'uid-b', token: 2, takenAt: noon, requests: ['r2'] },
      ],
    })
  })

  test('remembers the groups of a node, if it has any', () => {
    expect(withClaim(emptyLedger, { ...claim('r', 'a'), groups: { zones: 'x' } }, noon).slots[0]?.groups).toEqual({
      zones: 'x',
    })
    expect(withClaim(emptyLedger, { ...claim('r', 'a'), groups: {} }, noon).slots[0]).not.toHaveProperty('groups')
  })

  test('lets a request join the slot of its node, once, without a token', () => {
    const joined = withClaim({ nextToken: 5, slots: [slot('a', 4, 'r1')] }, claim('r2', 'a'), noon)
    expect(joined).toEqual({ nextToken: 5, slots: [slot('a', 4, 'r1', 'r2')] })
    expect(withClaim(joined, claim('r2', 'a'), noon)).toBe(joined)
  })

  test('gives a node whose slot rests a new token: nobody works under the old one', () => {
    const resting = { ...slot('a', 4), soakUntil: noon }
    expect(isSoaking(resting)).toBe(true)
    expect(withClaim({ nextToken: 5, slots: [resting] }, claim('r2', 'a'), noon)).toEqual({
      nextToken: 6,
      slots: [{ node: 'a', nodeUID: 'uid-a', token: 5, takenAt: noon, requests: ['r2'] }],
    })
  })

  test('takes a lost slot back with its token, and never gives a number below it again', () => {
    expect(withSlot(emptyLedger, slot('a', 42, 'r'))).toEqual({ nextToken: 43, slots: [slot('a', 42, 'r')] })
    expect(withSlot({ nextToken: 50, slots: [] }, slot('a', 42, 'r')).nextToken).toBe(50)
  })

  test('has one slot for each node: another one takes its place', () => {
    const two = { nextToken: 5, slots: [slot('a', 3, 'r1'), slot('b', 4, 'r2')] }
    expect(withSlot(two, slot('a', 9, 'r1')).slots).toEqual([slot('a', 9, 'r1'), slot('b', 4, 'r2')])
    expect(withoutSlot(two, 'uid-a').slots).toEqual([slot('b', 4, 'r2')])
  })

  test('loses a slot with the last of its requests, and keeps the token count', () => {
    const two = { nextToken: 5, slots: [slot('a', 3, 'r1', 'r2'), slot('b', 4, 'r3')] }
    const one = withRelease(two, 'r1')
    expect(one.slots).toEqual([slot('a', 3, 'r2'), slot('b', 4, 'r3')])
    expect(withRelease(one, 'r2')).toEqual({ nextToken: 5, slots: [slot('b', 4, 'r3')] })
    expect(withRelease(two, 'stranger')).toEqual(two)
  })

  test('lets a slot rest only when its last request leaves', () => {
    const two = { nextToken: 5, slots: [slot('a', 3, 'r1', 'r2')] }
    expect(withRelease(two, 'r1', noon).slots).toEqual([slot('a', 3, 'r2')])
    expect(withRelease(withRelease(two, 'r1', noon), 'r2', noon).slots).toEqual([{ ...slot('a', 3), soakUntil: noon }])
  })

  test('finds the slot that lists a request', () => {
    expect(slotOf({ nextToken: 5, slots: [slot('a', 3, 'r1'), slot('b', 4, 'r3')] }, 'r3')?.token).toBe(4)
    expect(slotOf(undefined, 'r3')).toBeUndefined()
  })
})
