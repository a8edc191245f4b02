import type { MaintenanceRequest, Marks } from '../api/index.ts'
import { isLabelKey, type NodePatch } from '../drain/index.ts'
import type { NodeObject, Taint } from '../kube/index.ts'

/** On the node: the key of the taint that is ours. Set and removed together with it. */
export const queuedTaintAnnotation = 'fettle.dev/queued-taint'
/** Tells ours from one that somebody else put under the same key. */
const value = 'fettle'
const effect = 'PreferNoSchedule'

/** Whether one of these waits in line, and has been told so: who is next at once would only get the taint and lose it. */
export function isWaiting(requests: readonly MaintenanceRequest[]): boolean {
  return requests.some(({ status }) => status?.phase === 'Queued' && status.waiting !== undefined)
}

/**
 * What gives a node that waits its soft taint, or takes ours away; undefined when nothing has to change. One that
 * somebody removed by hand is not put back while the node waits: it is a wish, and theirs is as good as ours.
 */
export function queuedTaintPatch(
  node: NodeObject,
  isQueued: boolean,
  { taintWhileQueued }: Marks = {},
): NodePatch | undefined {
  const had = node.metadata.annotations?.[queuedTaintAnnotation]
  const wanted = isQueued && taintWhileQueued && isLabelKey(taintWhileQueued) ? taintWhileQueued : undefined
  if (had === wanted) return undefined
  const taints = node.spec?.taints ?? []
  const kept = had === undefined ? taints : taints.filter((taint) => !isOurs(taint, had))
  // A node has one taint of a key and an effect, and this one is somebody else's.
  const isTaken = wanted !== undefined && kept.some((taint) => taint.key === wanted && taint.effect === effect)
  const next = wanted && !isTaken ? wanted : undefined
  if (had === next) return undefined
  const { resourceVersion, uid } = node.metadata
  return {
    metadata: { resourceVersion, uid, annotations: { [queuedTaintAnnotation]: next ?? null } },
    // The whole list, which holds only for the version of the node that it was read from.
    spec: { taints: next ? [...kept, { key: next, value, effect }] : kept },
  }
}

function isOurs(taint: Taint, key: string): boolean {
  return taint.key === key && taint.effect === effect && taint.value === value
}
