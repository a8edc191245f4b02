import { plainOf, Struct } from './struct.ts'

/**
 * What a template works on. Whole numbers are bigint and all others number, because Go tells them apart.
 * A key that is missing is undefined, one that holds null is null: Go lets fields be asked of the first alone.
 */
export type Value = undefined | null | boolean | bigint | number | string | readonly Value[] | ValueMap | Struct
/** Sorted by key. */
export type ValueMap = ReadonlyMap<string, Value>

/** A map of texts: where Go finds nothing by `index`, it finds an empty text, and nothing at all in other maps. */
export class TextMap extends Map<string, string> {
  constructor(texts: Readonly<Record<string, string>> = {}) {
    super(
      Object.entries(texts)
        .map(([key, text]): [string, string] => [wellFormed(key), wellFormed(text)])
        .sort(([one], [other]) => compareText(one, other)),
    )
  }
}

/** From what JSON can hold, with texts, structs and maps of texts among it. Anything else is null. */
export function valueFrom(json: unknown): Value {
  if (json instanceof Struct || json instanceof TextMap) return json
  if (typeof json === 'boolean') return json
  if (typeof json === 'string') return wellFormed(json)
  if (typeof json === 'number') return Number.isSafeInteger(json) ? BigInt(json) : json
  if (typeof json !== 'object' || json === null) return null
  if (Array.isArray(json)) return json.map(valueFrom)
  return new Map(
    Object.entries(json)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]): [string, Value] => [wellFormed(key), valueFrom(item)])
      .sort(([one], [other]) => compareText(one, other)),
  )
}

/** Half a character cannot be sent anywhere. */
export function wellFormed(text: string): string {
  return Buffer.from(text).toString()
}

/** By code points, as Go sorts, and not by halves of them. */
export function compareText(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

export function isMap(value: Value): value is ValueMap {
  return value instanceof Map
}

export function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value)
}

/** Whatever is empty or nothing is not true; a struct always is, but for one that is the number 0. */
export function isTrue(given: Value): boolean {
  const value = plainOf(given)
  if (value instanceof Struct) return value.number !== 0n
  if (isList(value)) return value.length > 0
  if (isMap(value)) return value.size > 0
  // NaN is not zero.
  return typeof value === 'number' ? value !== 0 : Boolean(value)
}

/** As Go names it; people who write templates know these words from its messages. */
export function typeName(value: Value): string {
  if (value === undefined || value === null) return '<nil>'
  if (isList(value)) return '[]interface {}'
  if (value instanceof Struct) return value.type
  if (isMap(value)) return value instanceof TextMap ? 'map[string]string' : 'map[string]interface {}'
  if (typeof value === 'bigint') return 'int'
  if (typeof value === 'number') return 'float64'
  return typeof value === 'boolean' ? 'bool' : 'string'
}
