import {
  type MaintenanceBudget,
  type MaintenanceBudgetStatus,
  type MaintenanceRequest,
  releaseAnnotations,
  type Slot,
  type Waiting,
} from '../api/index.ts'
import { isCordonedBy, isSilent } from '../drain/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { durationText } from '../time/index.ts'
import { withCondition } from './conditions.ts'
import { isProven, isTakenBack } from './health.ts'
import { type Claim, emptyLedger, isSoaking, slotOf, withClaim, withoutSlot, withRelease, withSlot } from './ledger.ts'
import { figuresOf, type Limit, type OutNode, shortTime, Tally } from './limits.ts'
import { isCordonOfThePast, lostSlots, outrunSlots, withTokensSeen } from './lost-slots.ts'
import { cordonOwner, finalizer } from './names.ts'
import { inOrder, isOpen, isStarving, patienceMs, wantsOut, youngerTwins } from './order.ts'
import { hasCondition } from './request-status.ts'
import { settingsOf, windowsOf } from './settings.ts'

export interface LedgerWorld {
  readonly budget: MaintenanceBudget
  readonly requests: readonly MaintenanceRequest[]
  readonly nodes: readonly NodeObject[]
  readonly gates: ClaimGates
  readonly now: string
}

/** What can keep a request from being claimed besides the budget. Each is a sentence, or a question not asked yet. */
export interface ClaimGates {
  /** What is known of nodes or requests is too old to claim on. */
  readonly staleView?: string
  readonly freeze?: { readonly message: string; readonly untilMs?: number }
  /** Somebody else's lock over the same nodes. */
  readonly foreignLock?: string
  /** Whether one of these windows is open; no names is always. */
  readonly windowOf: (names: readonly string[]) => {
    readonly isOpen: boolean
    readonly opensAtMs?: number
    readonly problem?: string
  }
  readonly blockerOf: (
    node: NodeObject,
    request: MaintenanceRequest,
  ) => { readonly message: string; readonly next: string } | 'unasked' | undefined
}

export const openGates: ClaimGates = { windowOf: () => ({ isOpen: true }), blockerOf: () => undefined }

export interface Release {
  readonly request: string
  readonly node: string
  readonly nodeUID: string
  /** Nobody else needs the slot, so the node must be back in service before it is freed. */
  readonly isLast: boolean
  readonly soakUntil?: string
}

type Obstacle = Omit<Waiting, 'since' | 'position'>

export interface LedgerDecision {
  /** Slots that are put back, or get a higher token; they count whatever the limits say. */
  readonly putBack: readonly Slot[]
  /** Each needs a live look at node and request before it is written. */
  readonly claims: readonly Claim[]
  readonly releases: readonly Release[]
  /** Slots that end without a request: rested long enough, or freed by a person. */
  readonly ended: readonly Slot[]
  /** Slots that a person frees and whose nodes have to be put back first. */
  readonly toRestore: readonly Slot[]
  /** Nodes that still bear our marks, and that nobody keeps out. */
  readonly forgotten: readonly NodeObject[]
  /** Why each queued request is not claimed, in the order of the line. */
  readonly waiting: ReadonlyMap<string, Omit<Waiting, 'since'>>
  /** Would be claimed if somebody outside said that nothing is against it. */
  readonly unasked: readonly MaintenanceRequest[]
  readonly limits: readonly Limit[]
  /** The ledger as it is when all of this is true. */
  readonly next: MaintenanceBudgetStatus
  /** When time alone may change the answer. */
  readonly wakeAtMs?: number
}

