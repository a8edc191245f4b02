import { describe, expect, test } from 'vitest'
import type { MaintenanceBudget, MaintenanceRequest, MaintenanceRequestStatus } from '../api/index.ts'
import type { NodeObject, PodDisruptionBudget } from '../kube/index.ts'
import { drainPlan } from './decide-drain.ts'
import { decideRequest } from './decide-request.ts'
import { budget, condition, cordonedNode, earlier, heldSlot, node, noon, pod, request, slot } from './fixture-world.ts'
import type { RequestStep, RequestWorld } from './request-steps.ts'
import { settingsOf } from './settings.ts'

const world = (
  one: MaintenanceRequest,
  parts: Partial<RequestWorld> = {},
  spec: Partial<MaintenanceBudget['spec']> = {},
): RequestWorld => ({
  request: one,
  requests: [one],
  settings: settingsOf(one, budget(spec).spec),
  ledgerUID: 'uid-ledger',
  isExclusivityBroken: false,
  slot: undefined,
  node: node('a'),
  podsOnNode: [],
  budgets: [],
  waiting: undefined,
  now: noon,
  ...parts,
})
const timing = { soak: '0s', lead: '0s', heartbeatTimeout: '60s', minReadySeconds: 30 }
const inMs = (ms: number) => new Date(Date.parse(noon) + ms).toISOString()
const inPhase = (phase: MaintenanceRequestStatus['phase'], more: Parameters<typeof request>[2] = {}) =>
  request('r', 'a', { status: { phase, since: earlier, slot: heldSlot(3) }, ...more })
const listed = { slot: slot('a', 3, 'r') }
const deleted = { metadata: { deletionTimestamp: noon } }
const returned = { spec: { want: 'Return' } } as const

function statusOf(step: RequestStep): MaintenanceRequestStatus {
  if (step.do !== 'writeStatus' && step.do !== 'drain') throw new Error(`it does not write: ${JSON.stringify(step)}`)
  return step.status
}

/** The node as it says itself what is going on. */
function saying(one: NodeObject, messages: Readonly<Record<string, string>>): NodeObject {
  const said = Object.entries(messages).map(([type, message]) => ({
    type,
    status: 'True' as const,
    reason: 'FettleMaintenance',
    message,
    lastTransitionTime: earlier,
  }))
  return { ...one, status: { ...one.status, conditions: [...(one.status?.conditions ?? []), ...said] } }
}
const draining = saying(cordonedNode('a'), {
  MaintenancePlanned: 'new fan',
  DrainInProgress: 'pods are asked to leave',
})
const atWork = saying(cordonedNode('a'), { MaintenanceInProgress: 'new fan', Drained: 'all pods have left' })
const given = [condition('PermissionGiven'), condition('Drained')]

describe('a new request', () => {
  test('is secured before anything else', () => {
    expect(decideRequest(world(request('r', 'a', { metadata: { finalizers: [] } })))).toEqual({ do: 'addFinalizer' })
    expect(decideRequest(world(request('r', 'gone', { metadata: { finalizers: [] } }), { node: undefined })).do).toBe(
      'addFinalizer',
    )
  })

  test('is not secured when it is being deleted already', () => {
    const gone = request('r', 'a', {
      metadata: { finalizers: ['other'], deletionTimestamp: noon },
      status: { phase: 'Queued' },
    })
    expect(statusOf(decideRequest(world(gone)))).toMatchObject({ phase: 'Done', outcome: 'Withdrawn' })
  })

  test('is accepted with who asked and why', () => {
    expect(statusOf(decideRequest(world(request('r', 'a'))))).toEqual({
      phase: 'Queued',
      since: noon,
      observedGeneration: 1,
      history: [{ time: noon, phase: 'Queued', reason: 'Accepted', message: 'asked by Person r: new fan' }],
      conditions: [
        condition('Accepted', 'True', {
          reason: 'Accepted',
          message: 'asked by Person r: new fan',
          lastTransitionTime: noon,
        }),
      ],
    })
  })

  test('keeps the report of an agent that was faster', () => {
    const { history: _, ...status } = {
      ...request('r', 'a', { status: { phase: 'Queued', host: { request: 'Present' } } }).status,
    }
    const step = decideRequest(world({ ...request('r', 'a'), status: { phase: 'Queued', ...status } }))
    expect(statusOf(step)).toMatchObject({ phase: 'Queued', host: { request: 'Present' } })
  })
})

