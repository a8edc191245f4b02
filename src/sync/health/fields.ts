import { isObject, type Json } from '../json.ts'

/** What stands at a path, or nothing: whoever reads another program's status must not trust its shape. */
export function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let here = value
  for (const part of path) here = isObject(here) ? here[part] : undefined
  return here
}

export function textAt(value: Json | undefined, ...path: readonly string[]): string | undefined {
  const found = at(value, ...path)
  return typeof found === 'string' && found !== '' ? found : undefined
}

export function numberAt(value: Json | undefined, ...path: readonly string[]): number | undefined {
  const found = at(value, ...path)
  return typeof found === 'number' || typeof found === 'bigint' ? Number(found) : undefined
}

export function listAt(value: Json | undefined, ...path: readonly string[]): readonly Json[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? (found as readonly Json[]) : []
}

/** A time of the API in milliseconds since the epoch. */
export function timeAt(value: Json | undefined, ...path: readonly string[]): number | undefined {
  const ms = Date.parse(textAt(value, ...path) ?? '')
  return Number.isNaN(ms) ? undefined : ms
}
