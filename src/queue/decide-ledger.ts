import type { MaintenanceBudget, MaintenanceBudgetStatus, MaintenanceRequest, Slot, Waiting } from '../api/index.ts'
import { isCordonedBy } from '../drain/index.ts'
import type { NodeObject } from '../kube/index.ts'
import {
  type Claim,
  emptyLedger,
  isControlPlane,
  type OutNode,
  outNodes,
  resolveMax,
  slotOf,
  withClaim,
  withRelease,
} from './ledger.ts'
import { cordonOwner, finalizer } from './names.ts'
import { inOrder, isOpen, wantsOut, youngerTwins } from './order.ts'

export interface LedgerWorld {
  readonly budget: MaintenanceBudget
  readonly requests: readonly MaintenanceRequest[]
  readonly nodes: readonly NodeObject[]
  /** A sentence when what is known of nodes or requests is too old to claim on. */
  readonly staleView?: string
  readonly now: string
}

export interface Release {
  readonly request: string
  readonly node: string
  readonly nodeUID: string
  /** Nobody else needs the slot, so the node must be back in service before it is freed. */
  readonly isLast: boolean
}

type Obstacle = Omit<Waiting, 'since' | 'position'>

export interface LedgerDecision {
  /** Each needs a live look at node and request before it is written. */
  readonly claims: readonly Claim[]
  readonly releases: readonly Release[]
  /** Why each queued request is not claimed, in the order of the line. */
  readonly waiting: ReadonlyMap<string, Omit<Waiting, 'since'>>
  readonly limits: NonNullable<MaintenanceBudgetStatus['limits']>
}

/** Whose turn it is. Pure: the same world gives the same answer, and `fettle explain` prints it. */
export function decideLedger(world: LedgerWorld): LedgerDecision {
  const { budget, requests, nodes, now } = world
  const stored = budget.status ?? emptyLedger
  const nodeByUid = new Map(nodes.map((node) => [node.metadata.uid ?? '', node]))
  const releases = releasable(stored, requests, nodeByUid)
  const putBack = lostClaims(stored, requests, nodeByUid)
  let ledger = releases.reduce((status, { request }) => withRelease(status, request), stored)
  ledger = putBack.reduce((status, claim) => withClaim(status, claim, now), ledger)

  const claims: Claim[] = [...putBack]
  const waiting = new Map<string, Omit<Waiting, 'since'>>()
  // What those further back must count with: also the place of somebody who takes it a moment later.
  let promised = ledger
  const twins = youngerTwins(requests)
  const queued = inOrder(
    requests.filter((request) => mayClaim(request) && !twins.has(nameOf(request)) && !slotOf(ledger, nameOf(request))),
  )
  for (const request of queued) {
    const claim = { request: nameOf(request), node: request.spec.nodeName, nodeUID: request.spec.nodeUID }
    const node = nodeByUid.get(request.spec.nodeUID)
    // Its own turn ends it: the node is gone.
    if (!node) continue
    const slot = promised.slots.find(({ nodeUID }) => nodeUID === claim.nodeUID)
    const obstacle = slot ? closingSlot(slot, requests) : obstacleFor(world, promised, node)
    if (obstacle) {
      waiting.set(claim.request, { position: waiting.size + 1, ...obstacle })
      continue
    }
    promised = withClaim(promised, claim, now)
    // Claimed before the finalizer is stored, a deleted request would leave its slot behind for ever.
    if (!request.metadata.finalizers?.includes(finalizer)) continue
    ledger = withClaim(ledger, claim, now)
    claims.push(claim)
  }
  return { claims, releases, waiting, limits: figures(world, ledger) }
}

/** Finished requests whose node is already given back, and everything on nodes that are gone. */
function releasable(
  ledger: MaintenanceBudgetStatus,
  requests: readonly MaintenanceRequest[],
  nodeByUid: ReadonlyMap<string, NodeObject>,
): Release[] {
  const byName = new Map(requests.map((request) => [nameOf(request), request]))
  return ledger.slots.flatMap((slot) => {
    const node = nodeByUid.get(slot.nodeUID)
    const others = (name: string) =>
      slot.requests.some((other) => other !== name && byName.get(other)?.status?.phase !== 'Finishing')
    return slot.requests
      .filter(
        (name) =>
          !node ||
          (byName.get(name)?.status?.phase === 'Finishing' && (others(name) || !isCordonedBy(node, cordonOwner))),
      )
      .map((request) => ({ request, node: slot.node, nodeUID: slot.nodeUID, isLast: !others(request) }))
  })
}

