import type { MaintenanceBudget, MaintenanceBudgetStatus, MaintenanceRequest, Slot, Waiting } from '../api/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { Census } from './census.ts'
import { withCondition } from './conditions.ts'
import { isEnded, isForgotten, isOrdered, isOrphan, isOver, type Release, releasable } from './decide-releases.ts'
import { isToEnd } from './decide-verb.ts'
import { isReturned } from './decide-work.ts'
import { holdsLocks } from './foreign-locks.ts'
import { type Claim, emptyLedger, isSoaking, slotOf, withClaim, withoutSlot, withRelease, withSlot } from './ledger.ts'
import { figuresOf, type Limit, Tally } from './limits.ts'
import { lostSlots, outrunSlots, withTokensSeen } from './lost-slots.ts'
import { finalizer, nameOf } from './names.ts'
import {
  blockerObstacle,
  type ClaimGates,
  closedForAll,
  closingSlot,
  fullLedger,
  fullObstacle,
  type Obstacle,
  ownObstacle,
  passed,
} from './obstacles.ts'
import { inOrder, isStarving, starvesAtMs, youngerTwins } from './order.ts'

export interface LedgerWorld {
  readonly budget: MaintenanceBudget
  readonly requests: readonly MaintenanceRequest[]
  readonly nodes: readonly NodeObject[]
  readonly gates: ClaimGates
  /** Asked only about nodes of the control plane: what is wrong with one that is Ready. */
  readonly controlPlaneAilment?: (node: NodeObject) => string | undefined
  readonly now: string
}

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
export function decideLedger(
  world: LedgerWorld,
  /** Kept from one decision to the next it saves counting anew those nodes that have not changed. */
  census = new Census(),
): LedgerDecision {
  const { budget, requests, now } = world
  const nowMs = Date.parse(now)
  const spec = withSharedLocks(budget.spec)
  const { byUid: nodeByUid } = census.see(world.nodes, spec)
  const marked = [...census.marked].sort((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1))
  const stored = withTokensSeen(budget.status ?? emptyLedger, requests, marked)
  const byName = new Map<string, MaintenanceRequest>()
  for (const request of requests) byName.set(nameOf(request), request)

  const ended = stored.slots.filter((slot) => isEnded(slot, world, nodeByUid, byName))
  const releases = releasable(world, nodeByUid, byName)
  let ledger = ended.reduce((status, { nodeUID }) => withoutSlot(status, nodeUID), stored)
  ledger = releases.reduce((status, { request, soakUntil }) => withRelease(status, request, soakUntil), ledger)
  const lost = lostSlots(ledger, requests, nodeByUid, marked, now)
  ledger = lost.reduce(withSlot, ledger)
  const outrun = outrunSlots(ledger, requests)
  ledger = outrun.reduce(withSlot, ledger)
  const putBack = [...lost, ...outrun]

  const tally = new Tally(spec, ledger.slots, census, world.controlPlaneAilment)
  const isBroken = (lost.length > 0 || wasBroken(stored)) && tally.isOverLimit()
  const line = lineOf(world, ledger, nodeByUid, byName, tally, isBroken)
  const limits = tally.withoutPromises()
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
    forgotten: marked.filter((node) => isForgotten(node, ledger, requests)),
    waiting: line.waiting,
    unasked: line.unasked,
    limits,
    next,
    ...(future.length > 0 ? { wakeAtMs: Math.min(...future) } : {}),
  }
}