/** Whose turn it is. Pure: the same world gives the same answer, and `fettle explain` prints it. */
export function decideLedger(world: LedgerWorld): LedgerDecision {
  const { budget, requests, nodes, now } = world
  const nowMs = Date.parse(now)
  const stored = withTokensSeen(budget.status ?? emptyLedger, requests, nodes)
  const nodeByUid = new Map(nodes.map((node) => [node.metadata.uid ?? '', node]))
  const byName = new Map(requests.map((request) => [nameOf(request), request]))

  const ended = stored.slots.filter((slot) => isEnded(slot, world, nodeByUid, byName))
  const releases = releasable(world, nodeByUid, byName)
  let ledger = ended.reduce((status, { nodeUID }) => withoutSlot(status, nodeUID), stored)
  ledger = releases.reduce((status, { request, soakUntil }) => withRelease(status, request, soakUntil), ledger)
  const lost = lostSlots(ledger, requests, nodeByUid)
  ledger = lost.reduce(withSlot, ledger)
  const outrun = outrunSlots(ledger, requests)
  ledger = outrun.reduce(withSlot, ledger)
  const putBack = [...lost, ...outrun]

  const tally = new Tally(budget.spec, ledger.slots, nodes)
  const isBroken = isExclusivityBroken(stored, lost.length > 0, ledger.slots, tally)
  const line = lineOf(world, ledger, nodeByUid, byName, tally, isBroken)
  // Counted anew: places that are only promised are in the first count as well.
  const limits = new Tally(budget.spec, line.ledger.slots, nodes).all()
  const next = withConditions({ ...line.ledger, limits: figuresOf(limits) }, world, isBroken)
  const wakeTimes = [
    ...line.wakeTimes,
    ...ledger.slots.flatMap(({ soakUntil }) => (soakUntil ? [Date.parse(soakUntil)] : [])),
  ]
  const future = wakeTimes.filter((time) => time > nowMs)
  return {
    putBack,
    claims: line.claims,
    releases,
    ended,
    toRestore: stored.slots.filter(
      (slot) => isOrphan(slot, byName) && isOrdered(budget, slot) && !ended.includes(slot),
    ),
    forgotten: nodes.filter((node) => isForgotten(node, ledger, requests)),
    waiting: line.waiting,
    unasked: line.unasked,
    limits,
    next,
    ...(future.length > 0 ? { wakeAtMs: Math.min(...future) } : {}),
  }
}

interface Line {
  readonly ledger: MaintenanceBudgetStatus
  readonly claims: readonly Claim[]
  readonly waiting: ReadonlyMap<string, Omit<Waiting, 'since'>>
  readonly unasked: readonly MaintenanceRequest[]
  readonly wakeTimes: readonly number[]
}

/** Walks the line from its head: who fits goes, who does not is told why. */
function lineOf(
  world: LedgerWorld,
  start: MaintenanceBudgetStatus,
  nodeByUid: ReadonlyMap<string, NodeObject>,
  byName: ReadonlyMap<string, MaintenanceRequest>,
  tally: Tally,
  isBroken: boolean,
): Line {
  const { budget, requests, now } = world
  const nowMs = Date.parse(now)
  const twins = youngerTwins(requests)
  const listed = new Set(start.slots.flatMap((slot) => slot.requests))
  const queued = inOrder(
    requests.filter((request) => mayClaim(request) && !twins.has(nameOf(request)) && !listed.has(nameOf(request))),
    { nowMs, outInZone: outInZone(nodeByUid, start.slots) },
  )
  const forAll = closedForAll(world, isBroken)
  const slotByUid = new Map(start.slots.map((slot) => [slot.nodeUID, slot]))
  const waiting = new Map<string, Omit<Waiting, 'since'>>()
  const claims: Claim[] = []
  const unasked: MaintenanceRequest[] = []
  const wakeTimes: number[] = []
  /** Full limits that somebody has waited for so long that nobody may take them first. */
  const reserved = new Map<string, string>()
  let ledger = start
  for (const request of queued) {
    const node = nodeByUid.get(request.spec.nodeUID)
    // Its own turn ends it: the node is gone.
    if (!node) continue
    const name = nameOf(request)
    const slot = slotByUid.get(request.spec.nodeUID)
    const joins = slot !== undefined && !isSoaking(slot)
    const full = joins ? [] : tally.full(node)
    const obstacle =
      forAll ??
      ownObstacle(world, request) ??
      (joins
        ? closingSlot(slot, byName)
        : (passed(node, tally, reserved) ?? fullObstacle(full[0], budget) ?? fullLedger(ledger)))
    if (full.length > 0 && isStarving(request, nowMs)) for (const { key } of full) reserved.set(key, name)
    const block = obstacle || joins ? undefined : world.gates.blockerOf(node, request)
    const stop = obstacle ?? blockerObstacle(block)
    if (stop) {
      if (block === 'unasked') {
        unasked.push(request)
        tally.take(node, promisedSlot(request, now))
      }
      waiting.set(name, { position: waiting.size + 1, ...stop })
      if (stop.notBefore) wakeTimes.push(Date.parse(stop.notBefore))
      const since = request.status?.waiting
      if (stop.for === 'Budget' && since?.for === 'Budget') wakeTimes.push(Date.parse(since.since) + patienceMs)
      continue
    }
    const { nodeName, nodeUID } = request.spec
    const claim = { request: name, node: nodeName, nodeUID, groups: tally.groupsOf(node) }
    const taken = withClaim(ledger, claim, now)
    const made = slotOf(taken, name) ?? promisedSlot(request, now)
    tally.take(node, made)
    slotByUid.set(nodeUID, made)
    // Claimed before the finalizer is stored, a deleted request would leave its slot behind for ever.
    if (!request.metadata.finalizers?.includes(finalizer)) continue
    ledger = taken
    claims.push(claim)
  }
  return { ledger, claims, waiting, unasked, wakeTimes }
}

