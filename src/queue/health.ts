import type { MaintenanceRequest } from '../api/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { isReady } from './node-facts.ts'
import { hasCondition } from './request-status.ts'

/** Taints of the node readiness controller: the node is not fit for work yet, whatever its kubelet says. */
const readinessTaint = 'readiness.k8s.io/'

/** Why a node cannot be given back, or undefined when nothing is against it. */
export function ailmentOf(node: NodeObject): string | undefined {
  if (!isReady(node)) return `${node.metadata.name} is not Ready`
  const taint = node.spec?.taints?.find(({ key }) => key.startsWith(readinessTaint))
  return taint && `${node.metadata.name} still has the taint ${taint.key}`
}

/** Whether it has been Ready without a break since then. */
export function isReadySince(node: NodeObject, time: string): boolean {
  const ready = node.status?.conditions?.find(({ type, status }) => type === 'Ready' && status === 'True')
  return ready?.lastTransitionTime !== undefined && Date.parse(ready.lastTransitionTime) <= Date.parse(time)
}

/** Nobody has to prove a node well on which nobody has worked, or that a person takes back as it is. */
export function needsProof({ status, spec }: MaintenanceRequest): boolean {
  return hasCondition(status, 'PermissionGiven') && !status?.released && spec.service.cordon
}

/** Nobody works on the node on its behalf any more. Until then only a person's word brings the node back. */
export function isTakenBack(request: MaintenanceRequest): boolean {
  return !needsProof(request) || request.spec.work === 'External' || request.status?.host?.permission === 'Absent'
}

/** Nothing is left to prove: whoever worked has taken the permission back, and the node was found well after it. */
export function isProven(request: MaintenanceRequest): boolean {
  return !needsProof(request) || (isTakenBack(request) && hasCondition(request.status, 'Returned'))
}
