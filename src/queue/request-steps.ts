import type { HeldReason, MaintenanceRequest, MaintenanceRequestStatus, Outcome, Slot, Waiting } from '../api/index.ts'
import type { DaemonSets, DrainPlan, LifecyclePatch, NodePatch } from '../drain/index.ts'
import type { NodeObject, PodDisruptionBudget, PodObject } from '../kube/index.ts'
import { isOpen } from './order.ts'
import { enterPhase, withCondition } from './request-status.ts'
import type { RequestSettings } from './settings.ts'

/** Everything that the next step for one request depends on. */
export interface RequestWorld {
  readonly request: MaintenanceRequest
  /** All requests of the same node, itself among them: its twins, and those that share its slot. */
  readonly requests: readonly MaintenanceRequest[]
  readonly settings: RequestSettings
  readonly ledgerUID: string
  readonly isExclusivityBroken: boolean
  /** The slot that lists this request. */
  readonly slot: Slot | undefined
  /** Undefined when no node has the name and UID. */
  readonly node: NodeObject | undefined
  readonly podsOnNode: readonly PodObject[]
  readonly budgets: readonly PodDisruptionBudget[]
  /** The DaemonSets that exist; undefined is unknown. */
  readonly daemonSets?: DaemonSets
  /** Tells Fettle's own controller pods. */
  readonly ownPods?: (pod: PodObject) => boolean
  /** Whether another node could run them. */
  readonly hasOtherNodes?: boolean
  /** Whether the server has EvictionRequests. */
  readonly offersEvictionRequest?: boolean
  /** What the API server said last to pods that were asked in vain, by their UID. */
  readonly answers?: ReadonlyMap<string, string>
  /** How long the node's heartbeat has not changed, by our own clock; undefined when nobody has watched it yet. */
  readonly silentMs?: number
  /** No change of it was seen by now: the silence counts from the first look, and may be that of a node that is well. */
  readonly isUnheard?: boolean
  /** The annotation or the lock that it was made for is still there. */
  readonly isStillAsked?: boolean
  /** Its windows are closed now, and it may go all the same. */
  readonly passesClosedWindow?: boolean
  /** What the ledger's decision said of it. */
  readonly waiting: Omit<Waiting, 'since'> | undefined
  readonly now: string
}

/** The one next thing to do for a request. After it the world is looked at again. */
export type RequestStep =
  | { readonly do: 'nothing'; readonly why: string; readonly lookAgainMs?: number }
  | { readonly do: 'addFinalizer' | 'removeFinalizer' | 'removeVerb' }
  | {
      readonly do: 'writeStatus'
      readonly status: MaintenanceRequestStatus
      /** Pods whose EvictionRequests are taken back before it is written. */
      readonly withdraw?: readonly PodObject[]
    }
  | { readonly do: 'patchNode'; readonly patch: NodePatch; readonly why: string }
  | { readonly do: 'patchNodeStatus'; readonly patch: LifecyclePatch; readonly why: string }
  | { readonly do: 'drain'; readonly plan: DrainPlan; readonly status: MaintenanceRequestStatus }

export function write(status: MaintenanceRequestStatus): RequestStep {
  return { do: 'writeStatus', status }
}

export function nothing(why: string, lookAgainMs?: number): RequestStep {
  return { do: 'nothing', why, ...(lookAgainMs === undefined ? {} : { lookAgainMs: Math.max(0, lookAgainMs) }) }
}

/** What is left of a time that began at `since`; 0 or less when it is over. Never more than all of it: clocks differ. */
export function leftMs(since: string | undefined, allowedMs: number, now: string): number {
  return Math.min(allowedMs, Date.parse(since ?? now) + allowedMs - Date.parse(now))
}

/** Other requests in the same slot that have not ended yet. */
export function sharers({ request, requests, slot }: RequestWorld): MaintenanceRequest[] {
  if (!slot) return []
  return requests.filter(
    (other) =>
      other.metadata.uid !== request.metadata.uid && isOpen(other) && slot.requests.includes(other.metadata.name ?? ''),
  )
}

/** Stops, names why, and waits for a person. The slot still counts. */
export function hold(world: RequestWorld, reason: HeldReason, message: string): RequestStep {
  const { request, now } = world
  const from = request.status?.phase ?? 'Queued'
  const name = request.metadata.name ?? ''
  const status = enterPhase(request, 'Held', { reason, message }, now)
  const next = `fettle node retry ${name}, or fettle node release ${name}`
  const held = { ...status, held: { from, reason, message, next } }
  return write(withCondition(held, { type: 'Held', status: 'True', reason, message }, now))
}

export function giveBack({ request, now }: RequestWorld, message: string, reason = 'Return'): RequestStep {
  return write(withoutHeld(enterPhase(request, 'Finishing', { reason, message }, now), now))
}

export function withoutHeld(status: MaintenanceRequestStatus, now: string): MaintenanceRequestStatus {
  const wasHeld = status.conditions?.some(({ type, status: is }) => type === 'Held' && is === 'True')
  const condition = { type: 'Held', status: 'False', reason: 'GoesOn', message: 'it goes on' } as const
  return wasHeld ? withCondition(status, condition, now) : status
}

export function finish({ request, now }: RequestWorld, outcome: Outcome, message: string): RequestStep {
  const { slot: _, requeue: __, ...status } = enterPhase(request, 'Done', { reason: outcome, message, outcome }, now)
  const ended = withCondition(status, { type: 'SlotHeld', status: 'False', reason: outcome, message }, now)
  return write(withoutHeld(ended, now))
}
