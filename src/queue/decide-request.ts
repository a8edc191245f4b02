import { type MaintenanceRequest, type MaintenanceRequestStatus, type Slot, verbAnnotations } from '../api/index.ts'
import {
  clearLifecycleConditions,
  cordonClaim,
  cordonPatch,
  isCordonedBy,
  lifecycleConditions,
  restorePatch,
} from '../drain/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { durationText } from '../time/index.ts'
import { cordonOverdue, daemonSetsToStop, drainStep, stayInService, withdrawStep } from './decide-drain.ts'
import { grant, rebootsFrom } from './decide-grant.ts'
import { attempt } from './decide-refusal.ts'
import { isRestored } from './decide-releases.ts'
import { decideVerb } from './decide-verb.ts'
import {
  granted,
  heartbeat,
  hostStep,
  isReturned,
  overdue,
  rebooting,
  rebootStep,
  settle,
  unsettle,
} from './decide-work.ts'
import { ailmentOf, hasNewBoot, isProven, isReadySince, isTakenBack, mayGoDown, needsProof } from './health.ts'
import { wasUnschedulable } from './imported-locks.ts'
import { cordonOwner, finalizer } from './names.ts'
import { isOpen, olderTwin } from './order.ts'
import { enterPhase, hasCondition, refusalOf, withCondition } from './request-status.ts'
import {
  finish,
  giveBack,
  hold,
  leftMs,
  nothing,
  type RequestStep,
  type RequestWorld,
  sharers,
  write,
} from './request-steps.ts'

/** Pure and level-triggered: it looks at what is stored, never at how it came about. */
export function decideRequest(world: RequestWorld): RequestStep {
  const { request, slot, node } = world
  const isDeleted = request.metadata.deletionTimestamp !== undefined
  const hasFinalizer = request.metadata.finalizers?.includes(finalizer) ?? false
  if (!isOpen(request)) {
    // Without its request nobody could tell any more why the slot is held.
    if (slot && node) return goHomeAgain(world, node) ?? nothing('the ledger frees its slot first')
    if (isDeleted && hasFinalizer)
      return world.isStillAsked
        ? nothing('what asked for it goes first, or it would be made anew', 5_000)
        : { do: 'removeFinalizer' }
    return request.metadata.annotations?.[verbAnnotations.verb] === undefined
      ? nothing('it is done')
      : { do: 'removeVerb' }
  }
  if (!hasFinalizer && !isDeleted) return { do: 'addFinalizer' }
  if (!node) {
    if (slot) return nothing('the node is gone; the ledger frees its slot')
    return finish(world, 'NodeGone', `node ${request.spec.nodeName} with UID ${request.spec.nodeUID} does not exist`)
  }
  if (!request.status?.history) return accept(world)
  return decideVerb(world) ?? copySlot(world) ?? inPhase(world, request.status, node)
}

/** It says that it is over, but the ledger lists it and its node bears a mark of ours: somebody wrote into one of them by hand. */
function goHomeAgain(world: RequestWorld, node: NodeObject): RequestStep | undefined {
  const { request, now } = world
  const isLast = sharers(world).every(({ status }) => status?.phase === 'Finishing')
  if (!isLast || isRestored(node)) return undefined
  const note = { reason: 'StillListed', message: 'it was said to be over, but its node was not given back' }
  const { outcome: _, ...status } = enterPhase(request, 'Finishing', note, now)
  return write(status)
}

/** An agent may have reported before anybody had accepted the request: its report stays. */
function accept({ request, now }: RequestWorld): RequestStep {
  const { kind, key } = request.spec.source
  const message = `asked by ${kind} ${key}: ${request.spec.reason}`
  const status = enterPhase(request, request.status?.phase ?? 'Queued', { reason: 'Accepted', message }, now)
  return write(withCondition(status, { type: 'Accepted', status: 'True', reason: 'Accepted', message }, now))
}

/** The ledger gave the slot another number: it was restored, or the node had obeyed a higher one. */
function copySlot({ request, slot, ledgerUID }: RequestWorld): RequestStep | undefined {
  const mine = request.status?.slot
  if (!slot || !mine || !request.status) return undefined
  if (mine.token === slot.token && mine.ledgerUID === ledgerUID) return undefined
  // A number that the ledger has not caught up with yet is the ledger's to take over; on the way home none is needed.
  if (mine.token > slot.token)
    return request.status.phase === 'Finishing' ? undefined : nothing('the ledger takes over its token first')
  return write({ ...request.status, slot: { token: slot.token, ledgerUID, takenAt: slot.takenAt } })
}

