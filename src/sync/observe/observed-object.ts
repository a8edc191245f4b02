import type { KubeObject } from '../../kube/index.ts'
import type { JsonObject } from '../json.ts'
import { type Key, keyId } from '../key.ts'
import type { ObservedMeta, ObservedObject, ServedKind } from '../observed.ts'
import { grouped } from './grouped.ts'

/** One item of a list, as it came. */
export interface ListedItem extends KubeObject {
  readonly metadata: ObservedMeta
  readonly type?: string
}

export interface Seen {
  readonly object: ObservedObject
  /** Its kind was asked for by name. */
  readonly isFull: boolean
}

/** What is kept of an item: of strangers as little as the rules need, and never the values of their Secrets. */
export function observedObject(
  item: ListedItem,
  { resource, isAggregated }: ServedKind,
  isFull: boolean,
  declaredSecrets: ReadonlySet<string>,
): ObservedObject | undefined {
  const { metadata } = item
  // Without a UID there is nothing to hold on to: some programs make up objects for each answer.
  if (!metadata?.uid || !metadata.name) return undefined
  const { group, version, kind } = resource
  const key: Key = {
    group,
    kind,
    namespace: resource.namespaced ? (metadata.namespace ?? '') : '',
    name: metadata.name,
  }
  const isSecret = group === '' && kind === 'Secret'
  const hasBody = isFull && (!isSecret || declaredSecrets.has(keyId(key)))
  const apiVersion = group === '' ? version : `${group}/${version}`
  const { managedFields, ...slim } = metadata
  return {
    key,
    uid: metadata.uid,
    apiVersion,
    metadata: hasBody ? metadata : withoutLastApplied(slim),
    managers: [...new Set((managedFields ?? []).flatMap(({ manager }) => manager ?? []))],
    ...(isSecret && item.type !== undefined ? { type: item.type } : {}),
    ...(isAggregated ? { isAggregated } : {}),
    // Items of a list do not say what they are.
    ...(hasBody ? { body: { ...(item as unknown as JsonObject), apiVersion, kind } } : {}),
  }
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

/** The annotation repeats the whole object, values of Secrets included. */
function withoutLastApplied(metadata: ObservedMeta): ObservedMeta {
  if (metadata.annotations?.[lastApplied] === undefined) return metadata
  const { [lastApplied]: _, ...annotations } = metadata.annotations
  return { ...metadata, annotations }
}

/**
 * One object may be served under two groups. Kinds that were asked for by name all stay, since one of them is declared
 * and another may be recorded; of the rest, the one that the API server itself serves.
 */
export function withoutDoubles(seen: readonly Seen[]): readonly ObservedObject[] {
  return [...grouped(seen, ({ object }) => object.uid).values()].flatMap((copies) => {
    const asked = copies.filter(({ isFull }) => isFull)
    const best = asked.length > 0 ? asked : [copies.find(({ object }) => !object.isAggregated) ?? copies[0]]
    return best.flatMap((one) => one?.object ?? [])
  })
}
