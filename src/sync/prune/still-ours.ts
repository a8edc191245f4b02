import { partOfLabel } from '../observe/foreign.ts'
import { keepMarkOf } from '../observe/keep-marks.ts'
import type { ObservedMeta } from '../observed.ts'
import { needsConfirmation } from '../plan/plan-orphans.ts'
import type { DeleteStep } from '../plan/steps.ts'

/**
 * Why a member that was changed after the plan was made may not be deleted any more: what people and other Syncs say by
 * their marks on it. Undefined if only something else of it changed, such as its status.
 */
export function whyNotOurs(
  { key, isConfirmed }: Pick<DeleteStep, 'key' | 'isConfirmed'>,
  metadata: ObservedMeta,
  setId: string,
): string | undefined {
  const label = metadata.labels?.[partOfLabel]
  if (label === undefined) return 'somebody took our label off it'
  if (label !== setId) return `it belongs to the set ${label} now`
  const mark = keepMarkOf(metadata)
  if (mark !== undefined) return `it is marked to stay now: ${mark}`
  const [owner] = metadata.ownerReferences ?? []
  if (owner) return `it belongs to ${owner.kind} ${owner.name} now`
  if (!isConfirmed && needsConfirmation({ key, metadata }))
    return `a person has to confirm now that it goes (--confirm ${metadata.uid})`
  return undefined
}
