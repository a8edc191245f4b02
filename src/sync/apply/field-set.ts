import { canonicalText, isObject, type Json, type JsonObject } from '../json.ts'
import type { ManagedFieldsEntry } from '../observed.ts'
import { type FieldPath, indexIn, isBelow, isList, keysOf } from './field-path.ts'

export function entriesOf(object: JsonObject): readonly ManagedFieldsEntry[] {
  const metadata = object['metadata']
  const entries = isObject(metadata) ? metadata['managedFields'] : undefined
  return isList(entries) ? (entries as readonly ManagedFieldsEntry[]) : []
}

/** Whether an entry is what our own applies made. Updates under the same name are somebody else's. */
export function isOwnEntry(entry: ManagedFieldsEntry, manager: string): boolean {
  return entry.manager === manager && entry.operation === 'Apply' && (entry.subresource ?? '') === ''
}

/** The paths of a set that have nothing below: values, and wholes that have one owner only. */
export function* leavesOf(fields: JsonObject, path: FieldPath = []): Generator<FieldPath> {
  for (const [element, below] of Object.entries(fields)) {
    if (element === '.' || !isObject(below)) continue
    const here = [...path, element]
    if (Object.keys(below).length === 0) yield here
    else yield* leavesOf(below, here)
  }
}

/** Whether a set has the path itself, something below it, or a whole that the path is part of. */
export function holds(fields: JsonObject, path: FieldPath): boolean {
  let node = fields
  for (const element of path) {
    const below = Object.hasOwn(node, element) ? node[element] : undefined
    if (!isObject(below)) return false
    if (Object.keys(below).length === 0) return true
    node = below
  }
  return true
}

/** Everything that either set has. */
export function unionOf(one: JsonObject, other: JsonObject): JsonObject {
  const result: Record<string, Json> = { ...one }
  for (const [element, below] of Object.entries(other)) {
    const mine = Object.hasOwn(result, element) ? result[element] : undefined
    result[element] = isObject(mine) && isObject(below) ? unionOf(mine, below) : below
  }
  return result
}

/** The set without what is at or below the paths. Containers that are left with nothing go as well. */
export function pruned(fields: JsonObject, isCut: (path: FieldPath) => boolean, path: FieldPath = []): JsonObject {
  const kept: Record<string, Json> = {}
  for (const [element, below] of Object.entries(fields)) {
    const here = [...path, element]
    if (element !== '.' && isCut(here)) continue
    if (!isObject(below) || Object.keys(below).length === 0) {
      kept[element] = below
      continue
    }
    const rest = pruned(below, isCut, here)
    const hadChildren = Object.keys(below).some((child) => child !== '.')
    if (!hadChildren || Object.keys(rest).some((child) => child !== '.')) kept[element] = rest
  }
  return kept
}

export function prunedOf(fields: JsonObject, written: readonly FieldPath[]): JsonObject {
  return written.length === 0 ? fields : pruned(fields, (path) => written.some((one) => isBelow(path, one)))
}

const ownedMetadata = new Set(['labels', 'annotations', 'finalizers', 'ownerReferences'])

/** The paths of a manifest, with lists divided as the sets of the live object divide them. */
export function* declaredPaths(body: JsonObject, shape: JsonObject): Generator<FieldPath> {
  for (const [name, value] of Object.entries(body)) {
    if (name === 'apiVersion' || name === 'kind' || name === 'status') continue
    const below = childSet(shape, `f:${name}`)
    if (name !== 'metadata' || !isObject(value)) {
      yield* pathsOf(value, below, [`f:${name}`])
      continue
    }
    for (const [member, inner] of Object.entries(value)) {
      if (ownedMetadata.has(member))
        yield* pathsOf(inner, childSet(below, `f:${member}`), ['f:metadata', `f:${member}`])
    }
  }
}

function* pathsOf(value: Json, shape: JsonObject | undefined, path: FieldPath): Generator<FieldPath> {
  const isWhole = shape !== undefined && Object.keys(shape).length === 0
  if (isObject(value) && Object.keys(value).length > 0 && !isWhole) {
    for (const [name, below] of Object.entries(value)) {
      yield* pathsOf(below, childSet(shape, `f:${name}`), [...path, `f:${name}`])
    }
    return
  }
  const elements = Object.keys(shape ?? {})
  if (isList(value) && elements.some((element) => element.startsWith('k:'))) {
    for (const [at, item] of value.entries()) {
      const known = elements.find((element) => element.startsWith('k:') && indexIn(value, element) === at)
      if (known !== undefined) yield* pathsOf(item, childSet(shape, known), [...path, known])
      else yield [...path, elementLike(elements, item, at)]
    }
  } else if (isList(value) && elements.some((element) => element.startsWith('v:'))) {
    for (const item of value) yield [...path, `v:${canonicalText(item)}`]
  } else yield path
}

/** How an item that no set knows yet would be called, after its neighbours. */
function elementLike(elements: readonly string[], item: Json, at: number): string {
  const model = elements.find((element) => element.startsWith('k:'))
  if (model === undefined || !isObject(item)) return `i:${at}`
  const names = keysOf(model).map(([name]) => name)
  return `k:${canonicalText(Object.fromEntries(names.flatMap((name) => (item[name] === undefined ? [] : [[name, item[name]]]))) as JsonObject)}`
}

function childSet(fields: JsonObject | undefined, element: string): JsonObject | undefined {
  const below = fields !== undefined && Object.hasOwn(fields, element) ? fields[element] : undefined
  return isObject(below) ? below : undefined
}
