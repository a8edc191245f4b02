import type { MaintenanceRequestStatus, RequestCondition } from '../api/index.ts'
import {
  type DrainPlan,
  forcedDrainMs,
  isCordonedBy,
  mayPassAfterCordon,
  planDrain,
  stragglersText,
} from '../drain/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { durationText } from '../time/index.ts'
import { grant } from './decide-grant.ts'
import { cordonOwner } from './names.ts'
import { isReady } from './node-facts.ts'
import { enterPhase, withCondition } from './request-status.ts'
import { hold, leftMs, type RequestStep, type RequestWorld, sharers, write } from './request-steps.ts'

/** From the slot to the permission: whether the drain can work out, how far it is, and what comes of its deadline. */

/** Why a drained node may still have to wait. */
const volumesAttached = 'VolumesAttached'

/** The plan for the pods that the caches, or a live list, show on the node. */
export function drainPlan(world: RequestWorld, node: NodeObject, pods = world.podsOnNode): DrainPlan {
  const { request, settings, now } = world
  const { onDeadline, deadlineMs, ...drain } = settings.drain
  const isLate = leftMs(request.status?.drain?.startedAt, deadlineMs, now) <= 0
  return planDrain({
    ...world,
    pods,
    isNodeReady: isReady(node),
    settings: { ...drain, stopDaemonSets: daemonSetsToStop(world), isForced: isLate && onDeadline === 'ForceDelete' },
    nowMs: Date.parse(now),
  })
}

/** Only a cordon keeps them from starting anew, and only a drain has a use for that. */
export function daemonSetsToStop({
  request,
  settings,
}: RequestWorld): RequestWorld['settings']['drain']['stopDaemonSets'] {
  const { cordon, drain } = request.spec.service
  return cordon && drain ? settings.drain.stopDaemonSets : []
}

/**
 * A budget that can never pass would have the node emptied by half, and then stand still with a cordon that nobody has a
 * use for. So the node stays in service until the budget is changed, or the deadline says what becomes of it.
 */
export function stayInService(world: RequestWorld, node: NodeObject): RequestStep | undefined {
  const { request, settings } = world
  const { cordon, drain } = request.spec.service
  if (!cordon || !drain || isCordonedBy(node, cordonOwner)) return undefined
  // With these the work begins after the deadline whatever a budget says.
  if (settings.drain.onDeadline === 'ForceDelete' || settings.drain.onDeadline === 'Continue') return undefined
  const plan = drainPlan(world, node)
  const never = plan.refusals.filter((one) => one.budget && one.neverPasses && !mayPassAfterCordon(one))
  if (never.length === 0) return undefined
  const told = never.map((one) => ({ ...one, why: `${one.why}; until then the node is not cordoned` }))
  const others = plan.refusals.filter((one) => !never.includes(one))
  const waiting = { ...plan, askNow: [], askLater: [], refusals: [...told, ...others] }
  if (isOverdue(world, plan)) return drainOverdue(world, node, waiting)
  return { do: 'drain', plan: waiting, status: drainStatus(world, waiting) }
}

function saidOfDrain(status: MaintenanceRequestStatus | undefined): RequestCondition | undefined {
  return status?.conditions?.find(({ type }) => type === 'Drained')
}

/** Asks those that are left, lets the work begin when nobody is, and ends at the deadline. */
export function drainStep(world: RequestWorld, node: NodeObject): RequestStep {
  const plan = drainPlan(world, node)
  const isOver = isOverdue(world, plan)
  if (plan.left.length === 0) {
    const waits = saidOfDrain(world.request.status)?.reason === volumesAttached
    return waits && isOver ? drainOverdue(world, node, plan) : grant(world, node, plan.waitsFor, 'Drained')
  }
  if (isOver) return drainOverdue(world, node, plan)
  return { do: 'drain', plan, status: drainStatus(world, plan) }
}

/** Who deletes what is left waits for that as well, but not for ever: some pods outlive their deletion. */
function isOverdue({ request, settings, now }: RequestWorld, plan: DrainPlan): boolean {
  const { deadlineMs, onDeadline } = settings.drain
  const forcedMs = onDeadline === 'ForceDelete' ? forcedDrainMs(plan, settings.drain) : 0
  return leftMs(request.status?.drain?.startedAt, deadlineMs + forcedMs, now) <= 0
}

function drainOverdue(world: RequestWorld, node: NodeObject, plan: DrainPlan): RequestStep {
  const message = overdueText(world, plan)
  if (world.settings.drain.onDeadline === 'Continue')
    return grant(world, node, `${message}; the work begins all the same`, 'NotDrained')
  return requeueOrHold(world, message)
}

