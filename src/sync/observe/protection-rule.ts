import type { ObservedObject } from '../observed.ts'
import type { PruneWorld } from './prune-world.ts'

/** One reason to leave an object alone. */
export interface ProtectionRule {
  /** As `explain` names it. */
  readonly rule: string
  /** What a commit declared and another one removed goes all the same: it is no work of somebody else. */
  readonly isForStrangers?: true
  /** A sentence when the rule holds. */
  readonly why: (object: ObservedObject, world: PruneWorld) => string | undefined
}

/** A sentence if it is so. */
export function when(holds: boolean, sentence: string): string | undefined {
  return holds ? sentence : undefined
}
