import type { OwnerReference } from '../../kube/index.ts'
import { removedByAdoption } from '../apply/adopted-fields.ts'
import { applyRulesOf } from '../apply/annotations.ts'
import { pathText } from '../apply/field-path.ts'
import { liveObject } from '../apply/projection.ts'
import type { DeclaredObject } from '../declared.ts'
import type { Member } from '../inventory-record.ts'
import { foreignOwner, partOfLabel } from '../observe/foreign.ts'
import type { ObservedObject } from '../observed.ts'
import { managerOf, type Policy } from '../policy.ts'
import { standingOf } from './membership.ts'
import { list } from './pod-references.ts'
import { isInScope, whyUnknown } from './scope.ts'
import type { Difference, LiveWrite, PlanInput, RestStep } from './steps.ts'

/** What is to be done for one declared object, before its place in the order is known. */
export type DeclaredOutcome =
  | { readonly do: 'nothing' }
  | { readonly do: 'create'; readonly why: string }
  | (LiveWrite & { readonly why: string })
  | RestStep

export function planDeclared(
  declared: DeclaredObject,
  live: ObservedObject | undefined,
  member: Member | undefined,
  input: PlanInput,
): DeclaredOutcome {
  const outcome = planObject(declared, live, member, input)
  if (outcome.do !== 'update' && outcome.do !== 'adopt') return outcome
  const { replace, mode } = applyRulesOf(declared.body)
  // What is never changed is not replaced either.
  return replace === 'always' && mode !== 'ifNotPresent' ? { ...outcome, replaces: true } : outcome
}

function planObject(
  declared: DeclaredObject,
  live: ObservedObject | undefined,
  member: Member | undefined,
  input: PlanInput,
): DeclaredOutcome {
  const { key } = declared
  const { mode } = applyRulesOf(declared.body)
  const conflict = (why: string): RestStep => ({ do: 'conflict', key, why })
  if (!isInScope(key, input.policy))
    return conflict(
      'this Sync may not touch it: allow its namespace, or its kind for the whole cluster, or take it out of the repository',
    )
  // Whether it exists, and as what, is left to others.
  if (mode === 'ignore') return { do: 'nothing' }
  if (live === undefined) {
    const unknown = whyUnknown(key, input.observed.unknown)
    if (unknown !== undefined) return conflict(`it is not known whether it exists: ${unknown}`)
    return { do: 'create', why: member?.uid === undefined ? 'it is not there yet' : 'it is gone and is made again' }
  }
  const { deletionTimestamp } = live.metadata
  if (deletionTimestamp !== undefined) {
    const why = 'it is being deleted; it is made again when it is gone'
    return { do: 'wait', key, uid: live.uid, since: deletionTimestamp, waitsFor: 'removal', why }
  }
  // It is there, and our label would be a change: it stays somebody else's.
  if (mode === 'ifNotPresent' && live.metadata.labels?.[partOfLabel] !== input.setId) return { do: 'nothing' }
  const owner = foreignReference(declared, live, input)
  if (owner)
    return conflict(`${owner.kind} ${owner.name} owns it: take it out of the repository, or its owner reference off it`)

  const standing = standingOf(live, member, input.setId)
  if (standing.is === 'member') return planMember(live, standing.member, input.compare(declared, live))
  // It was applied before, so only the label is to be put back.
  if (standing.is === 'unlabelled' && member?.reference !== undefined)
    return {
      do: 'update',
      uid: live.uid,
      fields: [`metadata.labels.${partOfLabel}`],
      why: 'somebody took our label off it',
    }
  return planAdoption(declared, live, input)
}

function planMember(live: ObservedObject, member: Member, difference: Difference): DeclaredOutcome {
  const { uid } = live
  if (difference.is === 'changed')
    return { do: 'update', uid, fields: difference.fields, why: 'git says something else' }
  if (difference.is === 'drifted') {
    const who = difference.by === undefined ? 'somebody' : difference.by
    return { do: 'update', uid, fields: difference.fields, why: `${who} changed it; git decides` }
  }
  // The answer to our last write was lost, so what the server made of it is not known.
  if (member.uid !== uid) return { do: 'update', uid, fields: [], why: 'what became of the last write is not recorded' }
  return { do: 'nothing' }
}

function planAdoption(declared: DeclaredObject, live: ObservedObject, input: PlanInput): DeclaredOutcome {
  const { policy, setId } = input
  const conflict = (why: string): RestStep => ({ do: 'conflict', key: declared.key, why })
  const isLabelled = live.metadata.labels?.[partOfLabel] === setId
  const foreign = foreignOwner(live, setId)
  if (foreign && !isTakenOver(live, foreign.tool, policy))
    return conflict(`${foreign.why}: let it go there first, or name ${foreign.tool} in adoptFrom`)
  if (policy.adoption === 'never' && !isLabelled)
    return conflict('it exists already, and adoption is never: remove it, or allow adoption')
  const difference = input.compare(declared, live)
  const fields = difference.is === 'same' ? [] : difference.fields
  const why = foreign
    ? `it is there already and is taken over from ${foreign.tool}`
    : 'it is there already and becomes ours'
  const removes = removedFields(declared, live, policy)
  return { do: 'adopt', uid: live.uid, fields, ...(removes.length > 0 ? { removes } : {}), why }
}

function removedFields(declared: DeclaredObject, live: ObservedObject, { name, adoptFrom }: Policy): readonly string[] {
  if (live.body === undefined) return []
  const rules = { manager: managerOf(name), adoptFrom, apiVersion: declared.apiVersion }
  return removedByAdoption(liveObject(live), declared.body, rules).map(pathText).sort()
}

/** A person named the program, or the field manager it applies with, as one to take over from. */
function isTakenOver({ metadata }: ObservedObject, tool: string, { adoptFrom }: Policy): boolean {
  const appliers = (metadata.managedFields ?? []).filter(({ operation }) => operation === 'Apply')
  return adoptFrom.includes(tool) || appliers.some(({ manager = '' }) => adoptFrom.includes(manager))
}

/**
 * An owner that git does not declare. One that controls the object undoes what we write; others only decide when it
 * goes, which a person can accept.
 */
function foreignReference(
  { body }: DeclaredObject,
  live: ObservedObject,
  { policy }: PlanInput,
): OwnerReference | undefined {
  const declared = new Set(list(body['metadata'], 'ownerReferences').map(({ uid }) => uid))
  return (live.metadata.ownerReferences ?? []).find(
    ({ uid, controller }) => !declared.has(uid) && (controller === true || policy.adoption !== 'always'),
  )
}
