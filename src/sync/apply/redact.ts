import { isObject, type Json, type JsonObject } from '../json.ts'
import type { Key } from '../key.ts'

/** What stands in place of a value that is nobody's business. Neither its length nor a hash: both help to guess it. */
export const hidden = '***'

const longestText = 500
/** Holds the whole manifest as it was last applied, values included. */
export const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

export function holdsSecrets({ group, kind }: Pick<Key, 'group' | 'kind'>): boolean {
  return group === '' && kind === 'Secret'
}

/** What the server said about an object. It repeats values in its refusals, hence of a Secret nothing of it is shown. */
export function shownText(key: Pick<Key, 'group' | 'kind'>, text: string): string {
  if (holdsSecrets(key)) return 'what the server said is not shown, because it may repeat a value of the Secret'
  return text.length <= longestText ? text : `${text.slice(0, longestText)} …`
}

/** The object for people: which keys a Secret has, and none of their values. */
export function shownObject(object: JsonObject): JsonObject {
  const metadata = isObject(object['metadata']) ? object['metadata'] : {}
  const annotations = metadata['annotations']
  const hasCopy = isObject(annotations) && Object.hasOwn(annotations, lastApplied)
  const shown: Record<string, Json> = { ...object }
  if (hasCopy) shown['metadata'] = { ...metadata, annotations: { ...annotations, [lastApplied]: hidden } }
  if (object['kind'] !== 'Secret' || object['apiVersion'] !== 'v1') return shown
  for (const part of ['data', 'stringData']) {
    const values = object[part]
    if (values === undefined) continue
    shown[part] = isObject(values) ? Object.fromEntries(Object.keys(values).map((key) => [key, hidden])) : hidden
  }
  return shown
}
