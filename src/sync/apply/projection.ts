import { createHmac } from 'node:crypto'
import type { DeclaredObject } from '../declared.ts'
import type { Member, Reference } from '../inventory-record.ts'
import { canonicalText, isObject, type Json, type JsonObject } from '../json.ts'
import type { ObservedObject } from '../observed.ts'
import type { Difference } from '../plan/steps.ts'
import { applyRulesOf } from './annotations.ts'
import { changedFields, driftedFields } from './changed-fields.ts'
import { childAt, type FieldPath, isList, pathText, placesIn, valueAt, without } from './field-path.ts'
import { entriesOf, isOwnEntry, leavesOf, prunedOf } from './field-set.ts'
import { isEmpty } from './same-meaning.ts'

/**
 * What the server made of our fields: the fields that it says are ours, and their values. Taken from the answer to our
 * own write, so that defaults, other spellings of quantities and admission are in it already; a later state of the
 * object is in sync if it gives the same. Nothing if the answer knows no field of ours.
 */
export function referenceOf(
  answer: JsonObject,
  body: JsonObject,
  manager: string,
  hashKey: Buffer,
): Reference | undefined {
  const entry = entriesOf(answer).find((one) => isOwnEntry(one, manager))
  if (entry?.fieldsV1 === undefined) return undefined
  const fields = prunedOf(entry.fieldsV1, applyRulesOf(body).ignored)
  const existsOnly = existsOnlyOf(fields, body)
  return {
    bodyHash: bodyHashOf(body, hashKey),
    setHash: hashOf(canonicalText(fields), hashKey),
    valueHash: hashOf(projectionText(fields, answer, existsOnly), hashKey),
    existsOnly,
  }
}

/** Of what git says. Fields that are ignored may be edited without consequence. */
export function bodyHashOf(body: JsonObject, hashKey: Buffer): string {
  const { ignored } = applyRulesOf(body)
  return hashOf(canonicalText(ignored.reduce<Json>((rest, path) => without(rest, path), body)), hashKey)
}

/** How a live object differs from what is declared of it. Needs the body of what was observed. */
export function compareWithReference(
  declared: DeclaredObject,
  member: Member | undefined,
  observed: ObservedObject,
  manager: string,
  hashKey: Buffer,
): Difference {
  const { mode, ignored } = applyRulesOf(declared.body)
  if (mode === 'ignore' || mode === 'ifNotPresent') return { is: 'same' }
  const live = liveObject(observed)
  const entry = entriesOf(live).find((one) => isOwnEntry(one, manager))
  const fields = prunedOf(entry?.fieldsV1 ?? {}, ignored)
  const reference = member?.reference
  if (reference === undefined || reference.bodyHash !== bodyHashOf(declared.body, hashKey)) {
    return { is: 'changed', fields: changedFields(declared.body, live, fields, ignored) }
  }
  if (entry === undefined) return { ...driftedFields(declared.body, live, fields, ignored, manager), is: 'drifted' }
  const isSameSet = reference.setHash === hashOf(canonicalText(fields), hashKey)
  // In another version the paths of our set need not exist: only the set itself can be compared.
  const isComparable = entry.apiVersion === undefined || entry.apiVersion === observed.apiVersion
  const isSame = () => reference.valueHash === hashOf(projectionText(fields, live, reference.existsOnly), hashKey)
  if (member?.uid === observed.uid && isSameSet && (!isComparable || isSame())) return { is: 'same' }
  return { ...driftedFields(declared.body, live, fields, ignored, manager), is: 'drifted' }
}

/** The object as the server has it, with all its metadata. */
export function liveObject(observed: ObservedObject): JsonObject {
  if (observed.body === undefined) throw new Error('a live object can only be compared with its body; observe its kind')
  return { ...observed.body, metadata: observed.metadata as unknown as JsonObject }
}

/** Short enough for thousands in one record, and still not to be found by trying. */
function hashOf(text: string, hashKey: Buffer): string {
  return createHmac('sha256', hashKey).update(text).digest().subarray(0, 16).toString('base64url')
}

/**
 * Leaves that git declares empty. Defaulting and other managers put things into such containers: hashing them would
 * report a drift that no apply can mend.
 */
function existsOnlyOf(fields: JsonObject, body: JsonObject): readonly string[] {
  const isDeclaredEmpty = (path: FieldPath) => {
    const value = valueAt(body, path)
    return value === null || (typeof value === 'object' && isEmpty(value))
  }
  return [...leavesOf(fields)].filter(isDeclaredEmpty).map(pathText).sort()
}

/** One line for each of our fields with its value, and one for the order of our items in each list. */
function projectionText(fields: JsonObject, live: JsonObject, existsOnly: readonly string[]): string {
  const lines: string[] = []
  const presenceOnly = new Set(existsOnly)
  const isPresence = (path: FieldPath) =>
    path.at(-1)?.startsWith('v:') || (presenceOnly.size > 0 && presenceOnly.has(pathText(path)))
  const walk = (node: JsonObject, value: Json | undefined, path: FieldPath, line: string): void => {
    const elements = Object.keys(node).sort()
    if (elements.length === 0) {
      lines.push(`${line} ${value === undefined || isPresence(path) ? presence(value) : canonicalText(value)}`)
      return
    }
    const placeOf = isList(value) ? placesIn(value, elements) : undefined
    const places: (readonly [number, string])[] = []
    for (const element of elements) {
      const below = node[element]
      if (element === '.') lines.push(`${line} ${presence(value)}`)
      else if (isObject(below)) {
        const at = placeOf?.(element)
        if (at !== undefined && at >= 0 && element.startsWith('k:')) places.push([at, element])
        walk(
          below,
          isList(value) && at !== undefined ? value[at] : childAt(value, element),
          [...path, element],
          `${line} ${element}`,
        )
      }
    }
    const order = places.sort(([one], [other]) => one - other).map(([, element]) => element)
    if (order.length > 1) lines.push(`${line} order ${order.join(' ')}`)
  }
  walk(fields, live, [], '')
  return lines.join('\n')
}

/** No value is written like this. */
function presence(value: Json | undefined): string {
  return value === undefined ? 'is missing' : 'is there'
}
