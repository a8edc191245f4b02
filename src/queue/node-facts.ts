import type { MaintenanceBudgetSpec } from '../api/index.ts'
import { isPlaceFor } from '../drain/index.ts'
import type { NodeObject, PodObject } from '../kube/index.ts'

/** What is to be seen of a node. */

export type Unavailability = MaintenanceBudgetSpec['countUnavailable'][number]

/** Why a node counts as out although nobody gave it a slot. */
export function unavailability(
  spec: Pick<MaintenanceBudgetSpec, 'countUnavailable'>,
  node: NodeObject,
): Unavailability | undefined {
  return spec.countUnavailable.find((kind) =>
    kind === 'NotReady' ? !isReady(node) : node.spec?.unschedulable === true,
  )
}

export function isReady(node: NodeObject): boolean {
  return node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

/** Whether a pod could be put there; without one, any that asks for nothing. */
export function takesPods(node: NodeObject, pod: PodObject = { metadata: {} }): boolean {
  return isReady(node) && node.spec?.unschedulable !== true && isPlaceFor(node, pod)
}

/** Whether each of these pods of a node could be put on another one. Mostly that is the first one that is looked at, of thousands. */
export function canRunElsewhere(
  pods: readonly PodObject[],
  nodeName: string,
  nodes: { values(): Iterable<NodeObject> },
): boolean {
  return pods.every((pod) => {
    for (const other of nodes.values()) if (other.metadata.name !== nodeName && takesPods(other, pod)) return true
    return false
  })
}

export function isControlPlane(node: NodeObject): boolean {
  const labels = node.metadata.labels ?? {}
  return 'node-role.kubernetes.io/control-plane' in labels || 'node-role.kubernetes.io/master' in labels
}

/** A static pod of the control plane that is not Ready: its node looks well, and etcd or an API server is missing. */
export function staticPodAilment(pods: readonly PodObject[]): string | undefined {
  const ailing = pods.find(
    ({ metadata, status }) =>
      metadata.namespace === 'kube-system' &&
      metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined &&
      !status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
  )
  return ailing && `NotReady in ${ailing.metadata.name}`
}
