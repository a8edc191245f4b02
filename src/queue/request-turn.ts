import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceRequest,
  type MaintenanceRequestStatus,
  maintenanceBudgets,
  maintenanceRequests,
  verbAnnotations,
  type Waiting,
} from '../api/index.ts'
import {
  daemonSetsByUid,
  type EvictionPace,
  volumesOn,
  volumesToWaitFor,
  withdrawEvictionRequests,
} from '../drain/index.ts'
import { ApiError, hasCode, type PodObject, resources } from '../kube/index.ts'
import { drainPlan, volumesStatus } from './decide-drain.ts'
import { decideRequest, windowBypassed } from './decide-request.ts'
import { takeDrainTurn } from './drain-turn.ts'
import { isLockLeft } from './foreign-lock-turn.ts'
import type { Heartbeats } from './heartbeats.ts'
import { slotOf } from './ledger.ts'
import { liveNodeOf, livePodsOn, liveSlotOf } from './live-reads.ts'
import { controllerManager, finalizer, lastLetGo } from './names.ts'
import { canRunElsewhere } from './node-facts.ts'
import { isOpen } from './order.ts'
import { isoNow, type QueuePorts } from './ports.ts'
import { isAskedByAnnotation } from './reboot-annotation.ts'
import { noteRefusal } from './refusal-turn.ts'
import type { ReportPace } from './report-pace.ts'
import type { RequestWorld } from './request-steps.ts'
import { settingsOf, windowsOf } from './settings.ts'
import { podsByNode, requestsOfNode } from './views.ts'
import { windowsNow } from './windows/index.ts'

export interface RequestTurnParts {
  readonly ports: QueuePorts
  readonly pace: EvictionPace
  readonly reports: ReportPace
  readonly waiting: Omit<Waiting, 'since'> | undefined
}

/** Does the one next thing for a request. Answers when to look again even if nothing happens. */
export async function takeRequestTurn(
  parts: RequestTurnParts,
  name: string,
  signal: AbortSignal,
): Promise<{ readonly lookAgainMs: number } | undefined> {
  const { ports } = parts
  const request = ports.views.requests.get({ name })
  const world = request && worldOf(parts, request)
  if (!world) return undefined
  const step = decideRequest(world)
  const save = (status: MaintenanceRequestStatus) => writeStatus(ports, request, status, signal)
  // Without a slot it goes home unproven. That has to be so in the ledger itself, not only in an old view of it.
  if (step.do !== 'nothing' && isHomeless(world) && (await liveSlotOf(ports.client, name, signal)))
    return { lookAgainMs: 1_000 }
  switch (step.do) {
    case 'nothing':
      return step.lookAgainMs === undefined ? undefined : { lookAgainMs: step.lookAgainMs }
    case 'addFinalizer':
    case 'removeFinalizer':
      await writeFinalizers(ports, request, step.do === 'addFinalizer', signal)
      return undefined
    case 'removeVerb':
      await removeVerb(ports, request, signal)
      return undefined
    case 'writeStatus':
      if (!(await isTrueLive(ports, world, step.status, signal))) return { lookAgainMs: 1_000 }
      if (leavesLine(request, step.status) && !(await shutOut(ports, request, signal))) return { lookAgainMs: 1_000 }
      if (await waitsForVolumes(ports, world, step.status, signal)) return { lookAgainMs: 5_000 }
      if (step.withdraw) await withdrawEvictionRequests(ports.client, step.withdraw, signal)
      await writeStatus(ports, request, step.status, signal)
      return undefined
    case 'patchNode': {
      const refused = await patchNode(ports, request, { type: 'merge', body: step.patch }, {}, signal)
      if (refused) return noteRefusal(ports, request, 'NodeRefused', refused, save)
      ports.log.info(
        { request: name, node: request.spec.nodeName, unschedulable: step.patch.spec?.unschedulable },
        step.why,
      )
      tellOfRepair(ports, world, step.patch.metadata.annotations === undefined && !world.node?.spec?.unschedulable)
      return undefined
    }
    case 'patchNodeStatus': {
      const patch = { type: 'strategic', body: step.patch } as const
      const refused = await patchNode(ports, request, patch, { subresource: 'status' }, signal)
      return refused && noteRefusal(ports, request, 'NodeStatusRefused', refused, save)
    }
    case 'drain':
      return takeDrainTurn(parts, request, step, save, signal)
  }
}

/** On its way home, and as far as is known nobody holds a slot for it any more. */
function isHomeless({ request, node, slot }: RequestWorld): boolean {
  return request.status?.phase === 'Finishing' && node !== undefined && slot === undefined
}

