import type { MaintenanceRequest, MaintenanceRequestStatus, Slot } from '../api/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { durationText } from '../time/index.ts'
import { ailmentOf } from './health.ts'
import { isUnbelievable } from './lost-slots.ts'
import { isReady } from './node-facts.ts'
import { wantsOut } from './order.ts'
import { enterPhase, hasCondition, withCondition } from './request-status.ts'
import { hold, leftMs, nothing, type RequestStep, type RequestWorld, write } from './request-steps.ts'

/** While the work goes on: the host reports, the deadline runs, the node may reboot. */

/** Whether the one who asked is done: a person by the spec, a host by its report. */
export function isReturned(request: MaintenanceRequest): string | undefined {
  if (request.metadata.deletionTimestamp) return 'the request was deleted'
  if (!wantsOut(request)) return 'somebody said: done, give it back'
  if (request.spec.work !== 'External' && request.status?.host?.request === 'Absent')
    return 'the host no longer asks for it'
  return undefined
}

export function granted(world: RequestWorld, node: NodeObject, slot: Slot): RequestStep {
  const { request, settings, now } = world
  const left = leftMs(request.status?.since, settings.workMs, now)
  if (request.spec.work !== 'External') {
    const step = hostStep(world, slot) ?? heartbeat(world) ?? rebootStep(world, node, slot)
    if (step) return step
  }
  if (left <= 0) return overdue(world, 'WorkDeadline', `the work took longer than ${durationText(settings.workMs)}`)
  return nothing('the work may go on; `fettle node return` ends it', Math.min(left, untilSilentMs(world)))
}

/** What the host reports that a person has to look at. */
export function hostStep(world: RequestWorld, slot: Slot): RequestStep | undefined {
  const { request } = world
  const { host, dismissedFailure } = request.status ?? {}
  const node = request.spec.nodeName
  if (!host) return undefined
  if (host.request === 'Unreadable') return hold(world, 'HostUnreadable', `${node} cannot read the file that asks`)
  if (host.permission === 'Unreadable')
    return hold(world, 'HostUnreadable', `${node} cannot read the file that permits the work`)
  if (host.permission === 'Orphan')
    return hold(world, 'OrphanGrant', `${node} has a permission that no request of this node stands for`)
  const highest = host.tokens?.highest ?? 0
  if (isUnbelievable(highest, slot))
    return hold(world, 'HostUnreadable', `${node} says that it obeyed token ${highest}, and its slot has ${slot.token}`)
  if (!host.failure && dismissedFailure !== undefined && request.status) {
    // The host has stopped saying it: from now on the same words mean that it happened again.
    const { dismissedFailure: _, ...status } = request.status
    return write(status)
  }
  if (!host.failure || host.failure === dismissedFailure) return undefined
  const failed = host.failed ?? (host.permission === 'Present' ? 'Script' : 'Permission')
  return hold(world, heldBy[failed], host.failure)
}

const heldBy = {
  Script: 'ScriptFailed',
  Permission: 'PermissionNotWritable',
  RebootOrder: 'RebootNoEffect',
  RebootLoop: 'RebootLoop',
} as const

/** A heartbeat that ended with an earlier turn is no silence of this one: until it is known as silent, it counts from here. */
function silence({ request, silentMs, now }: RequestWorld): number | undefined {
  const { conditions, since = now } = request.status ?? {}
  const isKnown = conditions?.some(({ type, status }) => type === 'HostAlive' && status === 'False')
  if (silentMs === undefined || isKnown) return silentMs
  return Math.min(silentMs, Math.max(0, Date.parse(now) - Date.parse(since)))
}

/**
 * Whether the host lives: it was heard lately, or it was not for too long. Undefined while nobody can tell: whoever has just
 * begun to listen has heard nothing of those who are well either.
 */
function isAlive(world: RequestWorld): boolean | undefined {
  const { silentMs, isUnheard, settings } = world
  const silentHereMs = silence(world)
  if (silentMs === undefined || silentHereMs === undefined) return undefined
  if (silentHereMs > settings.heartbeatMs) return false
  return !isUnheard && silentMs <= settings.heartbeatMs ? true : undefined
}

