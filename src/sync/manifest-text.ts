import { stringify } from 'yaml'
import { isObject, type Json, type JsonObject } from './json.ts'

/** A manifest as YAML that reads back as the same. */
export function manifestText(body: JsonObject, { hidesSecrets }: { readonly hidesSecrets: boolean }): string {
  const shown = hidesSecrets && body['kind'] === 'Secret' ? hidden(body) : body
  // 1.1, as kubectl reads it: `yes` and `0777` are quoted when they are texts.
  return stringify(shown, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false })
}

const plain = new Set(['apiVersion', 'kind', 'metadata', 'type'])

/** Names of keys only. A field that is misspelt may hold what belongs into data. */
function hidden(body: JsonObject): JsonObject {
  const keysOf = (value: Json) =>
    isObject(value) ? Object.fromEntries(Object.keys(value).map((key) => [key, '***'])) : '***'
  return Object.fromEntries(
    Object.entries(body).map(([field, value]) => [field, plain.has(field) ? value : keysOf(value)]),
  )
}
