import type { PodDisruptionBudget, PodObject } from '../kube/index.ts'
import { budgetsOf, drawsFrom, type Refusal, refusalOf } from './disruption-budgets.ts'

/** What happens to one pod when its node is drained. */
export interface PodFate {
  readonly pod: PodObject
  /** stay: is not moved. leaving: already on its way. evict: is asked to leave. refuse: needs a person. */
  readonly fate: 'stay' | 'leaving' | 'evict' | 'refuse'
  /** One sentence. */
  readonly why: string
}

export interface DrainPlan {
  readonly fates: readonly PodFate[]
  /** Pods to ask now: as many of each budget as it has to give, the others wait without being asked. */
  readonly evictNow: readonly PodObject[]
  /** Pods that have to leave and are still there. */
  readonly left: readonly PodObject[]
  readonly refusals: readonly Refusal[]
}

export function planDrain(pods: readonly PodObject[], budgets: readonly PodDisruptionBudget[]): DrainPlan {
  const fates = pods.map(fateOf)
  const toEvict = fates.filter(({ fate }) => fate === 'evict').map(({ pod }) => pod)
  const unmanaged = fates.filter(({ fate }) => fate === 'refuse')
  const left = fates.filter(({ fate }) => fate !== 'stay').map(({ pod }) => pod)
  const room = new Map<string, number>()
  const evictNow: PodObject[] = []
  const refusals: Refusal[] = unmanaged.map(({ pod, why }) => ({ pod, why, neverPasses: true }))
  for (const pod of toEvict) {
    const covering = budgetsOf(pod, budgets)
    const refusal = refusalOf(pod, covering, room)
    if (refusal) refusals.push(refusal)
    else {
      for (const budget of covering) if (drawsFrom(pod, budget)) take(room, budget)
      evictNow.push(pod)
    }
  }
  return { fates, evictNow, left, refusals }
}

function take(room: Map<string, number>, budget: PodDisruptionBudget): void {
  const key = `${budget.metadata.namespace}/${budget.metadata.name}`
  room.set(key, (room.get(key) ?? budget.status?.disruptionsAllowed ?? 0) - 1)
}

export function fateOf(pod: PodObject): PodFate {
  const { annotations, deletionTimestamp, ownerReferences } = pod.metadata
  const controller = ownerReferences?.find((owner) => owner.controller === true)
  const isFinished = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
  if (annotations?.['kubernetes.io/config.mirror'] !== undefined)
    return { pod, fate: 'stay', why: "it is the kubelet's own (a static pod)" }
  if (controller?.kind === 'DaemonSet' && !isFinished)
    return { pod, fate: 'stay', why: `DaemonSet ${controller.name} would start it again on this node` }
  if (deletionTimestamp) return { pod, fate: 'leaving', why: 'it is stopping already' }
  if (isFinished) return { pod, fate: 'evict', why: 'it has finished' }
  if (!controller)
    return {
      pod,
      fate: 'refuse',
      why: 'it has no controller: nothing would start it again elsewhere; delete it yourself to go on',
    }
  return { pod, fate: 'evict', why: `${controller.kind} ${controller.name} starts it again elsewhere` }
}