describe('in line', () => {
  const waiting = { position: 2, for: 'Budget', message: 'full', next: 'fettle explain b' } as const

  test('a request is told its place, once', () => {
    const step = decideRequest(world(request('r', 'a', { status: { phase: 'Queued' } }), { waiting }))
    expect(statusOf(step).waiting).toEqual({ ...waiting, since: noon })
    const again = request('r', 'a', { status: { phase: 'Queued', waiting: { ...waiting, since: earlier } } })
    expect(decideRequest(world(again, { waiting }))).toEqual({ do: 'nothing', why: 'full' })
  })

  test.for([
    ['its place changes', { ...waiting, position: 1 }, earlier],
    ['the sentence changes', { ...waiting, message: 'still full' }, earlier],
    ['it waits for something else', { ...waiting, for: 'StaleView' }, noon],
  ] as const)('it is told again when %s, and since when it waits for that', ([, next, since]) => {
    const old = request('r', 'a', { status: { phase: 'Queued', waiting: { ...waiting, since: earlier } } })
    expect(statusOf(decideRequest(world(old, { waiting: next }))).waiting).toEqual({ ...next, since })
  })

  test('that it was passed is stored once, and kept whatever it waits for', () => {
    const old = (more: object) =>
      request('r', 'a', { status: { phase: 'Queued', waiting: { ...waiting, since: earlier, ...more } } })
    const first = statusOf(decideRequest(world(old({}), { waiting: { ...waiting, passedSince: noon } })))
    expect(first.waiting).toEqual({ ...waiting, since: earlier, passedSince: noon })
    const passed = old({ passedSince: earlier })
    expect(decideRequest(world(passed, { waiting: { ...waiting, passedSince: noon } })).do).toBe('nothing')
    expect(decideRequest(world(passed, { waiting })).do).toBe('nothing')
    const frozen = statusOf(decideRequest(world(passed, { waiting: { ...waiting, for: 'Freeze' } })))
    expect(frozen.waiting).toEqual({ ...waiting, for: 'Freeze', since: noon, passedSince: earlier })
    expect(statusOf(decideRequest(world(passed, listed)))).not.toHaveProperty('waiting')
  })

  test('it waits silently until the ledger has looked at it', () => {
    expect(decideRequest(world(request('r', 'a', { status: { phase: 'Queued' } }))).do).toBe('nothing')
  })

  test('it says so when it goes outside its windows, and why', () => {
    const urgent = request('r', 'a', { spec: { bypassWindow: 'it burns' }, status: { phase: 'Queued' } })
    const line = (more: Partial<RequestWorld>) =>
      statusOf(decideRequest(world(urgent, { ...listed, ...more }))).history?.at(-1)
    expect(line({ passesClosedWindow: true })).toMatchObject({
      reason: 'WindowBypassed',
      message: expect.stringMatching(/^slot \d+ is taken outside its windows: it burns$/) as string,
    })
    expect(line({})).toMatchObject({
      reason: 'SlotTaken',
      message: expect.stringMatching(/^slot \d+ is taken$/) as string,
    })
  })

  test.for([
    ['taken back', returned],
    ['deleted', deleted],
  ] as const)('it ends as Withdrawn when it is %s', ([, change]) => {
    const step = decideRequest(world(request('r', 'a', { status: { phase: 'Queued' }, ...change })))
    expect(statusOf(step)).toMatchObject({ phase: 'Done', outcome: 'Withdrawn' })
  })

  test('it ends as Duplicate when an older one asks for the same', () => {
    const source = { kind: 'File', key: '/var/x' } as const
    const older = request('older', 'a', { spec: { source }, metadata: { creationTimestamp: '2026-01-01T00:00:00Z' } })
    const younger = request('r', 'a', { spec: { source }, status: { phase: 'Queued' } })
    const step = decideRequest(world(younger, { requests: [older, younger] }))
    expect(statusOf(step)).toMatchObject({ phase: 'Done', outcome: 'Duplicate' })
    expect(statusOf(step).history?.at(-1)?.message).toBe('older asks for the same already')
  })

  test('it copies its slot from the ledger once it is its turn, even if it is no longer wanted', () => {
    for (const change of [{}, returned, deleted]) {
      const step = decideRequest(world(request('r', 'a', { status: { phase: 'Queued' }, ...change }), listed))
      expect(statusOf(step)).toMatchObject({
        phase: 'Claimed',
        slot: heldSlot(3),
        history: [{ message: 'slot 3 is taken' }],
      })
      expect(statusOf(step).conditions).toEqual([
        { type: 'SlotHeld', status: 'True', reason: 'SlotTaken', message: 'token 3', lastTransitionTime: noon },
      ])
    }
  })
})

