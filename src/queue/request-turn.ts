import { isDeepStrictEqual } from 'node:util'
import {
  budgetName,
  type MaintenanceRequest,
  type MaintenanceRequestStatus,
  maintenanceRequests,
  type Waiting,
} from '../api/index.ts'
import { evictPods, planDrain } from '../drain/index.ts'
import { resources } from '../kube/index.ts'
import { decideRequest, type RequestStep } from './decide-request.ts'
import type { EvictionPace } from './eviction-pace.ts'
import { slotOf } from './ledger.ts'
import { liveNodeOf, livePodsOn } from './live-reads.ts'
import { controllerManager, finalizer } from './names.ts'
import { isoNow, type QueuePorts } from './ports.ts'
import { podsByNode } from './views.ts'

export interface RequestTurnParts {
  readonly ports: QueuePorts
  readonly pace: EvictionPace
  readonly waiting: Omit<Waiting, 'since'> | undefined
}

/** Does the one next thing for a request. Answers when to look again even if nothing happens. */
export async function takeRequestTurn(
  parts: RequestTurnParts,
  name: string,
  signal: AbortSignal,
): Promise<{ readonly lookAgainMs: number } | undefined> {
  const request = parts.ports.views.requests.get({ name })
  if (!request) return undefined
  const step = stepFor(parts, request)
  switch (step.do) {
    case 'nothing':
      return undefined
    case 'addFinalizer':
    case 'removeFinalizer':
      await writeFinalizers(parts.ports, request, step.do === 'addFinalizer', signal)
      return undefined
    case 'writeStatus':
      if (!(await isTrueLive(parts.ports, request, step.status, signal))) return { lookAgainMs: 1_000 }
      await writeStatus(parts.ports, request, step.status, signal)
      return undefined
    case 'patchNode': {
      const ref = { name: request.spec.nodeName }
      await parts.ports.client.patch(
        resources.nodes,
        ref,
        { type: 'merge', body: step.patch },
        { fieldManager: controllerManager, signal },
      )
      parts.ports.log.info(
        { request: name, node: request.spec.nodeName, unschedulable: step.patch.spec?.unschedulable },
        step.why,
      )
      return undefined
    }
    case 'drain':
      return drain(parts, request, step, signal)
  }
}

function stepFor({ ports, waiting }: RequestTurnParts, request: MaintenanceRequest): RequestStep {
  const { views, clock } = ports
  const { nodeName, nodeUID } = request.spec
  const budget = views.budgets.get({ name: budgetName })
  const node = views.nodes.get({ name: nodeName })
  return decideRequest({
    request,
    requests: [...views.requests.values()],
    ledgerUID: budget?.metadata.uid ?? '',
    slot: slotOf(budget?.status, request.metadata.name ?? ''),
    node: node?.metadata.uid === nodeUID ? node : undefined,
    podsOnNode: views.pods.byIndex(podsByNode, nodeName),
    budgets: [...views.disruptionBudgets.values()],
    waiting,
    now: isoNow(clock),
  })
}

/**
 * Ending a request because its node is gone, and letting the work begin because its pods are, cannot be taken back:
 * a node that was made a moment ago, or a pod that came just before the cordon, may not have reached the caches yet.
 */
async function isTrueLive(
  { client }: QueuePorts,
  request: MaintenanceRequest,
  { phase, outcome }: MaintenanceRequestStatus,
  signal: AbortSignal,
): Promise<boolean> {
  const { nodeName, nodeUID, service } = request.spec
  if (outcome === 'NodeGone') return (await liveNodeOf(client, nodeName, signal))?.metadata.uid !== nodeUID
  if (phase !== 'Granted' || request.status?.phase === 'Granted' || !service.drain) return true
  return planDrain(await livePodsOn(client, nodeName, signal), []).left.length === 0
}

async function drain(
  { ports, pace }: RequestTurnParts,
  request: MaintenanceRequest,
  step: Extract<RequestStep, { do: 'drain' }>,
  signal: AbortSignal,
): Promise<{ readonly lookAgainMs: number }> {
  const { client, clock } = ports
  const nowMs = clock.now()
  // Budgets that seem to have nothing to give are asked now and then all the same: the API server knows best.
  const refused = step.plan.refusals.filter(({ neverPasses, budget }) => budget && !neverPasses).map(({ pod }) => pod)
  const askable = pace.due([...step.plan.evictNow, ...refused.slice(0, 1)], nowMs)
  const wasStarted = request.status?.drain !== undefined
  const isNews = !isDeepStrictEqual(request.status?.drain, step.status.drain)
  // The intention first: whoever takes over sees that a drain is under way.
  if (!wasStarted || (isNews && pace.mayReport(request.metadata.name ?? '', nowMs))) {
    await writeStatus(ports, request, step.status, signal)
    if (!wasStarted) return { lookAgainMs: 0 }
  }
  const results = await evictPods(client, askable.pods, signal)
  pace.note(results, clock.now())
  for (const result of results)
    if (result.result === 'failed')
      ports.log.warn({ pod: podName(result.pod), why: result.why }, 'a pod could not be evicted')
  return { lookAgainMs: isNews ? 1_000 : Math.min(askable.nextMs ?? 5_000, 5_000) }
}

function podName(pod: { readonly metadata: { readonly namespace?: string; readonly name?: string } }): string {
  return `${pod.metadata.namespace}/${pod.metadata.name}`
}

async function writeFinalizers(
  ports: QueuePorts,
  request: MaintenanceRequest,
  isAdding: boolean,
  signal: AbortSignal,
): Promise<void> {
  const { name = '', resourceVersion, uid, finalizers = [] } = request.metadata
  const others = finalizers.filter((one) => one !== finalizer)
  const body = { metadata: { resourceVersion, uid, finalizers: isAdding ? [...others, finalizer] : others } }
  await ports.client.patch(
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
    type: 'Normal',
    reason: `Maintenance${status.phase}`,
    action: 'Maintain',
    note: `${request.metadata.name}: ${line?.message ?? status.phase}`,
  })
}
