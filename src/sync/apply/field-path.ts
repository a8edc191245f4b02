import { canonicalText, isObject, type Json, type JsonObject } from '../json.ts'

/** A path as managedFields write it, one element after the other: `f:name`, `k:{"name":"web"}`, `v:"x"`, `i:0`. */
export type FieldPath = readonly string[]

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

/** For people: `spec.template.spec.containers[name=web].image`, `metadata.labels[example.com/tier]`. */
export function pathText(path: FieldPath): string {
  return path.reduce((text, element) => `${text}${elementText(element, text === '')}`, '')
}

function elementText(element: string, isFirst: boolean): string {
  const what = element.slice(2)
  if (element.startsWith('f:')) return /[.[\]]/.test(what) ? `[${what}]` : isFirst ? what : `.${what}`
  if (element.startsWith('k:'))
    return `[${keysOf(element)
      .map(([key, value]) => `${key}=${plainText(value)}`)
      .join(',')}]`
  return element.startsWith('v:') ? `[=${plainText(JSON.parse(what) as Json)}]` : `[${what}]`
}

/** As the API server writes the field of a conflict. */
export function serverText(path: FieldPath): string {
  return path.map(serverElement).join('')
}

function serverElement(element: string): string {
  const what = element.slice(2)
  if (element.startsWith('f:')) return `.${what}`
  if (element.startsWith('k:'))
    return `[${keysOf(element)
      .map(([key, value]) => `${key}=${canonicalText(value)}`)
      .join(',')}]`
  return element.startsWith('v:') ? `[=${what}]` : `[${what}]`
}

/** The same path, written by the server, as people read it here. */
export function readableServerText(text: string): string {
  return text.replace(/^\./, '').replaceAll(/\[([^\]]*)\]/g, (_all, keys: string) => `[${keys.replaceAll('"', '')}]`)
}

export function keysOf(element: string): readonly (readonly [string, Json])[] {
  return Object.entries(JSON.parse(element.slice(2)) as JsonObject).sort(([one], [other]) => (one < other ? -1 : 1))
}

/** A text as it is, anything else as JSON. */
export function plainText(value: Json): string {
  return typeof value === 'string' ? value : canonicalText(value)
}

/** Which item of a list an element means, or -1. */
export function indexIn(list: readonly Json[], element: string): number {
  if (element.startsWith('i:')) return Number(element.slice(2)) < list.length ? Number(element.slice(2)) : -1
  if (element.startsWith('v:')) {
    const wanted = canonicalText(JSON.parse(element.slice(2)) as Json)
    return list.findIndex((item) => canonicalText(item) === wanted)
  }
  if (!element.startsWith('k:')) return -1
  const keys = keysOf(element)
  const exact = list.findIndex((item) => keys.every(([key, value]) => hasKey(item, key, value)))
  // A key that the server fills in, such as protocol: TCP, is part of the path though git does not say it.
  return exact >= 0 ? exact : list.findIndex((item) => keys.every(([key, value]) => mayHaveKey(item, key, value)))
}

/** As indexIn, for many elements of one long list. */
export function placesIn(list: readonly Json[], elements: readonly string[]): (element: string) => number {
  const model = elements.find((element) => element.startsWith('k:'))
  if (model === undefined) return (element) => indexIn(list, element)
  const names = keysOf(model).map(([name]) => name)
  const places = new Map<string, number>()
  for (const [at, item] of list.entries()) {
    if (!isObject(item)) continue
    const keys = names.flatMap((name) => {
      const value = item[name]
      return value === undefined ? [] : [`${JSON.stringify(name)}:${canonicalText(value)}`]
    })
    const element = `k:{${keys.join(',')}}`
    if (!places.has(element)) places.set(element, at)
  }
  return (element) => places.get(element) ?? indexIn(list, element)
}

function hasKey(item: Json, key: string, value: Json): boolean {
  const own = isObject(item) ? item[key] : undefined
  // What a person writes between brackets is a text, also where the key is a number.
  return own !== undefined && plainText(own) === plainText(value)
}

function mayHaveKey(item: Json, key: string, value: Json): boolean {
  return isObject(item) && (item[key] === undefined || hasKey(item, key, value))
}

export function childAt(value: Json | undefined, element: string): Json | undefined {
  if (isList(value)) return value[indexIn(value, element)]
  const name = element.slice(2)
  return isObject(value) && element.startsWith('f:') && Object.hasOwn(value, name) ? value[name] : undefined
}

export function valueAt(value: Json | undefined, path: FieldPath): Json | undefined {
  let here = value
  for (const element of path) here = childAt(here, element)
  return here
}

/** The value without what is at the path. */
export function without(value: Json, path: FieldPath): Json {
  return rewritten(value, path, undefined)
}

/** The value with something else at the path, where there is something already. */
export function withValue(value: Json, path: FieldPath, leaf: Json): Json {
  return rewritten(value, path, leaf)
}

function rewritten(value: Json, [head, ...rest]: FieldPath, leaf: Json | undefined): Json {
  if (head === undefined) return value
  const child = childAt(value, head)
  if (child === undefined) return value
  const next = rest.length === 0 ? leaf : rewritten(child, rest, leaf)
  if (isList(value)) {
    const at = indexIn(value, head)
    return next === undefined ? value.toSpliced(at, 1) : value.with(at, next)
  }
  if (!isObject(value)) return value
  const name = head.slice(2)
  if (next !== undefined) return { ...value, [name]: next }
  return Object.fromEntries(Object.entries(value).filter(([key]) => key !== name))
}

/**
 * A path as people write it: a JSON pointer (`/spec/replicas`), or names with the keys of list items
 * (`spec.template.spec.containers[name=web].image`, `metadata.labels[example.com/tier]`). Nothing if it is neither.
 */
export function parsePath(text: string): FieldPath | undefined {
  if (text.startsWith('/')) {
    const parts = text.slice(1).split('/')
    if (parts.some((part) => part === '')) return undefined
    const names = parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    return names.map((name) => (/^\d+$/.test(name) ? `i:${name}` : `f:${name}`))
  }
  const whole = /^(?:(?:^|\.)[^.[\]]+|\[[^[\]]+\])+$/
  if (!whole.test(text) || text.startsWith('[')) return undefined
  return [...text.matchAll(/\[([^[\]]+)\]|([^.[\]]+)/g)].map(([, bracket, name]) =>
    bracket === undefined ? `f:${name}` : bracketElement(bracket),
  )
}

function bracketElement(text: string): string {
  if (text.startsWith('=')) return `v:${JSON.stringify(text.slice(1))}`
  if (/^\d+$/.test(text)) return `i:${text}`
  if (!text.includes('=')) return `f:${text}`
  const pairs = text.split(',').map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])
  return `k:${canonicalText(Object.fromEntries(pairs) as JsonObject)}`
}

/** Whether a path lies at or below one that a person wrote. There keys are texts, and not all of them need be said. */
export function isBelow(path: FieldPath, written: FieldPath): boolean {
  return written.length <= path.length && written.every((element, at) => isElement(path[at] ?? '', element))
}

function isElement(element: string, written: string): boolean {
  if (element === written) return true
  if (!element.startsWith('k:') || !written.startsWith('k:')) return false
  const own = Object.fromEntries(keysOf(element))
  return keysOf(written).every(([key, value]) => own[key] !== undefined && plainText(own[key]) === plainText(value))
}
