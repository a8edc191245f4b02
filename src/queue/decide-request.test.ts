import { describe, expect, test } from 'vitest'
import type { MaintenanceRequest, MaintenanceRequestStatus } from '../api/index.ts'
import type { PodDisruptionBudget, PodObject } from '../kube/index.ts'
import { decideRequest, type RequestStep, type RequestWorld } from './decide-request.ts'
import { cordonedNode, earlier, heldSlot, node, noon, request, slot } from './fixture-world.ts'

const world = (one: MaintenanceRequest, parts: Partial<RequestWorld> = {}): RequestWorld => ({
  request: one,
  requests: [one],
  ledgerUID: 'uid-ledger',
  slot: undefined,
  node: node('a'),
  podsOnNode: [],
  budgets: [],
  waiting: undefined,
  now: noon,
  ...parts,
})
const inPhase = (phase: MaintenanceRequestStatus['phase'], more: Parameters<typeof request>[2] = {}) =>
  request('r', 'a', { status: { phase, since: earlier, slot: heldSlot(3) }, ...more })
const listed = { slot: slot('a', 3, 'r') }
const deleted = { metadata: { deletionTimestamp: noon } }
const returned = { spec: { want: 'Return' } } as const

function statusOf(step: RequestStep): MaintenanceRequestStatus {
  if (step.do !== 'writeStatus' && step.do !== 'drain') throw new Error(`it does not write: ${JSON.stringify(step)}`)
  return step.status
}

const pod = (name: string, metadata: object = {}): PodObject => ({
  metadata: {
    namespace: 'shop',
    name,
    uid: name,
    labels: { app: 'web' },
    ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'o', controller: true }],
    ...metadata,
  },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
})

