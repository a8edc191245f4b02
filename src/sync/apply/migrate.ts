import {
  hasCode,
  type JsonPatchStep,
  type KubeClient,
  type KubeObject,
  type ObjectRef,
  type Resource,
} from '../../kube/index.ts'
import { canonicalText, isObject, type JsonObject } from '../json.ts'
import type { ManagedFieldsEntry } from '../observed.ts'
import { annotationOf } from './annotations.ts'
import { isOneShot } from './conflicts.ts'
import { type FieldPath, valueAt } from './field-path.ts'
import { entriesOf, isOwnEntry, pruned, unionOf } from './field-set.ts'
import { lastApplied } from './redact.ts'

export interface MigrationRules {
  readonly manager: string
  readonly adoptFrom: readonly string[]
  readonly apiVersion: string
}

const mostAttempts = 5

/**
 * The entries after an adoption, or nothing if they may stay. What kubectl once applied from its side, and what the
 * managers named by the policy hold, becomes ours as a whole: else a field that git drops would stay for ever, because
 * they still hold it. Of what people set by hand, only what git declares becomes ours.
 */
export function adoptedEntries(
  live: JsonObject,
  body: JsonObject,
  rules: MigrationRules,
): readonly ManagedFieldsEntry[] | undefined {
  const entries = entriesOf(live)
  const own = entries.find((entry) => isOwnEntry(entry, rules.manager))
  let ours: JsonObject = own?.fieldsV1 ?? {}
  let hasMoved = false
  const others = entries.flatMap((entry) => {
    if (entry === own) return []
    const moved = movedFields(entry, body, rules)
    if (Object.keys(moved).length === 0) return [entry]
    hasMoved = true
    ours = unionOf(ours, moved)
    const rest = isWhollyOurs(entry, rules) ? {} : pruned(entry.fieldsV1 ?? {}, (path) => isDeclared(path, body, entry))
    return Object.keys(rest).length === 0 ? [] : [{ ...entry, fieldsV1: rest }]
  })
  if (!hasMoved) return undefined
  const { manager, apiVersion } = rules
  const cleaned = pruned(ofData(ours), (path) => path[2] === `f:${lastApplied}`)
  const entry = { manager, operation: 'Apply', apiVersion: own?.apiVersion ?? apiVersion, fieldsType: 'FieldsV1' }
  return [...others, { ...entry, fieldsV1: cleaned }]
}

function movedFields(entry: ManagedFieldsEntry, body: JsonObject, rules: MigrationRules): JsonObject {
  const fields = entry.fieldsV1
  if (fields === undefined || (entry.subresource ?? '') !== '') return {}
  if (isWhollyOurs(entry, rules)) return fields
  if (!isOneShot(entry) && entry.manager !== rules.manager) return {}
  return pruned(fields, (path) => !isContainer(path, fields) && !isDeclared(path, body, entry))
}

function isWhollyOurs({ manager = '', operation }: ManagedFieldsEntry, { adoptFrom }: MigrationRules): boolean {
  return adoptFrom.includes(manager) || (manager === 'kubectl-client-side-apply' && operation === 'Update')
}

function isDeclared(path: FieldPath, body: JsonObject, { fieldsV1 = {} }: ManagedFieldsEntry): boolean {
  return !isContainer(path, fieldsV1) && valueAt(body, path) !== undefined
}

function isContainer(path: FieldPath, fields: JsonObject): boolean {
  let node = fields
  for (const element of path) {
    const below = node[element]
    if (!isObject(below)) return false
    node = below
  }
  return Object.keys(node).length > 0
}

/** A Secret's stringData cannot be read back, and its values stand in data. */
function ofData(fields: JsonObject): JsonObject {
  const { 'f:stringData': texts, ...rest } = fields
  return isObject(texts) ? unionOf(rest, { 'f:data': texts }) : fields
}

const firstApply = 'before-first-apply'