describe('claimed', () => {
  test('the node says what is planned, and is cordoned before any pod is asked', () => {
    const first = decideRequest(world(inPhase('Claimed'), { ...listed, podsOnNode: [pod('p')] }))
    expect(first).toMatchObject({
      do: 'patchNodeStatus',
      patch: { status: { conditions: [{ type: 'MaintenancePlanned', message: 'new fan' }] } },
    })
    const planned = saying(node('a'), { MaintenancePlanned: 'new fan' })
    const step = decideRequest(world(inPhase('Claimed'), { ...listed, node: planned, podsOnNode: [pod('p')] }))
    expect(step).toMatchObject({
      do: 'patchNode',
      patch: { metadata: { uid: 'uid-a', resourceVersion: '1' }, spec: { unschedulable: true } },
    })
    if (step.do !== 'patchNode') return
    const owner = step.patch.metadata.annotations?.['cordon.fettle.dev/queue'] ?? ''
    expect(JSON.parse(owner)).toEqual({ request: 'uid-r', token: 3, since: noon })
  })

  test('nothing happens without the slot, and nobody is evicted', () => {
    expect(decideRequest(world(inPhase('Claimed'), { podsOnNode: [pod('p')] })).do).toBe('nothing')
  })

  test('pods are drained, with what is in the way', () => {
    const budget: PodDisruptionBudget = {
      metadata: { namespace: 'shop', name: 'web', generation: 1 },
      spec: { maxUnavailable: 0, selector: {} },
    }
    const pods = Array.from({ length: 12 }, (_, index) => pod(`p${index}`))
    const step = decideRequest(
      world(inPhase('Claimed'), { ...listed, node: draining, podsOnNode: pods, budgets: [budget] }),
    )
    expect(step).toMatchObject({ do: 'drain', plan: { askNow: [] } })
    const { drain, conditions } = statusOf(step)
    expect(drain).toMatchObject({ startedAt: noon, total: 12, left: 12 })
    expect(drain?.blockedBy).toHaveLength(10)
    expect(drain?.blockedBy[0]).toEqual({ pod: 'shop/p0', pdb: 'shop/web', neverPasses: true })
    expect(conditions).toMatchObject([{ type: 'Drained', status: 'False', reason: 'Blocked' }])
  })

  test('the drain remembers when it began and how many there were', () => {
    const drain = { startedAt: inMs(-60_000), total: 5, left: 4, blockedBy: [] }
    const one = request('r', 'a', { status: { phase: 'Claimed', slot: heldSlot(3), drain } })
    const step = decideRequest(world(one, { ...listed, node: draining, podsOnNode: [pod('p')] }))
    expect(statusOf(step).drain).toEqual({ startedAt: inMs(-60_000), total: 5, left: 1, blockedBy: [] })
    expect(statusOf(step).conditions).toMatchObject([{ message: 'still there: 1 pod', reason: 'Draining' }])
  })

  test('a pod that is leaving still has to leave', () => {
    const leaving = pod('p', { deletionTimestamp: earlier })
    expect(decideRequest(world(inPhase('Claimed'), { ...listed, node: draining, podsOnNode: [leaving] })).do).toBe(
      'drain',
    )
  })

  test('the work may begin once all have left', () => {
    const status = statusOf(decideRequest(world(inPhase('Claimed'), { ...listed, node: draining })))
    expect(status).toMatchObject({ phase: 'Granted', slot: heldSlot(3), history: [{ message: 'all pods have left' }] })
    expect(status.conditions?.map(({ type, status: is }) => `${type}=${is}`)).toEqual([
      'Drained=True',
      'PermissionGiven=True',
    ])
  })

  test('a request that asks for neither cordon nor drain gets its permission at once', () => {
    const one = inPhase('Claimed', {
      spec: { service: { cordon: false, drain: false } },
      status: { phase: 'Claimed', slot: heldSlot(3) },
    })
    expect(statusOf(decideRequest(world(one, { ...listed, podsOnNode: [pod('p')] }))).phase).toBe('Granted')
  })

  test.for([
    ['taken back', returned, 'somebody said: done, give it back'],
    ['deleted', deleted, 'the request was deleted'],
  ] as const)('a request that is %s goes home without another eviction', ([, change, message]) => {
    const parts = { ...listed, node: cordonedNode('a'), podsOnNode: [pod('p')] }
    const status = statusOf(decideRequest(world(inPhase('Claimed', change), parts)))
    expect(status).toMatchObject({ phase: 'Finishing', history: [{ reason: 'Return', message }] })
  })
})

describe('granted', () => {
  const granted = { phase: 'Granted', since: earlier, slot: heldSlot(3), conditions: given } as const

  test('nothing is done, and new pods are left alone', () => {
    expect(
      decideRequest(world(inPhase('Granted', { status: granted }), { ...listed, node: atWork, podsOnNode: [pod('p')] }))
        .do,
    ).toBe('nothing')
  })

  test('a cordon that was undone is repaired', () => {
    const undone = { ...atWork, spec: {} }
    expect(decideRequest(world(inPhase('Granted', { status: granted }), { ...listed, node: undone }))).toMatchObject({
      do: 'patchNode',
      patch: { spec: { unschedulable: true } },
    })
  })
})

