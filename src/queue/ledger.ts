import type { MaintenanceBudgetStatus, Slot } from '../api/index.ts'

/** What claims and releases make of the ledger. */

/** More than this the ledger cannot store, and nothing at all would be written any more. */
export const [mostSlots, mostSharers] = [500, 64]

export const emptyLedger: MaintenanceBudgetStatus = { nextToken: 1, slots: [] }

export interface Claim {
  readonly request: string
  readonly node: string
  readonly nodeUID: string
  readonly groups?: Readonly<Record<string, string>>
}

/** Adds a request to its node's slot, making the slot with a new token if there is none. */
export function withClaim(ledger: MaintenanceBudgetStatus, claim: Claim, now: string): MaintenanceBudgetStatus {
  const slot = ledger.slots.find(({ nodeUID }) => nodeUID === claim.nodeUID)
  if (slot && !isSoaking(slot)) {
    if (slot.requests.includes(claim.request)) return ledger
    return withSlot(ledger, { ...slot, requests: [...slot.requests, claim.request] })
  }
  const made: Slot = {
    node: claim.node,
    nodeUID: claim.nodeUID,
    token: ledger.nextToken,
    takenAt: now,
    requests: [claim.request],
    ...(claim.groups && Object.keys(claim.groups).length > 0 ? { groups: { ...claim.groups } } : {}),
  }
  return withSlot({ ...ledger, nextToken: ledger.nextToken + 1 }, made)
}

/** A node that is back rests in its slot: nobody works there, so whoever comes next needs a token of their own. */
export function isSoaking({ soakUntil, requests }: Slot): boolean {
  return soakUntil !== undefined && requests.length === 0
}

/** Puts a slot into the ledger, in the place of the one that its node had. */
export function withSlot(ledger: MaintenanceBudgetStatus, slot: Slot): MaintenanceBudgetStatus {
  const isKnown = ledger.slots.some(({ nodeUID }) => nodeUID === slot.nodeUID)
  const slots = isKnown
    ? ledger.slots.map((other) => (other.nodeUID === slot.nodeUID ? slot : other))
    : [...ledger.slots, slot]
  return { ...ledger, nextToken: Math.max(ledger.nextToken, slot.token + 1), slots }
}

/** Takes a request out of its slot; the slot goes with the last one, or rests until `soakUntil`. */
export function withRelease(
  ledger: MaintenanceBudgetStatus,
  request: string,
  soakUntil?: string,
): MaintenanceBudgetStatus {
  const slots = ledger.slots.flatMap((slot) => {
    if (!slot.requests.includes(request)) return [slot]
    const requests = slot.requests.filter((name) => name !== request)
    if (requests.length > 0) return [{ ...slot, requests }]
    return soakUntil === undefined ? [] : [{ ...slot, requests, soakUntil }]
  })
  return { ...ledger, slots }
}

export function withoutSlot(ledger: MaintenanceBudgetStatus, nodeUID: string): MaintenanceBudgetStatus {
  return { ...ledger, slots: ledger.slots.filter((slot) => slot.nodeUID !== nodeUID) }
}

export function slotOf(ledger: MaintenanceBudgetStatus | undefined, request: string): Slot | undefined {
  return ledger?.slots.find(({ requests }) => requests.includes(request))
}
