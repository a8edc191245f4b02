import { describe, expect, test } from 'vitest'
import { decideLedger, type LedgerWorld } from './decide-ledger.ts'
import { budget, cordonedNode, earlier, heldSlot, node, noon, request, slot } from './fixture-world.ts'

const world = (parts: Partial<LedgerWorld>): LedgerWorld => ({
  budget: budget(),
  requests: [],
  nodes: [node('a'), node('b'), node('c')],
  now: noon,
  ...parts,
})
const claimed = (parts: Partial<LedgerWorld>) => decideLedger(world(parts)).claims.map(({ request: name }) => name)
const queued = { phase: 'Queued' } as const
const granted = (token: number) => ({ phase: 'Granted', slot: heldSlot(token) }) as const
const finishing = (token: number) => ({ phase: 'Finishing', slot: heldSlot(token) }) as const
const controlPlane = { labels: { 'node-role.kubernetes.io/control-plane': '' } }

describe('a claim', () => {
  test('goes to the first in line, and the others are told their place and why', () => {
    const requests = [request('r1', 'a'), request('r2', 'b'), request('r3', 'c', { spec: { priority: 1 } })]
    const decision = decideLedger(world({ requests }))
    expect(decision.claims).toEqual([{ request: 'r3', node: 'c', nodeUID: 'uid-c' }])
    const why = {
      for: 'Budget',
      message: `1 of 3 nodes may be out: c is out since 2026-03-01 12:00 UTC`,
      next: 'fettle explain c',
    }
    expect([...decision.waiting]).toEqual([
      ['r1', { position: 1, ...why }],
      ['r2', { position: 2, ...why }],
    ])
    expect(decision.limits).toEqual([{ name: 'cluster', max: 1, out: 1, withoutSlot: [] }])
  })

  test('names at most three of those that are out', () => {
    const slots = ['a', 'b', 'c', 'd', 'e'].map((name, index) => slot(name, index + 1, `r-${name}`))
    const nodes = 'abcdefg'.split('').map((name) => node(name))
    const { waiting } = decideLedger(
      world({ budget: budget({ max: 5 }, ...slots), nodes, requests: [request('r', 'f')] }),
    )
    expect(waiting.get('r')?.message).toBe(
      `5 of 7 nodes may be out: a is out since 2026-03-01 11:00 UTC, b is out since 2026-03-01 11:00 UTC, c is out since 2026-03-01 11:00 UTC and 2 more`,
    )
  })

  test('does not join a slot whose node is being given back, and says so', () => {
    const cordoned = cordonedNode('a')
    const requests = [request('old', 'a', { spec: { want: 'Return' }, status: finishing(1) }), request('new', 'a')]
    const decision = decideLedger(world({ budget: budget({}, slot('a', 1, 'old')), nodes: [cordoned], requests }))
    expect(decision.claims).toEqual([])
    expect(decision.waiting.get('new')).toMatchObject({
      for: 'Order',
      message: 'a is being given back; its turn comes anew',
    })
  })

  test('is not made while the view is stale, and does not wait for anything else', () => {
    const decision = decideLedger(world({ requests: [request('r', 'a')], staleView: 'the view of nodes is 90 s old' }))
    expect(decision.claims).toEqual([])
    expect(decision.waiting.get('r')).toMatchObject({ for: 'StaleView', message: 'the view of nodes is 90 s old' })
  })

  test('is not made with a budget of 0, even for a node that is down already', () => {
    const nodes = [node('a', { isReady: false })]
    const decision = decideLedger(world({ budget: budget({ max: 0 }), nodes, requests: [request('r', 'a')] }))
    expect(decision.claims).toEqual([])
    expect(decision.waiting.get('r')?.message).toBe('the budget is 0: no node may leave service')
  })

  test('costs a node that is down already no second place', () => {
    const nodes = [node('a', { isReady: false }), node('b')]
    expect(claimed({ nodes, requests: [request('r', 'a')] })).toEqual(['r'])
    expect(claimed({ nodes, requests: [request('r', 'b')] })).toEqual([])
    expect(claimed({ nodes, budget: budget({ countUnavailable: [] }), requests: [request('r', 'b')] })).toEqual(['r'])
  })

  test('is not made for a node that does not exist, or exists anew', () => {
    const requests = [request('r1', 'gone'), request('r2', 'a', { spec: { nodeUID: 'older' } }), request('r3', 'b')]
    const decision = decideLedger(world({ requests }))
    expect(decision.claims.map(({ request: name }) => name)).toEqual(['r3'])
    expect(decision.waiting.size).toBe(0)
  })

  test.for<readonly [string, ReturnType<typeof request>]>([
    ['wants Return', request('r', 'a', { spec: { want: 'Return' } })],
    ['is being deleted', request('r', 'a', { metadata: { deletionTimestamp: noon } })],
    ['is done', request('r', 'a', { status: { phase: 'Done' } })],
    ['is on its way home and in no slot', request('r', 'a', { status: { phase: 'Finishing' } })],
  ])('is not made for a request that %s', ([, one]) => {
    expect(claimed({ requests: [one] })).toEqual([])
  })

  test('joins the slot of its node, whatever the budget says by now', () => {
    const requests = [request('r1', 'a', { status: granted(3) }), request('r2', 'a', { status: queued })]
    expect(claimed({ budget: budget({ max: 0 }, slot('a', 3, 'r1')), nodes: [cordonedNode('a')], requests })).toEqual([
      'r2',
    ])
  })

  test('is never made for the younger of two that ask for the same', () => {
    const source = { kind: 'File', key: '/var/x' } as const
    const first = request('r1', 'a', { spec: { source }, status: granted(3) })
    const second = request('r2', 'a', {
      spec: { source, priority: 9 },
      status: queued,
      metadata: { creationTimestamp: noon },
    })
    expect(claimed({ budget: budget({}, slot('a', 3, 'r1')), requests: [first, second] })).toEqual([])
    expect(claimed({ requests: [request('r1', 'a', { spec: { source } }), second] })).toEqual(['r1'])
  })
})

