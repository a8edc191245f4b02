import type { Member } from '../inventory-record.ts'
import { partOfLabel } from '../observe/foreign.ts'
import type { ObservedObject } from '../observed.ts'

export type Standing =
  /** Recorded and labelled: ours. */
  | { readonly is: 'member'; readonly member: Member }
  /** Recorded, and now another set's. */
  | { readonly is: 'taken'; readonly by: string }
  /** Recorded under this name, but this one was made by somebody else. */
  | { readonly is: 'replaced'; readonly why: string }
  /** The recorded one, without our label: never made ours, or taken from us by hand. */
  | { readonly is: 'unlabelled' }
  | { readonly is: 'stranger' }

/**
 * Whose a live object is. A label alone proves nothing: controllers copy labels to what they make. A record alone
 * proves nothing either: it is written before the object is, and names are used again.
 */
export function standingOf(object: ObservedObject, member: Member | undefined, setId: string): Standing {
  if (member === undefined) return { is: 'stranger' }
  const label = object.metadata.labels?.[partOfLabel]
  if (label !== undefined && label !== setId) return { is: 'taken', by: label }
  const isRecorded = member.uid === object.uid
  if (label === setId && (isRecorded || !hasOwner(object))) return { is: 'member', member }
  if (isRecorded) return { is: 'unlabelled' }
  if (member.uid === undefined) return { is: 'replaced', why: 'it was announced, and never made ours' }
  return { is: 'replaced', why: `${object.uid} has its name now, and does not carry our label` }
}

function hasOwner({ metadata }: ObservedObject): boolean {
  return (metadata.ownerReferences ?? []).length > 0
}
