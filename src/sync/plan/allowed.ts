import type { Policy } from '../policy.ts'
import type { ApplyStep, DeleteStep, Plan, Step } from './steps.ts'

/** What may be written: nothing while something is not ours to write, and no replacement while nothing may be deleted. */
export function allowedWrites(plan: Plan, { mode }: Pick<Policy, 'mode'>): readonly ApplyStep[] {
  const { steps } = plan
  if (mode === 'observe' || steps.some((step) => step.do === 'conflict')) return []
  const writes = steps.filter((step) => step.do === 'create' || step.do === 'update' || step.do === 'adopt')
  return isHalted(plan) ? writes.filter((step) => !isReplacement(step)) : writes
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
  return halts.some(({ reason }) => reason !== 'OpeningListNotApproved')
}