/** Those further back count with the place of somebody who may take it a moment later. */
function promisedSlot(
  { metadata: { name = '' }, spec: { nodeName: node, nodeUID } }: MaintenanceRequest,
  now: string,
): Slot {
  return { node, nodeUID, token: 0, takenAt: now, requests: [name] }
}

/** A request on its way home that no slot lists is done; it does not set out again. */
function mayClaim(request: MaintenanceRequest): boolean {
  return isOpen(request) && wantsOut(request) && request.status?.phase !== 'Finishing'
}

const zoneLabel = 'topology.kubernetes.io/zone'

function outInZone(
  nodeByUid: ReadonlyMap<string, NodeObject>,
  slots: readonly Slot[],
): (request: MaintenanceRequest) => number {
  const zoneOf = (nodeUID: string) => nodeByUid.get(nodeUID)?.metadata.labels?.[zoneLabel] ?? ''
  const out = new Map<string, number>()
  for (const { nodeUID } of slots) out.set(zoneOf(nodeUID), (out.get(zoneOf(nodeUID)) ?? 0) + 1)
  return ({ spec }) => out.get(zoneOf(spec.nodeUID)) ?? 0
}

/** What stops every claim at once. */
function closedForAll({ budget, gates }: LedgerWorld, isBroken: boolean): Obstacle | undefined {
  if (gates.staleView) return { for: 'StaleView', message: gates.staleView, next: 'fettle status' }
  if (budget.metadata.deletionTimestamp)
    return {
      for: 'Budget',
      message: 'MaintenanceBudget cluster is being deleted; it comes back with its defaults once no slot is held',
      next: 'fettle lock',
    }
  if (!isLedgerReady(budget))
    return { for: 'StaleView', message: 'the ledger is new: slots are put back first', next: 'fettle lock' }
  if (isBroken)
    return {
      for: 'Budget',
      message:
        'more slots are held than the budget allows, because an older ledger was restored: a person has to decide',
      next: 'fettle lock',
    }
  if (gates.freeze)
    return {
      for: 'Freeze',
      message: gates.freeze.message,
      next: 'fettle thaw',
      ...(gates.freeze.untilMs === undefined ? {} : { notBefore: isoOf(gates.freeze.untilMs) }),
    }
  return gates.foreignLock === undefined
    ? undefined
    : { for: 'ForeignLock', message: gates.foreignLock, next: 'kubectl get daemonset -A' }
}

/** What stops this request alone. */
function ownObstacle({ budget, gates, now }: LedgerWorld, request: MaintenanceRequest): Obstacle | undefined {
  const { status, spec } = request
  const next = `fettle explain ${nameOf(request)}`
  if (status?.host?.request === 'Unreadable')
    return { for: 'StaleView', message: `${spec.nodeName} cannot read the file that asks for this`, next }
  const notBefore = status?.requeue?.notBefore
  if (notBefore && notBefore > now)
    return {
      for: 'Backoff',
      message: `its drain took too long ${times(status.requeue?.count ?? 1)}; it is tried again from ${shortTime(notBefore)}`,
      next: `fettle node retry ${nameOf(request)}`,
      notBefore,
    }
  if (spec.bypassWindow) return undefined
  const windows = windowsOf(request, budget.spec)
  const { isOpen: isWindowOpen, opensAtMs, problem } = gates.windowOf(windows)
  if (isWindowOpen) return undefined
  const names = windows.join(', ')
  const [is, opens, does] = windows.length > 1 ? ['are', 'open', 'do'] : ['is', 'opens', 'does']
  const when = opensAtMs === undefined ? `and ${does} not open again` : `and ${opens} at ${shortTime(isoOf(opensAtMs))}`
  return {
    for: 'Window',
    message: problem ?? `${windows.length > 1 ? 'windows' : 'window'} ${names} ${is} closed ${when}`,
    next: `fettle windows ${windows[0] ?? ''}`.trim(),
    ...(opensAtMs === undefined ? {} : { notBefore: isoOf(opensAtMs) }),
  }
}

