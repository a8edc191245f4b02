import { type Key, keyId } from '../key.ts'
import { fitsPattern } from '../observe/ignore-rules.ts'
import type { UnknownKind } from '../observed.ts'
import type { Policy } from '../policy.ts'

/** What this Sync may touch at all. The same is asked again of each request, and by the cluster's own rules. */
export function isInScope({ group, kind, namespace, name }: Key, policy: Policy): boolean {
  if (namespace !== '') return policy.namespaces.includes(namespace)
  if (group === '' && kind === 'Namespace' && policy.namespaces.includes(name)) return true
  return policy.clusterKinds.some((one) => one.group === group && one.kind === kind && fitsPattern(name, one.names))
}

/** Why it is not known what there is of the kind; undefined if all of it was seen. */
export function whyUnknown(key: Pick<Key, 'group' | 'kind'>, unknown: readonly UnknownKind[]): string | undefined {
  return unknown.find(({ group, kind }) => group === key.group && (kind === undefined || kind === key.kind))?.why
}

export function indexByKey<T extends { readonly key: Key }>(all: readonly T[]): ReadonlyMap<string, T> {
  return new Map(all.map((one) => [keyId(one.key), one]))
}
