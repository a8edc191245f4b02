import { describe, expect, test } from 'vitest'
import type { MaintenanceBudget } from '../api/index.ts'
import { decideLedger } from './decide-ledger.ts'
import { claimed, finishing, granted, inMs, queued, worked, world } from './fixture-ledger.ts'
import { budget, condition, cordonedNode, node, noon, request, slot } from './fixture-world.ts'
import { openGates } from './obstacles.ts'

describe('a release', () => {
  test('comes once the node is restored, not before', () => {
    const requests = [request('r1', 'a', { spec: { want: 'Return' }, status: finishing(3) })]
    const held = budget({}, slot('a', 3, 'r1'))
    expect(decideLedger(world({ budget: held, requests, nodes: [cordonedNode('a')] })).releases).toEqual([])
    expect(decideLedger(world({ budget: held, requests })).releases).toEqual([
      { request: 'r1', node: 'a', nodeUID: 'uid-a', isLast: true },
    ])
  })

  test('does not come while a cordon is left without our name: nobody would take it away any more', () => {
    const requests = [request('r1', 'a', { spec: { want: 'Return' }, status: finishing(3) })]
    const leftOver = node('a', { isCordoned: true, annotations: { 'fettle.dev/cordon-prior': 'false' } })
    const held = budget({}, slot('a', 3, 'r1'))
    expect(decideLedger(world({ budget: held, requests, nodes: [leftOver] })).releases).toEqual([])
  })

  test('does not come while a script may be at work on a node that was never cordoned', () => {
    const service = { cordon: false, drain: false }
    const at = (permission: 'Present' | 'Absent') => {
      const status = { ...worked(3), host: { request: 'Absent', permission } as const }
      const requests = [request('r1', 'a', { spec: { work: 'Host', service }, status }), request('r2', 'b')]
      const decision = decideLedger(world({ budget: budget({}, slot('a', 3, 'r1')), requests }))
      return [decision.releases.length, decision.claims.length]
    }
    expect(at('Present')).toEqual([0, 0])
    expect(at('Absent')).toEqual([1, 1])
  })

  test('of one of two comes at once, and is not the last', () => {
    const requests = [
      request('r1', 'a', { spec: { want: 'Return' }, status: finishing(3) }),
      request('r2', 'a', { status: granted(3) }),
    ]
    const decision = decideLedger(
      world({ budget: budget({}, slot('a', 3, 'r1', 'r2')), requests, nodes: [cordonedNode('a')] }),
    )
    expect(decision.releases).toEqual([{ request: 'r1', node: 'a', nodeUID: 'uid-a', isLast: false }])
  })

  test('makes room for the next in the same turn', () => {
    const requests = [request('r1', 'a', { spec: { want: 'Return' }, status: finishing(3) }), request('r2', 'b')]
    expect(claimed({ budget: budget({}, slot('a', 3, 'r1')), requests })).toEqual(['r2'])
  })

  test('comes for everything on a node that is gone, and it is not put back', () => {
    const requests = [request('r1', 'gone', { status: granted(3) })]
    expect(decideLedger(world({ budget: budget({}, slot('gone', 3, 'r1')), requests }))).toMatchObject({
      releases: [{ request: 'r1', node: 'gone' }],
      claims: [],
    })
    const none = decideLedger(world({ requests }))
    expect([none.releases, none.claims, none.putBack, none.next.slots]).toEqual([[], [], [], []])
  })

  test('does not come for a slot whose request vanished: a person decides', () => {
    expect(decideLedger(world({ budget: budget({}, slot('a', 3, 'vanished')) })).releases).toEqual([])
  })
})