/** Joining a slot whose node is on its way back would begin work on a node that takes pods again. */
function closingSlot(slot: Slot, byName: ReadonlyMap<string, MaintenanceRequest>): Obstacle | undefined {
  const isClosing = slot.requests.every((name) => isOver(byName.get(name)))
  if (!isClosing)
    return slot.requests.length < mostSharers
      ? undefined
      : {
          for: 'Order',
          message: `${slot.node} is shared by ${mostSharers} requests already`,
          next: `fettle explain ${slot.node}`,
        }
  const why = slot.requests.length > 0 ? 'is being given back; its turn comes anew' : 'has a slot without a request'
  return {
    for: 'Order',
    message: `${slot.node} ${why}`,
    next: slot.requests.length > 0 ? `fettle explain ${slot.node}` : `fettle lock release ${slot.node}`,
  }
}

/** A node that is out already takes no place from anybody; and who waits for its place waits for it to come back. */
function passed(node: NodeObject, tally: Tally, reserved: ReadonlyMap<string, string>): Obstacle | undefined {
  const limit = tally.of(node).find(({ key, out }) => reserved.has(key) && !out.has(node.metadata.uid ?? ''))
  const who = limit && reserved.get(limit.key)
  if (!who) return undefined
  return {
    for: 'Order',
    message: `${who} has waited for ${limitText(limit)} longer than ${durationText(patienceMs)} and goes first`,
    next: `fettle explain ${who}`,
  }
}

/** More than this the ledger cannot store, and nothing at all would be written any more. */
const [mostSlots, mostSharers] = [500, 64]

function fullLedger({ slots }: MaintenanceBudgetStatus): Obstacle | undefined {
  if (slots.length < mostSlots) return undefined
  return { for: 'Budget', message: `the ledger is full: ${mostSlots} nodes are out`, next: 'fettle lock' }
}

/** It needs its slot no longer. Done may be listed as well: it was taken back in the moment of its claim. */
export function isOver(request: MaintenanceRequest | undefined): boolean {
  return request?.status?.phase === 'Finishing' || request?.status?.phase === 'Done'
}

/** It has a slot and knows of it, so it keeps the node out whoever leaves. */
function staysOut(request: MaintenanceRequest | undefined): boolean {
  return request !== undefined && !isOver(request) && request.status?.slot !== undefined
}

function limitText({ name, group }: Limit): string {
  return group === undefined ? `a place in ${name}` : `a place in ${name} ${group === '' ? '(no label)' : group}`
}

function fullObstacle(limit: Limit | undefined, { spec }: MaintenanceBudget): Obstacle | undefined {
  if (!limit) return undefined
  const { name, group, max, total, out } = limit
  if (max === 0) {
    const what =
      name === 'cluster'
        ? 'the budget is 0: no node may leave service'
        : `limit ${name} is 0: none of its nodes may leave service`
    return { for: 'Budget', message: what, next: 'kubectl edit maintenancebudget cluster' }
  }
  const nodes = name === 'control-plane' ? 'control-plane nodes' : 'nodes'
  const where =
    group === undefined
      ? spec.limits?.some((one) => one.name === name)
        ? ` of ${name}`
        : ''
      : ` of ${name} ${group === '' ? '(no label)' : group}`
  return {
    for: 'Budget',
    message: `${max} of ${total} ${nodes}${where} may be out: ${outText([...out.values()])}`,
    next: `fettle explain ${out.values().next().value?.name ?? ''}`.trim(),
  }
}

function outText(out: readonly OutNode[]): string {
  const shown = out
    .slice(0, 3)
    .map(({ name, slot, why }) => (slot ? `${name} is ${why}` : `${name} is ${why}, without a slot`))
  return `${shown.join(', ')}${out.length > 3 ? ` and ${out.length - 3} more` : ''}`
}

function blockerObstacle(block: ReturnType<ClaimGates['blockerOf']>): Obstacle | undefined {
  if (block === undefined) return undefined
  if (block === 'unasked') return { for: 'Blocker', message: 'its blockers are being asked', next: 'fettle queue' }
  return { for: 'Blocker', ...block }
}

/** A slot without a request ends when the node has rested, when a person says so, or when the node is gone. */
function isEnded(
  slot: Slot,
  { budget, now }: LedgerWorld,
  nodeByUid: ReadonlyMap<string, NodeObject>,
  byName: ReadonlyMap<string, MaintenanceRequest>,
): boolean {
  const node = nodeByUid.get(slot.nodeUID)
  if (!isOrphan(slot, byName)) return false
  if (!node) return slot.requests.length === 0
  if (isSoaking(slot)) return (slot.soakUntil ?? '') <= now
  return isOrdered(budget, slot) && isGivenBack(node)
}

/** Nothing of ours is left on the node. */
export function isGivenBack(node: NodeObject): boolean {
  return !isCordonedBy(node, cordonOwner) && isSilent(node)
}

