import { isObject, type Json, type JsonObject } from '../json.ts'

/** Parts of an answer that may be of any shape: what is not of the expected one counts as absent. */
export function textAt(value: Json | undefined, name: string): string | undefined {
  const part = isObject(value) ? value[name] : undefined
  return typeof part === 'string' ? part : undefined
}

export function objectAt(value: Json | undefined, name: string): JsonObject | undefined {
  const part = isObject(value) ? value[name] : undefined
  return isObject(part) ? part : undefined
}

export function listAt(value: Json | undefined, name: string): readonly Json[] {
  const part = isObject(value) ? value[name] : undefined
  return Array.isArray(part) ? (part as readonly Json[]) : []
}

export function textsAt(value: Json | undefined, name: string): readonly string[] {
  return listAt(value, name).filter((one) => typeof one === 'string')
}
