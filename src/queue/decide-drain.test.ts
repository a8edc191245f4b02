import { describe, expect, test } from 'vitest'
import type { MaintenanceRequest, MaintenanceRequestStatus } from '../api/index.ts'
import type { PodDisruptionBudget } from '../kube/index.ts'
import { volumesStatus } from './decide-drain.ts'
import { decideRequest } from './decide-request.ts'
import { budget, condition, cordonedNode, earlier, heldSlot, node, noon, pod, request, slot } from './fixture-world.ts'
import type { RequestStep, RequestWorld } from './request-steps.ts'
import { settingsOf } from './settings.ts'

const inMs = (ms: number) => new Date(Date.parse(noon) + ms).toISOString()
const minute = 60_000

const world = (one: MaintenanceRequest, parts: Partial<RequestWorld> = {}): RequestWorld => ({
  request: one,
  requests: [one],
  settings: settingsOf(one, budget().spec),
  ledgerUID: 'uid-ledger',
  isExclusivityBroken: false,
  slot: slot('a', 3, 'r'),
  node: draining,
  podsOnNode: [],
  budgets: [],
  waiting: undefined,
  now: noon,
  ...parts,
})

function saying(one: ReturnType<typeof node>, messages: Readonly<Record<string, string>>) {
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
/** In service, and it says what is planned. */
const planned = saying(node('a'), { MaintenancePlanned: 'new fan' })

const claimed = (
  drain: NonNullable<MaintenanceRequest['spec']['drain']> = {},
  status: Partial<MaintenanceRequestStatus> = {},
) => request('r', 'a', { spec: { drain }, status: { phase: 'Claimed', since: earlier, slot: heldSlot(3), ...status } })
const began = (ms: number, more: object = {}) => ({
  drain: { startedAt: inMs(ms), total: 2, left: 1, blockedBy: [], ...more },
})

function statusOf(step: RequestStep): MaintenanceRequestStatus {
  if (step.do !== 'writeStatus' && step.do !== 'drain') throw new Error(`it does not write: ${JSON.stringify(step)}`)
  return step.status
}

describe('a forced drain', () => {
  const keeps = pod('db-0', { annotations: { 'fettle.dev/keep-data': 'true' } })
  const finalized = pod('job-1', { deletionTimestamp: inMs(-4 * minute), finalizers: ['example.dev/archive'] })
  const undying = pod('web-1', { deletionTimestamp: inMs(-4 * minute), deletionGracePeriodSeconds: 30 })
  const forced = (overdueMs: number, podsOnNode: RequestWorld['podsOnNode'], gracePeriodMax?: string) =>
    decideRequest(
      world(
        claimed(
          { onDeadline: 'ForceDelete', ...(gracePeriodMax ? { gracePeriodMax } : {}) },
          began(-30 * minute - overdueMs),
        ),
        { podsOnNode },
      ),
    )
  const limit = 5 * minute + 30_000

  test.for([
    [
      'keeps its data',
      keeps,
      'shop/db-0 (annotation fettle.dev/keep-data says that its data must not be lost: save it, then delete the pod yourself or take the annotation away)',
    ],
    ['has a finalizer', finalized, 'shop/job-1 (it is deleted, but has finalizers: example.dev/archive)'],
    ['does not stop', undying, 'shop/web-1 (it is deleted, but its containers do not stop)'],
  ] as const)('ends as Held five minutes after the grace period of a pod that %s, and names it', ([, one, named]) => {
    expect(forced(limit - 1, [one]).do).toBe('drain')
    expect(statusOf(forced(limit, [one])).held).toEqual({
      from: 'Claimed',
      reason: 'DrainDeadline',
      message: `1 pods did not leave within 30m, and are still there after everything was deleted: ${named}`,
      next: 'fettle node retry r, or fettle node release r',
    })
  })

  test('gives each pod the grace that it was promised, and no more than is allowed', () => {
    const slow = { ...pod('slow'), spec: { terminationGracePeriodSeconds: 3600 } }
    expect(forced(65 * minute - 1, [keeps, slow]).do).toBe('drain')
    expect(statusOf(forced(65 * minute, [keeps, slow])).phase).toBe('Held')
    expect(statusOf(forced(6 * minute, [keeps, slow], '1m')).phase).toBe('Held')
    const promised = pod('promised', { deletionTimestamp: noon, deletionGracePeriodSeconds: 600 })
    expect(forced(15 * minute - 1, [promised], '1m').do).toBe('drain')
  })

  test('lets the work begin when the last one is gone, however late', () => {
    expect(statusOf(forced(90 * minute, [])).phase).toBe('Granted')
  })
})

describe('volumes that are still attached', () => {
  const message = 'all pods have left, but volumes are still attached: pv-1'
  const attached = condition('Drained', 'False', { reason: 'VolumesAttached', message })

  test('set the deadline going on a node that was empty from the start, and once only', () => {
    const status = volumesStatus(world(claimed()), message)
    expect(status).toMatchObject({
      drain: { startedAt: noon, total: 0, left: 0, blockedBy: [] },
      conditions: [{ type: 'Drained', status: 'False', reason: 'VolumesAttached', message }],
    })
    expect(volumesStatus(world(claimed({}, status)), message)).toBeUndefined()
  })

  test('set it going after a retry, though they were told of before', () => {
    expect(volumesStatus(world(claimed({}, { conditions: [attached] })), message)?.drain?.startedAt).toBe(noon)
  })

  test('do not set it going anew after a drain, or when others are attached', () => {
    const one = claimed({}, { ...began(-60_000), conditions: [attached] })
    expect(volumesStatus(world(one), 'others')?.drain).toEqual({
      startedAt: inMs(-60_000),
      total: 2,
      left: 0,
      blockedBy: [],
    })
  })

  const waits = (onDeadline: 'Hold' | 'ForceDelete', lateMs: number) =>
    decideRequest(world(claimed({ onDeadline }, { ...began(-30 * minute - lateMs), conditions: [attached] })))

  test('are not waited for longer than the deadline, and are named', () => {
    expect(statusOf(waits('Hold', -1)).phase).toBe('Granted')
    expect(statusOf(waits('Hold', 0)).held?.message).toBe(`volumes were not detached within 30m: ${message}`)
  })

  test('have their time after a forced drain as well', () => {
    expect(statusOf(waits('ForceDelete', 5 * minute - 1)).phase).toBe('Granted')
    expect(statusOf(waits('ForceDelete', 5 * minute)).phase).toBe('Held')
  })
})

describe('a request that asks for no drain', () => {
  const service = { cordon: true, drain: false }
  const cordoned = request('r', 'a', { spec: { service }, status: { phase: 'Claimed', slot: heldSlot(3) } })
  const said = saying(cordonedNode('a'), { MaintenancePlanned: 'new fan' })
  const here = { node: said, podsOnNode: [pod('p')] }

  test('gets its permission, and nobody reads that the node is drained', () => {
    const status = statusOf(decideRequest(world(cordoned, here)))
    expect(status).toMatchObject({ phase: 'Granted', history: [{ reason: 'NotRequested' }] })
    expect(status.conditions).toMatchObject([
      { type: 'Drained', status: 'False', reason: 'NotRequested', message: 'no drain was asked for' },
      { type: 'PermissionGiven', status: 'True' },
    ])
    const granted = { ...cordoned, status: { ...status, since: noon } }
    const step = decideRequest(world(granted, here))
    expect(step).toMatchObject({
      do: 'patchNodeStatus',
      patch: {
        status: { conditions: [{ $patch: 'delete', type: 'MaintenancePlanned' }, { type: 'MaintenanceInProgress' }] },
      },
    })
  })

  test('does not say that pods are asked to leave, unless somebody else in the slot asks them', () => {
    const saysOf = (service: MaintenanceRequest['spec']['service']) => {
      const other = request('other', 'a', { spec: { service }, status: { phase: 'Claimed', slot: heldSlot(3) } })
      const parts = { ...here, requests: [cordoned, other], slot: slot('a', 3, 'r', 'other') }
      return decideRequest(world(cordoned, parts))
    }
    expect(saysOf({ cordon: true, drain: true })).toMatchObject({
      do: 'patchNodeStatus',
      patch: { status: { conditions: [{ type: 'DrainInProgress' }] } },
    })
    expect(statusOf(saysOf(service)).phase).toBe('Granted')
  })
})

describe('before the cordon', () => {
  const never: PodDisruptionBudget = {
    metadata: { namespace: 'shop', name: 'web', generation: 1 },
    spec: { maxUnavailable: 0, selector: {} },
  }
  const single: PodDisruptionBudget = {
    ...never,
    spec: { minAvailable: 1, selector: {} },
    status: { observedGeneration: 1, disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 1, expectedPods: 1 },
  }
  const owner = { apiVersion: 'postgresql.cnpg.io/v1', kind: 'Cluster', name: 'db', uid: 'db', controller: true }
  const here = { node: planned, podsOnNode: [pod('p'), pod('free', { namespace: 'other' })], budgets: [never] }
  const why = /^PodDisruptionBudget shop\/web allows no disruption, ever: .*; until then the node is not cordoned$/

  test('a budget that can never pass keeps the node in service and all its pods: nobody is asked', () => {
    const step = decideRequest(world(claimed(), here))
    expect(step).toMatchObject({ do: 'drain', plan: { askNow: [], askLater: [] } })
    expect(statusOf(step)).toMatchObject({
      drain: { startedAt: noon, total: 2, left: 2, blockedBy: [{ pod: 'shop/p', pdb: 'shop/web', neverPasses: true }] },
      conditions: [{ type: 'Drained', reason: 'Blocked', message: expect.stringMatching(why) }],
    })
  })

  test('the deadline decides, and the node is still in service', () => {
    const late = (onDeadline: 'Hold' | 'Requeue') =>
      statusOf(decideRequest(world(claimed({ onDeadline }, began(-30 * minute)), here)))
    expect(late('Hold').held).toMatchObject({
      reason: 'DrainDeadline',
      message: expect.stringMatching(
        /^2 pods did not leave within 30m: PodDisruptionBudget shop\/web .* not cordoned$/,
      ),
    })
    expect(late('Requeue')).toMatchObject({ phase: 'Finishing', requeue: { count: 1, isPending: true } })
    const held = { ...claimed(), status: { history: [], ...late('Hold') } }
    expect(decideRequest(world(held, here)).do).toBe('nothing')
  })

  test('the node is cordoned once the budget may pass, or nobody is in its care', () => {
    for (const budgets of [[], [{ ...never, spec: { maxUnavailable: 1, selector: {} } }]])
      expect(decideRequest(world(claimed({}, began(-60_000)), { ...here, budgets })).do).toBe('patchNode')
  })

  test.for(['ForceDelete', 'Continue'] as const)('%s goes on after its deadline anyhow, so it begins', (onDeadline) => {
    expect(decideRequest(world(claimed({ onDeadline }), here)).do).toBe('patchNode')
  })

  test('a node that somebody else in the slot has cordoned is drained as far as it goes', () => {
    const step = decideRequest(world(claimed(), { ...here, node: draining }))
    expect(step).toMatchObject({ do: 'drain', plan: { askNow: [{ pod: { metadata: { name: 'free' } } }] } })
  })

  test('the budget of a primary may pass: its operator moves it when it sees the cordon', () => {
    const primary = pod('p', { ownerReferences: [owner] })
    const parts = { ...here, podsOnNode: [primary], budgets: [single] }
    expect(decideRequest(world(claimed(), parts)).do).toBe('patchNode')
    expect(decideRequest(world(claimed(), { ...parts, podsOnNode: [pod('p')] })).do).toBe('drain')
    expect(decideRequest(world(claimed(), { ...parts, budgets: [never] })).do).toBe('drain')
  })
})

describe('what pods were told by an EvictionRequest', () => {
  const told = (reason: string) => ({ conditions: [condition('Drained', 'False', { reason })] })
  const home = (reason: string) =>
    request('r', 'a', { status: { phase: 'Finishing', since: earlier, slot: heldSlot(3), ...told(reason) } })
  const here = { podsOnNode: [pod('p')], offersEvictionRequest: true, node: cordonedNode('a') }

  test.for(['Draining', 'Blocked', 'VolumesAttached', 'NotDrained'])(
    'is taken back on the way home before the node is given back: %s',
    (reason) => {
      const step = decideRequest(world(home(reason), here))
      expect(step).toMatchObject({ do: 'writeStatus', withdraw: here.podsOnNode, status: { phase: 'Finishing' } })
      expect(statusOf(step).conditions).toMatchObject([{ type: 'Drained', status: 'False', reason: 'Withdrawn' }])
      // Until that is stored it is done again; from then on it is not.
      expect(decideRequest(world({ ...home(reason), status: statusOf(step) }, here)).do).toBe('patchNode')
    },
  )

  test('is taken back on the way back into the line, and when a person releases it', () => {
    const requeued = { ...home('Blocked').status, requeue: { count: 1, notBefore: noon, isPending: true } }
    const released = { ...home('Blocked').status, released: { as: 'Released' as const } }
    for (const status of [requeued, released])
      expect(
        decideRequest(world(request('r', 'a', { status: { phase: 'Finishing', ...status } }), here)),
      ).toMatchObject({
        withdraw: here.podsOnNode,
      })
  })

  test.for<readonly [string, MaintenanceRequest, Partial<RequestWorld>]>([
    ['the server has none', home('Draining'), { offersEvictionRequest: false }],
    ['no drain began', home('NotRequested'), {}],
    ['all have left', home('Draining'), { podsOnNode: [] }],
  ])('is nothing if %s', ([, one, parts]) => {
    expect(decideRequest(world(one, { ...here, ...parts }))).not.toHaveProperty('withdraw')
  })

  test('stays while somebody else in the slot still means it', () => {
    const one = home('Draining')
    const sharing = (phase: 'Claimed' | 'Finishing') => {
      const other = request('other', 'a', { status: { phase, slot: heldSlot(3) } })
      return decideRequest(world(one, { ...here, requests: [one, other], slot: slot('a', 3, 'r', 'other') }))
    }
    expect(sharing('Claimed')).not.toHaveProperty('withdraw')
    expect(sharing('Finishing')).toHaveProperty('withdraw')
  })
})