describe('a taint that keeps DaemonSets from starting anew', () => {
  const taints = [{ key: 'drain.fettle.dev/stopped-daemonsets', value: 'queue', effect: 'NoSchedule' }]
  const tainted = { ...node('a'), spec: { taints } }

  test('is ours: while it is there the node is not given back', () => {
    const requests = [request('r', 'a', { status: finishing(1) })]
    const decision = decideLedger(world({ budget: budget({}, slot('a', 1, 'r')), requests, nodes: [tainted] }))
    expect([decision.releases, decision.forgotten]).toEqual([[], []])
  })

  test('is taken away when nothing else is left of its turn', () => {
    expect(decideLedger(world({ nodes: [tainted, node('b')] })).forgotten).toEqual([tainted])
  })
})

describe('a release among those that share a slot', () => {
  const other = request('other', 'a', { status: granted(3) })
  const shared = budget({}, slot('a', 3, 'r', 'other'))
  const release = (one: ReturnType<typeof request>, others = [other], nodes = [cordonedNode('a')]) =>
    decideLedger(world({ budget: shared, requests: [one, ...others], nodes })).releases.map(({ request: name }) => name)

  test('waits for the proof that the node is well, which nobody could ask for later', () => {
    expect(release(request('r', 'a', { status: worked(3) }))).toEqual([])
    const conditions = [condition('PermissionGiven'), condition('Returned')]
    expect(release(request('r', 'a', { status: { ...worked(3), conditions } }))).toEqual(['r'])
    const released = { as: 'Released' } as const
    expect(release(request('r', 'a', { status: { ...worked(3), released } }))).toEqual(['r'])
  })

  test('waits until the others know of their slot: else nobody would keep the node out', () => {
    expect(release(request('r', 'a', { status: finishing(3) }), [request('other', 'a', { status: queued })])).toEqual(
      [],
    )
  })

  test('leaves a slot to a request that vanished only when the node is restored', () => {
    expect(release(request('r', 'a', { status: finishing(3) }), [])).toEqual([])
    const back = decideLedger(world({ budget: shared, requests: [request('r', 'a', { status: finishing(3) })] }))
    expect(back.next.slots).toEqual([slot('a', 3, 'other')])
  })

  test('comes for one that ended in the moment of its claim', () => {
    const ended = request('r', 'a', { status: { phase: 'Done', outcome: 'Withdrawn' } })
    expect(release(ended)).toEqual(['r'])
    const alone = decideLedger(world({ budget: budget({}, slot('a', 3, 'r')), requests: [ended] }))
    expect(alone.next.slots).toEqual([])
  })

  test('of all of them comes in one turn', () => {
    const both = [request('r', 'a', { status: finishing(3) }), request('other', 'a', { status: finishing(3) })]
    expect(decideLedger(world({ budget: shared, requests: both })).next.slots).toEqual([])
  })
})

