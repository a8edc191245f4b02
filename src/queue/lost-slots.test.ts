import { describe, expect, test } from 'vitest'
import type { MaintenanceRequest, Phase } from '../api/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { decideLedger } from './decide-ledger.ts'
import { claimed, conditionOf, finishing, granted, world } from './fixture-ledger.ts'
import { budget, cordonedNode, earlier, heldSlot, node, noon, request, slot } from './fixture-world.ts'
import { emptyLedger } from './ledger.ts'
import { isUnbelievable, lostSlots, outrunSlots, withTokensSeen } from './lost-slots.ts'

const holding = (name: string, nodeName: string, token: number, phase: Phase = 'Granted') =>
  request(name, nodeName, { status: { phase, slot: heldSlot(token) } })
const lost = (requests: readonly MaintenanceRequest[], nodes: readonly NodeObject[], ledger = emptyLedger) =>
  lostSlots(ledger, requests, new Map(nodes.map((one) => [one.metadata.uid ?? '', one])), nodes, noon)
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

describe('what somebody wrote into a cordon of ours', () => {
  const saying = (name: string, since: string) => {
    const text = JSON.stringify({ request: 'x', token: 5, since })
    return node(name, { isCordoned: true, annotations: { 'cordon.fettle.dev/queue': text } })
  }

  test.for([
    ['2026-02-28T09:00:00Z', '2026-02-28T09:00:00.000Z'],
    ['2026-03-01T13:30:00+02:00', '2026-03-01T11:30:00.000Z'],
    ['12345', noon],
    ['+012345-01-01T00:00:00.000Z', noon],
    ['-000044-03-15T00:00:00.000Z', noon],
    ['2026-03-01T12:00:01.000Z', noon],
    ['9999-12-31T23:59:59-12:00', noon],
  ] as const)('never makes a time that the ledger does not take: %s', ([since, takenAt]) => {
    expect(lost([], [saying('a', since)])).toEqual([{ ...slot('a', 5), takenAt }])
  })

  test('never makes more slots than the ledger can store, on however many nodes', () => {
    const nodes = Array.from({ length: 600 }, (_, index) => saying(`n${index}`, earlier))
    expect(lost([], nodes)).toHaveLength(500)
    const ledger = ledgerOf(...Array.from({ length: 450 }, (_, index): [string, number] => [`n${index}`, 5]))
    expect(lost([], nodes, ledger)).toHaveLength(50)
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

describe('a ledger that is new', () => {
  const { status: _, ...fresh } = budget()

  test('claims nothing in its first turn, and then goes on', () => {
    const first = decideLedger(world({ budget: fresh, requests: [request('r', 'a')] }))
    expect(first.claims).toEqual([])
    expect(first.waiting.get('r')).toMatchObject({
      for: 'StaleView',
      message: 'the ledger is new: slots are put back first',
    })
    expect(conditionOf(first, 'LedgerReady')?.status).toBe('True')
    expect(claimed({ budget: { ...fresh, status: first.next }, requests: [request('r', 'a')] })).toEqual(['r'])
  })

  test('is rebuilt from requests and cordons, with a next token above everything that is found', () => {
    const requests = [
      request('r1', 'a', { status: granted(7) }),
      request('r2', 'a', { status: { phase: 'Claimed', slot: heldSlot(7) } }),
      request('home', 'c', { status: finishing(20) }),
    ]
    const nodes = [cordonedNode('a', { token: 7 }), cordonedNode('b', { token: 9 }), node('c')]
    const { putBack, next } = decideLedger(world({ budget: fresh, requests, nodes }))
    expect(putBack).toEqual([slot('a', 7, 'r1', 'r2'), slot('b', 9)])
    expect(next.slots).toEqual(putBack)
    expect(next.nextToken).toBe(21)
  })

  test('gives no token again that a hand set back', () => {
    const held = budget({ max: 9 }, slot('a', 7, 'r1'))
    const status = { ...held.status, slots: held.status?.slots ?? [], nextToken: 2 }
    const { next } = decideLedger(
      world({
        budget: { ...held, status },
        requests: [request('r1', 'a', { status: granted(7) }), request('r2', 'b')],
      }),
    )
    expect(next.slots.map(({ token }) => token)).toEqual([7, 8])
  })
})

describe('a slot that the ledger has lost', () => {
  const requests = [
    request('r1', 'a', { status: granted(7) }),
    request('r2', 'b', { status: { phase: 'Claimed', slot: heldSlot(8) } }),
    request('r3', 'c'),
  ]

  test('is put back with its token and time, even over the limit, and before anything new', () => {
    const decision = decideLedger(world({ requests }))
    expect(decision.putBack).toEqual([slot('a', 7, 'r1'), slot('b', 8, 'r2')])
    expect(decision.claims).toEqual([])
    expect([...decision.waiting.keys()]).toEqual(['r3'])
  })

  test('over the limit breaks the exclusivity, and nobody is let out until a person has decided', () => {
    const broken = decideLedger(world({ requests, nodes: [node('a'), node('b'), node('c')] }))
    expect(conditionOf(broken, 'ExclusivityBroken')).toMatchObject({ status: 'True', reason: 'OverLimit' })
    expect(broken.waiting.get('r3')).toMatchObject({ for: 'Budget', next: 'fettle lock' })
    const still = decideLedger(world({ budget: { ...budget(), status: broken.next }, requests }))
    expect(conditionOf(still, 'ExclusivityBroken')?.status).toBe('True')
    // One of the two is taken back.
    const back = [request('r1', 'a', { status: finishing(7) }), ...requests.slice(1)]
    const healed = decideLedger(world({ budget: { ...budget(), status: broken.next }, requests: back }))
    expect(conditionOf(healed, 'ExclusivityBroken')).toMatchObject({ status: 'False', lastTransitionTime: noon })
    expect(healed.claims).toEqual([])
    expect(healed.waiting.get('r3')?.message).toContain('1 of 3 nodes may be out: b is out')
  })

  test('within the limits breaks nothing, and others may go in the same turn', () => {
    const decision = decideLedger(world({ budget: budget({ max: 3 }), requests }))
    expect(conditionOf(decision, 'ExclusivityBroken')?.status).toBe('False')
    expect(decision.next.slots.map(({ token }) => token)).toEqual([7, 8, 9])
  })

  test('over the limit of a group breaks it as well', () => {
    const labels = { labels: { pool: 'gpu' } }
    const limits = [{ name: 'gpu', groupBy: 'pool', max: 1 }]
    const nodes = [node('a', labels), node('b', labels), node('c')]
    expect(
      conditionOf(decideLedger(world({ budget: budget({ max: 9, limits }), requests, nodes })), 'ExclusivityBroken')
        ?.status,
    ).toBe('True')
  })

  test('does not break anything when a person has made the budget smaller meanwhile', () => {
    const held = budget({ max: 1 }, slot('a', 7, 'r1'), slot('b', 8, 'r2'))
    expect(conditionOf(decideLedger(world({ budget: held, requests })), 'ExclusivityBroken')?.status).toBe('False')
  })

  test('is not put back for a request on its way home', () => {
    const { putBack } = decideLedger(world({ requests: [request('r1', 'a', { status: finishing(7) })] }))
    expect(putBack).toEqual([])
  })

  test('gets its higher number again from the request when an older ledger was restored', () => {
    const { next } = decideLedger(world({ budget: budget({}, slot('a', 3, 'r1')), requests: requests.slice(0, 1) }))
    expect(next).toMatchObject({ nextToken: 8, slots: [{ token: 7, requests: ['r1'] }] })
  })
})

describe('tokens that nodes have obeyed', () => {
  const claimedBy = (highest: number) =>
    request('r', 'a', { status: { phase: 'Claimed', slot: heldSlot(3), host: { tokens: { highest } } } })

  test('are overtaken by a new number for the same slot', () => {
    const { putBack, next } = decideLedger(world({ budget: budget({}, slot('a', 3, 'r')), requests: [claimedBy(90)] }))
    expect(putBack).toEqual([slot('a', 91, 'r')])
    expect(next).toMatchObject({ nextToken: 92, slots: [{ token: 91 }] })
    expect(conditionOf({ next }, 'ExclusivityBroken')?.status).toBe('False')
  })

  test('are not believed from a node that lies', () => {
    const { next } = decideLedger(world({ budget: budget({}, slot('a', 3, 'r')), requests: [claimedBy(9_000_000)] }))
    expect(next).toMatchObject({ nextToken: 4, slots: [{ token: 3 }] })
  })
})
