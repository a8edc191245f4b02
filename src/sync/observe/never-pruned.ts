import type { ObservedObject } from '../observed.ts'
import type { ProtectionRule } from './protection-rule.ts'
import type { PruneWorld } from './prune-world.ts'
import { bookRules } from './rules-books.ts'
import { cautionRules } from './rules-caution.ts'
import { clusterRules } from './rules-cluster.ts'
import { peopleRules } from './rules-people.ts'
import { relationRules } from './rules-relations.ts'

export { type PruneWorld, pruneWorld } from './prune-world.ts'

const protectionRules: readonly ProtectionRule[] = [
  ...peopleRules,
  ...bookRules,
  ...clusterRules,
  ...relationRules,
  ...cautionRules,
]

/** Why an object that nothing declares is not deleted, whatever the mode says; undefined if nothing protects it. */
export function protectionOf(
  object: ObservedObject,
  world: PruneWorld,
  isMember: boolean,
): { readonly rule: string; readonly why: string } | undefined {
  for (const { rule, isForStrangers, why } of protectionRules) {
    if (isForStrangers && isMember) continue
    const reason = why(object, world)
    if (reason !== undefined) return { rule, why: reason }
  }
  return undefined
}

/** Whether it makes sense to declare an object: somebody wants it, and it does not follow from something else. */
export function mayBeDeclared(object: ObservedObject, world: PruneWorld): boolean {
  const rule = protectionOf(object, world, false)?.rule
  return rule === undefined || cautionRules.some((caution) => caution.rule === rule)
}
