import { longestReason, type MaintenanceRequest, rebootAnnotation, rebootAnnotationKey } from '../api/index.ts'
import type { NodePatch } from '../drain/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { finalizer, shortHash } from './names.ts'
import { isOpen } from './order.ts'

/**
 * The annotation on a node by which anybody who may write to nodes asks for its reboot. The same words on the same node
 * always mean the same request: whoever looks again after a crash finds it, and does not ask twice.
 */

export function rebootRequest(node: NodeObject): MaintenanceRequest | undefined {
  const text = node.metadata.annotations?.[rebootAnnotation]
  const { name: nodeName = '', uid: nodeUID = '' } = node.metadata
  if (text === undefined) return undefined
  return {
    // The finalizer from the beginning: taken back at once, it must not be gone before the annotation is.
    metadata: { name: `${nodeName}-annotation-${shortHash(nodeUID, text)}`, finalizers: [finalizer] },
    spec: {
      nodeName,
      nodeUID,
      source: { kind: 'Reboot', key: rebootAnnotationKey },
      reason: reasonOf(text),
      want: 'Out',
      priority: 0,
      work: 'Reboot',
      service: { cordon: true, drain: true },
    },
  }
}

/** Anybody may have written it: one line, and no longer than a request can say. */
function reasonOf(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()
  return line.slice(0, longestReason).trim() || 'no reason was given'
}

export function isAskedByAnnotation({ metadata, spec }: MaintenanceRequest, node: NodeObject | undefined): boolean {
  if (spec.source.key !== rebootAnnotationKey || !node || node.metadata.uid !== spec.nodeUID) return false
  return rebootRequest(node)?.metadata.name === metadata.name
}

/**
 * What the annotation leads to now: a request, or, once that request is over however it ended, its own end. The patch
 * holds only for the node that was looked at, so that a new reason is never taken away for an old one.
 */
export function answerAnnotation(
  node: NodeObject,
  requests: readonly MaintenanceRequest[],
): { readonly make: MaintenanceRequest } | { readonly patch: NodePatch; readonly request: string } | undefined {
  const wanted = rebootRequest(node)
  if (!wanted) return undefined
  const made = requests.find(({ metadata }) => metadata.name === wanted.metadata.name)
  if (!made) return { make: wanted }
  if (isOpen(made)) return undefined
  const { resourceVersion, uid } = node.metadata
  return {
    patch: { metadata: { resourceVersion, uid, annotations: { [rebootAnnotation]: null } } },
    request: made.metadata.name ?? '',
  }
}