function inPhase(world: RequestWorld, status: MaintenanceRequestStatus, node: NodeObject): RequestStep {
  const { request, slot } = world
  if (status.phase === 'Queued') return queued(world)
  if (status.phase === 'Finishing') return finishing(world, node)
  const back = isReturned(request)
  // A host that was told to reboot may still go down: it is not given back before it is seen in another boot. Nobody may have
  // looked between the order and the end of the request.
  const reboot = back && status.phase === 'Granted' && slot ? rebootStep(world, node, slot) : undefined
  if (reboot) return reboot
  if (back && status.held?.from !== 'Finishing' && status.phase !== 'Rebooting') return giveBack(world, back)
  // A slot and its number are stored together with the phase that needs them: without them somebody wrote that phase.
  if (!status.slot) return backInLine(world)
  if (!slot) return nothing('the ledger does not list it; the slot is put back first')
  switch (status.phase) {
    case 'Claimed':
      return claimed(world, node, slot)
    case 'Granted':
      return keepOut(world, node, slot, () => granted(world, node, slot))
    case 'Rebooting':
      return keepOut(world, node, slot, () => rebooting(world, node, slot))
    case 'Held':
    case 'Done': {
      // Who stopped before the cordon does not take the node out now.
      const isOut = status.held?.from !== 'Claimed' || isCordonedBy(node, cordonOwner)
      const waits = () => nothing(`it waits for a person: ${status.held?.message ?? ''}`)
      return isOut ? keepOut(world, node, slot, waits) : waits()
    }
  }
}

function backInLine({ request, now }: RequestWorld): RequestStep {
  const note = { reason: 'NoSlot', message: 'it never got a slot: its turn is still to come' }
  return write(enterPhase(request, 'Queued', note, now))
}

/** In the history of a request that went only because a person said that windows do not count for it. */
export const windowBypassed = 'WindowBypassed'

function queued(world: RequestWorld): RequestStep {
  const { request, node, slot, ledgerUID, now } = world
  if (slot) {
    const taken = `slot ${slot.token} is taken`
    const note = world.passesClosedWindow
      ? { reason: windowBypassed, message: `${taken} outside its windows: ${request.spec.bypassWindow}` }
      : { reason: 'SlotTaken', message: taken }
    const { drain: _, ...status } = enterPhase(request, 'Claimed', note, now)
    const held = { type: 'SlotHeld', status: 'True', reason: 'SlotTaken', message: `token ${slot.token}` } as const
    return write({
      ...withCondition(status, held, now),
      ...rebootsFrom(request, node),
      slot: { token: slot.token, ledgerUID, takenAt: slot.takenAt },
    })
  }
  if (isReturned(request)) return finish(world, 'Withdrawn', 'it was taken back before its turn')
  const twin = olderTwin(request, world.requests)
  if (twin) return finish(world, 'Duplicate', `${twin.metadata.name} asks for the same already`)
  return waitInLine(world)
}

function waitInLine({ request, waiting, now }: RequestWorld): RequestStep {
  const old = request.status?.waiting
  if (!waiting || !request.status) return nothing('the ledger has not looked at it yet')
  const isSame = old?.for === waiting.for && old.message === waiting.message && old.position === waiting.position
  // Once it was passed it stays so until its claim, whatever it waits for meanwhile.
  const passedSince = old?.passedSince ?? waiting.passedSince
  if (isSame && old.passedSince === passedSince) return nothing(waiting.message)
  const since = old?.for === waiting.for ? old.since : now
  return write({ ...request.status, waiting: { ...waiting, since, ...(passedSince ? { passedSince } : {}) } })
}

function claimed(world: RequestWorld, node: NodeObject, slot: Slot): RequestStep {
  const { request, settings, isExclusivityBroken, now } = world
  if (isExclusivityBroken)
    return hold(
      world,
      'ExclusivityBroken',
      'more slots are held than the budget allows, and this one is not at work yet',
    )
  const trouble = request.spec.work === 'External' ? undefined : hostStep(world, slot)
  if (trouble) return trouble
  const lead = leftMs(slot.takenAt, settings.leadMs, now)
  if (lead > 0 && !isCordonedBy(node, cordonOwner))
    return announce(world, node) ?? nothing(`it is announced; the cordon comes in ${durationText(lead)}`, lead)
  const cordon = cordonStep(world, node, slot)
  const first =
    announce(world, node) ??
    stayInService(world, node) ??
    attempt(world, cordon, (refused) => cordonOverdue(world, refused))
  if (first) return first
  if (!request.spec.service.drain) return grant(world, node, 'no drain was asked for', 'NotRequested')
  return drainStep(world, node)
}

