import type { MaintenanceBudgetStatus, MaintenanceRequest, Slot } from '../api/index.ts'
import { type CordonClaim, cordonClaim } from '../drain/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { mostSlots, slotOf } from './ledger.ts'
import { cordonOwner } from './names.ts'

/** A jump that no fleet makes in its lifetime: whoever reports it does not tell the truth. */
const believableJump = 1_000_000

/**
 * Slots that the ledger should have and does not, because it was lost or an older one was restored. They are known from
 * the requests that hold them and from the cordons that stand for them. An agent's word alone never makes one.
 */
export function lostSlots(
  ledger: MaintenanceBudgetStatus,
  requests: readonly MaintenanceRequest[],
  nodeByUid: ReadonlyMap<string, NodeObject>,
  /** Those that may bear a cordon of ours. */
  marked: readonly NodeObject[],
  now: string,
): Slot[] {
  const known = new Map(ledger.slots.map((slot) => [slot.nodeUID, slot]))
  const lost = new Map<string, Slot>()
  for (const request of requests) {
    const { phase, slot } = request.status ?? {}
    const { nodeName: node, nodeUID } = request.spec
    const name = request.metadata.name ?? ''
    const holds = phase !== undefined && phase !== 'Finishing' && phase !== 'Done'
    // Freed because the node is gone, and the request has not heard of it yet.
    if (!holds || !slot || !nodeByUid.has(nodeUID)) continue
    const before = lost.get(nodeUID) ?? known.get(nodeUID)
    const isListed = before?.requests.includes(name) ?? false
    if (isListed && slot.token <= (before?.token ?? 0)) continue
    lost.set(nodeUID, {
      ...before,
      node,
      nodeUID,
      token: Math.max(slot.token, before?.token ?? 0),
      takenAt: before && before.takenAt < slot.takenAt ? before.takenAt : slot.takenAt,
      requests: isListed ? (before?.requests ?? []) : [...(before?.requests ?? []), name],
    })
  }
  for (const node of marked) {
    const { uid: nodeUID = '' } = node.metadata
    if (known.has(nodeUID) || lost.has(nodeUID)) continue
    // Whoever annotates a whole cluster must not make the ledger one that cannot be stored.
    if (known.size + lost.size >= mostSlots) break
    const claim = believableClaim(node, ledger)
    if (!claim) continue
    const isGivenBack = requests.some(
      ({ spec, status }) => spec.nodeUID === nodeUID && (status?.phase === 'Finishing' || status?.phase === 'Queued'),
    )
    if (isGivenBack || isCordonOfThePast(node, requests)) continue
    lost.set(nodeUID, {
      node: node.metadata.name ?? '',
      nodeUID,
      token: claim.token,
      takenAt: takenAtOf(claim, now),
      requests: [],
    })
  }
  return [...lost.values()]
}

/**
 * Anybody who may write to nodes may have written it: a time that the ledger does not take, such as one in the year 12345,
 * would keep it from being written at all.
 */
function takenAtOf({ since }: CordonClaim, now: string): string {
  const time = new Date(since).toISOString()
  return /^\d{4}-/.test(time) && time <= now ? time : now
}

/** A kubelet may write annotations of its own node: a number out of all proportion is not ours. */
function believableClaim(node: NodeObject, { nextToken }: MaintenanceBudgetStatus): CordonClaim | undefined {
  const claim = cordonClaim(node, cordonOwner)
  return claim && claim.token <= nextToken + believableJump ? claim : undefined
}

/** The request that our cordon stands for is over. */
export function isCordonOfThePast(node: NodeObject, requests: readonly MaintenanceRequest[]): boolean {
  const uid = cordonClaim(node, cordonOwner)?.request
  return requests.some(({ metadata, status }) => metadata.uid === uid && status?.phase === 'Done')
}

/** The ledger with a next token above every one that is stored anywhere: none is given twice, whatever was restored. */
export function withTokensSeen(
  ledger: MaintenanceBudgetStatus,
  requests: readonly MaintenanceRequest[],
  nodes: Iterable<NodeObject>,
): MaintenanceBudgetStatus {
  let highest = 0
  for (const { token } of ledger.slots) highest = Math.max(highest, token)
  for (const { status } of requests) highest = Math.max(highest, status?.slot?.token ?? 0)
  for (const node of nodes) highest = Math.max(highest, believableClaim(node, ledger)?.token ?? 0)
  return highest < ledger.nextToken ? ledger : { ...ledger, nextToken: highest + 1 }
}

/** Slots whose node has already obeyed a higher token: they need one that it takes for newer. */
export function outrunSlots(ledger: MaintenanceBudgetStatus, requests: readonly MaintenanceRequest[]): Slot[] {
  const raised = new Map<string, Slot>()
  let { nextToken } = ledger
  for (const request of requests) {
    const slot = slotOf(ledger, request.metadata.name ?? '')
    const highest = request.status?.host?.tokens?.highest ?? 0
    if (!slot || highest <= (raised.get(slot.nodeUID) ?? slot).token || isUnbelievable(highest, slot)) continue
    const token = Math.max(nextToken, highest + 1)
    nextToken = token + 1
    raised.set(slot.nodeUID, { ...slot, token })
  }
  return [...raised.values()]
}

export function isUnbelievable(highest: number, slot: Pick<Slot, 'token'>): boolean {
  return highest > slot.token + believableJump
}