function worldOf({ ports, pace, waiting }: RequestTurnParts, request: MaintenanceRequest): RequestWorld | undefined {
  const { views, clock } = ports
  const { nodeName, nodeUID, work } = request.spec
  const budget = views.budgets.get({ name: budgetName })
  // Without the ledger nobody knows who has a slot.
  if (!budget) return undefined
  const node = views.nodes.get({ name: nodeName })
  const isBroken = budget.status?.conditions?.some(
    ({ type, status }) => type === 'ExclusivityBroken' && status === 'True',
  )
  const isAtWork = work !== 'External' && ['Granted', 'Rebooting', 'Finishing'].includes(request.status?.phase ?? '')
  const isStillAsked =
    request.metadata.deletionTimestamp !== undefined &&
    (isAskedByAnnotation(request, node) || isLockLeft(ports, request, budget))
  const lease = views.heartbeats.get({ name: nodeName, namespace: ports.heartbeats.namespace })
  return {
    request,
    requests: requestsOfNode(views, nodeUID),
    settings: settingsOf(request, budget.spec),
    ledgerUID: budget.metadata.uid ?? '',
    isExclusivityBroken: isBroken ?? false,
    slot: slotOf(budget.status, request.metadata.name ?? ''),
    node: node?.metadata.uid === nodeUID ? node : undefined,
    podsOnNode: views.pods.byIndex(podsByNode, nodeName),
    offersEvictionRequest: ports.offersEvictionRequest,
    ...(request.status?.phase === 'Claimed' ? drainWorld(ports, pace, nodeName) : { budgets: [] }),
    ...(isStillAsked ? { isStillAsked } : {}),
    ...(passesClosedWindow(ports, request, budget.spec) ? { passesClosedWindow: true } : {}),
    ...(isAtWork ? heartbeatWorld(ports.heartbeats.listen(nodeName, lease)) : {}),
    waiting,
    now: isoNow(clock),
  }
}

function heartbeatWorld({ silentMs, isHeard }: ReturnType<Heartbeats['listen']>) {
  return { silentMs, isUnheard: !isHeard }
}

function passesClosedWindow(
  { windows, clock }: QueuePorts,
  request: MaintenanceRequest,
  budget: MaintenanceBudget['spec'],
): boolean {
  if (!request.spec.bypassWindow || request.status?.phase !== 'Queued') return false
  return !windowsNow(windows, clock.now()).stateFor(windowsOf(request, budget)).isOpen
}

/** What only a drain looks at; most turns are of requests that wait. */
function drainWorld(
  { views, ownNamespace }: QueuePorts,
  pace: EvictionPace,
  nodeName: string,
): Partial<RequestWorld> & Pick<RequestWorld, 'budgets'> {
  const ownPods = (pod: PodObject) => isOwnPod(pod, ownNamespace)
  return {
    budgets: [...views.disruptionBudgets.values()],
    daemonSets: daemonSetsByUid(views.daemonSets.values()),
    ownPods,
    hasOtherNodes: canRunElsewhere(views.pods.byIndex(podsByNode, nodeName).filter(ownPods), nodeName, views.nodes),
    answers: pace.answers(),
  }
}

/** A pod of this controller, or of its replicas. */
function isOwnPod({ metadata }: PodObject, ownNamespace: string): boolean {
  return (
    metadata.namespace === ownNamespace &&
    metadata.labels?.['app.kubernetes.io/name'] === 'fettle' &&
    metadata.labels['app.kubernetes.io/component'] === 'controller'
  )
}

/**
 * Ending a request because its node is gone, and letting the work begin because its pods are, cannot be taken back:
 * a node that was made a moment ago, or a pod that came just before the cordon, may not have reached the caches yet.
 * Nor may an old ledger bring a request back that is over, or end one that is at work.
 */
async function isTrueLive(
  { client }: QueuePorts,
  world: RequestWorld,
  status: MaintenanceRequestStatus,
  signal: AbortSignal,
): Promise<boolean> {
  const { request, node } = world
  const { nodeName, nodeUID } = request.spec
  if (status.phase === 'Finishing' && !isOpen(request))
    return (await liveSlotOf(client, request.metadata.name ?? '', signal)) !== undefined
  // A ledger of long ago may still list it, or not list it yet.
  if (status.phase === 'Claimed' && request.status?.phase === 'Queued')
    return (await liveSlotOf(client, request.metadata.name ?? '', signal))?.token === status.slot?.token
  if (status.outcome === 'NodeGone') return (await liveNodeOf(client, nodeName, signal))?.metadata.uid !== nodeUID
  if (!isDrainedNow(request, status) || !node) return true
  return drainPlan(world, node, await livePodsOn(client, nodeName, signal)).left.length === 0
}

/** It never had a turn, or has none now, and gets none any more. With a node that is gone its slot goes as well. */
function leavesLine({ status: before }: MaintenanceRequest, { phase, outcome }: MaintenanceRequestStatus): boolean {
  return before?.phase === 'Queued' && phase === 'Done' && outcome !== 'NodeGone'
}

/**
 * A claim may be on its way that was decided while the request was still wanted. It holds only for the ledger as it was, so it
 * fails once that has changed; and whoever decides later sees that the request is not wanted any more. Otherwise a request
 * could be over, and removed, before its slot is stored, and nobody would free that slot. Answers whether it has none.
 */
