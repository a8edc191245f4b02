import type { MaintenanceBudgetSpec, MaintenanceBudgetStatus, NumberOrPercent, Slot } from '../api/index.ts'
import type { NodeObject } from '../kube/index.ts'

/** The arithmetic of the budget: who is out, how many may be, and what a claim or a release makes of the ledger. */

export const emptyLedger: MaintenanceBudgetStatus = { nextToken: 1, slots: [] }

/** A percentage rounds down, but a budget that is not 0 always lets one node go. */
export function resolveMax(max: NumberOrPercent, total: number): number {
  if (typeof max === 'number') return max
  const share = Number(max.slice(0, -1))
  return share === 0 ? 0 : Math.max(1, Math.floor((total * share) / 100))
}

export interface OutNode {
  readonly name: string
  readonly uid: string
  /** Present when it has a slot; otherwise why it counts all the same. */
  readonly slot?: Slot
  readonly why: string
}

/** Distinct nodes that are out: those with a slot, and those that are down for whatever reason. */
export function outNodes(
  spec: Pick<MaintenanceBudgetSpec, 'countUnavailable'>,
  slots: readonly Slot[],
  nodes: readonly NodeObject[],
): OutNode[] {
  const out = new Map<string, OutNode>()
  for (const slot of slots)
    out.set(slot.nodeUID, { name: slot.node, uid: slot.nodeUID, slot, why: `out since ${shortTime(slot.takenAt)}` })
  for (const node of nodes) {
    const { uid = '', name = '' } = node.metadata
    if (out.has(uid)) continue
    const why = spec.countUnavailable.flatMap((kind) => {
      if (kind === 'NotReady') return isReady(node) ? [] : ['NotReady']
      return node.spec?.unschedulable === true ? ['Cordoned'] : []
    })
    if (why[0]) out.set(uid, { name, uid, why: why[0] })
  }
  return [...out.values()]
}

/** To the minute: nobody reads the milliseconds of a sentence. */
function shortTime(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`
}

export function isReady(node: NodeObject): boolean {
  return node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

export function isControlPlane(node: NodeObject): boolean {
  const labels = node.metadata.labels ?? {}
  return 'node-role.kubernetes.io/control-plane' in labels || 'node-role.kubernetes.io/master' in labels
}

export interface Claim {
  readonly request: string
  readonly node: string
  readonly nodeUID: string
  /** Only when a slot is put back that the ledger has lost: it keeps its number. */
  readonly token?: number
  readonly takenAt?: string
}

/** Adds a request to its node's slot, making the slot with a new token if there is none. */
export function withClaim(ledger: MaintenanceBudgetStatus, claim: Claim, now: string): MaintenanceBudgetStatus {
  const slot = ledger.slots.find(({ nodeUID }) => nodeUID === claim.nodeUID)
  if (slot) {
    if (slot.requests.includes(claim.request)) return ledger
    const joined = { ...slot, requests: [...slot.requests, claim.request] }
    return { ...ledger, slots: ledger.slots.map((other) => (other === slot ? joined : other)) }
  }
  const token = claim.token ?? ledger.nextToken
  const made: Slot = {
    node: claim.node,
    nodeUID: claim.nodeUID,
    token,
    takenAt: claim.takenAt ?? now,
    requests: [claim.request],
  }
  return { ...ledger, nextToken: Math.max(ledger.nextToken, token + 1), slots: [...ledger.slots, made] }
}

/** Takes a request out of its slot; the slot goes with the last one. */
export function withRelease(ledger: MaintenanceBudgetStatus, request: string): MaintenanceBudgetStatus {
  const slots = ledger.slots.flatMap((slot) => {
    if (!slot.requests.includes(request)) return [slot]
    const requests = slot.requests.filter((name) => name !== request)
    return requests.length === 0 ? [] : [{ ...slot, requests }]
  })
  return { ...ledger, slots }
}

export function slotOf(ledger: MaintenanceBudgetStatus | undefined, request: string): Slot | undefined {
  return ledger?.slots.find(({ requests }) => requests.includes(request))
}
