import { describe, expect, test } from 'vitest'
import type { MaintenanceRequest, Phase } from '../api/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { budget, cordonedNode, heldSlot, node, request, slot } from './fixture-world.ts'
import { emptyLedger } from './ledger.ts'
import { isUnbelievable, lostSlots, outrunSlots, withTokensSeen } from './lost-slots.ts'

const holding = (name: string, nodeName: string, token: number, phase: Phase = 'Granted') =>
  request(name, nodeName, { status: { phase, slot: heldSlot(token) } })
const lost = (requests: readonly MaintenanceRequest[], nodes: readonly NodeObject[], ledger = emptyLedger) =>
  lostSlots(ledger, requests, new Map(nodes.map((one) => [one.metadata.uid ?? '', one])), nodes)
const ledgerOf = (...slots: Parameters<typeof slot>[]) =>
  budget({}, ...slots.map((parts) => slot(...parts))).status ?? emptyLedger

describe('a lost slot', () => {
  test.for([
    ['Claimed', true],
    ['Granted', true],
    ['Rebooting', true],
    ['Held', true],
    ['Queued', true],
    ['Finishing', false],
    ['Done', false],
  ] as const)('is known from a request in %s: %s', ([phase, isLost]) => {
    expect(lost([holding('r', 'a', 7, phase)], [node('a')])).toEqual(isLost ? [slot('a', 7, 'r')] : [])
  })

  test('is one for all requests of a node, with the highest token and the earliest time', () => {
    const late = { ...holding('r1', 'a', 9), metadata: { name: 'r1' } }
    const early = request('r2', 'a', {
      status: { phase: 'Held', slot: { ...heldSlot(4), takenAt: '2026-01-01T00:00:00Z' } },
    })
    expect(lost([late, early], [node('a')])).toEqual([{ ...slot('a', 9, 'r1', 'r2'), takenAt: '2026-01-01T00:00:00Z' }])
  })

  test('that an older ledger knows under a lower token gets its own again, and stays one', () => {
    const [found, ...more] = lost([holding('r', 'a', 9)], [node('a')], ledgerOf(['a', 3, 'r']))
    expect([found?.token, found?.requests, more]).toEqual([9, ['r'], []])
  })

  test('is not lost while the ledger lists it, also under a higher token', () => {
    expect(lost([holding('r', 'a', 3)], [node('a')], ledgerOf(['a', 3, 'r']))).toEqual([])
    expect(lost([holding('r', 'a', 3)], [node('a')], ledgerOf(['a', 8, 'r']))).toEqual([])
  })

  test('takes a request in that its slot does not list', () => {
    expect(lost([holding('r', 'a', 3)], [node('a')], ledgerOf(['a', 3, 'other']))[0]?.requests).toEqual(['other', 'r'])
  })

  test('is not put back on a node that is gone, or is another one by now', () => {
    expect(lost([holding('r', 'a', 7)], [])).toEqual([])
    expect(lost([holding('r', 'a', 7)], [{ ...node('a'), metadata: { name: 'a', uid: 'new' } }])).toEqual([])
  })

  test('is never made by the word of an agent', () => {
    const host = { permission: 'Present', tokens: { inFile: 7, highest: 7 } } as const
    expect(lost([request('r', 'a', { status: { phase: 'Queued', host } })], [node('a')])).toEqual([])
  })
})

describe('a cordon of ours', () => {
  test('that nobody stands for is a slot without a request', () => {
    expect(lost([], [cordonedNode('a', { token: 12 })])).toEqual([slot('a', 12)])
  })

  test.for(['Finishing', 'Queued'] as const)('of a request in %s is being taken away', (phase) => {
    expect(lost([request('r', 'a', { status: { phase } })], [cordonedNode('a')])).toEqual([])
  })

  test('of another owner, or one that cannot be read, makes no slot', () => {
    const annotations = { 'cordon.fettle.dev/profile-x': '{"request":"u","token":5,"since":"2026-01-01T00:00:00Z"}' }
    expect(lost([], [node('a', { isCordoned: true, annotations })])).toEqual([])
    for (const text of ['', '{}', 'null', '{"token":1e99,"request":"u","since":"x"}'])
      expect(lost([], [node('a', { annotations: { 'cordon.fettle.dev/queue': text } })])).toEqual([])
  })
})

describe('the next token', () => {
  test('is above every slot, request and cordon, whatever the ledger says', () => {
    expect(withTokensSeen(ledgerOf(['a', 3, 'r']), [], []).nextToken).toBe(4)
    expect(withTokensSeen({ nextToken: 2, slots: [slot('a', 7, 'r')] }, [], []).nextToken).toBe(8)
    expect(withTokensSeen(emptyLedger, [holding('r', 'a', 9, 'Finishing')], []).nextToken).toBe(10)
    expect(withTokensSeen(emptyLedger, [], [cordonedNode('a', { token: 41 })]).nextToken).toBe(42)
  })

  test('leaves a ledger alone that is right', () => {
    const ledger = ledgerOf(['a', 3, 'r'])
    expect(withTokensSeen(ledger, [holding('r', 'a', 3)], [cordonedNode('a', { token: 3 })])).toBe(ledger)
  })
})

describe('a node that obeyed a higher token', () => {
  const obeyed = (name: string, nodeName: string, highest: number) =>
    request(name, nodeName, { status: { phase: 'Claimed', slot: heldSlot(3), host: { tokens: { highest } } } })

  test('gets one above it, and never below the next', () => {
    const ledger = { nextToken: 50, slots: [slot('a', 3, 'r')] }
    expect(outrunSlots(ledger, [obeyed('r', 'a', 9)])).toEqual([slot('a', 50, 'r')])
    expect(outrunSlots(ledger, [obeyed('r', 'a', 80)])).toEqual([slot('a', 81, 'r')])
    expect(outrunSlots(ledger, [obeyed('r', 'a', 3)])).toEqual([])
  })

  test('never gets the same as another one, even if both obeyed the same', () => {
    const ledger = { nextToken: 5, slots: [slot('a', 3, 'r'), slot('b', 4, 's')] }
    const tokens = outrunSlots(ledger, [obeyed('r', 'a', 99), obeyed('s', 'b', 99)]).map(({ token }) => token)
    expect(tokens).toEqual([100, 101])
  })

  test('gets one token for all its requests, above the highest of their reports', () => {
    const ledger = { nextToken: 5, slots: [slot('a', 3, 'r', 's')] }
    for (const reports of [
      [20, 30],
      [30, 20],
    ] as const) {
      const [only, ...more] = outrunSlots(ledger, [obeyed('r', 'a', reports[0]), obeyed('s', 'a', reports[1])])
      expect(more).toEqual([])
      expect(only?.token).toBeGreaterThan(30)
    }
  })

  test('is not believed when it jumps too far', () => {
    expect(isUnbelievable(1_000_003, { token: 3 })).toBe(false)
    expect(isUnbelievable(1_000_004, { token: 3 })).toBe(true)
    expect(outrunSlots({ nextToken: 5, slots: [slot('a', 3, 'r')] }, [obeyed('r', 'a', 1_000_004)])).toEqual([])
  })
})
