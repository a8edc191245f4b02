import type { JsonObject } from '../json.ts'
import { applyRulesOf } from './annotations.ts'
import { type FieldPath, isBelow, pathText, valueAt } from './field-path.ts'
import { entriesOf, holds, isOwnEntry, leavesOf } from './field-set.ts'
import { memberLabel } from './member-label.ts'
import { adoptedEntries, type MigrationRules } from './migrate.ts'

/**
 * What an adoption removes: fields that become ours with it, that git does not declare and that nobody else holds. The
 * manifest alone does not tell of them, and the server neither, as long as they are not ours.
 */
export function removedByAdoption(live: JsonObject, body: JsonObject, rules: MigrationRules): readonly FieldPath[] {
  const { mode, ignored } = applyRulesOf(body)
  if (mode === 'merge' || mode === 'ifNotPresent' || mode === 'ignore') return []
  const entries = adoptedEntries(live, body, rules) ?? entriesOf(live)
  const own = entries.find((entry) => isOwnEntry(entry, rules.manager))
  const others = entries.filter((entry) => entry !== own)
  const isHeld = (path: FieldPath) => others.some(({ fieldsV1 }) => fieldsV1 !== undefined && holds(fieldsV1, path))
  const going = [...leavesOf(own?.fieldsV1 ?? {})].filter(
    (path) =>
      valueAt(body, path) === undefined &&
      valueAt(live, path) !== undefined &&
      path.at(-1) !== `f:${memberLabel}` &&
      !ignored.some((one) => isBelow(path, one)) &&
      !isHeld(path),
  )
  const whole = going.map((path) => wholeItem(path, body, isHeld))
  return [...new Map(whole.map((path) => [pathText(path), path])).values()]
}

/** The item of a list that goes as a whole with the field: a container, for one. */
function wholeItem(path: FieldPath, body: JsonObject, isHeld: (path: FieldPath) => boolean): FieldPath {
  for (const [at, element] of path.entries()) {
    const item = path.slice(0, at + 1)
    if (element.startsWith('k:') && valueAt(body, item) === undefined && !isHeld(item)) return item
  }
  return path
}
