import { describe, expect, test } from 'vitest'
import type { MaintenanceBudget, Waiting } from '../api/index.ts'
import { decideLedger, type LedgerWorld } from './decide-ledger.ts'
import { claimed, conditionOf, finishing, granted, inMs, queued, world } from './fixture-ledger.ts'
import { budget, cordonedNode, earlier, node, noon, request, slot } from './fixture-world.ts'
import { type ClaimGates, openGates } from './obstacles.ts'
import { patienceMs } from './order.ts'

/** As it is stored of somebody whom others have passed. */
const passedFrom = (passedSince: string, reason: Waiting['for'] = 'Budget') =>
  ({ phase: 'Queued', waiting: { for: reason, message: 'm', since: noon, passedSince } }) as const
const controlPlane = { labels: { 'node-role.kubernetes.io/control-plane': '' } }

describe('a claim', () => {
  test('goes to the first in line, and the others are told their place and why', () => {
    const requests = [request('r1', 'a'), request('r2', 'b'), request('r3', 'c', { spec: { priority: 1 } })]
    const decision = decideLedger(world({ requests }))
    expect(decision.claims).toEqual([{ request: 'r3', node: 'c', nodeUID: 'uid-c', groups: {} }])
    const why = {
      for: 'Budget',
      message: `1 of 3 nodes may be out: c is out since 2026-03-01 12:00 UTC`,
      next: 'fettle explain c',
    }
    expect([...decision.waiting]).toEqual([
      ['r1', { position: 1, ...why }],
      ['r2', { position: 2, ...why }],
    ])
    expect(decision.next.limits).toEqual([{ name: 'cluster', max: 1, out: 1, withoutSlot: [] }])
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
    ['a person has ended', request('r', 'a', { metadata: { annotations: { 'fettle.dev/verb': 'skip' } } })],
    [
      'its host no longer asks for',
      request('r', 'a', {
        spec: { work: 'Host' },
        status: { phase: 'Queued', host: { request: 'Absent', permission: 'Absent' } },
      }),
    ],
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
    expect(decision.next.limits).toEqual([{ name: 'cluster', max: 1, out: 0, withoutSlot: [] }])
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

  test('counts them whatever the budget counts, and those that it ignores', () => {
    const broken = [node('a', { ...controlPlane, isReady: false }), ...nodes.slice(1)]
    const asks = { requests: [request('r2', 'b'), request('r3', 'c')] }
    expect(claimed({ budget: budget({ max: 5, countUnavailable: [] }), nodes: broken, ...asks })).toEqual(['r3'])
    const ignoreNodes = { matchLabels: controlPlane.labels }
    const ignoring = budget({ max: 5, ignoreNodes }, slot('a', 1, 'x'))
    expect(claimed({ budget: ignoring, nodes, ...asks })).toEqual(['r3'])
  })

  test('counts a node that is Ready but misses one of its static pods, and that node itself may go', () => {
    const controlPlaneAilment = ({ metadata }: { readonly metadata: { readonly name?: string } }) =>
      metadata.name === 'a' ? 'NotReady in etcd-a' : undefined
    const parts = { budget: budget({ max: 5 }), nodes, controlPlaneAilment }
    const decision = decideLedger(world({ ...parts, requests: [request('r2', 'b')] }))
    expect(decision.claims).toEqual([])
    expect(decision.waiting.get('r2')?.message).toBe(
      '1 of 2 control-plane nodes may be out: a is NotReady in etcd-a, without a slot',
    )
    expect(decision.next.limits?.[0]).toMatchObject({ name: 'cluster', out: 0 })
    expect(claimed({ ...parts, requests: [request('r1', 'a'), request('r2', 'b')] })).toEqual(['r1'])
  })

  test('does not let two go because both are cordoned: a cordon stops no etcd', () => {
    const cordoned = ['a', 'b'].map((name) => node(name, { ...controlPlane, isCordoned: true }))
    const requests = [request('r1', 'a'), request('r2', 'b')]
    expect(claimed({ budget: budget({ max: 5 }), nodes: cordoned, requests })).toEqual([])
    const alone = { nodes: [...cordoned.slice(0, 1), node('b', controlPlane)], requests }
    expect(claimed({ budget: budget({ max: 5 }), ...alone })).toEqual(['r1'])
    const loose = budget({ max: 5, countUnavailable: ['NotReady'] })
    expect(claimed({ budget: loose, nodes: cordoned, requests })).toEqual(['r1'])
  })

  test('does not let two go because both ail: what is left of them may be what keeps the cluster', () => {
    const ails = () => 'NotReady in kube-scheduler'
    const requests = [request('r1', 'a'), request('r2', 'b'), request('r3', 'c')]
    expect(claimed({ budget: budget({ max: 5 }), nodes, requests, controlPlaneAilment: ails })).toEqual(['r3'])
  })

  test('is bound by the whole budget as well', () => {
    expect(claimed({ budget: budget({ max: 1 }, slot('c', 1, 'x')), nodes, requests: [request('r1', 'a')] })).toEqual(
      [],
    )
  })
})

describe('joining the slot of its node', () => {
  const first = request('first', 'a', { status: granted(3) })
  const second = request('second', 'a', { spec: { windows: ['night'] }, status: queued })
  const joining = (gates: Partial<ClaimGates>, more: Partial<LedgerWorld> = {}) =>
    decideLedger(
      world({
        budget: budget({}, slot('a', 3, 'first')),
        nodes: [cordonedNode('a', { token: 3 })],
        requests: [first, second],
        gates: { ...openGates, ...gates },
        ...more,
      }),
    )

  test('needs its own window', () => {
    expect(joining({}).next.slots).toEqual([slot('a', 3, 'first', 'second')])
    expect(joining({ windowOf: () => ({ isOpen: false }) }).waiting.get('second')?.for).toBe('Window')
  })

  test('is stopped by a freeze and by a stale view', () => {
    expect(joining({ freeze: { message: 'frozen' } }).claims).toEqual([])
    expect(joining({ staleView: 'old' }).claims).toEqual([])
  })

  test('asks no blocker: the node is out already', () => {
    const blockerOf = () => {
      throw new Error('nobody asked')
    }
    expect(joining({ blockerOf }).claims).toHaveLength(1)
  })

  test('takes no place, even if none is left in any limit', () => {
    const limits = [{ name: 'all', max: 0 }]
    const tight = budget({ max: 0, limits }, slot('a', 3, 'first'), slot('b', 4, 'x'))
    expect(joining({}, { budget: tight }).next.slots[0]?.requests).toEqual(['first', 'second'])
  })

  test('ends when as many share it as the ledger can store', () => {
    const names = Array.from({ length: 64 }, (_, index) => (index === 0 ? 'first' : `x${index}`))
    const { claims, waiting } = joining({}, { budget: budget({}, slot('a', 3, ...names)) })
    expect(claims).toEqual([])
    expect(waiting.get('second')).toMatchObject({ for: 'Order', message: 'a is shared by 64 requests already' })
  })
})

test('more slots than the ledger can store are not claimed, or nothing could be written any more', () => {
  const names = Array.from({ length: 501 }, (_, index) => `n${index}`)
  const decision = decideLedger(
    world({
      budget: budget({ max: 1000 }),
      nodes: names.map((name) => node(name)),
      requests: names.map((name) => request(name, name)),
    }),
  )
  expect(decision.next.slots).toHaveLength(500)
  expect([...decision.waiting.values()]).toEqual([
    { position: 1, for: 'Budget', message: 'the ledger is full: 500 nodes are out', next: 'fettle lock' },
  ])
})

describe('limits', () => {
  const zone = 'topology.kubernetes.io/zone'
  const zoned = (name: string, value: string) => node(name, { labels: { [zone]: value } })
  const limits = [{ name: 'zones', groupBy: zone, max: 1 }]
  const nodes = [zoned('a', 'x'), zoned('b', 'x'), zoned('c', 'y'), node('d')]
  const requests = ['a', 'b', 'c', 'd'].map((name) => request(`r-${name}`, name))

  test('by group let one of each go, and say which one is full', () => {
    const decision = decideLedger(world({ budget: budget({ max: 9, limits }), nodes, requests }))
    expect(decision.claims.map(({ node: name, groups }) => [name, groups])).toEqual([
      ['a', { zones: 'x' }],
      ['c', { zones: 'y' }],
      ['d', { zones: '' }],
    ])
    expect(decision.waiting.get('r-b')?.message).toBe(
      '1 of 2 nodes of zones x may be out: a is out since 2026-03-01 12:00 UTC',
    )
    expect(decision.next.limits?.map(({ name, out }) => `${name}=${out}`)).toEqual([
      'cluster=3',
      'zones/=1',
      'zones/x=1',
      'zones/y=1',
    ])
  })

  test('name the group of those that have no label', () => {
    const two = [node('d'), node('e')]
    const held = budget({ max: 9, limits }, slot('d', 1, 'x'))
    const { waiting } = decideLedger(world({ budget: held, nodes: two, requests: [request('r', 'e')] }))
    expect(waiting.get('r')?.message).toContain('1 of 2 nodes of zones (no label) may be out: d is out')
  })

  test('of 0 stop the nodes that they are about, and no other', () => {
    const none = [{ name: 'x', nodeSelector: { matchLabels: { [zone]: 'x' } }, max: 0 }]
    const decision = decideLedger(world({ budget: budget({ max: 9, limits: none }), nodes, requests }))
    expect(decision.claims.map(({ node: name }) => name)).toEqual(['c', 'd'])
    expect(decision.waiting.get('r-a')).toMatchObject({
      for: 'Budget',
      message: 'limit x is 0: none of its nodes may leave service',
      next: 'kubectl edit maintenancebudget cluster',
    })
  })

  test('in percent say the number that it comes to', () => {
    const share = [{ name: 'x', nodeSelector: { matchLabels: { [zone]: 'x' } }, max: '50%' }]
    const { waiting } = decideLedger(world({ budget: budget({ max: 9, limits: share }), nodes, requests }))
    expect(waiting.get('r-b')?.message).toContain('1 of 2 nodes of x may be out')
  })

  test('do not count nodes that are parked, and those go whatever is out', () => {
    const parked = node('p', { isReady: false, labels: { parked: 'true' } })
    const ignoreNodes = { matchLabels: { parked: 'true' } }
    const two = [request('r-p', 'p'), request('r-a', 'a'), request('r-b', 'b')]
    const parts = { budget: budget({ ignoreNodes }), nodes: [parked, ...nodes], requests: two }
    expect(claimed(parts)).toEqual(['r-a', 'r-p'])
  })
})

describe('who is passed', () => {
  const inZone = (name: string, zone: string, more: Parameters<typeof node>[1] = {}) =>
    node(name, { ...more, labels: { zone } })
  const ledger = budget({ max: 9, limits: [{ name: 'zones', groupBy: 'zone', max: 1 }] }, slot('b', 1, 'x'))
  const nodes = [inZone('a', 'x'), inZone('b', 'x'), inZone('c', 'y'), inZone('d', 'z', { isReady: false })]
  const waits = request('waits', 'a')
  const passedSince = (parts: Partial<LedgerWorld>) =>
    decideLedger(world({ budget: ledger, nodes, ...parts })).waiting.get('waits')?.passedSince

  test('is told since when, from the first one behind who takes a place that it needs', () => {
    expect(passedSince({ requests: [waits, request('behind', 'c', { metadata: { creationTimestamp: noon } })] })).toBe(
      noon,
    )
    const stored = request('waits', 'a', { status: passedFrom(earlier) })
    expect(passedSince({ requests: [stored, request('z', 'c', { metadata: { creationTimestamp: noon } })] })).toBe(
      earlier,
    )
    expect(passedSince({ requests: [stored] })).toBe(earlier)
  })

  test.for<readonly [string, Partial<LedgerWorld>]>([
    ['who stands before it', { requests: [waits, request('first', 'c', { spec: { priority: 1 } })] }],
    ['whose node is out already', { requests: [waits, request('z', 'd', { spec: { priority: -1 } })] }],
    [
      'who joins a node that is out',
      { requests: [waits, request('x', 'b', { status: granted(1) }), request('z', 'b', { spec: { priority: -1 } })] },
    ],
    [
      'who is not secured yet',
      { requests: [waits, request('z', 'c', { spec: { priority: -1 }, metadata: { finalizers: [] } })] },
    ],
    [
      'anybody while it waits for its window',
      {
        requests: [request('waits', 'a', { spec: { windows: ['w'] } }), request('z', 'c', { spec: { priority: -1 } })],
        gates: { ...openGates, windowOf: (names) => ({ isOpen: names.length === 0 }) },
      },
    ],
  ])('is not passed by %s', ([, parts]) => {
    expect(passedSince(parts)).toBeUndefined()
  })

  test('in no limit that both need is not passed', () => {
    const parked = { labels: { parked: 'true' } }
    const ignoring = { ...ledger, spec: { ...ledger.spec, ignoreNodes: { matchLabels: { parked: 'true' } } } }
    const requests = [waits, request('z', 'p', { spec: { priority: -1 } })]
    expect(passedSince({ budget: ignoring, nodes: [...nodes, node('p', parked)], requests })).toBeUndefined()
  })
})

describe('who has been passed for too long', () => {
  const zone = 'topology.kubernetes.io/zone'
  const zoned = (name: string, value: string, more: Parameters<typeof node>[1] = {}) =>
    node(name, { ...more, labels: { [zone]: value } })
  const limits = [{ name: 'zones', groupBy: zone, max: 1 }]
  const nodes = [zoned('a', 'x'), zoned('b', 'x'), zoned('c', 'y')]
  const hourAgo = inMs(-patienceMs)
  const starving = request('patient', 'a', { spec: { priority: -5 }, status: passedFrom(hourAgo) })

  test('goes first when a place is free, before every priority', () => {
    const urgent = request('urgent', 'b', { spec: { priority: 1000 } })
    expect(claimed({ nodes, requests: [urgent, starving] })).toEqual(['patient'])
    const patient = request('patient', 'a', {
      spec: { priority: -5 },
      status: passedFrom(inMs(1 - patienceMs)),
    })
    expect(claimed({ nodes, requests: [urgent, patient] })).toEqual(['urgent'])
  })

  test('is passed by who does not need the same', () => {
    const full = budget({ max: 9, limits }, slot('b', 1, 'x'))
    const decision = decideLedger(world({ budget: full, nodes, requests: [starving, request('r', 'c')] }))
    expect(decision.claims.map(({ request: name }) => name)).toEqual(['r'])
    expect(decision.waiting.get('patient')?.for).toBe('Budget')
  })

  test('is not passed by who needs the same, and they are told', () => {
    const full = budget({ max: 9, limits }, slot('b', 1, 'x'))
    const urgent = request('urgent', 'd', { spec: { priority: 9 } })
    const { claims, waiting } = decideLedger(
      world({ budget: full, nodes: [...nodes, zoned('d', 'x')], requests: [starving, urgent] }),
    )
    expect(claims).toEqual([])
    expect(waiting.get('urgent')).toEqual({
      position: 2,
      for: 'Order',
      message: 'patient has waited for a place in zones x longer than 1h and goes first',
      next: 'fettle explain patient',
    })
  })

  test('is one after the other: the first is named, and the second does not lose its hour by waiting for it', () => {
    const full = budget({ max: 9, limits }, slot('b', 1, 'x'))
    const second = request('second', 'd', { status: passedFrom(hourAgo, 'Order') })
    const requests = [starving, second, request('urgent', 'e', { spec: { priority: 9 } })]
    const line = (ledger: MaintenanceBudget) =>
      decideLedger(world({ budget: ledger, nodes: [...nodes, zoned('d', 'x'), zoned('e', 'x')], requests }))
    const waits = [...line(full).waiting].map(([name, { for: reason, next }]) => [name, reason, next])
    expect(waits).toEqual([
      ['second', 'Budget', 'fettle explain b'],
      ['patient', 'Order', 'fettle explain second'],
      ['urgent', 'Order', 'fettle explain second'],
    ])
    const { claims, waiting } = line(budget({ max: 9, limits }))
    expect(claims.map(({ request: name }) => name)).toEqual(['second'])
    expect([...waiting.keys()]).toEqual(['patient', 'urgent'])
  })

  test('keeps no place free that it could not take itself, nor one of a limit that has none', () => {
    const full = budget({ max: 9, limits }, slot('b', 1, 'x'))
    const early = request('patient', 'a', { spec: { windows: ['night'] }, status: passedFrom(hourAgo) })
    const closed: ClaimGates = { ...openGates, windowOf: (names) => ({ isOpen: names.length === 0 }) }
    const other = request('other', 'd')
    const at = (parts: Partial<LedgerWorld>) =>
      decideLedger(world({ budget: full, nodes: [...nodes, zoned('d', 'x')], ...parts })).waiting.get('other')?.for
    expect(at({ requests: [early, other], gates: closed })).toBe('Budget')
    const stopped = budget(
      { max: 9, limits: [...limits, { name: 'pool', nodeSelector: { matchLabels: { pool: 'p' } }, max: 0 }] },
      slot('b', 1, 'x'),
    )
    const pooled = node('a', { labels: { [zone]: 'x', pool: 'p' } })
    const parts = { budget: stopped, requests: [starving, other], nodes: [pooled, ...nodes.slice(1), zoned('d', 'x')] }
    expect(at(parts)).toBe('Budget')
  })

  test('does not stop a node that is out already: its return is what everybody waits for', () => {
    const down = [zoned('a', 'x'), zoned('b', 'x', { isReady: false })]
    const repair = request('repair', 'b')
    expect(claimed({ nodes: down, requests: [starving, repair] })).toEqual(['repair'])
  })

  test('is looked at in the moment when the hour is over', () => {
    const waiting = request('w', 'a', { status: passedFrom(inMs(-60_000)) })
    const { wakeAtMs } = decideLedger(world({ budget: budget({}, slot('b', 1, 'x')), nodes, requests: [waiting] }))
    expect(wakeAtMs).toBe(Date.parse(inMs(patienceMs - 60_000)))
    const past = decideLedger(world({ budget: budget({}, slot('b', 1, 'x')), nodes, requests: [starving] }))
    expect(past.wakeAtMs).toBeUndefined()
  })
})

test('among equals the node goes first whose zone misses the fewest', () => {
  const zone = (value: string) => ({ labels: { 'topology.kubernetes.io/zone': value } })
  const nodes = [node('a', zone('x')), node('b', zone('x')), node('c', zone('y'))]
  const requests = [request('r-b', 'b'), request('r-c', 'c')]
  expect(claimed({ budget: budget({ max: 2 }, slot('a', 1, 'x')), nodes, requests })).toEqual(['r-c'])
  expect(claimed({ nodes, requests })).toEqual(['r-b'])
})

describe('what the ledger says of itself', () => {
  test('is frozen while a freeze is in force, and its time moves only with the fact', () => {
    const frozen = { ...openGates, freeze: { message: 'MaintenanceFreeze launch' } }
    const first = decideLedger(world({ gates: frozen }))
    expect(conditionOf(first, 'Frozen')).toMatchObject({
      status: 'True',
      message: 'MaintenanceFreeze launch',
      lastTransitionTime: noon,
    })
    const later = world({ budget: { ...budget(), status: first.next }, gates: frozen, now: inMs(5_000) })
    expect(decideLedger(later).next).toEqual(first.next)
    expect(conditionOf(decideLedger({ ...later, gates: openGates }), 'Frozen')).toMatchObject({
      status: 'False',
      lastTransitionTime: inMs(5_000),
    })
  })

  test('does not change while nothing happens, so that nothing is written', () => {
    const requests = [request('r1', 'a', { status: granted(3) }), request('r2', 'b')]
    const first = decideLedger(world({ budget: budget({}, slot('a', 3, 'r1')), requests }))
    const again = decideLedger(world({ budget: { ...budget(), status: first.next }, requests, now: inMs(60_000) }))
    expect(again.next).toEqual(first.next)
  })

  test('keeps the admissions that others wrote', () => {
    const admissions = [{ node: 'a', nodeUID: 'uid-a', profile: 'flatcar', at: earlier }]
    const held = budget()
    const status = { nextToken: 1, slots: [], ...held.status, admissions }
    expect(decideLedger(world({ budget: { ...held, status } })).next.admissions).toEqual(admissions)
  })
})