/** A cordon that somebody undid is put back; whoever means it says `fettle node release`. Deadlines run on if that is refused. */
function keepOut(world: RequestWorld, node: NodeObject, slot: Slot, goOn: () => RequestStep): RequestStep {
  const next = () => announce(world, node) ?? goOn()
  return attempt(world, cordonStep(world, node, slot), next) ?? next()
}

function cordonStep(world: RequestWorld, node: NodeObject, slot: Slot): RequestStep | undefined {
  const { request, settings, now } = world
  if (!request.spec.service.cordon) return undefined
  const claim = { request: request.metadata.uid ?? '', token: slot.token, since: now }
  const patch = cordonPatch(node, cordonOwner, claim, {
    marks: settings.marks,
    wasUnschedulable: wasUnschedulable(request),
    stopsDaemonSets: daemonSetsToStop(world).length > 0,
  })
  return patch && { do: 'patchNode', patch, why: 'no new pods may come' }
}

/** Says on the node itself what is going on, for whoever watches nodes and not requests. */
function announce(world: RequestWorld, node: NodeObject): RequestStep | undefined {
  const { request, now } = world
  // Nobody needs it to go on: in the next phase it is tried once more.
  if (!request.spec.service.cordon || refusalOf(request.status, 'NodeStatusRefused')) return undefined
  const all = [request, ...sharers(world)]
  const phases = all.map(({ status }) => status)
  const reason = sharedReason(world, all)
  const isAtWork = phases.some((status) => hasCondition(status, 'PermissionGiven') && status?.phase !== 'Finishing')
  const isDrained = phases.some((status) => hasCondition(status, 'Drained'))
  const isDraining =
    isCordonedBy(node, cordonOwner) &&
    all.some(({ spec, status }) => spec.service.drain && status?.phase !== 'Finishing')
  const wanted = isAtWork
    ? { MaintenanceInProgress: reason, ...(isDrained ? { Drained: 'all pods have left' } : {}) }
    : {
        MaintenancePlanned: reason,
        ...(isDraining ? { DrainInProgress: 'pods are asked to leave' } : {}),
      }
  const patch = lifecycleConditions(node, wanted, now)
  return patch && { do: 'patchNodeStatus', patch, why: 'the node says what is going on' }
}

/** All who share the slot have to say the same, or each would correct the other for ever. */
function sharedReason({ request, slot }: RequestWorld, all: readonly MaintenanceRequest[]): string {
  const staying = all.filter(({ status }) => status?.phase !== 'Finishing')
  const byName = new Map(staying.map((one) => [one.metadata.name ?? '', one.spec.reason]))
  const first = slot?.requests.find((name) => byName.has(name))
  return (first !== undefined && byName.get(first)) || request.spec.reason
}

function finishing(world: RequestWorld, node: NodeObject): RequestStep {
  const { request, slot, requests } = world
  const withdrawal = withdrawStep(world)
  if (withdrawal) return withdrawal
  if (slot) {
    const unproven = needsProof(request) || !isTakenBack(request) ? proofStep(world, node) : undefined
    if (unproven) return unproven
    const isLast = sharers(world).every((other) => other.status?.phase === 'Finishing' && isTakenBack(other))
    if (!isLast && !isProven(request)) return proven(world)
    return (isLast ? restoreInTime(world, node) : undefined) ?? nothing('the ledger frees the slot')
  }
  // A slot is freed only after that; if it is gone before, somebody tore the ledger, and a script may still be at work.
  const atWork = isTakenBack(request) ? undefined : proofStep(world, node)
  if (atWork) return atWork
  // The slot is free, so nobody may keep the node on our behalf.
  const isOthers = requests.some(
    (other) => other.metadata.uid !== request.metadata.uid && isOpen(other) && other.status?.slot,
  )
  const restore = isOthers ? undefined : restoreInTime(world, node)
  return restore ?? ended(world)
}

/** A node that nobody lets us put back is a person's to look at, once it has lasted as long as a return may. */
function restoreInTime(world: RequestWorld, node: NodeObject): RequestStep | undefined {
  const { settings, now } = world
  return attempt(world, restoreStep(world, node), ({ lastTransitionTime, message }) =>
    leftMs(lastTransitionTime, settings.returnMs, now) <= 0
      ? hold(world, 'Unhealthy', `the node could not be put back for ${durationText(settings.returnMs)}: ${message}`)
      : undefined,
  )
}