describe('on its way home', () => {
  const permitted = {
    status: {
      phase: 'Finishing' as const,
      since: earlier,
      slot: heldSlot(3),
      conditions: [condition('PermissionGiven')],
    },
    ...returned,
  }
  const [well, out] = [{ readySince: earlier }, cordonedNode('a', { readySince: earlier })]

  test('the node is restored first, then the ledger frees the slot, then it is done', () => {
    const one = inPhase('Finishing', permitted)
    const said = saying(out, { MaintenanceInProgress: 'new fan', Drained: 'all pods have left' })
    expect(decideRequest(world(one, { ...listed, node: said }))).toMatchObject({
      do: 'patchNodeStatus',
      patch: { status: { conditions: [{ $patch: 'delete' }, { $patch: 'delete' }] } },
    })
    expect(decideRequest(world(one, { ...listed, node: out }))).toMatchObject({
      do: 'patchNode',
      patch: { spec: { unschedulable: null } },
    })
    expect(decideRequest(world(one, { ...listed, node: node('a', well) })).do).toBe('nothing')
    const status = statusOf(decideRequest(world(one)))
    expect(status).toMatchObject({ phase: 'Done', outcome: 'Completed' })
    expect(status).not.toHaveProperty('slot')
    expect(status.conditions?.find(({ type }) => type === 'SlotHeld')?.status).toBe('False')
  })

  test('it ends as Withdrawn when the work never began', () => {
    expect(statusOf(decideRequest(world(inPhase('Finishing', returned)))).outcome).toBe('Withdrawn')
  })

  test('the node stays cordoned for another request in the slot, and is proven before this one leaves', () => {
    const other = request('other', 'a', { status: { phase: 'Granted', slot: heldSlot(3) } })
    const one = inPhase('Finishing', permitted)
    const parts = { node: out, requests: [one, other], slot: slot('a', 3, 'r', 'other') }
    const proof = statusOf(decideRequest(world(one, parts)))
    expect(proof.conditions).toContainEqual(
      expect.objectContaining({ type: 'Returned', status: 'True', reason: 'Well' }),
    )
    const proven = { ...one, status: proof }
    expect(decideRequest(world(proven, { ...parts, requests: [proven, other] })).do).toBe('nothing')
    expect(statusOf(decideRequest(world(one, { node: out, requests: [one, other] }))).phase).toBe('Done')
  })

  test('a node that is not well is not left to the others', () => {
    const other = request('other', 'a', { status: { phase: 'Claimed', slot: heldSlot(3) } })
    const one = inPhase('Finishing', permitted)
    const parts = {
      node: cordonedNode('a', { isReady: false }),
      requests: [one, other],
      slot: slot('a', 3, 'r', 'other'),
    }
    expect(decideRequest(world(one, { ...parts, now: inMs(-3_500_000) }))).toMatchObject({
      do: 'nothing',
      why: 'a is not Ready',
    })
  })

  test('one that ended in the moment of its claim does not keep the node', () => {
    const ended = request('other', 'a', { status: { phase: 'Done', outcome: 'Skipped' } })
    const one = inPhase('Finishing', permitted)
    const step = decideRequest(world(one, { node: out, requests: [one, ended], slot: slot('a', 3, 'r', 'other') }))
    expect(step.do).toBe('patchNode')
  })

  test('a higher number than the ledger knows stops nobody on the way home', () => {
    const one = inPhase('Finishing', { ...permitted, status: { ...permitted.status, slot: heldSlot(9) } })
    expect(decideRequest(world(one, { ...listed, node: out })).do).toBe('patchNode')
  })

  test('the cordon of a later turn is not touched', () => {
    const later = cordonedNode('a', { token: 8 })
    expect(statusOf(decideRequest(world(inPhase('Finishing', permitted), { node: later }))).phase).toBe('Done')
  })

  test.for([
    ['waits while the host has the permission', { host: { permission: 'Present' } }, 'nothing'],
    ['waits while nobody knows whether it has', {}, 'nothing'],
    ['comes back once it has taken it back', { host: { permission: 'Absent' } }, 'patchNode'],
    ['comes back when a person says so', { released: { by: 'jdoe', at: noon } }, 'patchNode'],
  ] as const)('without a slot the node %s: %j', ([, more, expected]) => {
    const status = { ...permitted.status, since: noon, ...more } as MaintenanceRequestStatus
    const one = inPhase('Finishing', { status, spec: { want: 'Return', work: 'Host' } })
    expect(decideRequest(world(one, { node: out })).do).toBe(expected)
  })

  test('without a slot a host that keeps the permission too long is held, and so gets its slot back', () => {
    const status = { ...permitted.status, host: { permission: 'Present' } } as MaintenanceRequestStatus
    const one = inPhase('Finishing', { status, spec: { want: 'Return', work: 'Host' } })
    expect(statusOf(decideRequest(world(one, { node: out })))).toMatchObject({
      phase: 'Held',
      held: { from: 'Finishing', reason: 'Unhealthy' },
      slot: heldSlot(3),
    })
  })

  test('a cordon that was left behind goes with the slot', () => {
    expect(decideRequest(world(inPhase('Finishing', permitted), { node: out })).do).toBe('patchNode')
  })
})

