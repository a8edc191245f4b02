import type { MaintenanceBudgetStatus, Slot } from '../api/index.ts'
import type { LedgerDecision } from './decide-ledger.ts'
import { withClaim, withoutSlot, withRelease, withSlot } from './ledger.ts'

/** The parts of a decision that proved true when they were looked at once more. */
export type Checked = Pick<LedgerDecision, 'claims' | 'releases' | 'putBack' | 'ended'>

/** What is written: the decision's own ledger if all of it proved true, else what is left of it. */
export function nextLedger(
  stored: MaintenanceBudgetStatus,
  checked: Checked,
  decision: LedgerDecision,
  /** Whether these slots are more than the limits allow. */
  isOverLimit: (slots: readonly Slot[]) => boolean,
  now: string,
): MaintenanceBudgetStatus {
  const isAllTrue = (['claims', 'releases', 'putBack', 'ended'] as const).every(
    (part) => checked[part].length === decision[part].length,
  )
  if (isAllTrue) return decision.next
  // Numbers that the decision would have given are not given to others.
  const start = { ...stored, nextToken: decision.next.nextToken }
  let ledger = checked.ended.reduce((status, { nodeUID }) => withoutSlot(status, nodeUID), start)
  ledger = checked.releases.reduce((status, { request, soakUntil }) => withRelease(status, request, soakUntil), ledger)
  ledger = checked.putBack.reduce(withSlot, ledger)
  ledger = checked.claims.reduce((status, claim) => withClaim(status, claim, now), ledger)
  // The next decision finds them listed, and could not tell any more that they came back. But slots that nobody had lost
  // break nothing: who is held for it waits for a person.
  const broken = decision.next.conditions?.find(({ type, status }) => type === 'ExclusivityBroken' && status === 'True')
  if (!broken || checked.putBack.length === 0 || !isOverLimit(ledger.slots)) return ledger
  const others = (ledger.conditions ?? []).filter(({ type }) => type !== 'ExclusivityBroken')
  return { ...ledger, conditions: [...others, broken] }
}
