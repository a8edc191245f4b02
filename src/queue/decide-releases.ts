import {
  type MaintenanceBudget,
  type MaintenanceBudgetStatus,
  type MaintenanceRequest,
  releaseAnnotations,
  type Slot,
} from '../api/index.ts'
import { hasStopTaint, isCordonedBy, isCordonLeftOver, isSilent } from '../drain/index.ts'
import type { NodeObject } from '../kube/index.ts'
import type { LedgerWorld } from './decide-ledger.ts'
import { hasNewBoot, isProven, isTakenBack } from './health.ts'
import { emptyLedger, isSoaking } from './ledger.ts'
import { isCordonOfThePast } from './lost-slots.ts'
import { cordonOwner, isoOf } from './names.ts'
import { isOpen } from './order.ts'
import { hasCondition } from './request-status.ts'
import { settingsOf } from './settings.ts'

/** Which slots and marks go, and when. */

export interface Release {
  readonly request: string
  readonly node: string
  readonly nodeUID: string
  /** Nobody else needs the slot, so the node must be back in service before it is freed. */
  readonly isLast: boolean
  readonly soakUntil?: string
}

/** It needs its slot no longer. Done may be listed as well: it was taken back in the moment of its claim. */
export function isOver(request: MaintenanceRequest | undefined): boolean {
  return request?.status?.phase === 'Finishing' || request?.status?.phase === 'Done'
}

/** It has a slot and knows of it, so it keeps the node out whoever leaves. */
function staysOut(request: MaintenanceRequest | undefined): boolean {
  return request !== undefined && !isOver(request) && request.status?.slot !== undefined
}

/** A slot without a request ends when the node has rested, when a person says so, or when the node is gone. */
export function isEnded(
  slot: Slot,
  { budget, now }: LedgerWorld,
  nodeByUid: ReadonlyMap<string, NodeObject>,
  byName: ReadonlyMap<string, MaintenanceRequest>,
): boolean {
  const node = nodeByUid.get(slot.nodeUID)
  if (!isOrphan(slot, byName)) return false
  if (!node) return slot.requests.length === 0
  if (isSoaking(slot)) return (slot.soakUntil ?? '') <= now
  return isOrdered(budget, slot) && isRestored(node)
}

/** Asked of thousands of nodes at each look, of which few have changed since the last one. */
const givenBack = new WeakMap<NodeObject, boolean>()

/** Nothing of ours is left on the node. */
export function isGivenBack(node: NodeObject): boolean {
  const known = givenBack.get(node)
  if (known !== undefined) return known
  const isBare = !isCordonedBy(node, cordonOwner) && !hasStopTaint(node, cordonOwner) && isSilent(node)
  givenBack.set(node, isBare)
  return isBare
}

/** The node is as it was before its turn, too: somebody may have removed our name from it, and left the cordon. */
export function isRestored(node: NodeObject): boolean {
  return isGivenBack(node) && !isCordonLeftOver(node)
}

/** Restored, but for what it says: if the API server lets nobody take that back, no slot is kept for it. */
export function isBackInService(node: NodeObject, { status }: MaintenanceRequest): boolean {
  if (isRestored(node)) return true
  const isHeldBack = isCordonedBy(node, cordonOwner) || hasStopTaint(node, cordonOwner) || isCordonLeftOver(node)
  return !isHeldBack && hasCondition(status, 'NodeStatusRefused')
}

/** Somebody who knew less than we do marked the node, after its turn was over. */
export function isForgotten(
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
export function isOrphan(slot: Slot, byName: ReadonlyMap<string, MaintenanceRequest>): boolean {
  return slot.requests.every((name) => byName.get(name)?.status?.phase === 'Done' || !byName.has(name))
}

export function isOrdered(budget: MaintenanceBudget, slot: Slot): boolean {
  return budget.metadata.annotations?.[releaseAnnotations.slot] === slot.nodeUID
}

/** Finished requests whose node is already given back, and everything on nodes that are gone. */
export function releasable(
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
        return isBackInService(node, request) && (!isOpen(request) || isTakenBack(request))
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

/** A node on which nobody has worked, and that did not reboot, needs no rest. Who worked may have left the slot before the last one does. */
function soakOf(
  { nodeUID, takenAt }: Slot,
  requests: readonly MaintenanceRequest[],
  { spec }: MaintenanceBudget,
): number {
  const worker = requests.find((request) => {
    const { spec, status } = request
    const wasOut = hasCondition(status, 'PermissionGiven') || hasNewBoot(request, undefined)
    return spec.nodeUID === nodeUID && wasOut && (status?.since ?? takenAt) >= takenAt
  })
  return worker ? settingsOf(worker, spec).soakMs : 0
}