/** Writes when the node falls silent and when it speaks again. Silence alone frees nothing. */
export function heartbeat(world: RequestWorld): RequestStep | undefined {
  const { request, settings, now } = world
  const lives = isAlive(world)
  if (lives === undefined || !request.status) return undefined
  const said = request.status.conditions?.find(({ type }) => type === 'HostAlive')?.status
  if (said === (lives ? 'True' : 'False')) return undefined
  const fact = lives
    ? ({ status: 'True', reason: 'Heartbeat', message: 'its heartbeat is heard' } as const)
    : ({
        status: 'False',
        reason: 'Silent',
        message: `no heartbeat for longer than ${durationText(settings.heartbeatMs)}`,
      } as const)
  return write(withCondition(request.status, { type: 'HostAlive', ...fact }, now))
}

/** Nothing happens when a heartbeat is missing, so its time has to be looked for. */
function untilSilentMs(world: RequestWorld): number {
  const { settings } = world
  const silentMs = silence(world)
  if (silentMs === undefined || silentMs > settings.heartbeatMs) return Number.POSITIVE_INFINITY
  return settings.heartbeatMs - silentMs + 1
}

/** A boot that we did not know: announced by the host, or done by the script itself. */
export function rebootStep(world: RequestWorld, node: NodeObject, slot: Slot): RequestStep | undefined {
  const { request, settings, now } = world
  const { host, reboots } = request.status ?? {}
  if (request.spec.work === 'External') return undefined
  const known = reboots?.bootIDAfter
  const intent = host?.rebootIntent
  const isOrdered =
    intent?.token === slot.token && !intent.takenBack && (known === undefined || intent.fromBootID === known)
  const isDone = host?.bootID !== undefined && known !== undefined && host.bootID !== known
  if (!isOrdered && !isDone) return undefined
  const count = (reboots?.count ?? 0) + 1
  // Who is done by then asks for no more of them.
  if (count > settings.maxReboots && !isReturned(request))
    return hold(world, 'RebootLoop', `${node.metadata.name} wants to reboot for the ${count}th time in one request`)
  const message = isOrdered ? 'the host was told to reboot' : 'the host has rebooted by itself'
  const status = enterPhase(request, 'Rebooting', { reason: 'Reboot', message }, now)
  const before = known ?? intent?.fromBootID
  return write({ ...status, reboots: { count, ...(before ? { bootIDBefore: before } : {}) } })
}

/** Proof of return: a new boot in the node's own words and in the host's, and long enough Ready. */
export function rebooting(world: RequestWorld, node: NodeObject, slot: Slot): RequestStep {
  const { request, settings, now } = world
  const { status } = request
  const before = status?.reboots?.bootIDBefore
  const [seen, said] = [node.status?.nodeInfo?.bootID, status?.host?.bootID]
  const isNew = seen !== undefined && seen === said && seen !== before
  const ailment = isNew ? ailmentOf(node) : undefined
  const left = leftMs(status?.since, settings.returnMs, now)
  const step = hostStep(world, slot) ?? heartbeat(world)
  if (step) return step
  if (isNew && !ailment) return settle(world) ?? returned(world, seen)
  const isTakenBack =
    before !== undefined && said === before && seen === before && status?.host?.rebootIntent?.takenBack
  if (isTakenBack) return rebootTakenBack(world, before)
  const unsettled = unsettle(world, ailment ?? 'no new boot is seen')
  if (unsettled) return unsettled
  if (left <= 0) {
    const took = `longer than ${durationText(settings.returnMs)}`
    const unknown = waitToHear(world, `it took ${took}`)
    if (unknown) return unknown
    if (seen === before && said === before && hasCondition(status, 'HostAlive'))
      return hold(world, 'RebootNoEffect', `the order to reboot had no effect: ${took} in the same boot`)
    return overdue(world, 'ReturnDeadline', `the node was not back for ${took}: ${ailment ?? 'no new boot was seen'}`)
  }
  return nothing(ailment ?? 'the node is rebooting', Math.min(left, untilSilentMs(world)))
}

