import { isObject, type Json, type JsonObject } from '../json.ts'
import type { Key } from '../key.ts'

const serverMade = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'managedFields',
  'selfLink',
])
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

/** The object as it is sent: without what only the server writes, in the namespace that it goes to. */
export function bodyOf(value: JsonObject, { group, kind, namespace }: Key): JsonObject {
  const { status: _, ...rest } = value
  const metadata = isObject(value['metadata']) ? value['metadata'] : {}
  const body = { ...rest, metadata: metadataOf(metadata, namespace) }
  if (group === '' && kind === 'Secret') return withoutStringData(body)
  // Its controller takes the rules at once, and each further apply would be a conflict.
  if (group === 'rbac.authorization.k8s.io' && kind === 'ClusterRole' && isObject(value['aggregationRule']))
    return without(body, ['rules'])
  return body
}

function metadataOf(metadata: JsonObject, namespace: string): JsonObject {
  const { namespace: _, annotations, ...rest } = without(metadata, serverMade)
  const kept = isObject(annotations) && lastApplied in annotations ? without(annotations, [lastApplied]) : annotations
  const isEmptied = kept !== annotations && isObject(kept) && Object.keys(kept).length === 0
  return {
    ...rest,
    ...(namespace === '' ? {} : { namespace }),
    ...(kept === undefined || isEmptied ? {} : { annotations: kept }),
  }
}

/** The server never gives stringData back: what is applied through it cannot be seen to drift, and is never removed. */
function withoutStringData(secret: JsonObject): JsonObject {
  const { stringData, ...rest } = secret
  if (!isObject(stringData) || Object.keys(stringData).length === 0) return rest
  const encoded = Object.entries(stringData).map(([key, text]) => [key, base64(text)])
  return { ...rest, data: { ...(isObject(rest['data']) ? rest['data'] : {}), ...Object.fromEntries(encoded) } }
}

/** Nothing is the empty text to the server. */
function base64(text: Json): string {
  return Buffer.from(typeof text === 'string' ? text : '', 'utf8').toString('base64')
}

function without(object: JsonObject, names: Iterable<string>): JsonObject {
  const left = new Set(names)
  return Object.fromEntries(Object.entries(object).filter(([name]) => !left.has(name)))
}
