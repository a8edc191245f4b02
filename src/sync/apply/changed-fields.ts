import type { Json, JsonObject } from '../json.ts'
import { isObject } from '../json.ts'
import type { ManagedFieldsEntry } from '../observed.ts'
import { knownController } from './conflicts.ts'
import { type FieldPath, indexIn, isBelow, isList, pathText, valueAt } from './field-path.ts'
import { declaredPaths, entriesOf, holds, isOwnEntry, leavesOf, unionOf } from './field-set.ts'
import { memberLabel } from './member-label.ts'
import { isSameMeaning } from './same-meaning.ts'

/** Which fields a write of this manifest would add, change or remove. */
export function changedFields(
  body: JsonObject,
  live: JsonObject,
  ours: JsonObject,
  ignored: readonly FieldPath[],
): readonly string[] {
  const removed = [...leavesOf(ours)].filter((path) => valueAt(body, path) === undefined && !isLabel(path))
  return named([...unequalPaths(body, live, ours, ignored), ...removed])
}

/** Which of our fields are lost or hold something else, and who holds them now. Nobody can tell who removed a field. */
export function driftedFields(
  body: JsonObject,
  live: JsonObject,
  ours: JsonObject,
  ignored: readonly FieldPath[],
  manager: string,
): { readonly fields: readonly string[]; readonly by?: string } {
  const others = entriesOf(live).filter((entry) => !isOwnEntry(entry, manager))
  const holdersOf = (path: FieldPath) =>
    others.filter(({ fieldsV1 }) => fieldsV1 !== undefined && holds(fieldsV1, path))
  const label: FieldPath = ['f:metadata', 'f:labels', `f:${memberLabel}`]
  const lost = [...unequalPaths(body, live, ours, ignored), ...(holds(ours, label) ? [] : [label])].filter(
    // These were left to their controllers on purpose.
    (path) => !holdersOf(path).some((entry) => knownController(path, entry)),
  )
  const by = [...new Set(lost.flatMap(holdersOf).map(holderText))].sort().join(', ')
  return by === '' ? { fields: named(lost) } : { fields: named(lost), by }
}

export function holderText({ manager = 'an unnamed program', subresource }: ManagedFieldsEntry): string {
  return subresource === undefined || subresource === '' ? manager : `${manager} (${subresource})`
}

function unequalPaths(
  body: JsonObject,
  live: JsonObject,
  ours: JsonObject,
  ignored: readonly FieldPath[],
): readonly FieldPath[] {
  const shape = entriesOf(live).reduce((all, { fieldsV1 }) => unionOf(all, fieldsV1 ?? {}), {} as JsonObject)
  const unequal = [...declaredPaths(body, shape)].filter((path) => {
    const value = valueAt(body, path)
    return !holds(ours, path) || (value !== undefined && !isSameMeaning(value, valueAt(live, path)))
  })
  return [...unequal, ...reordered(ours, body, live, [])].filter((path) => !ignored.some((one) => isBelow(path, one)))
}

/** Lists whose items of ours stand in another order than git says; that of env has a meaning. */
function* reordered(
  node: JsonObject,
  declared: Json | undefined,
  live: Json | undefined,
  path: FieldPath,
): Generator<FieldPath> {
  const elements = Object.keys(node).filter((element) => element !== '.')
  if (isList(declared) && isList(live)) {
    const places = elements
      .map((element) => [indexIn(declared, element), indexIn(live, element)] as const)
      .filter(([one, other]) => one >= 0 && other >= 0)
      .sort(([one], [other]) => one - other)
    if (places.some(([, at], index) => index > 0 && at < (places[index - 1]?.[1] ?? 0))) yield path
  }
  for (const element of elements) {
    const below = node[element]
    if (isObject(below))
      yield* reordered(below, valueAt(declared, [element]), valueAt(live, [element]), [...path, element])
  }
}

function isLabel(path: FieldPath): boolean {
  return path.length === 3 && path[1] === 'f:labels' && path[2] === `f:${memberLabel}`
}

function named(paths: readonly FieldPath[]): readonly string[] {
  return [...new Set(paths.map(pathText))].sort()
}