/** Who holds a lock that is made for one node at a time lets one go. */
function withSharedLocks(spec: MaintenanceBudget['spec']): MaintenanceBudget['spec'] {
  return holdsLocks(spec) && spec.max !== 0 ? { ...spec, max: 1 } : spec
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
  /** Those who wait for a place, by where they stand, and where the last one stands who took one of each limit. */
  const waitingAt = new Map<number, { readonly name: string; readonly limits: readonly Limit[] }>()
  const takenAt = new Map<string, number>()
  /** Most of a long line waits for the same, which is put into words once until somebody else is out. */
  const sentences = new Map<Limit, Obstacle | undefined>()
  const fullOf = (limit: Limit | undefined): Obstacle | undefined => {
    if (limit && !sentences.has(limit)) sentences.set(limit, fullObstacle(limit, budget))
    return limit && sentences.get(limit)
  }
  let ledger = start
  for (const [place, request] of queued.entries()) {
    const node = nodeByUid.get(request.spec.nodeUID)
    // Its own turn ends it: the node is gone.
    if (!node) continue
    const name = nameOf(request)
    const slot = slotByUid.get(request.spec.nodeUID)
    const joins = slot !== undefined && !isSoaking(slot)
    const full = joins ? [] : tally.full(node)
    const own = forAll ?? ownObstacle(world, request)
    const obstacle =
      own ??
      (joins ? closingSlot(slot, byName) : (passed(node, tally, reserved) ?? fullOf(full[0]) ?? fullLedger(ledger)))
    // Who could not go if there were a place keeps none free. A limit of 0 has no places, and nobody is passed there.
    const waitsForPlace = own === undefined && full.length > 0 && full.every(({ max }) => max > 0)
    if (waitsForPlace && isStarving(request, nowMs))
      for (const { key } of full) if (!reserved.has(key)) reserved.set(key, name)
    if (waitsForPlace) waitingAt.set(place, { name, limits: tally.of(node) })
    const block = obstacle || joins ? undefined : world.gates.blockerOf(node, request)
    const stop = obstacle ?? blockerObstacle(block)
    if (stop) {
      if (block === 'unasked') {
        unasked.push(request)
        tally.promise(node, promisedSlot(request, now))
        sentences.clear()
      }
      const passedSince = request.status?.waiting?.passedSince
      const place = { position: waiting.size + 1, ...stop }
      waiting.set(name, passedSince ? { ...place, passedSince } : place)
      if (stop.notBefore) wakeTimes.push(Date.parse(stop.notBefore))
      if (waitsForPlace && passedSince) wakeTimes.push(starvesAtMs(request))
      continue
    }
    const { nodeName, nodeUID } = request.spec
    const claim = { request: name, node: nodeName, nodeUID, groups: tally.groupsOf(node) }
    const taken = withClaim(ledger, claim, now)
    const made = slotOf(taken, name) ?? promisedSlot(request, now)
    slotByUid.set(nodeUID, made)
    sentences.clear()
    // Who joins a node, or whose node is out already, takes a place from nobody.
    const takes = joins ? [] : tally.of(node).filter(({ out }) => !out.has(nodeUID))
    if (!isKept(request)) {
      tally.promise(node, made)
      continue
    }
    for (const { key } of takes) takenAt.set(key, place)
    tally.take(node, made)
    ledger = taken
    claims.push(claim)
  }
  notePassed(waiting, waitingAt, takenAt, now)
  return { ledger, claims, waiting, unasked, wakeTimes }
}

/** Whoever waits for a place while somebody behind takes one that it needs is passed, from the first time on. */
function notePassed(
  waiting: Map<string, Omit<Waiting, 'since'>>,
  waitingAt: ReadonlyMap<number, { readonly name: string; readonly limits: readonly Limit[] }>,
  takenAt: ReadonlyMap<string, number>,
  now: string,
): void {
  if (takenAt.size === 0) return
  for (const [place, { name, limits }] of waitingAt) {
    const known = waiting.get(name)
    if (known && known.passedSince === undefined && limits.some(({ key }) => (takenAt.get(key) ?? -1) > place))
      waiting.set(name, { ...known, passedSince: now })
  }
}

/** Those further back count with the place of somebody who may take it a moment later. */
function promisedSlot(
  { metadata: { name = '' }, spec: { nodeName: node, nodeUID } }: MaintenanceRequest,
  now: string,
): Slot {
  return { node, nodeUID, token: 0, takenAt: now, requests: [name] }
}

/** A request on its way home that no slot lists is done; it does not set out again. */
export function mayClaim(request: MaintenanceRequest): boolean {
  return !isOver(request) && !isReturned(request) && !isToEnd(request)
}

/** Claimed before the finalizer is stored, a deleted request would leave its slot behind for ever. */
export function isKept({ metadata }: MaintenanceRequest): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false
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

/** Slots that were put back may be more than the limits allow. Nobody is let out until they are not. */
function wasBroken({ conditions }: MaintenanceBudgetStatus): boolean {
  return conditions?.some(({ type, status }) => type === 'ExclusivityBroken' && status === 'True') ?? false
}

/** Whether these slots are more than the budget allows, of the nodes that were counted last. */
export function isOverLimit(
  { budget, controlPlaneAilment }: Pick<LedgerWorld, 'budget' | 'controlPlaneAilment'>,
  slots: readonly Slot[],
  census: Census,
): boolean {
  return new Tally(withSharedLocks(budget.spec), slots, census, controlPlaneAilment).isOverLimit()
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