/**
 * The entries without our fields in the one that the server makes up when an object has none: it gives every field to
 * nobody in particular, ours as well, and what git drops later would stay. Nothing if there is no such entry.
 */
export function unsharedEntries(live: JsonObject, body: JsonObject): readonly ManagedFieldsEntry[] | undefined {
  const entries = entriesOf(live)
  const shared = entries.find(({ manager }) => manager === firstApply)
  if (shared?.fieldsV1 === undefined) return undefined
  const rest = pruned(shared.fieldsV1, (path) => isDeclared(path, body, shared))
  if (canonicalText(rest) === canonicalText(shared.fieldsV1)) return undefined
  const others = entries.filter((entry) => entry !== shared)
  return Object.keys(rest).length === 0 ? others : [...others, { ...shared, fieldsV1: rest }]
}

/** The entries with our version in place of others of the group, whose schema may be gone; nothing if all have it. */
export function reversionedEntries(live: JsonObject, apiVersion: string): readonly ManagedFieldsEntry[] | undefined {
  const entries = entriesOf(live)
  if (entries.every((entry) => entry.apiVersion === apiVersion)) return undefined
  const result = new Map<string, ManagedFieldsEntry>()
  for (const entry of entries) {
    const id = [entry.manager, entry.operation, entry.subresource].join('\n')
    const fieldsV1 = unionOf(result.get(id)?.fieldsV1 ?? {}, entry.fieldsV1 ?? {})
    result.set(id, { ...entry, apiVersion, fieldsV1 })
  }
  return [...result.values()]
}

/** Writes the entries, and drops the copy that kubectl keeps in an annotation. Answers the object as it is then. */
export async function writeEntries(
  client: Pick<KubeClient, 'get' | 'patch'>,
  resource: Resource,
  ref: ObjectRef,
  first: JsonObject,
  entriesFor: (live: JsonObject) => readonly ManagedFieldsEntry[] | undefined,
  options: { readonly manager: string; readonly signal: AbortSignal },
): Promise<JsonObject> {
  let live = first
  for (let attempt = 1; ; attempt++) {
    const entries = entriesFor(live)
    const steps = [...(entries === undefined ? [] : entrySteps(live, entries)), ...copySteps(live)]
    if (steps.length === 0) return live
    const { manager: fieldManager, signal } = options
    try {
      const patched = await client.patch<KubeObject>(
        resource,
        ref,
        { type: 'json', body: [...steps, ...versionSteps(live)] },
        { fieldManager, signal },
      )
      return patched as unknown as JsonObject
    } catch (error) {
      // Whether a write in doubt has happened is seen in the object.
      if (!hasCode(error, 'Conflict', 'UnknownOutcome') || attempt >= mostAttempts) throw error
      live = (await client.get<KubeObject>(resource, ref, { signal })) as unknown as JsonObject
      // Another object has the name by now: nobody decided about that one.
      if (uidOf(live) !== uidOf(first)) throw error
    }
  }
}

export function uidOf(object: JsonObject): string | undefined {
  const uid = valueAt(object, ['f:metadata', 'f:uid'])
  return typeof uid === 'string' ? uid : undefined
}

function entrySteps(live: JsonObject, entries: readonly ManagedFieldsEntry[]): readonly JsonPatchStep[] {
  const op = entriesOf(live).length === 0 ? 'add' : 'replace'
  return [{ op, path: '/metadata/managedFields', value: entries }]
}

function copySteps(live: JsonObject): readonly JsonPatchStep[] {
  if (annotationOf(live, lastApplied) === undefined) return []
  return [{ op: 'remove', path: `/metadata/annotations/${lastApplied.replaceAll('/', '~1')}` }]
}

/** A version that is no longer current makes the server answer with a conflict. */
function versionSteps(live: JsonObject): readonly JsonPatchStep[] {
  const value = valueAt(live, ['f:metadata', 'f:resourceVersion'])
  return [{ op: 'replace', path: '/metadata/resourceVersion', value }]
}
