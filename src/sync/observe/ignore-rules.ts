import type { ObservedObject } from '../observed.ts'
import type { IgnoreRule } from '../policy.ts'

/** Whether every given part of the rule fits. A rule without parts fits nothing: it is a slip, not a wish. */
export function isIgnored(object: ObservedObject, rule: IgnoreRule): boolean {
  const { key, metadata } = object
  const { group, kind, name, labels, manager } = rule
  const checks = [
    group === undefined ? undefined : key.group === group,
    kind === undefined ? undefined : key.kind === kind,
    name === undefined ? undefined : fitsPattern(key.name, name),
    labels === undefined
      ? undefined
      : Object.entries(labels).every(([label, value]) => metadata.labels?.[label] === value),
    manager === undefined ? undefined : managersOf(object).includes(manager),
  ].filter((check) => check !== undefined)
  return checks.length > 0 && checks.every(Boolean)
}

export function ignoreRuleText({ group, kind, name, labels, manager }: IgnoreRule): string {
  return [
    group === undefined ? [] : [`group ${group === '' ? '""' : group}`],
    kind === undefined ? [] : [`kind ${kind}`],
    name === undefined ? [] : [`name ${name}`],
    Object.entries(labels ?? {}).map(([label, value]) => `label ${label}=${value}`),
    manager === undefined ? [] : [`manager ${manager}`],
  ]
    .flat()
    .join(', ')
}

export function managersOf({ managers, metadata }: ObservedObject): readonly string[] {
  return managers ?? (metadata.managedFields ?? []).flatMap(({ manager }) => manager ?? [])
}

/** Whether a text fits a pattern in which * stands for any characters, none included. */
export function fitsPattern(text: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return text === pattern
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last)) return false
  // Taking each part as early as possible leaves most for the others; no expression can blow up here.
  let at = first.length
  const end = text.length - last.length
  for (const part of rest) {
    const found = text.indexOf(part, at)
    if (found < 0 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}
