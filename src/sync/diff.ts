import { pathText, valueAt } from './apply/field-path.ts'
import { declaredPaths, entriesOf, unionOf } from './apply/field-set.ts'
import { liveObject } from './apply/projection.ts'
import { isSameMeaning } from './apply/same-meaning.ts'
import { isObject, type Json, type JsonObject } from './json.ts'
import type { ObservedObject } from './observed.ts'

/** One field that a write would change. */
export interface FieldChange {
  readonly path: string
  readonly from: Json | undefined
  readonly to: Json | undefined
}

/** Written by the server with each write, whatever was sent. */
const restless = new Set(['managedFields', 'resourceVersion', 'generation', 'uid', 'creationTimestamp', 'selfLink'])

/** What differs between an object as it is and as a write would leave it. */
export function fieldChanges(live: JsonObject | undefined, next: JsonObject): readonly FieldChange[] {
  const found: FieldChange[] = []
  walk('', withoutRestless(live ?? {}), withoutRestless(next), found)
  return found
}

function withoutRestless(object: JsonObject): JsonObject {
  const { metadata, status: _, ...rest } = object
  if (!isObject(metadata)) return rest
  return { ...rest, metadata: Object.fromEntries(Object.entries(metadata).filter(([key]) => !restless.has(key))) }
}

function walk(path: string, from: Json | undefined, to: Json | undefined, found: FieldChange[]): void {
  if (isObject(from) && isObject(to)) {
    for (const key of [...new Set([...Object.keys(from), ...Object.keys(to)])].sort())
      walk(path === '' ? key : `${path}.${key}`, from[key], to[key], found)
    return
  }
  if (Array.isArray(from) && Array.isArray(to)) {
    const [old, fresh] = [named(from), named(to)]
    for (const key of [...new Set([...old.keys(), ...fresh.keys()])])
      walk(`${path}[${key}]`, old.get(key), fresh.get(key), found)
    return
  }
  if (JSON.stringify(from, exact) !== JSON.stringify(to, exact)) found.push({ path, from, to })
}

const exact = (_: string, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value)

/** Items that have a name are compared with those of the same name, others with those in the same place. */
function named(items: readonly Json[]): Map<string, Json> {
  const names = items.map((item) => (isObject(item) && typeof item['name'] === 'string' ? item['name'] : undefined))
  const isNamed = names.every((name) => name !== undefined) && new Set(names).size === names.length
  return new Map(items.map((item, index) => [isNamed ? `name=${names[index]}` : String(index), item]))
}

/** The declared fields that hold something else in the cluster, whoever owns them. */
export function unequalFields(body: JsonObject, observed: ObservedObject): readonly string[] {
  const live = liveObject(observed)
  const shape = entriesOf(live).reduce<JsonObject>((all, { fieldsV1 }) => unionOf(all, fieldsV1 ?? {}), {})
  const unequal = [...declaredPaths(body, shape)].filter((path) => {
    const value = valueAt(body, path)
    return value !== undefined && !isSameMeaning(value, valueAt(live, path))
  })
  return unequal.map(pathText)
}

/** Values of Secrets are never shown, not even their lengths; nor is what may be one in a field that is misspelt. */
export function changeText({ path, from, to }: FieldChange, isSecret: boolean): string {
  const isHidden = isSecret && !/^(apiVersion|kind|metadata|type)(\.|$)/.test(path)
  const text = (value: Json | undefined) => {
    if (value === undefined) return '(none)'
    return isHidden ? '***' : JSON.stringify(value, exact)
  }
  return `${path}: ${text(from)} → ${text(to)}`
}
