import type { MaintenanceRequest } from '../api/index.ts'

/** Higher priority first, then who came first by the server's clock; the UID makes it the same for everybody. */
export function inOrder(requests: readonly MaintenanceRequest[]): MaintenanceRequest[] {
  return [...requests].sort(
    (a, b) =>
      b.spec.priority - a.spec.priority ||
      compare(a.metadata.creationTimestamp, b.metadata.creationTimestamp) ||
      compare(a.metadata.uid, b.metadata.uid),
  )
}

export function isOpen(request: MaintenanceRequest): boolean {
  return request.status?.phase !== 'Done'
}

/** Deleting a request says the same as wanting the node back. */
export function wantsOut(request: MaintenanceRequest): boolean {
  return request.spec.want === 'Out' && request.metadata.deletionTimestamp === undefined
}

/** The older open request for the same thing on the same node, if there is one. */
export function olderTwin(
  request: MaintenanceRequest,
  requests: readonly MaintenanceRequest[],
): MaintenanceRequest | undefined {
  const { nodeUID, source } = request.spec
  const twins = requests.filter(
    (other) =>
      isOpen(other) &&
      other.spec.nodeUID === nodeUID &&
      other.spec.source.kind === source.kind &&
      other.spec.source.key === source.key,
  )
  const first = twins.sort(
    (a, b) =>
      compare(a.metadata.creationTimestamp, b.metadata.creationTimestamp) || compare(a.metadata.uid, b.metadata.uid),
  )[0]
  return first?.metadata.uid === request.metadata.uid ? undefined : first
}

function compare(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0
}