async function shutOut(
  { client }: QueuePorts,
  { metadata }: MaintenanceRequest,
  signal: AbortSignal,
): Promise<boolean> {
  const { name = '', uid, resourceVersion } = metadata
  // With its version, because what is there already is not written again, and changes nothing.
  const body = { metadata: { annotations: { [lastLetGo]: `${name} ${uid} ${resourceVersion}` } } }
  const options = { fieldManager: controllerManager, signal }
  const ref = { name: budgetName }
  const ledger = await client.patch<MaintenanceBudget>(maintenanceBudgets, ref, { type: 'merge', body }, options)
  return slotOf(ledger.status, name) === undefined
}

/** A pod is gone before its volumes are. Who wants to wait for them is told which are left. */
async function waitsForVolumes(
  ports: QueuePorts,
  world: RequestWorld,
  status: MaintenanceRequestStatus,
  signal: AbortSignal,
): Promise<boolean> {
  const { request, settings, node } = world
  if (!settings.drain.waitForVolumes || !node || !isDrainedNow(request, status)) return false
  const attached = await volumesOn(ports.client, request.spec.nodeName, signal)
  const message = volumesToWaitFor(drainPlan(world, node), attached)
  if (message === undefined) return false
  const waiting = volumesStatus(world, message)
  if (waiting) await writeStatus(ports, request, waiting, signal)
  return true
}

/** The write that lets the work begin because nothing is left to drain. */
function isDrainedNow(request: MaintenanceRequest, { phase, conditions }: MaintenanceRequestStatus): boolean {
  const isDrained = conditions?.some(({ type, status }) => type === 'Drained' && status === 'True') ?? false
  return phase === 'Granted' && request.status?.phase === 'Claimed' && isDrained && request.spec.service.drain
}

/** Answers what the API server has against it, if that will not change by asking again. */
async function patchNode(
  { client }: QueuePorts,
  request: MaintenanceRequest,
  patch: Parameters<QueuePorts['client']['patch']>[2],
  options: { readonly subresource?: 'status' },
  signal: AbortSignal,
): Promise<ApiError | undefined> {
  const ref = { name: request.spec.nodeName }
  const all = { ...options, fieldManager: controllerManager, signal, answer: 'metadata' } as const
  try {
    await client.patch(resources.nodes, ref, patch, all)
    return undefined
  } catch (error) {
    if (error instanceof ApiError && hasCode(error, 'Forbidden', 'Invalid', 'BadRequest', 'TooLarge')) return error
    throw error
  }
}

/** Somebody undid our cordon while the node is out: it is put back, and they hear of it. */
function tellOfRepair({ recorder }: QueuePorts, { request, slot }: RequestWorld, isRepair: boolean): void {
  if (!isRepair || !slot) return
  const { nodeName, nodeUID } = request.spec
  recorder.record({
    regarding: { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUID },
    type: 'Warning',
    reason: 'MaintenanceCordonedAgain',
    action: 'Maintain',
    note: `somebody uncordoned the node during ${request.metadata.name}; \`fettle node release\` ends it`,
  })
}

async function writeFinalizers(
  ports: QueuePorts,
  request: MaintenanceRequest,
  isAdding: boolean,
  signal: AbortSignal,
): Promise<void> {
  const others = (request.metadata.finalizers ?? []).filter((one) => one !== finalizer)
  await patchMetadata(ports, request, { finalizers: isAdding ? [...others, finalizer] : others }, signal)
}

async function removeVerb(ports: QueuePorts, request: MaintenanceRequest, signal: AbortSignal): Promise<void> {
  const annotations = Object.fromEntries(Object.values(verbAnnotations).map((key) => [key, null]))
  await patchMetadata(ports, request, { annotations }, signal)
}

async function patchMetadata(
  { client }: QueuePorts,
  request: MaintenanceRequest,
  change: object,
  signal: AbortSignal,
): Promise<void> {
  const { name = '', resourceVersion, uid } = request.metadata
  const body = { metadata: { resourceVersion, uid, ...change } }
  await client.patch(
    maintenanceRequests,
    { name },
    { type: 'merge', body },
    { fieldManager: controllerManager, signal },
  )
}

async function writeStatus(
  ports: QueuePorts,
  request: MaintenanceRequest,
  status: MaintenanceRequestStatus,
  signal: AbortSignal,
): Promise<void> {
  await ports.client.replace<MaintenanceRequest>(
    maintenanceRequests,
    { ...request, status },
    { subresource: 'status', fieldManager: controllerManager, signal },
  )
  if (status.phase === request.status?.phase) return
  const line = status.history?.at(-1)
  const { nodeName, nodeUID } = request.spec
  ports.log.info(
    { request: request.metadata.name, node: nodeName, phase: status.phase, reason: line?.reason },
    line?.message ?? '',
  )
  ports.recorder.record({
    regarding: { apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUID },
    type: status.phase === 'Held' || line?.reason === windowBypassed ? 'Warning' : 'Normal',
    reason: `Maintenance${line?.reason === windowBypassed ? line.reason : status.phase}`,
    action: 'Maintain',
    note: `${request.metadata.name}: ${line?.message ?? status.phase}`,
  })
}
