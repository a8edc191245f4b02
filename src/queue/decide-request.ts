import type { MaintenanceRequest, MaintenanceRequestStatus, Slot, Waiting } from '../api/index.ts'
import { cordonPatch, type DrainPlan, isCordonedBy, type NodePatch, planDrain, restorePatch } from '../drain/index.ts'
import type { NodeObject, PodDisruptionBudget, PodObject } from '../kube/index.ts'
import { cordonOwner, finalizer } from './names.ts'
import { isOpen, olderTwin, wantsOut } from './order.ts'
import { enterPhase, hasCondition, withCondition } from './request-status.ts'

export interface RequestWorld {
  readonly request: MaintenanceRequest
  /** All requests, to find its twins and those that share its slot. */
  readonly requests: readonly MaintenanceRequest[]
  readonly ledgerUID: string
  /** The slot that lists this request. */
  readonly slot: Slot | undefined
  /** Undefined when no node has the name and UID. */
  readonly node: NodeObject | undefined
  readonly podsOnNode: readonly PodObject[]
  readonly budgets: readonly PodDisruptionBudget[]
  /** What the ledger's decision said of it. */
  readonly waiting: Omit<Waiting, 'since'> | undefined
  readonly now: string
}

/** The one next thing to do for a request. After it the world is looked at again. */
export type RequestStep =
  | { readonly do: 'nothing'; readonly why: string }
  | { readonly do: 'addFinalizer' | 'removeFinalizer' }
  | { readonly do: 'writeStatus'; readonly status: MaintenanceRequestStatus }
  | { readonly do: 'patchNode'; readonly patch: NodePatch; readonly why: string }
  | { readonly do: 'drain'; readonly plan: DrainPlan; readonly status: MaintenanceRequestStatus }

/** Pure and level-triggered: it looks at what is stored, never at how it came about. */
export function decideRequest(world: RequestWorld): RequestStep {
  const { request, slot, node, now } = world
  const isDeleted = request.metadata.deletionTimestamp !== undefined
  const hasFinalizer = request.metadata.finalizers?.includes(finalizer) ?? false
  if (!isOpen(request))
    return isDeleted && hasFinalizer ? { do: 'removeFinalizer' } : { do: 'nothing', why: 'it is done' }
  if (!hasFinalizer && !isDeleted) return { do: 'addFinalizer' }
  if (!node) {
    if (slot) return { do: 'nothing', why: 'the node is gone; the ledger frees its slot' }
    return finish(world, 'NodeGone', `node ${request.spec.nodeName} with UID ${request.spec.nodeUID} does not exist`)
  }
  switch (request.status?.phase) {
    case undefined:
    case 'Queued':
      return queued(world)
    case 'Claimed':
      return claimed(world, node)
    case 'Granted':
      return granted(world, node)
    case 'Finishing':
      return finishing(world, node)
    case 'Rebooting':
    case 'Held':
    case 'Done':
      return { do: 'nothing', why: `it is ${request.status?.phase}, since ${request.status?.since ?? now}` }
  }
}

function queued(world: RequestWorld): RequestStep {
  const { request, slot, ledgerUID, now } = world
  if (slot) {
    const status = enterPhase(request, 'Claimed', { reason: 'SlotTaken', message: `slot ${slot.token} is taken` }, now)
    const held = { type: 'SlotHeld', status: 'True', reason: 'SlotTaken', message: `token ${slot.token}` } as const
    return write({ ...withCondition(status, held, now), slot: { token: slot.token, ledgerUID, takenAt: slot.takenAt } })
  }
  if (!wantsOut(request)) return finish(world, 'Withdrawn', 'it was taken back before its turn')
  const twin = olderTwin(request, world.requests)
  if (twin) return finish(world, 'Duplicate', `${twin.metadata.name} asks for the same already`)
  if (!request.status) {
    const { kind, key } = request.spec.source
    return write(
      enterPhase(
        request,
        'Queued',
        { reason: 'Accepted', message: `asked by ${kind} ${key}: ${request.spec.reason}` },
        now,
      ),
    )
  }
  return waitInLine(world)
}

function waitInLine({ request, waiting, now }: RequestWorld): RequestStep {
  const old = request.status?.waiting
  if (!waiting || !request.status) return { do: 'nothing', why: 'the ledger has not looked at it yet' }
  const isSame = old?.for === waiting.for && old.message === waiting.message && old.position === waiting.position
  if (isSame) return { do: 'nothing', why: waiting.message }
  return write({ ...request.status, waiting: { ...waiting, since: old?.for === waiting.for ? old.since : now } })
}

