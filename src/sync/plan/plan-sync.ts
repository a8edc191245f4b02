import { keyId } from '../key.ts'
import { isReplacement } from './allowed.ts'
import { judge, type Spending } from './budget.ts'
import { planHash } from './hash.ts'
import { planRemovals } from './plan-removals.ts'
import { planWrites } from './plan-writes.ts'
import type { Halt, Plan, PlanInput, RestStep, Step } from './steps.ts'

/**
 * What is to be done so that the cluster equals git. The same input, in any order, gives the same plan; nothing is
 * read, and nothing is done. Deletions stand in the plan even when a halt or the mode forbids them, so that people see
 * what they would agree to: `allowedDeletions` says which may be made.
 */
export function planSync(input: PlanInput): Plan {
  const { applies, rests, unchanged } = planWrites(input)
  const { deletes, rests: orphans, opening } = planRemovals(input)
  const others = [...rests, ...orphans]
  const steps = [...sorted(deletes), ...sorted(applies), ...sorted(others)]
  const hash = planHash(steps, input.setId, input.hashKey)
  const replacements = applies.filter(isReplacement)
  const agreed = { hash, ...(opening ? { openingHash: opening.hash } : {}) }
  const spending = { deletes, replacements, ...agreed, ...pastOf(others, input) }
  const { budget, halts, unplanned } = judge(spending, input)
  const all = [...halts, ...openingHalt(opening)]
  return { steps, hash, unchanged, budget, halts: all, unplanned, ...(opening ? { opening } : {}) }
}

function sorted<S extends Step>(steps: readonly S[]): S[] {
  // A name may be forgotten and stand for a stranger in one plan.
  const named = steps.map((step) => ({ id: `${keyId(step.key)} ${step.do}`, step }))
  return named.sort((one, other) => (one.id < other.id ? -1 : 1)).map(({ step }) => step)
}

/** What was declared until now, and what nobody could see of it. What stays by somebody's word is no loss. */
function pastOf(rests: readonly RestStep[], { inventory }: PlanInput): Pick<Spending, 'before' | 'unseen'> {
  const members = new Set(inventory.members.map(({ key }) => keyId(key)))
  const unseen = rests.filter((step) => step.do === 'keep' && step.rule === 'unknown' && members.has(keyId(step.key)))
  const settled = new Set(rests.filter(isSettled).map(({ key }) => keyId(key)))
  return { unseen, before: inventory.members.map(({ key }) => key).filter((key) => !settled.has(keyId(key))) }
}

function isSettled(step: RestStep): boolean {
  if (step.do === 'keep') return step.rule !== 'unknown'
  return step.do === 'wait' && step.waitsFor === 'confirmation'
}

function openingHalt(opening: Plan['opening']): Halt[] {
  if (opening === undefined || opening.keys.length === 0) return []
  const { hash, keys, isWhole } = opening
  const count =
    keys.length === 1 ? '1 object that nobody declares goes' : `${keys.length} objects that nobody declares go`
  return [
    {
      reason: 'OpeningListNotApproved',
      message: `in mode total ${count}${isWhole ? '' : '; the list may still change, since some are too young or kinds cannot be read'}`,
      remedy: `read the list; declare what is to stay (export writes the manifests), then give --approve ${hash}`,
    },
  ]
}