/** Written down, because others keep the node: who leaves the slot before them cannot show it by a node in service. */
function proven({ request, now }: RequestWorld): RequestStep {
  const message = 'the node is well after the work'
  const status = request.status ?? { phase: 'Finishing' as const }
  return write(withCondition(status, { type: 'Returned', status: 'True', reason: 'Well', message }, now))
}

/** The permission is gone from the host, and the node is well. */
function proofStep(world: RequestWorld, node: NodeObject): RequestStep | undefined {
  const { request, slot, settings, now } = world
  const { status } = request
  const left = leftMs(status?.since, settings.returnMs, now)
  if (request.spec.work !== 'External' && status?.host?.permission !== 'Absent') {
    const step = slot && (hostStep(world, slot) ?? heartbeat(world))
    if (step) return step
    if (left > 0) return nothing('it waits until the host has taken the permission back', left)
    return overdue(world, 'Unhealthy', 'the host did not take the permission back')
  }
  const ailment = unseenBoot(world, node) ?? ailmentOf(node)
  if (ailment) {
    const unsettled = unsettle(world, ailment)
    if (unsettled) return unsettled
    return left > 0 ? nothing(ailment, left) : overdue(world, 'Unhealthy', ailment)
  }
  if (hasCondition(status, 'Returned')) return undefined
  // A node that never went away has nothing to prove. After a reboot its word alone does not tell: its clock may be behind.
  const permitted = status?.conditions?.find(
    ({ type, status: is }) => type === 'PermissionGiven' && is === 'True',
  )?.lastTransitionTime
  const hasRebooted = (status?.reboots?.count ?? 0) > 0 || hasNewBoot(request, node)
  if (!hasRebooted && permitted && isReadySince(node, permitted)) return undefined
  return settle(world)
}

/** What the kubelet said before a reboot says nothing about the node after it. */
function unseenBoot({ request }: RequestWorld, node: NodeObject): string | undefined {
  if (request.spec.work === 'External') return undefined
  if (mayGoDown(request)) return `${node.metadata.name} was told to reboot, and has not done so yet`
  const isSeen = node.status?.nodeInfo?.bootID === request.status?.host?.bootID
  return hasNewBoot(request, node) && !isSeen ? `${node.metadata.name} is not seen in its new boot yet` : undefined
}

function restoreStep({ request, slot, settings }: RequestWorld, node: NodeObject): RequestStep | undefined {
  // Without a slot and without a cordon, what the node says may be of a turn that has just begun.
  if (!slot && !isCordonedBy(node, cordonOwner)) return undefined
  // A higher token stands for a turn that began after this one: what is known here is old, and the node is theirs.
  const ours = Math.max(slot?.token ?? 0, request.status?.slot?.token ?? 0)
  if ((cordonClaim(node, cordonOwner)?.token ?? 0) > ours) return undefined
  const cleared = refusalOf(request.status, 'NodeStatusRefused') ? undefined : clearLifecycleConditions(node)
  if (cleared) return { do: 'patchNodeStatus', patch: cleared, why: 'the maintenance of the node is over' }
  const patch = restorePatch(node, cordonOwner, settings.marks)
  return patch && { do: 'patchNode', patch, why: 'the node is given back' }
}

/** Somebody who shared the slot was faster, or the machine went down by itself while it was drained. */
function hasRebooted(request: MaintenanceRequest): boolean {
  return request.spec.work === 'Reboot' && hasNewBoot(request, undefined)
}

function ended(world: RequestWorld): RequestStep {
  const { request, now } = world
  const { released, requeue } = request.status ?? {}
  if (released) return finish(world, released.as, `the node is back without proof: ${released.reason ?? released.as}`)
  if (requeue?.isPending && !isReturned(request)) {
    const note = { reason: 'Requeued', message: `it is tried again from ${requeue.notBefore}` }
    const { slot: _, ...status } = enterPhase(request, 'Queued', note, now)
    const free = { type: 'SlotHeld', status: 'False', reason: 'Requeued', message: 'the slot was given back' } as const
    return write({ ...withCondition(status, free, now), requeue: { ...requeue, isPending: false } })
  }
  if (hasCondition(request.status, 'PermissionGiven'))
    return finish(world, 'Completed', 'the work was done and the node is back')
  return hasRebooted(request)
    ? finish(world, 'Completed', 'the node has rebooted since its turn came')
    : finish(world, 'Withdrawn', 'it was taken back before the work began')
}
