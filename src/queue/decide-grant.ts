import { isDetected, type MaintenanceRequest, type MaintenanceRequestStatus } from '../api/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { isTakenBack } from './health.ts'
import { isOpen } from './order.ts'
import { enterPhase, hasCondition, withCondition } from './request-status.ts'
import { nothing, type RequestStep, type RequestWorld, sharers, write } from './request-steps.ts'

/** Why a node counts as drained, or not, when the work begins. */
type DrainedReason =
  | 'Drained'
  /** Some are left, and the settings let the work begin all the same. */
  | 'NotDrained'
  /** Whoever asked wanted no drain: pods run on the node, and nobody may read that it is empty. */
  | 'NotRequested'

/** The work may begin, unless somebody else in the slot would be cut off by it, or would cut it off. */
export function grant(world: RequestWorld, node: NodeObject, message: string, reason: DrainedReason): RequestStep {
  const { request, now } = world
  const other = whyNotYet(world)
  if (other !== undefined) return waitFor(world, other)
  const { drain, ...rest } = enterPhase(request, 'Granted', { reason, message }, now)
  const done =
    drain && reason === 'Drained'
      ? { ...rest, drain: { ...drain, left: 0, blockedBy: [] } }
      : { ...rest, ...(drain ? { drain } : {}) }
  const isDrained = reason === 'Drained' ? 'True' : 'False'
  const drained = withCondition(done, { type: 'Drained', status: isDrained, reason, message }, now)
  // Who wants one reboot has got it if the machine has rebooted since its turn came.
  const counted = request.spec.work === 'Reboot' && !isDetected(request) ? request.status?.reboots : undefined
  const boot = counted ? {} : rebootsFrom(request, node)
  const given = { type: 'PermissionGiven', status: 'True', reason: 'Granted', message: 'the work may begin' } as const
  return write(withCondition({ ...drained, ...boot }, given, now))
}

function whyNotYet(world: RequestWorld): string | undefined {
  const isReboot = world.request.spec.work === 'Reboot'
  const other = (isReboot ? workUnderWay(world) : rebootUnderWay(world))?.metadata.name
  if (other === undefined) return undefined
  return isReboot
    ? `${other} is at work; the reboot comes when it has ended`
    : `${other} may reboot the node at any moment; the work begins when it is back`
}

/** Drained and with a slot it waits all the same, so its status has to say for whom. */
function waitFor({ request, now }: RequestWorld, message: string): RequestStep {
  const said = request.status?.conditions?.find(({ type }) => type === 'PermissionGiven')
  if (!request.status || said?.message === message) return nothing(message)
  const fact = { type: 'PermissionGiven', status: 'False', reason: 'SharedSlot', message } as const
  return write(withCondition(request.status, fact, now))
}

/** Reboots count from this boot on. The host's own word first: what differs from it later is a reboot. */
export function rebootsFrom(
  { spec, status }: MaintenanceRequest,
  node: NodeObject | undefined,
): Pick<MaintenanceRequestStatus, 'reboots'> {
  const said = spec.work === 'External' ? undefined : status?.host?.bootID
  const bootIDAfter = said ?? node?.status?.nodeInfo?.bootID
  return bootIDAfter ? { reboots: { count: 0, bootIDAfter } } : {}
}

/** Somebody works on the node, or has not taken the permission back yet: no reboot under their hands. */
function workUnderWay(world: RequestWorld): MaintenanceRequest | undefined {
  return sharers(world).find((other) => {
    const hasEnded = other.status?.phase === 'Finishing' && isTakenBack(other)
    return other.spec.work !== 'Reboot' && !hasEnded && isOpen(other)
  })
}

/** Somebody may reboot the node: no work is begun that the reboot would cut off. */
function rebootUnderWay(world: RequestWorld): MaintenanceRequest | undefined {
  return sharers(world).find(
    ({ spec, status }) =>
      spec.work === 'Reboot' && hasCondition(status, 'PermissionGiven') && status?.phase !== 'Finishing',
  )
}
