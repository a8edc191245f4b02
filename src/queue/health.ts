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

/** The machine is in another boot than the one in which its turn came, or in which it was last found well. */
export function hasNewBoot({ spec, status }: MaintenanceRequest, node: NodeObject | undefined): boolean {
  const before = status?.reboots?.bootIDAfter
  // Where there is an agent its word counts: the kubelet's may be of before the reboot.
  const now = spec.work === 'External' ? node?.status?.nodeInfo?.bootID : status?.host?.bootID
  return before !== undefined && now !== undefined && before !== now
}

/** Told to reboot, and not seen in another boot since: it may go down at any moment. */
export function mayGoDown({ status }: MaintenanceRequest): boolean {
  const { rebootIntent: intent, bootID } = status?.host ?? {}
  return intent != null && !intent.takenBack && intent.token === status?.slot?.token && intent.fromBootID === bootID
}

/** Somebody may have worked on the node, and no person takes it back as it is. */
function wasPermitted({ status }: MaintenanceRequest): boolean {
  return hasCondition(status, 'PermissionGiven') && !status?.released
}

/** Nobody has to prove a node well on which nobody has worked, and that did not reboot; or that a person takes back as it is. */
export function needsProof(request: MaintenanceRequest): boolean {
  const { status, spec } = request
  return spec.service.cordon && (wasPermitted(request) || (hasNewBoot(request, undefined) && !status?.released))
}

/** Nobody works on the node on its behalf any more. Until then only a person's word brings the node back. */
export function isTakenBack(request: MaintenanceRequest): boolean {
  return !wasPermitted(request) || request.spec.work === 'External' || request.status?.host?.permission === 'Absent'
}

/** Nothing is left to prove: whoever worked has taken the permission back, and the node was found well after it. */
export function isProven(request: MaintenanceRequest): boolean {
  return isTakenBack(request) && (!needsProof(request) || hasCondition(request.status, 'Returned'))
}