describe('a node that is gone', () => {
  test('ends the request, but not before the ledger has freed its slot', () => {
    expect(decideRequest(world(inPhase('Granted'), { ...listed, node: undefined })).do).toBe('nothing')
    const status = statusOf(decideRequest(world(inPhase('Granted'), { node: undefined })))
    expect(status).toMatchObject({ phase: 'Done', outcome: 'NodeGone' })
    expect(status.history?.at(-1)?.message).toBe('node a with UID uid-a does not exist')
  })
})

describe('done', () => {
  test('nothing is done until it is deleted; then it is let go', () => {
    const done = request('r', 'a', { status: { phase: 'Done', outcome: 'Completed' } })
    expect(decideRequest(world(done))).toEqual({ do: 'nothing', why: 'it is done' })
    const gone = request('r', 'a', { status: { phase: 'Done' }, ...deleted })
    expect(decideRequest(world(gone))).toEqual({ do: 'removeFinalizer' })
    expect(decideRequest(world(gone, { node: undefined }))).toEqual({ do: 'removeFinalizer' })
  })

  test('it is not let go while the ledger lists it: nobody else could tell why the slot is held', () => {
    const gone = request('r', 'a', { status: { phase: 'Done' }, ...deleted })
    const step = decideRequest(world(gone, listed))
    expect(step).toEqual({ do: 'nothing', why: 'the ledger frees its slot first' })
  })

  test('it goes home again while the ledger lists it and the node bears a mark of ours, even without a cordon', () => {
    const done = request('r', 'a', { status: { phase: 'Done', outcome: 'Completed' } })
    const said = saying(node('a'), { MaintenancePlanned: 'new fan' })
    expect(statusOf(decideRequest(world(done, { ...listed, node: said }))).phase).toBe('Finishing')
  })

  test('who still asks for it goes first: else the same request would be made anew', () => {
    const gone = request('r', 'a', { status: { phase: 'Done' }, ...deleted })
    expect(decideRequest(world(gone, { isStillAsked: true }))).toMatchObject({ do: 'nothing', lookAgainMs: 5_000 })
  })
})

describe('what other programs look for', () => {
  const spec = { marks: { labelsWhileOut: { state: 'out' }, labelsAfter: { state: 'back' }, annotationsOf: [] } }

  test('comes with the cordon', () => {
    const planned = saying(node('a'), { MaintenancePlanned: 'new fan' })
    const step = decideRequest(world(inPhase('Claimed'), { ...listed, node: planned }, spec))
    expect(step).toMatchObject({ do: 'patchNode', patch: { metadata: { labels: { state: 'out' } } } })
  })

  test('and goes with it', () => {
    const step = decideRequest(world(inPhase('Finishing'), { ...listed, node: cordonedNode('a') }, spec))
    expect(step).toMatchObject({ do: 'patchNode', patch: { metadata: { labels: { state: 'back' } } } })
  })

  test('a node that was taken over gets back what it was before somebody else cordoned it', () => {
    const planned = saying(node('a', { isCordoned: true }), { MaintenancePlanned: 'new fan' })
    const imported = inPhase('Claimed', {
      spec: { source: { kind: 'Imported', key: 'x' } },
      metadata: { annotations: { 'fettle.dev/imported-prior': 'false' } },
    })
    const step = decideRequest(world(imported, { ...listed, node: planned }))
    expect(step).toMatchObject({ patch: { metadata: { annotations: { 'fettle.dev/cordon-prior': 'false' } } } })
  })
})