describe('a new request', () => {
  test('is secured before anything else', () => {
    expect(decideRequest(world(request('r', 'a', { metadata: { finalizers: [] } })))).toEqual({ do: 'addFinalizer' })
    expect(decideRequest(world(request('r', 'gone', { metadata: { finalizers: [] } }), { node: undefined })).do).toBe(
      'addFinalizer',
    )
  })

  test('is not secured when it is being deleted already', () => {
    const step = decideRequest(
      world(request('r', 'a', { metadata: { finalizers: ['other'], deletionTimestamp: noon } })),
    )
    expect(statusOf(step)).toMatchObject({ phase: 'Done', outcome: 'Withdrawn' })
  })

  test('is accepted with who asked and why', () => {
    expect(statusOf(decideRequest(world(request('r', 'a'))))).toEqual({
      phase: 'Queued',
      since: noon,
      observedGeneration: 1,
      history: [{ time: noon, phase: 'Queued', reason: 'Accepted', message: 'asked by Person r: new fan' }],
    })
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

  test('it waits silently until the ledger has looked at it', () => {
    expect(decideRequest(world(request('r', 'a', { status: { phase: 'Queued' } }))).do).toBe('nothing')
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
  test('the node is cordoned before any pod is asked', () => {
    const step = decideRequest(world(inPhase('Claimed'), { ...listed, podsOnNode: [pod('p')] }))
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
      world(inPhase('Claimed'), { ...listed, node: cordonedNode('a'), podsOnNode: pods, budgets: [budget] }),
    )
    expect(step).toMatchObject({ do: 'drain', plan: { evictNow: [] } })
    const { drain, conditions } = statusOf(step)
    expect(drain).toMatchObject({ startedAt: noon, total: 12, left: 12 })
    expect(drain?.blockedBy).toHaveLength(10)
    expect(drain?.blockedBy[0]).toEqual({ pod: 'shop/p0', pdb: 'shop/web', neverPasses: true })
    expect(conditions).toMatchObject([{ type: 'Drained', status: 'False', reason: 'Blocked' }])
  })

  test('the drain remembers when it began and how many there were', () => {
    const drain = { startedAt: earlier, total: 5, left: 4, blockedBy: [] }
    const one = request('r', 'a', { status: { phase: 'Claimed', slot: heldSlot(3), drain } })
    const step = decideRequest(world(one, { ...listed, node: cordonedNode('a'), podsOnNode: [pod('p')] }))
    expect(statusOf(step).drain).toEqual({ startedAt: earlier, total: 5, left: 1, blockedBy: [] })
    expect(statusOf(step).conditions).toMatchObject([{ message: '1 of 5 pods are still there', reason: 'Draining' }])
  })

  test('a pod that is leaving still has to leave', () => {
    const leaving = pod('p', { deletionTimestamp: earlier })
    expect(
      decideRequest(world(inPhase('Claimed'), { ...listed, node: cordonedNode('a'), podsOnNode: [leaving] })).do,
    ).toBe('drain')
  })

  test('the work may begin once all have left', () => {
    const status = statusOf(decideRequest(world(inPhase('Claimed'), { ...listed, node: cordonedNode('a') })))
    expect(status).toMatchObject({ phase: 'Granted', slot: heldSlot(3), history: [{ message: 'all pods have left' }] })
    expect(status.conditions?.map(({ type, status: is }) => `${type}=${is}`)).toEqual([
      'Drained=True',
      'PermissionGiven=True',
    ])
  })

  test('a request that asks for neither cordon nor drain gets its permission at once', () => {
    const one = inPhase('Claimed', { spec: { service: { cordon: false, drain: false } }, status: { phase: 'Claimed' } })
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
  test('nothing is done, and new pods are left alone', () => {
    expect(
      decideRequest(world(inPhase('Granted'), { ...listed, node: cordonedNode('a'), podsOnNode: [pod('p')] })).do,
    ).toBe('nothing')
  })

  test('a cordon that was undone is repaired', () => {
    const undone = { ...cordonedNode('a'), spec: {} }
    expect(decideRequest(world(inPhase('Granted'), { ...listed, node: undone }))).toMatchObject({
      do: 'patchNode',
      patch: { spec: { unschedulable: true } },
    })
  })
})

describe('on its way home', () => {
  const permitted = {
    status: {
      phase: 'Finishing' as const,
      slot: heldSlot(3),
      conditions: [
        {
          type: 'PermissionGiven' as const,
          status: 'True' as const,
          reason: 'Granted',
          message: 'm',
          lastTransitionTime: earlier,
        },
      ],
    },
    ...returned,
  }

  test('the node is restored first, then the ledger frees the slot, then it is done', () => {
    const one = inPhase('Finishing', permitted)
    expect(decideRequest(world(one, { ...listed, node: cordonedNode('a') }))).toMatchObject({
      do: 'patchNode',
      patch: { spec: { unschedulable: null } },
    })
    expect(decideRequest(world(one, listed)).do).toBe('nothing')
    const status = statusOf(decideRequest(world(one)))
    expect(status).toMatchObject({ phase: 'Done', outcome: 'Completed' })
    expect(status).not.toHaveProperty('slot')
    expect(status.conditions?.find(({ type }) => type === 'SlotHeld')?.status).toBe('False')
  })

  test('it ends as Withdrawn when the work never began', () => {
    expect(statusOf(decideRequest(world(inPhase('Finishing', returned)))).outcome).toBe('Withdrawn')
  })

  test('the node stays cordoned for another request in the slot', () => {
    const other = request('other', 'a', { status: { phase: 'Granted', slot: heldSlot(3) } })
    const one = inPhase('Finishing', permitted)
    const parts = { node: cordonedNode('a'), requests: [one, other] }
    expect(decideRequest(world(one, { ...parts, slot: slot('a', 3, 'r', 'other') })).do).toBe('nothing')
    expect(statusOf(decideRequest(world(one, parts))).phase).toBe('Done')
  })

  test('a cordon that was left behind goes with the slot', () => {
    expect(decideRequest(world(inPhase('Finishing', permitted), { node: cordonedNode('a') })).do).toBe('patchNode')
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
})
