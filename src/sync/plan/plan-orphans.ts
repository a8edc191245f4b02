import { provenanceText } from '../declared.ts'
import type { Member } from '../inventory-record.ts'
import { type PruneWorld, protectionOf } from '../observe/never-pruned.ts'
import type { ObservedObject } from '../observed.ts'
import { weightOf } from './budget.ts'
import { isInScope, whyUnknown } from './scope.ts'
import type { DeleteStep, PlanInput, RestStep, WaitStep } from './steps.ts'

/** A live object that nothing declares. Without a record it is a stranger. */
export interface Orphan {
  readonly object: ObservedObject
  readonly member?: Member
}

/** Why an orphan stays whatever time passes; undefined if it may go. */
export function reasonToStay(orphan: Orphan, world: PruneWorld, input: PlanInput): RestStep | undefined {
  const { object, member } = orphan
  const { key, metadata } = object
  const keep = (rule: string, why: string): RestStep => ({ do: 'keep', key, rule, why })
  if (member?.isKept) return keep('kept', 'it was marked to stay when git declared it last')
  if (!isInScope(key, input.policy)) return keep('out-of-scope', 'this Sync may not touch it any more')
  const unknown = whyUnknown(key, input.observed.unknown)
  if (unknown !== undefined) return keep('unknown', `not all of its kind could be read: ${unknown}`)
  if (member && metadata.deletionTimestamp !== undefined)
    return waitStep(orphan, metadata.deletionTimestamp, 'removal', 'it is being deleted already')
  const protection = protectionOf(object, world, member !== undefined)
  if (protection) return keep(protection.rule, protection.why)
  if (key.group === '' && key.kind === 'PersistentVolume' && !input.policy.deletion.allowDataDeletion)
    return keep('pv-default', 'it holds data, and the policy does not allow the deletion of data')
  return undefined
}

/** What an orphan that may go waits for; undefined when its time has come. */
export function reasonToWait(orphan: Orphan, input: PlanInput): WaitStep | undefined {
  const { object, member } = orphan
  const { deletion } = input.policy
  const since = orphanedAt(orphan, input)
  if (needsConfirmation(object) && !input.permits.confirmed.includes(object.uid))
    return waitStep(orphan, since, 'confirmation', `a person has to confirm that it goes (--confirm ${object.uid})`)
  const untilMs = Date.parse(since) + (member ? deletion.memberGraceMs : deletion.strangerGraceMs)
  if (input.nowMs >= untilMs) return undefined
  return { ...waitStep(orphan, since, 'grace', 'nothing declares it'), until: new Date(untilMs).toISOString() }
}

/** When it was first seen that nothing declares it. What cannot be read counts from now on. */
export function orphanedAt({ object, member }: Orphan, { inventory, nowMs }: PlanInput): string {
  const recorded = member ? member.orphanedAt : inventory.strangers[object.uid]
  return recorded === undefined || Number.isNaN(Date.parse(recorded)) ? new Date(nowMs).toISOString() : recorded
}

/** With a definition go all its instances, with a namespace all that is in it: these two are always confirmed. */
export function needsConfirmation({ key, metadata }: Pick<ObservedObject, 'key' | 'metadata'>): boolean {
  if (key.group === '' && key.kind === 'Namespace') return true
  if (key.group === 'apiextensions.k8s.io' && key.kind === 'CustomResourceDefinition') return true
  const mark = metadata.annotations?.['fettle.dev/confirm-deletion']
  if (mark !== undefined && mark !== 'false') return true
  const options = metadata.annotations?.['argocd.argoproj.io/sync-options']?.split(',') ?? []
  return options.some((option) => ['Prune=confirm', 'Delete=confirm'].includes(option.trim()))
}

export function waitStep(
  { object, member }: Orphan,
  since: string,
  waitsFor: NonNullable<WaitStep['waitsFor']>,
  why: string,
): WaitStep {
  const { key, uid } = object
  return { do: 'wait', key, uid, since, ...(member ? {} : { isStranger: true as const }), waitsFor, why }
}

export function deleteStep(orphan: Orphan, layer: number, input: PlanInput): DeleteStep {
  const { object, member } = orphan
  const { key, uid, apiVersion, metadata } = object
  const { resourceVersion } = metadata
  const from = member?.from ? `; it was declared at ${provenanceText(member.from)}` : ''
  return {
    do: 'delete',
    key,
    apiVersion,
    uid,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    isStranger: member === undefined,
    ...(input.permits.confirmed.includes(uid) ? { isConfirmed: true as const } : {}),
    since: orphanedAt(orphan, input),
    layer,
    weight: weightOf(key),
    why: member
      ? `nothing declares it any more${from}`
      : 'nothing declares it, and in mode total only git says what is here',
  }
}