describe('DaemonSets to stop', () => {
  const spec = { defaults: { drain: { stopDaemonSets: [{ namespace: 'shop', name: 'log' }] } } }
  const taint = { key: 'drain.fettle.dev/stopped-daemonsets', value: 'queue', effect: 'NoSchedule' }
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'log', uid: 'log', controller: true }
  const shipper = pod('log-1', { ownerReferences: [owner] })
  const known = (tolerations: object[] = []) =>
    new Map([['log', { metadata: { namespace: 'shop', name: 'log' }, spec: { template: { spec: { tolerations } } } }]])
  const here = { ...listed, podsOnNode: [shipper], daemonSets: known() }
  const tainted = { ...draining, spec: { ...draining.spec, taints: [taint] } }

  test('are kept from starting anew by the write that cordons, and are asked only then', () => {
    const planned = saying(node('a'), { MaintenancePlanned: 'new fan' })
    const cordon = decideRequest(world(inPhase('Claimed'), { ...here, node: planned }, spec))
    expect(cordon).toMatchObject({ do: 'patchNode', patch: { spec: { unschedulable: true, taints: [taint] } } })
    const joined = decideRequest(world(inPhase('Claimed'), { ...here, node: draining }, spec))
    expect(joined).toMatchObject({ do: 'patchNode', patch: { spec: { taints: [taint] } } })
    const drain = decideRequest(world(inPhase('Claimed'), { ...here, node: tainted }, spec))
    expect(drain).toMatchObject({ do: 'drain', plan: { askNow: [{ pod: shipper }] } })
  })

  test('are not stopped where nothing is cordoned or drained', () => {
    const step = (service: MaintenanceRequest['spec']['service'], one: NodeObject) =>
      decideRequest(world(inPhase('Claimed', { spec: { service } }), { ...here, node: one }, spec))
    expect(statusOf(step({ cordon: false, drain: true }, node('a')))).toMatchObject({ phase: 'Granted' })
    const planned = saying(cordonedNode('a'), { MaintenancePlanned: 'new fan' })
    expect(statusOf(step({ cordon: true, drain: false }, planned))).toMatchObject({ phase: 'Granted' })
  })

  test('may start anew in the write that gives the node back', () => {
    const out = { ...cordonedNode('a'), spec: { unschedulable: true, taints: [taint] } }
    const step = decideRequest(world(inPhase('Finishing'), { ...listed, node: out }, spec))
    expect(step).toMatchObject({ do: 'patchNode', patch: { spec: { unschedulable: null, taints: [] } } })
  })

  test('stay if they would start anew all the same, and the permission says so', () => {
    const stubborn = { ...here, node: tainted, daemonSets: known([{ operator: 'Exists' }]) }
    const granted = statusOf(decideRequest(world(inPhase('Claimed'), stubborn, spec)))
    const message = expect.stringMatching(/^all pods have left; DaemonSet shop\/log cannot be stopped: .*tolerations/)
    expect(granted).toMatchObject({ phase: 'Granted', history: [{ message }] })
    expect(granted.conditions).toContainEqual(expect.objectContaining({ type: 'Drained', status: 'True', message }))
  })
})

describe('the number of its slot', () => {
  const one = inPhase('Claimed', { status: { phase: 'Claimed', slot: heldSlot(3), conditions: [] } })

  test('is copied when the ledger has a higher one, or is another ledger', () => {
    expect(statusOf(decideRequest(world(one, { slot: slot('a', 9, 'r') }))).slot).toEqual(heldSlot(9))
    expect(statusOf(decideRequest(world(one, { ...listed, ledgerUID: 'new' }))).slot?.ledgerUID).toBe('new')
  })

  test('is never lowered: the ledger has to catch up first', () => {
    expect(decideRequest(world(one, { slot: slot('a', 2, 'r') }))).toMatchObject({ do: 'nothing' })
  })
})

describe('the lead time', () => {
  const spec = { timing: { ...timing, lead: '10m' } }
  const taken = { slot: { ...slot('a', 3, 'r'), takenAt: inMs(-60_000) } }
  const planned = saying(node('a'), { MaintenancePlanned: 'new fan' })

  test('announces, and waits with the cordon until it is over', () => {
    expect(decideRequest(world(inPhase('Claimed'), taken, spec)).do).toBe('patchNodeStatus')
    expect(decideRequest(world(inPhase('Claimed'), { ...taken, node: planned }, spec))).toEqual({
      do: 'nothing',
      why: 'it is announced; the cordon comes in 9m',
      lookAgainMs: 540_000,
    })
    expect(decideRequest(world(inPhase('Claimed'), { ...taken, node: planned, now: inMs(540_000) }, spec)).do).toBe(
      'patchNode',
    )
  })

  test('is over for who joins a node that is cordoned already', () => {
    expect(statusOf(decideRequest(world(inPhase('Claimed'), { ...taken, node: draining }, spec))).phase).toBe('Granted')
  })
})