describe('a request whose finalizer is not stored yet', () => {
  const unsecured = { metadata: { finalizers: [] } }

  test('is not claimed, since nobody would notice that it was deleted', () => {
    expect(claimed({ requests: [request('r', 'a', unsecured)] })).toEqual([])
  })

  test('keeps its place: who is behind does not pass it meanwhile', () => {
    const requests = [request('r1', 'a', unsecured), request('r2', 'b')]
    const decision = decideLedger(world({ requests }))
    expect(decision.claims).toEqual([])
    expect(decision.limits).toEqual([{ name: 'cluster', max: 1, out: 0, withoutSlot: [] }])
    expect(claimed({ budget: budget({ max: 2 }), requests })).toEqual(['r2'])
  })
})

describe('the control plane', () => {
  const nodes = [node('a', controlPlane), node('b', controlPlane), node('c')]

  test('keeps all but one of its nodes, even if the budget has room', () => {
    const requests = [request('r1', 'a'), request('r2', 'b'), request('r3', 'c')]
    const decision = decideLedger(world({ budget: budget({ max: 5 }), nodes, requests }))
    expect(decision.claims.map(({ request: name }) => name)).toEqual(['r1', 'r3'])
    expect(decision.waiting.get('r2')?.message).toBe(
      `1 of 2 control-plane nodes may be out: a is out since 2026-03-01 12:00 UTC`,
    )
  })

  test('counts its nodes that are down', () => {
    const broken = [node('a', { ...controlPlane, isReady: false }), ...nodes.slice(1)]
    expect(claimed({ budget: budget({ max: 5 }), nodes: broken, requests: [request('r2', 'b')] })).toEqual([])
  })

  test('is bound by the whole budget as well', () => {
    expect(claimed({ budget: budget({ max: 1 }, slot('c', 1, 'x')), nodes, requests: [request('r1', 'a')] })).toEqual(
      [],
    )
  })
})

describe('a release', () => {
  test('comes once the node is restored, not before', () => {
    const requests = [request('r1', 'a', { spec: { want: 'Return' }, status: finishing(3) })]
    const held = budget({}, slot('a', 3, 'r1'))
    expect(decideLedger(world({ budget: held, requests, nodes: [cordonedNode('a')] })).releases).toEqual([])
    expect(decideLedger(world({ budget: held, requests })).releases).toEqual([
      { request: 'r1', node: 'a', nodeUID: 'uid-a', isLast: true },
    ])
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
    expect(decideLedger(world({ requests }))).toMatchObject({ releases: [], claims: [], limits: [{ out: 0 }] })
  })

  test('does not come for a slot whose request vanished: a person decides', () => {
    expect(decideLedger(world({ budget: budget({}, slot('a', 3, 'vanished')) })).releases).toEqual([])
  })
})

describe('a slot that the ledger has lost', () => {
  test('is put back with its token and time, even over the limit, and before anything new', () => {
    const requests = [
      request('r1', 'a', { status: granted(7) }),
      request('r2', 'b', { status: { phase: 'Claimed', slot: heldSlot(8) } }),
      request('r3', 'c'),
    ]
    const decision = decideLedger(world({ requests }))
    expect(decision.claims).toEqual([
      { request: 'r1', node: 'a', nodeUID: 'uid-a', token: 7, takenAt: earlier },
      { request: 'r2', node: 'b', nodeUID: 'uid-b', token: 8, takenAt: earlier },
    ])
    expect([...decision.waiting.keys()]).toEqual(['r3'])
  })

  test('is not put back for a request on its way home', () => {
    expect(claimed({ requests: [request('r1', 'a', { spec: { want: 'Return' }, status: finishing(7) })] })).toEqual([])
  })
})

test('a ledger that was never written is an empty one', () => {
  const { status: _, ...fresh } = budget()
  expect(claimed({ budget: fresh, requests: [request('r', 'a')] })).toEqual(['r'])
})
