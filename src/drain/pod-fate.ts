import type { OwnerReference, PodObject } from '../kube/index.ts'
import type { DrainWorld } from './plan.ts'
import { type DaemonSetObject, isNamed, unstoppable } from './stopped-daemonsets.ts'

/**
 * Pods go in this order; each stage begins when the one before has left. DaemonSets that are to be stopped come last: the
 * others may need them to stop, be it for their logs, their network or their volumes.
 */
export const stages = ['ordinary', 'critical', 'own', 'daemonSet'] as const
export type DrainStage = (typeof stages)[number]

/** What happens to one pod when its node is drained. */
export interface PodFate {
  readonly pod: PodObject
  /**
   * stay: is not moved. leaving: already on its way. stuck: should be gone, and its node cannot say; nobody waits for it.
   * evict: is asked to leave. refuse: needs a person.
   */
  readonly fate: 'stay' | 'leaving' | 'stuck' | 'evict' | 'refuse'
  /** One sentence. */
  readonly why: string
  readonly stage: DrainStage
}

/** Says of a pod that its data must not be lost: only a person may move it. */
export const keepDataAnnotation = 'fettle.dev/keep-data'

/** From here on are system-cluster-critical and system-node-critical; no class of a user may be as high. */
const criticalPriority = 2_000_000_000

/** How long after the end of its grace period a pod is waited for on a node that cannot confirm its end. */
const stuckAfterMs = 10 * 60_000

type FateWorld = Omit<DrainWorld, 'pods' | 'budgets'>

export function fateOf(pod: PodObject, world: FateWorld): PodFate {
  const isOwn = world.ownPods?.(pod) ?? false
  const toStop = daemonSetToStop(pod, world)
  const stage = isOwn ? 'own' : (pod.spec?.priority ?? 0) >= criticalPriority ? 'critical' : 'ordinary'
  return { pod, stage: toStop ? 'daemonSet' : stage, ...judge(pod, world, isOwn, toStop) }
}

function controllerOf({ metadata }: PodObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find((owner) => owner.controller === true)
}

/** The DaemonSet of a pod, if it is known and somebody named it. */
function daemonSetToStop(pod: PodObject, { daemonSets, settings }: FateWorld): DaemonSetObject | undefined {
  const controller = controllerOf(pod)
  const daemonSet = controller?.kind === 'DaemonSet' ? daemonSets?.get(controller.uid) : undefined
  return daemonSet && isNamed(daemonSet, settings.stopDaemonSets ?? []) ? daemonSet : undefined
}

type Judgement = Pick<PodFate, 'fate' | 'why'>

function judge(pod: PodObject, world: FateWorld, isOwn: boolean, toStop: DaemonSetObject | undefined): Judgement {
  const { annotations, deletionTimestamp } = pod.metadata
  const controller = controllerOf(pod)
  const isFinished = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed'
  if (annotations?.['kubernetes.io/config.mirror'] !== undefined)
    return { fate: 'stay', why: "it is the kubelet's own (a static pod)" }
  if (controller?.kind === 'DaemonSet' && !isFinished && !isOrphan(controller, world)) {
    const why = toStop ? unstoppable(toStop) : `DaemonSet ${controller.name} would start it again on this node`
    if (why !== undefined) return { fate: 'stay', why }
  }
  if (deletionTimestamp) return leavingOrStuck(deletionTimestamp, world)
  if (isFinished) return { fate: 'evict', why: 'it has finished' }
  if (isOwn && world.hasOtherNodes !== true)
    return { fate: 'stay', why: 'it is Fettle itself, and no other node is known to be able to run it' }
  // Stronger than a drain that is forced: who forces it thinks of budgets, not of this pod's data.
  if (annotations?.[keepDataAnnotation] === 'true')
    return {
      fate: 'refuse',
      why: `annotation ${keepDataAnnotation} says that its data must not be lost: save it, then delete the pod yourself or take the annotation away`,
    }
  if (!controller) return unmanaged(world)
  if (isOrphan(controller, world)) return { fate: 'evict', why: `DaemonSet ${controller.name} does not exist any more` }
  if (toStop)
    return {
      fate: 'evict',
      why: `DaemonSet ${controller.name} is to be stopped: it goes last, and starts again when the node is back`,
    }
  return { fate: 'evict', why: `${controller.kind} ${controller.name} starts it again elsewhere` }
}

/** Other programs have a kind of the same name, of which nothing is known here. */
function isOrphan({ apiVersion, kind, uid }: OwnerReference, { daemonSets }: FateWorld): boolean {
  return apiVersion === 'apps/v1' && kind === 'DaemonSet' && daemonSets !== undefined && !daemonSets.has(uid)
}

/** The time of deletion is the end of the grace period, not its beginning. */
function leavingOrStuck(deletionTimestamp: string, { isNodeReady, nowMs }: FateWorld): Judgement {
  const overdueMs = nowMs - Date.parse(deletionTimestamp)
  if (isNodeReady || !(overdueMs > stuckAfterMs)) return { fate: 'leaving', why: 'it is stopping already' }
  const minutes = Math.floor(overdueMs / 60_000)
  return {
    fate: 'stuck',
    why: `it should have stopped ${minutes} min ago and the node is not Ready to say so; nobody waits for it any more`,
  }
}

function unmanaged({ settings }: FateWorld): Judgement {
  const nothing = 'it has no controller: nothing would start it again elsewhere'
  if (settings.isForced) return { fate: 'evict', why: `${nothing}, but the drain is forced` }
  if (settings.unmanaged === 'Evict')
    return { fate: 'evict', why: `${nothing}, and the settings of the drain allow it` }
  return { fate: 'refuse', why: `${nothing}; delete it yourself to go on` }
}
