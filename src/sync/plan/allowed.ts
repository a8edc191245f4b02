import type { Policy } from '../policy.ts'
import type { ApplyStep, DeleteStep, Plan } from './steps.ts'

/** What may be written: all of it or, while something is not ours to write, nothing. */
export function allowedWrites({ steps }: Plan, { mode }: Pick<Policy, 'mode'>): readonly ApplyStep[] {
  if (mode === 'observe' || steps.some((step) => step.do === 'conflict')) return []
  return steps.filter((step) => step.do === 'create' || step.do === 'update' || step.do === 'adopt')
}

/** What may be deleted once all writes have succeeded. Strangers that nobody agreed to are not among the deletions at all. */
export function allowedDeletions({ steps, halts }: Plan, { mode }: Pick<Policy, 'mode'>): readonly DeleteStep[] {
  const isHalted = halts.some(({ reason }) => reason !== 'OpeningListNotApproved')
  if (mode === 'observe' || isHalted || steps.some((step) => step.do === 'conflict')) return []
  return steps.filter((step) => step.do === 'delete')
}