/** Somebody who knew less than we do marked the node, after its turn was over. */
function isForgotten(
  node: NodeObject,
  { slots }: MaintenanceBudgetStatus,
  requests: readonly MaintenanceRequest[],
): boolean {
  if (isGivenBack(node)) return false
  const uid = node.metadata.uid ?? ''
  const isKept = slots.some(({ nodeUID }) => nodeUID === uid)
  if (isKept || requests.some(({ spec, status }) => spec.nodeUID === uid && status?.slot)) return false
  return !isCordonedBy(node, cordonOwner) || isCordonOfThePast(node, requests)
}

/** None of its requests exists any more, or is not over. */
function isOrphan(slot: Slot, byName: ReadonlyMap<string, MaintenanceRequest>): boolean {
  return slot.requests.every((name) => byName.get(name)?.status?.phase === 'Done' || !byName.has(name))
}

function isOrdered(budget: MaintenanceBudget, slot: Slot): boolean {
  return budget.metadata.annotations?.[releaseAnnotations.slot] === slot.nodeUID
}

/** Finished requests whose node is already given back, and everything on nodes that are gone. */
function releasable(
  { budget, requests, now }: LedgerWorld,
  nodeByUid: ReadonlyMap<string, NodeObject>,
  byName: ReadonlyMap<string, MaintenanceRequest>,
): Release[] {
  return (budget.status ?? emptyLedger).slots.flatMap((slot) => {
    const node = nodeByUid.get(slot.nodeUID)
    const others = (name: string) => slot.requests.some((other) => other !== name && staysOut(byName.get(other)))
    return slot.requests
      .filter((name) => {
        if (!node) return true
        const request = byName.get(name)
        if (!request || !isOver(request)) return false
        if (others(name)) return !isOpen(request) || isProven(request)
        return isGivenBack(node) && (!isOpen(request) || isTakenBack(request))
      })
      .map((request) => {
        const soakMs = soakOf(slot, requests, budget)
        return {
          request,
          node: slot.node,
          nodeUID: slot.nodeUID,
          isLast: !others(request),
          ...(node && soakMs > 0 ? { soakUntil: isoOf(Date.parse(now) + soakMs) } : {}),
        }
      })
  })
}

/** A node on which nobody has worked needs no rest. Who worked may have left the slot before the last one does. */
function soakOf(
  { nodeUID, takenAt }: Slot,
  requests: readonly MaintenanceRequest[],
  { spec }: MaintenanceBudget,
): number {
  const worker = requests.find(
    ({ spec: { nodeUID: uid }, status }) =>
      uid === nodeUID && hasCondition(status, 'PermissionGiven') && (status?.since ?? takenAt) >= takenAt,
  )
  return worker ? settingsOf(worker, spec).soakMs : 0
}

function isLedgerReady({ status }: MaintenanceBudget): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'LedgerReady' && is === 'True') ?? false
}

/** Slots that were put back may be more than the limits allow. Nobody is let out until they are not. */
function isExclusivityBroken(
  stored: MaintenanceBudgetStatus,
  isPutBack: boolean,
  slots: readonly Slot[],
  tally: Tally,
): boolean {
  const wasBroken = stored.conditions?.some(({ type, status }) => type === 'ExclusivityBroken' && status === 'True')
  if (!isPutBack && !wasBroken) return false
  return (
    slots.length > 0 &&
    tally.all().some(({ max, out }) => [...out.values()].filter(({ slot }) => slot).length > Math.max(1, max))
  )
}

function withConditions(
  ledger: MaintenanceBudgetStatus,
  { budget, gates, now }: LedgerWorld,
  isBroken: boolean,
): MaintenanceBudgetStatus {
  const ready = {
    type: 'LedgerReady',
    status: 'True',
    reason: 'Ready',
    message: 'every slot that is known of is listed',
  } as const
  const broken = isBroken
    ? ({ status: 'True', reason: 'OverLimit', message: 'more slots are held than the budget allows' } as const)
    : ({ status: 'False', reason: 'WithinLimits', message: 'no limit was broken' } as const)
  const frozen = gates.freeze
    ? ({ status: 'True', reason: 'Freeze', message: gates.freeze.message } as const)
    : ({ status: 'False', reason: 'NoFreeze', message: 'no freeze is in force' } as const)
  const facts = [ready, { type: 'ExclusivityBroken', ...broken }, { type: 'Frozen', ...frozen }] as const
  const known: MaintenanceBudgetStatus = { ...ledger, conditions: budget.status?.conditions ?? [] }
  return facts.reduce((status, fact) => withCondition(status, fact, now), known)
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString()
}

function nameOf(request: MaintenanceRequest): string {
  return request.metadata.name ?? ''
}