/**
 * Nobody lets us cordon the node, so its drain cannot begin. The deadline runs from the first refusal; whatever the settings
 * say of pods that stay, no work begins on a node that takes new ones.
 */
export function cordonOverdue(
  world: RequestWorld,
  { lastTransitionTime, message }: RequestCondition,
): RequestStep | undefined {
  const { deadlineMs } = world.settings.drain
  if (leftMs(lastTransitionTime, deadlineMs, world.now) > 0) return undefined
  return requeueOrHold(world, `the node could not be cordoned for ${durationText(deadlineMs)}: ${message}`)
}

function requeueOrHold(world: RequestWorld, message: string): RequestStep {
  const { request, settings, now } = world
  if (settings.drain.onDeadline !== 'Requeue') return hold(world, 'DrainDeadline', message)
  const count = (request.status?.requeue?.count ?? 0) + 1
  const { drain: _, ...status } = enterPhase(request, 'Finishing', { reason: 'Requeue', message }, now)
  const notBefore = new Date(Date.parse(now) + backoffMs(count)).toISOString()
  return write({ ...status, requeue: { count, notBefore, isPending: true } })
}

function overdueText({ request, settings }: RequestWorld, plan: DrainPlan): string {
  const { deadlineMs, onDeadline } = settings.drain
  const left = plan.left.length
  const within = `within ${durationText(deadlineMs)}`
  if (left === 0) return `volumes were not detached ${within}: ${saidOfDrain(request.status)?.message ?? plan.waitsFor}`
  if (onDeadline === 'ForceDelete')
    return `${left} pods did not leave ${within}, and are still there after everything was deleted: ${stragglersText(plan)}`
  return `${left} pods did not leave ${within}: ${plan.refusals[0]?.why ?? plan.waitsFor}`
}

const [firstBackoffMs, longestBackoffMs] = [300_000, 3_600_000]

function backoffMs(count: number): number {
  return Math.min(longestBackoffMs, firstBackoffMs * 2 ** (count - 1))
}

function drainStatus({ request, now }: RequestWorld, plan: DrainPlan): MaintenanceRequestStatus {
  const status = request.status ?? { phase: 'Claimed' as const }
  const old = status.drain
  const blockedBy = plan.refusals.slice(0, 10).map(({ pod, budget, neverPasses }) => ({
    pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
    pdb: budget ? `${budget.metadata.namespace}/${budget.metadata.name}` : '',
    neverPasses,
  }))
  const total = Math.max(old?.total ?? 0, plan.left.length)
  const withDrain = { ...status, drain: { startedAt: old?.startedAt ?? now, total, left: plan.left.length, blockedBy } }
  const message = plan.refusals[0]?.why ?? plan.waitsFor
  const reason = plan.refusals.length > 0 ? 'Blocked' : 'Draining'
  return withCondition(withDrain, { type: 'Drained', status: 'False', reason, message }, now)
}

/**
 * What the status says while volumes keep the work from beginning; undefined when it says so already. The deadline has to
 * count here as well: on a node that was empty from the start, or after a retry, no drain has set it going.
 */
export function volumesStatus({ request, now }: RequestWorld, message: string): MaintenanceRequestStatus | undefined {
  const { status } = request
  if (!status || (saidOfDrain(status)?.message === message && status.drain)) return undefined
  const { startedAt = now, total = 0 } = status.drain ?? {}
  const waiting = { type: 'Drained', status: 'False', reason: volumesAttached, message } as const
  return withCondition({ ...status, drain: { startedAt, total, left: 0, blockedBy: [] } }, waiting, now)
}

/** What a drain says that has begun and not ended with an empty node. */
const unfinished: ReadonlySet<string> = new Set(['Draining', 'Blocked', volumesAttached, 'NotDrained'])

/**
 * On the way home: what pods were told by an EvictionRequest is taken back, and only then it is written that nothing of it
 * is left. Else whoever answers for a pod would still move it away from a node that stays.
 */
export function withdrawStep(world: RequestWorld): RequestStep | undefined {
  const { request, podsOnNode, offersEvictionRequest = false, now } = world
  const isUnfinished = unfinished.has(saidOfDrain(request.status)?.reason ?? '')
  if (!offersEvictionRequest || !request.status || podsOnNode.length === 0 || !isUnfinished) return undefined
  // The others in the slot still mean it; the last of them takes it back.
  const isMeant = sharers(world).some(({ spec, status }) => spec.service.drain && status?.phase !== 'Finishing')
  if (isMeant) return undefined
  const fact = { type: 'Drained', status: 'False', reason: 'Withdrawn', message: 'its pods may stay' } as const
  return { do: 'writeStatus', status: withCondition(request.status, fact, now), withdraw: podsOnNode }
}