describe('a drain that takes too long', () => {
  const late = { startedAt: inMs(-1_800_000), total: 2, left: 1, blockedBy: [] }
  const overdue = (
    onDeadline: 'Hold' | 'Requeue' | 'ForceDelete' | 'Continue',
    more: Partial<MaintenanceRequestStatus> = {},
  ) => {
    const status = { phase: 'Claimed' as const, slot: heldSlot(3), drain: late, ...more }
    return inPhase('Claimed', { spec: { drain: { onDeadline } }, status })
  }
  const parts = { ...listed, node: draining, podsOnNode: [pod('p')] }

  test('is held by default, with how many are left and why', () => {
    const status = statusOf(decideRequest(world(overdue('Hold'), parts)))
    expect(status).toMatchObject({
      phase: 'Held',
      held: { from: 'Claimed', reason: 'DrainDeadline', next: 'fettle node retry r, or fettle node release r' },
    })
    expect(status.held?.message).toBe('1 pods did not leave within 30m: still there: 1 pod')
    expect(status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Held', status: 'True', reason: 'DrainDeadline' }),
    )
  })

  test('begins the work all the same with Continue, and says that the node is not drained', () => {
    const status = statusOf(decideRequest(world(overdue('Continue'), parts)))
    expect(status.phase).toBe('Granted')
    expect(status.conditions?.map(({ type, status: is }) => `${type}=${is}`)).toEqual([
      'Drained=False',
      'PermissionGiven=True',
    ])
  })

  test('deletes what is left with ForceDelete, whatever stands against it', () => {
    const step = decideRequest(world(overdue('ForceDelete'), parts))
    expect(step).toMatchObject({ do: 'drain', plan: { askNow: [{ how: 'delete' }] } })
    const inTime = overdue('ForceDelete', { drain: { ...late, startedAt: inMs(-1_799_999) } })
    expect(decideRequest(world(inTime, parts))).toMatchObject({ do: 'drain', plan: { askNow: [{ how: 'evict' }] } })
  })

  test.for([
    [0, 300_000],
    [1, 600_000],
    [2, 1_200_000],
    [4, 3_600_000],
    [30, 3_600_000],
  ] as const)('gives the node back with Requeue; after %i times it is tried again in %i ms', ([count, backoffMs]) => {
    const requeue = count > 0 ? { requeue: { count, notBefore: earlier, isPending: false } } : {}
    const status = statusOf(decideRequest(world(overdue('Requeue', requeue), parts)))
    expect(status).toMatchObject({
      phase: 'Finishing',
      requeue: { count: count + 1, notBefore: inMs(backoffMs), isPending: true },
    })
    expect(status).not.toHaveProperty('drain')
  })

  test('a pod that goes in the last moment is in time', () => {
    expect(statusOf(decideRequest(world(overdue('Hold'), { ...parts, podsOnNode: [] }))).phase).toBe('Granted')
  })
})

describe('on its way back into the line', () => {
  const requeue = { count: 2, notBefore: inMs(600_000), isPending: true }
  const status = { phase: 'Finishing' as const, since: earlier, slot: heldSlot(3), requeue }

  test('the node is given back first, without proof, and then it waits again', () => {
    const one = inPhase('Finishing', { status })
    expect(decideRequest(world(one, { ...listed, node: cordonedNode('a', { isReady: false }) })).do).toBe('patchNode')
    const again = statusOf(decideRequest(world(one)))
    expect(again).toMatchObject({ phase: 'Queued', requeue: { count: 2, isPending: false } })
    expect(again).not.toHaveProperty('slot')
    expect(again.conditions).toContainEqual(expect.objectContaining({ type: 'SlotHeld', status: 'False' }))
  })

  test.for([
    ['taken back', returned],
    ['deleted', deleted],
  ] as const)('it ends there when it was %s meanwhile', ([, change]) => {
    const one = inPhase('Finishing', { ...change, status })
    expect(statusOf(decideRequest(world(one)))).toMatchObject({ phase: 'Done', outcome: 'Withdrawn' })
  })

  test('its next turn begins with a drain of its own', () => {
    const drain = { startedAt: earlier, total: 2, left: 1, blockedBy: [] }
    const one = request('r', 'a', { status: { phase: 'Queued', requeue: { ...requeue, isPending: false }, drain } })
    expect(statusOf(decideRequest(world(one, listed)))).not.toHaveProperty('drain')
  })
})

describe('what the node says of itself', () => {
  const shared = { slot: slot('a', 3, 'r', 'other') }
  const both = (mine: MaintenanceRequestStatus, theirs: MaintenanceRequestStatus) => {
    const one = inPhase('Granted', { status: mine })
    const other = request('other', 'a', { spec: { reason: 'another reason' }, status: theirs })
    return [one, other] as const
  }
  /** Applies what either of them wants to say, until neither wants anything more. */
  const settled = (requests: readonly MaintenanceRequest[]) => {
    let [live, patches] = [cordonedNode('a', { readySince: earlier }), 0]
    for (let round = 0; round < 8; round++)
      for (const one of requests) {
        const step = decideRequest(world(one, { ...shared, requests, node: live, podsOnNode: [pod('p')] }))
        if (step.do !== 'patchNodeStatus') continue
        const changes = step.patch.status.conditions as { type: string; message?: string; $patch?: string }[]
        const kept =
          live.status?.conditions?.filter(({ type }) => !changes.some((change) => change.type === type)) ?? []
        const added = changes.filter(({ $patch }) => !$patch) as unknown as typeof kept
        live = { ...live, status: { conditions: [...kept, ...added] } }
        patches++
      }
    const says = live.status?.conditions
      ?.filter(({ type }) => type !== 'Ready')
      .map(({ type, message }) => `${type}: ${message}`)
    return { says, patches }
  }
  const claimed = { phase: 'Claimed', slot: heldSlot(3) } as const
  const working: MaintenanceRequestStatus = { phase: 'Granted', since: inMs(0), slot: heldSlot(3), conditions: given }

  test.for<readonly [string, MaintenanceRequestStatus, MaintenanceRequestStatus, readonly string[]]>([
    ['both are at work', working, working, ['Drained: all pods have left', 'MaintenanceInProgress: new fan']],
    ['one is at work', claimed, working, ['Drained: all pods have left', 'MaintenanceInProgress: new fan']],
    ['none is at work', claimed, claimed, ['MaintenancePlanned: new fan', 'DrainInProgress: pods are asked to leave']],
    [
      'one is held and one at work',
      { ...working, phase: 'Held', held: { from: 'Granted', reason: 'WorkDeadline', message: 'm' } },
      working,
      ['Drained: all pods have left', 'MaintenanceInProgress: new fan'],
    ],
    [
      'one is on its way home',
      { ...working, phase: 'Finishing' },
      working,
      ['Drained: all pods have left', 'MaintenanceInProgress: another reason'],
    ],
  ])('is one thing for all who share it: %s', ([, mine, theirs, expected]) => {
    const { says, patches } = settled(both(mine, theirs))
    expect(says).toEqual(expected)
    expect(patches).toBe(1)
  })
})

