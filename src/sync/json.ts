/** What a manifest holds. Whole numbers that a double would round are bigints, from the file to the request. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [key: string]: Json
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** One text for one value: keys sorted, numbers exact. */
export function canonicalText(value: Json): string {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${value.map((one: Json) => canonicalText(one)).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalText(value[key] as Json)}`)
  return `{${members.join(',')}}`
}
