import { groupOf } from '../key.ts'
import type { Catalog, ServedKind, UnknownKind } from '../observed.ts'
import type { KnownCatalog } from './catalog.ts'

export interface KindName {
  readonly apiVersion: string
  readonly kind: string
}

/** Looked at whatever git declares: what pods mount is not deleted under them, and who scales a workload holds its replicas. */
export const alwaysLooked: readonly KindName[] = [
  { apiVersion: 'v1', kind: 'Pod' },
  { apiVersion: 'apps/v1', kind: 'ReplicaSet' },
  { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' },
]

export interface ObserveScope {
  readonly namespaces: readonly string[]
  /** All that live in namespaces, or only these. Of those that do not, only the named ones are looked at. */
  readonly kinds: 'all' | readonly KindName[]
  /** Of these the whole objects, in this version; if one is named in several, the last one counts. */
  readonly full: readonly KindName[]
  /** Namespaces to be seen as objects, besides those of the scope, by name: nothing in them is looked at. */
  readonly namespaceObjects?: readonly string[]
  /** Without these nothing can be said at all: a fault that passes is thrown, and does not make them unknown. */
  readonly needed?: readonly KindName[]
  /** Secrets whose values are kept, by keyId. */
  readonly declaredSecrets: ReadonlySet<string>
}

/** One list to ask for. */
export interface Look {
  readonly served: ServedKind
  /** Whole objects, not only their metadata. */
  readonly isFull: boolean
  /** Absent for kinds of the whole cluster. */
  readonly namespace?: string
}

export interface Looks {
  readonly looks: readonly Look[]
  readonly unknown: readonly UnknownKind[]
}

/** What a kind is protected by can only be told together with these. */
const companions: Readonly<Record<string, readonly KindName[]>> = {
  ' PersistentVolumeClaim': [{ apiVersion: 'apps/v1', kind: 'StatefulSet' }],
  ' Secret': [
    { apiVersion: 'v1', kind: 'ServiceAccount' },
    { apiVersion: 'cert-manager.io/v1', kind: 'Certificate' },
  ],
}

/** Which lists have to be read, and which kinds cannot be. */
export function looksOf(catalog: Catalog & Partial<Pick<KnownCatalog, 'versionsOf'>>, scope: ObserveScope): Looks {
  const full = new Map(scope.full.map((name) => [nameId(name), name]))
  const named = new Set([...full.keys(), ...(scope.kinds === 'all' ? [] : withCompanions(scope.kinds))])
  const unknown: UnknownKind[] = []
  const chosen: { readonly served: ServedKind; readonly isFull: boolean }[] = []
  for (const preferred of catalog.kinds) {
    const id = servedId(preferred)
    const name = full.get(id)
    const served = name === undefined ? preferred : inVersion(catalog, preferred, name)
    if (!isWanted(served, named.has(id), scope.kinds === 'all')) continue
    const { group, kind } = served.resource
    // The program behind it does not answer: to ask for each of its kinds only takes time, and the group is unknown anyway.
    if (served.isAggregated && catalog.unknown.some((one) => one.group === group)) continue
    if (served.verbs.includes('list')) chosen.push({ served, isFull: name !== undefined })
    else unknown.push({ group, kind, why: 'the server does not list this kind' })
  }
  return {
    unknown,
    looks: chosen.flatMap((look): readonly Look[] =>
      look.served.resource.namespaced ? scope.namespaces.map((namespace) => ({ ...look, namespace })) : [look],
    ),
  }
}

function isWanted({ resource, verbs }: ServedKind, isNamed: boolean, isEverythingWanted: boolean): boolean {
  // Namespaces are read one by one: who works in one may seldom list them all.
  if (resource.group === '' && resource.kind === 'Namespace') return false
  return isNamed || (isEverythingWanted && resource.namespaced && verbs.includes('delete'))
}

function inVersion(
  catalog: Partial<Pick<KnownCatalog, 'versionsOf'>>,
  preferred: ServedKind,
  { apiVersion }: KindName,
): ServedKind {
  const { group, kind, plural } = preferred.resource
  const version = apiVersion.slice(apiVersion.indexOf('/') + 1)
  const same = (one: ServedKind) => one.resource.version === version && one.resource.plural === plural
  // A version that is served no more: what it was applied with is gone, the object is not.
  return catalog.versionsOf?.(group, kind).find(same) ?? preferred
}

function withCompanions(names: readonly KindName[]): readonly string[] {
  return names.flatMap((name) => [nameId(name), ...(companions[nameId(name)] ?? []).map(nameId)])
}

export function nameId({ apiVersion, kind }: KindName): string {
  return `${groupOf(apiVersion)} ${kind}`
}

export function servedId({ resource }: Pick<ServedKind, 'resource'>): string {
  return `${resource.group} ${resource.kind}`
}