describe('a node that rests after its return', () => {
  const resting = (until: string) => ({ ...slot('a', 3), soakUntil: until })
  const soaked = (more: Partial<MaintenanceBudget['spec']> = {}) => ({
    timing: { soak: '10m', lead: '0s', heartbeatTimeout: '60s', minReadySeconds: 30 },
    ...more,
  })

  test('keeps its place until the time is over, and then ends by itself', () => {
    const early = decideLedger(world({ budget: budget({}, resting(inMs(1))), requests: [request('r', 'b')] }))
    expect([early.claims, early.ended]).toEqual([[], []])
    expect(early.wakeAtMs).toBe(Date.parse(inMs(1)))
    const late = decideLedger(world({ budget: budget({}, resting(noon)), requests: [request('r', 'b')] }))
    expect(late.ended.map(({ node: name }) => name)).toEqual(['a'])
    expect(late.next.slots.map(({ node: name, token }) => [name, token])).toEqual([['b', 4]])
  })

  test('rests only when somebody has worked', () => {
    const end = (status: Parameters<typeof request>[2]) =>
      decideLedger(world({ budget: budget(soaked(), slot('a', 3, 'r')), requests: [request('r', 'a', status)] })).next
        .slots
    expect(end({ status: worked(3) })).toEqual([{ ...slot('a', 3), soakUntil: inMs(600_000) }])
    expect(end({ status: finishing(3) })).toEqual([])
  })

  test('rests also when the one who worked left before the last one', () => {
    const done = request('done', 'a', { status: { ...worked(3), phase: 'Done' } })
    const last = request('last', 'a', { status: finishing(3) })
    const { next } = decideLedger(world({ budget: budget(soaked(), slot('a', 3, 'last')), requests: [done, last] }))
    expect(next.slots).toEqual([{ ...slot('a', 3), soakUntil: inMs(600_000) }])
    const longAgo = { ...done, status: { ...done.status, phase: 'Done' as const, since: '2026-01-01T00:00:00Z' } }
    const other = decideLedger(world({ budget: budget(soaked(), slot('a', 3, 'last')), requests: [longAgo, last] }))
    expect(other.next.slots).toEqual([])
  })

  test('needs no rest when it is gone', () => {
    const decision = decideLedger(
      world({
        budget: budget(soaked(), slot('a', 3, 'r')),
        requests: [request('r', 'a', { status: worked(3) })],
        nodes: [],
      }),
    )
    expect(decision.next.slots).toEqual([])
    expect(decideLedger(world({ budget: budget({}, resting(inMs(1))), nodes: [] })).next.slots).toEqual([])
  })

  test('may go out again under a new token, and costs no second place', () => {
    const decision = decideLedger(world({ budget: budget({}, resting(inMs(60_000))), requests: [request('r', 'a')] }))
    expect(decision.next).toMatchObject({ nextToken: 5, slots: [{ node: 'a', token: 4, requests: ['r'] }] })
    expect(decision.next.slots).toHaveLength(1)
    expect(decision.next.slots[0]).not.toHaveProperty('soakUntil')
  })

  test('asks its blockers again, because it is in service', () => {
    const blockerOf = () => ({ message: 'no', next: 'x' })
    const decision = decideLedger(
      world({
        budget: budget({}, resting(inMs(1))),
        requests: [request('r', 'a')],
        gates: { ...openGates, blockerOf },
      }),
    )
    expect(decision.waiting.get('r')?.for).toBe('Blocker')
  })
})

describe('a person who frees a slot', () => {
  const ordered = (...slots: ReturnType<typeof slot>[]) => {
    const held = budget({}, ...slots)
    return { ...held, metadata: { ...held.metadata, annotations: { 'fettle.dev/release-slot': 'uid-a' } } }
  }

  test('has the node put back first, and then the slot ends', () => {
    const first = decideLedger(
      world({ budget: ordered(slot('a', 3, 'vanished')), nodes: [cordonedNode('a', { token: 3 })] }),
    )
    expect([first.toRestore, first.ended, first.next.slots]).toMatchObject([[{ node: 'a' }], [], [{ node: 'a' }]])
    const second = decideLedger(world({ budget: ordered(slot('a', 3, 'vanished')) }))
    expect([second.toRestore, second.ended, second.next.slots]).toMatchObject([[], [{ node: 'a' }], []])
  })

  test('frees no slot of a request that exists, and no other slot', () => {
    const alive = decideLedger(
      world({ budget: ordered(slot('a', 3, 'r')), requests: [request('r', 'a', { status: granted(3) })] }),
    )
    expect([alive.toRestore, alive.ended]).toEqual([[], []])
    const other = decideLedger(world({ budget: ordered(slot('b', 3, 'vanished')) }))
    expect([other.toRestore, other.ended, other.next.slots.length]).toEqual([[], [], 1])
  })

  test('frees a slot without any request, as one that was found by its cordon', () => {
    expect(decideLedger(world({ budget: ordered(slot('a', 3)) })).next.slots).toEqual([])
    expect(decideLedger(world({ budget: budget({}, slot('a', 3)) })).next.slots).toEqual([slot('a', 3)])
  })
})
