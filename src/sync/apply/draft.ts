import type { DeclaredObject } from '../declared.ts'
import { isObject, type JsonObject } from '../json.ts'
import type { Policy } from '../policy.ts'
import { applyRulesOf } from './annotations.ts'
import { type ConflictRules, type Contest, contestsOf } from './conflicts.ts'
import { type FieldPath, isBelow, valueAt, without, withValue } from './field-path.ts'
import { entriesOf, isOwnEntry, leavesOf } from './field-set.ts'
import { withMemberLabel } from './member-label.ts'

export interface DraftOptions {
  readonly manager: string
  readonly setId: string
  readonly policy: Pick<Policy, 'adoptFrom' | 'conflicts'>
  readonly isAutoscaled?: boolean
}

/** What is sent to the server. */
export interface Draft {
  readonly body: JsonObject
  /** Fields are taken from others. Then the body insists on the very state that this was decided from. */
  readonly isForced: boolean
  /** Fields that others hold, and what becomes of them. */
  readonly contests: readonly Contest[]
}

export function conflictRulesOf(declared: DeclaredObject, options: DraftOptions): ConflictRules {
  const { manager, policy, isAutoscaled = true } = options
  const { adoptFrom, conflicts } = policy
  return { manager, mode: applyRulesOf(declared.body).mode, adoptFrom, conflicts, isAutoscaled }
}

/** What to send, given the live object as far as it is known. */
export function draftOf(
  declared: DeclaredObject,
  live: JsonObject | undefined,
  options: DraftOptions,
  mustForce = false,
): Draft {
  const whole = withMemberLabel(trimmed(declared.body), options.setId)
  if (live === undefined) return { body: whole, isForced: false, contests: [] }
  const known = applyRulesOf(declared.body).ignored.reduce(
    (body, path) => leftAlone(body, path, live, options.manager),
    whole,
  )
  const contests = contestsOf(known, live, conflictRulesOf(declared, options))
  const yielded = contests.filter(({ verdict }) => verdict === 'yield')
  const body = yielded.reduce((rest, { path }) => without(rest, path) as JsonObject, known)
  const isForced = (mustForce || contests.some(({ verdict }) => verdict === 'take')) && !contests.some(isFailing)
  return { body: isForced ? insisting(body, live) : body, isForced, contests }
}

export function isFailing({ verdict }: Contest): boolean {
  return verdict === 'fail'
}

/** An aggregated role's rules are written by its controller; an empty list in git would fight with it for ever. */
function trimmed(body: JsonObject): JsonObject {
  const isAggregated = body['kind'] === 'ClusterRole' && body['aggregationRule'] !== undefined
  return isAggregated ? (without(body, ['f:rules']) as JsonObject) : body
}

/** Left out only if somebody else holds it: leaving out what we alone own would reset it. */
function leftAlone(body: JsonObject, path: FieldPath, live: JsonObject, manager: string): JsonObject {
  if (valueAt(body, path) === undefined) return body
  const isHeld = entriesOf(live)
    .filter((entry) => !isOwnEntry(entry, manager))
    .some(({ fieldsV1 }) => [...leavesOf(fieldsV1 ?? {})].some((leaf) => isBelow(leaf, path) || isBelow(path, leaf)))
  const value = valueAt(live, path)
  return (isHeld || value === undefined ? without(body, path) : withValue(body, path, value)) as JsonObject
}

/** Force is for the whole request: without this it would also take what changed hands in the meantime. */
function insisting(body: JsonObject, live: JsonObject): JsonObject {
  const { uid, resourceVersion } = isObject(live['metadata']) ? live['metadata'] : {}
  if (uid === undefined || resourceVersion === undefined) throw new Error('a live object has a uid and a version')
  return withMetadata(body, { uid, resourceVersion })
}

/** With a version that no object has: it does not keep one from being made, and one that is there is not touched. */
export function onlyNew(body: JsonObject): JsonObject {
  return withMetadata(body, { resourceVersion: '1' })
}

export function withMetadata(body: JsonObject, more: JsonObject): JsonObject {
  return { ...body, metadata: { ...(isObject(body['metadata']) ? body['metadata'] : {}), ...more } }
}