/** Joining a slot whose node is on its way back would begin work on a node that takes pods again. */
function closingSlot(slot: Slot, requests: readonly MaintenanceRequest[]): Obstacle | undefined {
  const isClosing = slot.requests.every(
    (name) => requests.find((request) => nameOf(request) === name)?.status?.phase === 'Finishing',
  )
  if (!isClosing) return undefined
  return {
    for: 'Order',
    message: `${slot.node} is being given back; its turn comes anew`,
    next: `fettle explain ${slot.node}`,
  }
}

/** A request on its way home that no slot lists is done; it does not set out again. */
function mayClaim(request: MaintenanceRequest): boolean {
  return isOpen(request) && wantsOut(request) && request.status?.phase !== 'Finishing'
}

/** Requests that were given a slot which the ledger no longer shows (a restored backup): put back with their number. */
function lostClaims(
  ledger: MaintenanceBudgetStatus,
  requests: readonly MaintenanceRequest[],
  nodeByUid: ReadonlyMap<string, NodeObject>,
): Claim[] {
  return requests.flatMap((request) => {
    const { phase, slot } = request.status ?? {}
    const holds = phase === 'Claimed' || phase === 'Granted'
    if (!holds || !slot || slotOf(ledger, nameOf(request))) return []
    const { nodeName: node, nodeUID } = request.spec
    // Freed because the node is gone, and the request has not heard of it yet.
    if (!nodeByUid.has(nodeUID)) return []
    return [{ request: nameOf(request), node, nodeUID, token: slot.token, takenAt: slot.takenAt }]
  })
}

function obstacleFor(
  { budget, nodes, staleView }: LedgerWorld,
  ledger: MaintenanceBudgetStatus,
  node: NodeObject,
): Obstacle | undefined {
  if (staleView) return { for: 'StaleView', message: staleView, next: 'fettle status' }
  const max = resolveMax(budget.spec.max, nodes.length)
  if (max === 0)
    return {
      for: 'Budget',
      message: 'the budget is 0: no node may leave service',
      next: 'kubectl edit maintenancebudget cluster',
    }
  const out = outNodes(budget.spec, ledger.slots, nodes)
  if (out.some(({ uid }) => uid === node.metadata.uid)) return undefined
  if (out.length >= max) return fullBudget(`${max} of ${nodes.length} nodes may be out`, out)
  if (!isControlPlane(node)) return undefined
  const controlPlane = nodes.filter(isControlPlane)
  const controlPlaneOut = out.filter(({ uid }) => controlPlane.some(({ metadata }) => metadata.uid === uid))
  if (controlPlaneOut.length < budget.spec.controlPlaneMax) return undefined
  return fullBudget(
    `${budget.spec.controlPlaneMax} of ${controlPlane.length} control-plane nodes may be out`,
    controlPlaneOut,
  )
}

function fullBudget(rule: string, out: readonly OutNode[]): Obstacle {
  const shown = out
    .slice(0, 3)
    .map(({ name, slot, why }) => (slot ? `${name} is ${why}` : `${name} is ${why}, without a slot`))
  const more = out.length > 3 ? ` and ${out.length - 3} more` : ''
  return {
    for: 'Budget',
    message: `${rule}: ${shown.join(', ')}${more}`,
    next: `fettle explain ${out[0]?.name ?? ''}`.trim(),
  }
}

function figures({ budget, nodes }: LedgerWorld, ledger: MaintenanceBudgetStatus): LedgerDecision['limits'] {
  const out = outNodes(budget.spec, ledger.slots, nodes)
  const withoutSlot = out.filter(({ slot }) => !slot).map(({ name, why }) => `${name} ${why}`)
  return [
    {
      name: 'cluster',
      max: resolveMax(budget.spec.max, nodes.length),
      out: out.length,
      withoutSlot: withoutSlot.slice(0, 10),
    },
  ]
}

function nameOf(request: MaintenanceRequest): string {
  return request.metadata.name ?? ''
}