function claimed(world: RequestWorld, node: NodeObject): RequestStep {
  const { request, slot, podsOnNode, budgets, now } = world
  if (!wantsOut(request)) return giveBack(world)
  if (!slot) return { do: 'nothing', why: 'the ledger does not list it; the slot is put back first' }
  const cordon = cordonStep(world, node, slot)
  if (cordon) return cordon
  if (!request.spec.service.drain) return grant(world, 'nothing had to leave')
  const plan = planDrain(podsOnNode, budgets)
  if (plan.left.length === 0) return grant(world, 'all pods have left')
  return { do: 'drain', plan, status: drainStatus(world, plan, now) }
}

function granted(world: RequestWorld, node: NodeObject): RequestStep {
  const { request, slot } = world
  if (!wantsOut(request)) return giveBack(world)
  if (!slot) return { do: 'nothing', why: 'the ledger does not list it; the slot is put back first' }
  return cordonStep(world, node, slot) ?? { do: 'nothing', why: 'the work may go on; `fettle node return` ends it' }
}

function finishing(world: RequestWorld, node: NodeObject): RequestStep {
  const { request, requests, slot } = world
  if (slot) {
    const sharers = requests.filter(
      (other) =>
        other.metadata.uid !== request.metadata.uid &&
        slot.requests.includes(other.metadata.name ?? '') &&
        other.status?.phase !== 'Finishing',
    )
    const restore = sharers.length === 0 ? restorePatch(node, cordonOwner) : undefined
    if (restore) return { do: 'patchNode', patch: restore, why: 'the node is given back' }
    return { do: 'nothing', why: 'the ledger frees the slot' }
  }
  // The slot is free, so nobody may keep the node on our behalf.
  const isOthers = requests.some(
    (other) =>
      other.metadata.uid !== request.metadata.uid &&
      isOpen(other) &&
      other.spec.nodeUID === request.spec.nodeUID &&
      other.status?.slot,
  )
  if (!isOthers && isCordonedBy(node, cordonOwner)) {
    const patch = restorePatch(node, cordonOwner)
    if (patch) return { do: 'patchNode', patch, why: 'the node is given back' }
  }
  const wasGranted = hasCondition(request.status, 'PermissionGiven')
  return finish(
    world,
    wasGranted ? 'Completed' : 'Withdrawn',
    wasGranted ? 'the work was done and the node is back' : 'it was taken back before the work began',
  )
}

function cordonStep({ request, now }: RequestWorld, node: NodeObject, slot: Slot): RequestStep | undefined {
  if (!request.spec.service.cordon) return undefined
  const patch = cordonPatch(node, cordonOwner, { request: request.metadata.uid ?? '', token: slot.token, since: now })
  return patch && { do: 'patchNode', patch, why: 'no new pods may come' }
}

function grant({ request, now }: RequestWorld, message: string): RequestStep {
  const { drain, ...rest } = enterPhase(request, 'Granted', { reason: 'Drained', message }, now)
  const done = drain ? { ...rest, drain: { ...drain, left: 0, blockedBy: [] } } : rest
  const drained = withCondition(done, { type: 'Drained', status: 'True', reason: 'Drained', message }, now)
  return write(
    withCondition(
      drained,
      { type: 'PermissionGiven', status: 'True', reason: 'Granted', message: 'the work may begin' },
      now,
    ),
  )
}

function giveBack({ request, now }: RequestWorld): RequestStep {
  const message = request.metadata.deletionTimestamp ? 'the request was deleted' : 'somebody said: done, give it back'
  return write(enterPhase(request, 'Finishing', { reason: 'Return', message }, now))
}

function finish(
  { request, now }: RequestWorld,
  outcome: 'NodeGone' | 'Withdrawn' | 'Duplicate' | 'Completed',
  message: string,
): RequestStep {
  const { slot: _, ...status } = enterPhase(request, 'Done', { reason: outcome, message, outcome }, now)
  return write(withCondition(status, { type: 'SlotHeld', status: 'False', reason: outcome, message }, now))
}

function drainStatus({ request, now }: RequestWorld, plan: DrainPlan, at: string): MaintenanceRequestStatus {
  const status = request.status ?? { phase: 'Claimed' as const }
  const old = status.drain
  const blockedBy = plan.refusals.slice(0, 10).map(({ pod, budget, neverPasses }) => ({
    pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
    pdb: budget ? `${budget.metadata.namespace}/${budget.metadata.name}` : '',
    neverPasses,
  }))
  const total = Math.max(old?.total ?? 0, plan.left.length)
  const withDrain = { ...status, drain: { startedAt: old?.startedAt ?? at, total, left: plan.left.length, blockedBy } }
  const message = plan.refusals[0]?.why ?? `${plan.left.length} of ${total} pods are still there`
  const reason = plan.refusals.length > 0 ? 'Blocked' : 'Draining'
  return withCondition(withDrain, { type: 'Drained', status: 'False', reason, message }, now)
}

function write(status: MaintenanceRequestStatus): RequestStep {
  return { do: 'writeStatus', status }
}
