import type { NodeCondition, NodeObject } from '../kube/index.ts'

/**
 * What a node says of itself to everybody who looks: the well-known conditions of the node lifecycle. The kubelet leaves
 * conditions alone that it does not know; storage and database operators may prepare for what they announce.
 */
const types = ['MaintenancePlanned', 'DrainInProgress', 'Drained', 'MaintenanceInProgress'] as const

/** What is true of the node now, each with a sentence. What is not named is not true. */
export type LifecycleConditions = { readonly [type in (typeof types)[number]]?: string }

/** Tells ours from those of an administrator or another controller, which are not ours to change. */
const reason = 'FettleMaintenance'

/** A strategic merge patch of nodes/status that holds only if the node is still the one that was looked at. */
export interface LifecyclePatch {
  readonly metadata: { readonly resourceVersion: string | undefined; readonly uid: string | undefined }
  readonly status: { readonly conditions: readonly object[] }
}

/** What makes the node say what is wanted and no more, or undefined when it does. */
export function lifecycleConditions(
  node: NodeObject,
  wanted: LifecycleConditions,
  now: string,
): LifecyclePatch | undefined {
  const seen = node.status?.conditions ?? []
  const conditions = types.flatMap((type) =>
    changeOf(
      type,
      wanted[type],
      seen.find((one) => one.type === type),
      now,
    ),
  )
  const { resourceVersion, uid } = node.metadata
  return conditions.length > 0 ? { metadata: { resourceVersion, uid }, status: { conditions } } : undefined
}

function changeOf(type: string, message: string | undefined, seen: NodeCondition | undefined, now: string): object[] {
  const isOurs = seen?.reason === reason
  // Conditions are merged by their type, so one that goes has to be named.
  if (message === undefined) return isOurs ? [{ $patch: 'delete', type }] : []
  if (seen?.status === 'True' && (!isOurs || seen.message === message)) return []
  const since = seen?.status === 'True' ? seen.lastTransitionTime : undefined
  return [{ type, status: 'True', reason, message, lastHeartbeatTime: now, lastTransitionTime: since ?? now }]
}

/** What takes everything away that we said, or undefined when there is nothing. */
export function clearLifecycleConditions(node: NodeObject): LifecyclePatch | undefined {
  return lifecycleConditions(node, {}, '')
}

/** Whether the node says nothing any more that we made it say. */
export function isSilent(node: NodeObject): boolean {
  return !node.status?.conditions?.some((condition) => condition.reason === reason)
}
