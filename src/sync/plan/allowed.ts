import type { Key } from '../key.ts'
import type { Policy } from '../policy.ts'
import { weightOf } from './budget.ts'
import type { ApplyStep, DeleteStep, Halt, Plan, Step } from './steps.ts'

/** What may be written: nothing while something is not ours to write, and no replacement while nothing may be deleted. */
export function allowedWrites(plan: Plan, { mode }: Pick<Policy, 'mode'>): readonly ApplyStep[] {
  const { steps } = plan
  if (mode === 'observe' || steps.some((step) => step.do === 'conflict')) return []
  const writes = steps.filter((step) => step.do === 'create' || step.do === 'update' || step.do === 'adopt')
  return isHalted(plan) ? writes.filter((step) => !isReplacement(step)) : writes
}

/** What git changed and a halt keeps as it was, because it can only be deleted and made anew. */
export function heldReplacements(plan: Plan): readonly ApplyStep[] {
  return isHalted(plan) ? plan.steps.filter(isReplacement) : []
}

/**
 * Why something may not be deleted and made anew that the plan has not counted, because the server alone knows that it
 * has to be. The same holds for it as for a deletion of the plan; `spent` are those that were made before it.
 */
export function whyNotReplaced(
  plan: Plan,
  key: Key,
  spent: { readonly count: number; readonly weight: number },
): string | undefined {
  const { budget, unplanned = { leftInHour: 0, halts: [] } } = plan
  const [halt] = [...plan.halts.filter(isForAll), ...unplanned.halts]
  if (halt) return `nothing is deleted now: ${halt.message}; ${halt.remedy}`
  if (budget.used + spent.weight + weightOf(key) > budget.limit)
    return 'no deletion is left in the budget: allow it with --allow-deletes'
  if (spent.count >= unplanned.leftInHour)
    return 'as much as may go within an hour is gone: wait, or allow it with --allow-deletes'
  return undefined
}

/** What may be deleted once all writes have succeeded. Strangers that nobody agreed to are not among the deletions at all. */
export function allowedDeletions(plan: Plan, { mode }: Pick<Policy, 'mode'>): readonly DeleteStep[] {
  const { steps } = plan
  if (mode === 'observe' || isHalted(plan) || steps.some((step) => step.do === 'conflict')) return []
  return steps.filter((step) => step.do === 'delete')
}

/** Deleted and made anew: under the same name, and another UID. */
export function isReplacement(step: Step): step is Exclude<ApplyStep, { readonly do: 'create' }> {
  return (step.do === 'update' || step.do === 'adopt') && step.replaces === true
}

function isHalted({ halts }: Plan): boolean {
  return halts.some(isForAll)
}

/** Until the opening list is approved, mode total is as adopt: only strangers are held by it. */
function isForAll({ reason }: Halt): boolean {
  return reason !== 'OpeningListNotApproved'
}
