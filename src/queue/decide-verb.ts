import { type MaintenanceRequest, type MaintenanceRequestStatus, verbAnnotations } from '../api/index.ts'
import { mayGoDown } from './health.ts'
import { enterPhase } from './request-status.ts'
import { finish, type RequestStep, type RequestWorld, withoutHeld, write } from './request-steps.ts'

const outcomes = { release: 'Released', skip: 'Skipped', abort: 'Aborted' } as const

interface Order {
  readonly verb: string
  readonly reason?: string
  readonly by?: string
}

/** What a person wrote on the request, if anything. */
function orderOn({ metadata }: MaintenanceRequest): Order | undefined {
  const verb = metadata.annotations?.[verbAnnotations.verb]
  const [reason, by] = [metadata.annotations?.[verbAnnotations.reason], metadata.annotations?.[verbAnnotations.by]]
  return verb === undefined
    ? undefined
    : { verb, ...(reason ? { reason: reason.slice(0, 256) } : {}), ...(by ? { by: by.slice(0, 256) } : {}) }
}

/** A person has said that it ends, and nobody has acted on it yet. */
export function isToEnd(request: MaintenanceRequest): boolean {
  return Object.hasOwn(outcomes, orderOn(request)?.verb ?? '')
}

/**
 * Acts on a person's word. Its effect is stored before the word is removed, and each effect is recognised, so that a
 * crash in between repeats nothing.
 */
export function decideVerb(world: RequestWorld): RequestStep | undefined {
  const order = orderOn(world.request)
  if (!order) return undefined
  return (order.verb === 'retry' ? retry(world, order) : end(world, order)) ?? { do: 'removeVerb' }
}

function retry({ request, node, now }: RequestWorld, { reason, by }: Order): RequestStep | undefined {
  const { status } = request
  const message = `tried again${reason ? `: ${reason}` : ''}`
  if (status?.phase === 'Held' && status.held) {
    const isNewTry = needsAnotherReboot(request)
    const from = isNewTry ? 'Granted' : status.held.from
    const again = withoutHeld(fresh(enterPhase(request, from, { reason: 'Retry', message, by }, now)), now)
    return write(isNewTry ? fromThisBoot(again, node?.status?.nodeInfo?.bootID) : again)
  }
  if (status?.phase === 'Queued' && status.requeue && status.requeue.notBefore > now)
    return write({
      ...enterPhase(request, 'Queued', { reason: 'Retry', message, by }, now),
      requeue: { ...status.requeue, notBefore: now },
    })
  return undefined
}

/**
 * Back in Rebooting a machine that has left its boot is proven, and one that was told to leave it is told again: neither
 * goes down once more for nothing. Only a reboot that was not enough, and one that nothing orders any more, begins anew.
 */
function needsAnotherReboot(request: MaintenanceRequest): boolean {
  const { held, host, reboots } = request.status ?? {}
  if (request.spec.work !== 'Reboot' || held?.from !== 'Rebooting') return false
  const hasLeft = host?.bootID !== undefined && host.bootID !== reboots?.bootIDBefore
  return held.reason === 'StillRequired' || !(hasLeft || mayGoDown(request))
}

/** The order that led to the stop must not count again, nor the boot that came of it: only one that leaves this boot. */
function fromThisBoot(status: MaintenanceRequestStatus, seen: string | undefined): MaintenanceRequestStatus {
  // The host's own word first, as when the work began.
  const bootID = status.host?.bootID ?? seen
  return { ...status, reboots: { count: 0, ...(bootID ? { bootIDAfter: bootID } : {}) } }
}

/** Deadlines count anew, and what made it stop is not held against it again. */
function fresh(status: MaintenanceRequestStatus): MaintenanceRequestStatus {
  const { drain: _, ...rest } = status
  return {
    ...rest,
    // Nobody watched whether the node stayed well meanwhile.
    ...(status.conditions ? { conditions: status.conditions.filter(({ reason }) => reason !== 'Settling') } : {}),
    // One that is under way is the first of those that are allowed from here.
    ...(status.reboots ? { reboots: { ...status.reboots, count: status.phase === 'Rebooting' ? 1 : 0 } } : {}),
    ...(status.host?.failure ? { dismissedFailure: status.host.failure } : {}),
  }
}

function end(world: RequestWorld, { verb, reason, by }: Order): RequestStep | undefined {
  const { request, slot, now } = world
  const as = Object.hasOwn(outcomes, verb) ? outcomes[verb as keyof typeof outcomes] : undefined
  const { status } = request
  // Held again after a first word, it needs another one.
  if (!as || !status || (status.released && status.phase !== 'Held')) return undefined
  const why = `${verb}${by ? ` by ${by}` : ''}${reason ? `: ${reason}` : ''}`
  if (status.phase === 'Queued' && !slot) return finish(world, as, why)
  const { requeue: _, ...going } = enterPhase(request, 'Finishing', { reason: as, message: why, by }, now)
  const released = { as, ...(by ? { by } : {}), ...(reason ? { reason } : {}) }
  return write(withoutHeld({ ...going, released }, now))
}
