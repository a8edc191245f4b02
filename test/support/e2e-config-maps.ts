import { expect } from 'vitest'
import {
  type CacheOptions,
  type KubeClient,
  type KubeObject,
  type ReflectorTimes,
  ResourceCache,
  resources,
  type Selection,
} from '../../src/kube/index.ts'
import { eventually, type Ground } from './e2e-cluster.ts'

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

/** Every namespace gets config maps of the cluster's own; this label tells ours apart. */
export const ourLabel = 'e2e=ours'

export function configMap(namespace: string, name: string, value = ''): ConfigMap {
  return { metadata: { name, namespace, labels: { e2e: 'ours' } }, data: { value } }
}

export async function createConfigMaps(ground: Ground, names: readonly string[]): Promise<ConfigMap[]> {
  return Promise.all(
    names.map((name) => ground.admin.create(resources.configMaps, configMap(ground.namespace, name, 'first'))),
  )
}

export async function setValue(ground: Ground, name: string, value: string): Promise<void> {
  const ref = { name, namespace: ground.namespace }
  await ground.admin.patch(resources.configMaps, ref, { type: 'merge', body: { data: { value } } })
}

export async function removeConfigMap(ground: Ground, name: string): Promise<void> {
  await ground.admin.delete(resources.configMaps, { name, namespace: ground.namespace }, { uid: 'any' })
}

/** Waits that fit into a test; the defaults are for clusters. */
export const quickTimes: ReflectorTimes = { backoff: { firstMs: 50, longestMs: 400 } }

/** A cache of the config maps that tests create in the ground's namespace. */
export function followConfigMaps(
  ground: Ground,
  client: KubeClient,
  more: Partial<CacheOptions<ConfigMap>> = {},
): ResourceCache<ConfigMap> {
  const { namespace, signal } = ground
  return new ResourceCache<ConfigMap>({
    client,
    resource: resources.configMaps,
    namespace,
    labelSelector: ourLabel,
    signal,
    ...quickTimes,
    ...more,
  })
}

/** `name uid version` of everything, sorted: what a cache and its server must agree on. */
function fingerprint(objects: Iterable<KubeObject>): string[] {
  return [...objects].map(({ metadata: { name, uid, resourceVersion } }) => `${name} ${uid} ${resourceVersion}`).sort()
}

async function serverFingerprint(client: KubeClient, { resource, ...where }: Selection): Promise<string[]> {
  const objects: KubeObject[] = []
  for await (const page of client.list(resource, where)) objects.push(...page.items)
  return fingerprint(objects)
}

/** Everything that a subscriber hears, as `added a`, `updated a=2`, `deleted a`. */
export function listen(cache: ResourceCache<ConfigMap>): string[] {
  const heard: string[] = []
  cache.subscribe(({ type, object }) => {
    heard.push(`${type} ${object.metadata.name}${type === 'updated' ? `=${object.data?.['value']}` : ''}`)
  })
  return heard
}

/** Passes when the cache holds exactly what the server has, in the same versions. */
export async function expectEqualToServer(ground: Ground, cache: ResourceCache<ConfigMap>, withinMs = 15_000) {
  await eventually(
    async () => {
      const server = await serverFingerprint(ground.admin, cache.selection)
      expect(fingerprint(cache.values())).toEqual(server)
    },
    { withinMs },
  )
}
