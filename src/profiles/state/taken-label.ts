import type { Check, Named, PassContext, Transition } from '../plugin.ts'

/** Before a label is taken that others ask for. Who was admitted into maintenance has its seat in the ledger. */
export function isAskedAgain({ instance }: Named<Check>, { next }: Transition): boolean {
  return instance.asksForLabel !== undefined && !(instance.isShared && next === 'in-maintenance')
}

/** Why the label is no longer to be had that the checks found free; nothing if it is. */
export async function whyLate(
  transition: Transition,
  answers: readonly boolean[],
  context: PassContext,
): Promise<string | undefined> {
  const { check } = transition
  if (answers.length !== check.checks.length) return 'the file no longer has these checks'
  const now: boolean[] = []
  for (const [index, each] of check.checks.entries())
    now.push(isAskedAgain(each, transition) ? (await each.instance.check(context)).isPassed : answers[index] === true)
  if (check.evaluate(now)) return undefined
  const changed = check.checks.flatMap(({ name, type }, index) =>
    now[index] === answers[index] ? [] : [`${name} (${type}) says ${now[index] ? 'yes' : 'no'} now`],
  )
  return `another node was first; ${changed.join(', ')}`
}
