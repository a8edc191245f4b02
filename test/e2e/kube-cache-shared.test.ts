import { expect, test } from 'vitest'
import { type KubeObject, resources, SharedCaches } from '../../src/kube/index.ts'
import { connectThroughProxy, eventually, prepareGround } from '../support/e2e-cluster.ts'
import { type ConfigMap, createConfigMaps, ourLabel, quickTimes, setValue } from '../support/e2e-config-maps.ts'

test('two users of one collection share one watch and one copy, and another selection has its own', async (context) => {
  const ground = await prepareGround(context)
  const { namespace, signal } = ground
  await createConfigMaps(ground, ['a', 'b'])
  const { client, proxy } = await connectThroughProxy(context, ground)
  const caches = new SharedCaches({ client, signal, ...quickTimes })
  const request = { resource: resources.configMaps, namespace, labelSelector: ourLabel }
  const byValue = (object: ConfigMap) => object.data?.['value']
  const first = caches.of<ConfigMap>(request)
  const second = caches.of<ConfigMap>({ ...request, indexes: { byValue } })
  const nodes = caches.of<KubeObject>({ resource: resources.nodes })
  expect(second).toBe(first)
  await caches.waitForSync(signal)
  expect(nodes.isSynced).toBe(true)
  expect(proxy.openWatches).toBe(2)
  expect(client.counters().requests).toEqual({ 'GET configmaps 200': 1, 'GET nodes 200': 1 })

  const third = caches.of<ConfigMap>(request)
  await third.waitForSync(signal)
  await setValue(ground, 'a', 'second')
  await eventually(
    () => expect(first.byIndex('byValue', 'second').map((object) => object.metadata.name)).toEqual(['a']),
    { withinMs: 10_000 },
  )
  expect(first.byIndex('byValue', 'first').map((object) => object.metadata.name)).toEqual(['b'])
  expect(proxy.openWatches).toBe(2)
  expect([...caches.all().keys()]).toEqual([`v1/configmaps in ${namespace} where ${ourLabel}`, 'v1/nodes'])
})

test('the signal of the shared caches ends every watch of theirs', async (context) => {
  const ground = await prepareGround(context)
  const { client, proxy } = await connectThroughProxy(context, ground)
  const end = new AbortController()
  const caches = new SharedCaches({ client, signal: end.signal, ...quickTimes })
  const cache = caches.of<KubeObject>({ resource: resources.nodes })
  caches.of<KubeObject>({ resource: resources.configMaps, namespace: ground.namespace })
  await caches.waitForSync(ground.signal)
  expect(proxy.openWatches).toBe(2)
  end.abort()
  await cache.ended
  await eventually(() => expect(proxy.openWatches).toBe(0), { withinMs: 10_000 })
})

test('two dozen caches on one signal are no reason for Node to suspect a leak', async (context) => {
  const ground = await prepareGround(context)
  const warnings: string[] = []
  const onWarning = (warning: Error) => warnings.push(warning.message)
  process.on('warning', onWarning)
  context.onTestFinished(() => {
    process.off('warning', onWarning)
  })
  const end = new AbortController()
  const caches = new SharedCaches({ client: ground.admin, signal: end.signal, ...quickTimes })
  for (let part = 0; part < 24; part++)
    caches.of<KubeObject>({
      resource: resources.configMaps,
      namespace: ground.namespace,
      labelSelector: `part=${part}`,
    })
  await caches.waitForSync(ground.signal)
  await Promise.all(Array.from({ length: 24 }, () => ground.admin.get(resources.nodes, { name: 'node-1' })))
  end.abort()
  await Promise.all([...caches.all().values()].map((cache) => cache.ended))
  expect(warnings).toEqual([])
})
