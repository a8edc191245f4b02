import { isNotFound, type KubeClient, type KubeObject, type Resource, resources } from '../../kube/index.ts'
import { type Key, keyText } from '../key.ts'
import { readCatalog } from '../observe/catalog.ts'
import { observe } from '../observe/observe.ts'
import type { ObservedObject } from '../observed.ts'

interface Definition extends KubeObject {
  readonly spec?: {
    readonly group: string
    readonly scope: string
    readonly names: { readonly plural: string; readonly kind: string }
    readonly versions: readonly { readonly name: string; readonly served: boolean }[]
  }
}

/**
 * Why an object that takes others with it may not be deleted: a definition takes each object of its kind in all
 * namespaces, a Namespace all that is in it. Throws when that cannot be found out.
 */
export async function refusalOf(client: KubeClient, key: Key, signal: AbortSignal): Promise<string | undefined> {
  if (key.kind === 'CustomResourceDefinition' && key.group === resources.customResourceDefinitions.group) {
    return instancesLeft(client, key, signal)
  }
  return key.kind === 'Namespace' && key.group === '' ? contentLeft(client, key, signal) : undefined
}

const mostNamed = 3

async function instancesLeft(client: KubeClient, key: Key, signal: AbortSignal): Promise<string | undefined> {
  const { spec } = await client.get<Definition>(resources.customResourceDefinitions, { name: key.name }, { signal })
  const version = spec?.versions.find(({ served }) => served)?.name
  if (!spec || version === undefined) return notServed
  const { names, group, scope } = spec
  const resource = { group, version, plural: names.plural, kind: names.kind, namespaced: scope === 'Namespaced' }
  try {
    return await firstInstances(client, resource, signal)
  } catch (error) {
    // Of the kind, not of the definition: whoever took it for the definition would think that it is gone.
    if (isNotFound(error)) return notServed
    throw error
  }
}

const notServed =
  'its kind is not served, so nobody can say whether objects of it exist; deleting the definition would delete them'

async function firstInstances(
  client: KubeClient,
  resource: Resource,
  signal: AbortSignal,
): Promise<string | undefined> {
  for await (const { items, remaining = 0 } of client.list(resource, { signal, pageSize: mostNamed })) {
    if (items.length === 0) continue
    const count = items.length + remaining
    const names = items.map(({ metadata }) => [metadata.namespace, metadata.name].filter(Boolean).join('/'))
    const what = count === 1 ? 'an object' : `${count} objects`
    return `deleting it would delete ${what} of its kind: ${listed(names, remaining)}; delete that first`
  }
  return undefined
}

async function contentLeft(client: KubeClient, { name }: Key, signal: AbortSignal): Promise<string | undefined> {
  const catalog = await readCatalog(client, signal)
  const scope = { namespaces: [name], kinds: 'all' as const, full: [], declaredSecrets: new Set<string>() }
  const { objects, unknown } = await observe(client, catalog, scope, signal)
  const [doubt] = [...catalog.unknown, ...unknown]
  if (doubt)
    return `nobody can say whether it is empty: ${doubt.kind ?? 'all kinds'} of group "${doubt.group}": ${doubt.why}`
  const left = objects.filter((object) => object.key.namespace === name && !isSystemMade(object))
  if (left.length === 0) return undefined
  const names = left.slice(0, mostNamed).map(({ key }) => keyText(key))
  return `it is not empty: ${listed(names, left.length - names.length)}; delete that first, or declare it`
}

/** What every namespace gets by itself, and what only reports on others. */
export function isSystemMade({ key }: Pick<ObservedObject, 'key'>): boolean {
  const { kind, group, name } = key
  if (kind === 'ServiceAccount' && group === '') return name === 'default'
  if (kind === 'ConfigMap' && group === '') return trustBundles.has(name)
  return kind === 'Event' && (group === '' || group === 'events.k8s.io')
}

const trustBundles: ReadonlySet<string> = new Set([
  'kube-root-ca.crt',
  'openshift-service-ca.crt',
  'istio-ca-root-cert',
])

const listed = (names: readonly string[], more: number): string =>
  more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ')