describe('a reboot and other work on the same node', () => {
  const shared = { slot: slot('a', 3, 'r', 'other'), node: draining }
  const sharing = (
    work: 'Host' | 'Reboot' | 'External',
    theirs: 'Host' | 'Reboot' | 'External',
    status: MaintenanceRequestStatus,
  ) => {
    const one = inPhase('Claimed', { spec: { work } })
    const other = request('other', 'a', { spec: { work: theirs }, status: { slot: heldSlot(3), ...status } })
    const said = [one, other].some(({ status: is }) => is?.conditions?.length) ? atWork : draining
    const look = (which: MaintenanceRequest) =>
      decideRequest(world(which, { ...shared, node: said, requests: [which, other] }))
    const step = look(one)
    if (step.do !== 'writeStatus' || step.status.phase !== 'Claimed') return step
    // Why it waits is written once.
    const condition = step.status.conditions?.at(-1)
    const again = look({ ...one, status: step.status })
    expect(condition).toMatchObject({ type: 'PermissionGiven', status: 'False', reason: 'SharedSlot' })
    expect(again).toMatchObject({ do: 'nothing', why: condition?.message })
    return again
  }

  test.for(['Claimed', 'Granted', 'Rebooting', 'Held'] as const)('a reboot waits for work in %s', (phase) => {
    expect(sharing('Reboot', 'Host', { phase })).toMatchObject({
      do: 'nothing',
      why: expect.stringContaining('other is at work'),
    })
    expect(sharing('Reboot', 'External', { phase }).do).toBe('nothing')
  })

  test('a reboot goes when the work has ended, and beside another reboot', () => {
    expect(statusOf(sharing('Reboot', 'Host', { phase: 'Finishing' })).phase).toBe('Granted')
    expect(statusOf(sharing('Reboot', 'Reboot', { phase: 'Claimed' })).phase).toBe('Granted')
  })

  test.for(['Granted', 'Rebooting', 'Held'] as const)('work does not begin under a reboot in %s', (phase) => {
    expect(sharing('Host', 'Reboot', { phase, conditions: given })).toMatchObject({
      do: 'nothing',
      why: expect.stringContaining('other may reboot the node'),
    })
  })

  test('work does not wait for a reboot that has no permission yet: one of the two has to begin', () => {
    expect(statusOf(sharing('Host', 'Reboot', { phase: 'Claimed' })).phase).toBe('Granted')
  })
})

describe('the pods of the controller itself', () => {
  const ownPods = () => true
  const one = inPhase('Claimed')

  test('stay on the only node, and move when another node takes them', () => {
    const parts = { ...listed, node: draining, podsOnNode: [pod('p')], ownPods }
    expect(drainPlan(world(one, { ...parts, hasOtherNodes: false }), draining).left).toEqual([])
    expect(drainPlan(world(one, { ...parts, hasOtherNodes: true }), draining).left).toHaveLength(1)
  })
})

describe('a slot too many', () => {
  test('holds those that are not at work yet, and takes no further node out', () => {
    const step = decideRequest(world(inPhase('Claimed'), { ...listed, isExclusivityBroken: true }))
    const status = statusOf(step)
    expect(status.held).toMatchObject({ from: 'Claimed', reason: 'ExclusivityBroken' })
    const held = inPhase('Held', { status })
    expect(decideRequest(world(held, { ...listed, isExclusivityBroken: true })).do).toBe('nothing')
    expect(decideRequest(world(held, { ...listed, node: { ...draining, spec: {} } })).do).toBe('patchNode')
  })

  test('lets those go on that are at work', () => {
    const working = inPhase('Granted', {
      status: { phase: 'Granted', since: inMs(0), slot: heldSlot(3), conditions: given },
    })
    expect(decideRequest(world(working, { ...listed, node: atWork, isExclusivityBroken: true })).do).toBe('nothing')
  })
})
