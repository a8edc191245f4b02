import { describe, expect, test } from 'vitest'
import { node, noon, slot } from './fixture-world.ts'
import { emptyLedger, isControlPlane, isReady, outNodes, resolveMax, slotOf, withClaim, withRelease } from './ledger.ts'

test.for([
  [1, 100, 1],
  [0, 100, 0],
  [7, 3, 7],
  ['25%', 10, 2],
  ['1%', 10, 1],
  ['1%', 0, 1],
  ['100%', 5, 5],
  ['0%', 5, 0],
] as const)('a maximum of %s of %i nodes is %i', ([max, total, expected]) => {
  expect(resolveMax(max, total)).toBe(expected)
})

describe('nodes that are out', () => {
  const spec = { countUnavailable: ['NotReady', 'Cordoned'] as ('NotReady' | 'Cordoned')[] }

  test('are those with a slot and those that are down, each once', () => {
    const nodes = [
      node('a', { isCordoned: true }),
      node('b', { isReady: false, isCordoned: true }),
      node('c'),
      node('d', { isCordoned: true }),
    ]
    expect(
      outNodes(spec, [slot('a', 1, 'r')], nodes).map(({ name, why, slot: held }) => [name, why, held?.token]),
    ).toEqual([
      ['a', 'out since 2026-03-01 11:00 UTC', 1],
      ['b', 'NotReady', undefined],
      ['d', 'Cordoned', undefined],
    ])
  })

  test('without a slot count only for the reasons that the budget names', () => {
    const nodes = [node('a', { isCordoned: true }), node('b', { isReady: false })]
    expect(outNodes({ countUnavailable: ['NotReady'] }, [], nodes).map(({ name }) => name)).toEqual(['b'])
    expect(outNodes({ countUnavailable: [] }, [], nodes)).toEqual([])
  })

  test('include the slot of a node that no longer exists, until it is freed', () => {
    expect(outNodes(spec, [slot('gone', 1, 'r')], []).map(({ name }) => name)).toEqual(['gone'])
  })

  test('are told apart by UID: a new node of the same name is another one', () => {
    const renewed = { ...node('a', { isReady: false }), metadata: { name: 'a', uid: 'new' } }
    expect(outNodes(spec, [slot('a', 1, 'r')], [renewed])).toHaveLength(2)
  })

  test('are NotReady when they have no condition, or nobody knows', () => {
    expect(isReady({ metadata: {} })).toBe(false)
    expect(isReady({ metadata: {}, status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } })).toBe(false)
  })
})

test.for([
  ['node-role.kubernetes.io/control-plane', true],
  ['node-role.kubernetes.io/master', true],
  ['node-role.kubernetes.io/worker', false],
] as const)('a node with the label %s: control plane %s', ([label, expected]) => {
  expect(isControlPlane(node('a', { labels: { [label]: '' } }))).toBe(expected)
})

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

  test('lets a request join the slot of its node, once, without a token', () => {
    const joined = withClaim({ nextToken: 5, slots: [slot('a', 4, 'r1')] }, claim('r2', 'a'), noon)
    expect(joined).toEqual({ nextToken: 5, slots: [slot('a', 4, 'r1', 'r2')] })
    expect(withClaim(joined, claim('r2', 'a'), noon)).toBe(joined)
  })

  test('takes a lost slot back with its token, and never gives a number below it again', () => {
    const back = withClaim(emptyLedger, { ...claim('r', 'a'), token: 42, takenAt: '2026-02-01T00:00:00Z' }, noon)
    expect(back).toMatchObject({ nextToken: 43, slots: [{ token: 42, takenAt: '2026-02-01T00:00:00Z' }] })
    expect(withClaim({ nextToken: 50, slots: [] }, { ...claim('r', 'a'), token: 42 }, noon).nextToken).toBe(50)
  })

  test('loses a slot with the last of its requests, and keeps the token count', () => {
    const two = { nextToken: 5, slots: [slot('a', 3, 'r1', 'r2'), slot('b', 4, 'r3')] }
    const one = withRelease(two, 'r1')
    expect(one.slots).toEqual([slot('a', 3, 'r2'), slot('b', 4, 'r3')])
    expect(withRelease(one, 'r2')).toEqual({ nextToken: 5, slots: [slot('b', 4, 'r3')] })
    expect(withRelease(two, 'stranger')).toEqual(two)
  })

  test('finds the slot that lists a request', () => {
    expect(slotOf({ nextToken: 5, slots: [slot('a', 3, 'r1'), slot('b', 4, 'r3')] }, 'r3')?.token).toBe(4)
    expect(slotOf(undefined, 'r3')).toBeUndefined()
  })
})