/** Nobody gave the order, and nobody wants it any more: the work goes on where it was. */
function rebootTakenBack({ request, now }: RequestWorld, bootID: string): RequestStep {
  const note = { reason: 'RebootTakenBack', message: 'the host does not want to reboot any more' }
  const count = Math.max(0, (request.status?.reboots?.count ?? 1) - 1)
  return write({ ...enterPhase(request, 'Granted', note, now), reboots: { count, bootIDAfter: bootID } })
}

/** Well for long enough, by our own clock: the first look that finds it so is stored, and it counts from there. */
export function settle({ request, settings, now }: RequestWorld): RequestStep | undefined {
  const { status } = request
  const condition = status?.conditions?.find(({ type }) => type === 'Returned')
  const message = `it is well, and has to be for ${durationText(settings.minReadyMs)}`
  if (settings.minReadyMs === 0 || !status) return undefined
  if (condition?.reason !== 'Settling')
    return write(withCondition(status, { type: 'Returned', status: 'Unknown', reason: 'Settling', message }, now))
  const left = leftMs(condition.lastTransitionTime, settings.minReadyMs, now)
  return left > 0 ? nothing(message, left) : undefined
}

/** What was found well and is not any more has to prove itself anew. */
export function unsettle({ request, now }: RequestWorld, ailment: string): RequestStep | undefined {
  const condition = request.status?.conditions?.find(({ type }) => type === 'Returned')
  if (!request.status || condition === undefined || condition.status === 'False') return undefined
  return write(
    withCondition(request.status, { type: 'Returned', status: 'False', reason: 'NotWell', message: ailment }, now),
  )
}

function returned(world: RequestWorld, bootID: string): RequestStep {
  const { request, now } = world
  const reboots = { ...request.status?.reboots, count: request.status?.reboots?.count ?? 1, bootIDAfter: bootID }
  const well = (status: MaintenanceRequestStatus) =>
    withCondition(status, { type: 'Returned', status: 'True', reason: 'NewBoot', message: `boot ${bootID}` }, now)
  if (request.spec.work === 'Host')
    return write(
      well({ ...enterPhase(request, 'Granted', { reason: 'Rebooted', message: 'the node is back' }, now), reboots }),
    )
  if (request.status?.host?.request === 'Present')
    return hold(world, 'StillRequired', 'the node has rebooted, and still asks for a reboot')
  return write(
    well({ ...enterPhase(request, 'Finishing', { reason: 'Rebooted', message: 'the node is back' }, now), reboots }),
  )
}

/** What was stored may be long untrue: what comes of a deadline depends on whether the host lives now. */
function waitToHear(world: RequestWorld, message: string): RequestStep | undefined {
  if (world.silentMs === undefined || isAlive(world) !== undefined) return undefined
  return nothing(`${message}; first it is heard whether the host is alive`, untilSilentMs(world))
}

/** A deadline has passed. A silent node is a lost one, and what happens then is the budget's to say. */
export function overdue(
  world: RequestWorld,
  reason: 'WorkDeadline' | 'ReturnDeadline' | 'Unhealthy',
  message: string,
): RequestStep {
  const { request, settings, node, now } = world
  const unknown = waitToHear(world, message)
  if (unknown) return unknown
  const isSilent = request.status?.conditions?.some(({ type, status }) => type === 'HostAlive' && status === 'False')
  if (!isSilent) return hold(world, reason, message)
  // Ready, it would count nowhere once its slot is free, and somebody may still be at work there.
  if (settings.onNodeLost === 'Hold' || (node && isReady(node)))
    return hold(world, 'NodeLost', `${message}, and no heartbeat is heard`)
  const why = 'the node is lost, and the budget says: go on without it'
  const status = enterPhase(request, 'Finishing', { reason: 'NodeLost', message: why }, now)
  return write({ ...status, released: { as: 'Released', reason: why } })
}
