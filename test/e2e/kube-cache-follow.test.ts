import { expect, test } from 'vitest'
import {
  controllerUid,
  type KubeObject,
  type NodeObject,
  type PodObject,
  ResourceCache,
  resources,
} from '../../src/kube/index.ts'
import { boundPod, ensureDefaultAccount, eventually, prepareGround } from '../support/e2e-cluster.ts'
import {
  configMap,
  createConfigMaps,
  expectEqualToServer,
  followConfigMaps,
  listen,
  quickTimes,
  removeConfigMap,
  setValue,
} from '../support/e2e-config-maps.ts'

test('creations, changes and deletions arrive in order, and late subscribers hear the present first', async (context) => {
  const ground = await prepareGround(context)
  await createConfigMaps(ground, ['a'])
  const cache = followConfigMaps(ground, ground.admin)
  const heard = listen(cache)
  await cache.waitForSync(ground.signal)
  await createConfigMaps(ground, ['b'])
  await setValue(ground, 'b', 'second')
  await setValue(ground, 'a', 'second')
  await setValue(ground, 'b', 'third')
  await removeConfigMap(ground, 'b')
  await eventually(() => expect(heard).toContain('deleted b'), { withinMs: 10_000 })
  expect(heard).toEqual(['added a', 'added b', 'updated b=second', 'updated a=second', 'updated b=third', 'deleted b'])
  const late = listen(cache)
  await eventually(() => expect(late).toEqual(['added a']), { withinMs: 10_000 })
  await expectEqualToServer(ground, cache)
})

test('an object that leaves the selection is deleted for the cache, and added when it returns', async (context) => {
  const ground = await prepareGround(context)
  const [object] = await createConfigMaps(ground, ['wanderer'])
  const cache = followConfigMaps(ground, ground.admin)
  const heard = listen(cache)
  await cache.waitForSync(ground.signal)
  const relabel = (value: string) =>
    ground.admin.patch(
      resources.configMaps,
      { name: 'wanderer', namespace: ground.namespace },
      { type: 'merge', body: { metadata: { labels: { e2e: value } } } },
    )
  await relabel('theirs')
  await eventually(() => expect(cache.size).toBe(0), { withinMs: 10_000 })
  await relabel('ours')
  await eventually(() => expect(cache.size).toBe(1), { withinMs: 10_000 })
  expect(heard).toEqual(['added wanderer', 'deleted wanderer', 'added wanderer'])
  expect(cache.get({ name: 'wanderer', namespace: ground.namespace })?.metadata.uid).toBe(object?.metadata.uid)
})

test('an object near the size limit arrives whole, with every character', async (context) => {
  const ground = await prepareGround(context)
  const cache = followConfigMaps(ground, ground.admin)
  await cache.waitForSync(ground.signal)
  const value = '🧭é\n"\\'.repeat(90_000)
  await ground.admin.create(resources.configMaps, configMap(ground.namespace, 'large', value))
  const ref = { name: 'large', namespace: ground.namespace }
  await eventually(() => expect(cache.get(ref)?.data?.['value']?.length).toBe(value.length), { withinMs: 10_000 })
  expect(cache.get(ref)?.data?.['value'] === value).toBe(true)
  expect(cache.stats()).toMatchObject({ reconnects: 0, relists: 0 })
})

test('pods are found by node and by owner, from the moment they are bound until they are gone', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace, signal } = ground
  await ensureDefaultAccount(ground)
  const [owner] = await createConfigMaps(ground, ['owner'])
  const uid = owner?.metadata.uid ?? ''
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid, controller: true }]
  await admin.create(resources.pods, boundPod(namespace, 'one', 'node-1', { metadata: { ownerReferences } }))
  await admin.create(resources.pods, boundPod(namespace, 'two', 'node-2', { metadata: { ownerReferences } }))
  await admin.create(resources.pods, boundPod(namespace, 'lonely', 'node-1'))
  const cache = new ResourceCache<PodObject>({
    client: admin,
    resource: resources.pods,
    namespace,
    signal,
    ...quickTimes,
    indexes: { byNode: (pod) => pod.spec?.nodeName, byOwner: (pod) => controllerUid(pod.metadata) },
  })
  const names = (index: string, key: string) =>
    cache
      .byIndex(index, key)
      .map((pod) => pod.metadata.name ?? '')
      .sort()
  await cache.waitForSync(signal)
  expect(names('byNode', 'node-1')).toEqual(['lonely', 'one'])
  expect(names('byNode', 'node-2')).toEqual(['two'])
  expect(names('byOwner', uid)).toEqual(['one', 'two'])

  // Nobody schedules it, so that it is we who bind it.
  const { spec, ...unbound } = boundPod(namespace, 'late', 'nowhere', { metadata: { ownerReferences } })
  const { nodeName: _, ...rest } = spec ?? {}
  await admin.create(resources.pods, { ...unbound, spec: { ...rest, schedulerName: 'nobody' } } as PodObject)
  await eventually(() => expect(names('byOwner', uid)).toEqual(['late', 'one', 'two']), { withinMs: 10_000 })
  expect([...cache.indexKeys('byNode')].sort()).toEqual(['node-1', 'node-2'])
  const binding = {
    apiVersion: 'v1',
    kind: 'Binding',
    metadata: { name: 'late', namespace },
    target: { kind: 'Node', name: 'node-3' },
  }
  await admin.create(resources.pods, binding as KubeObject, { subresource: 'binding' })
  await eventually(() => expect(names('byNode', 'node-3')).toEqual(['late']), { withinMs: 10_000 })

  for (const name of ['one', 'late'])
    await admin.delete(resources.pods, { name, namespace }, { uid: 'any', gracePeriodSeconds: 0 })
  await eventually(() => expect(names('byOwner', uid)).toEqual(['two']), { withinMs: 10_000 })
  expect(names('byNode', 'node-1')).toEqual(['lonely'])
  expect([...cache.indexKeys('byNode')].sort()).toEqual(['node-1', 'node-2'])
})

test('cached pods and nodes keep what decisions need and nothing of the bulk', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace, signal } = ground
  await ensureDefaultAccount(ground)
  const annotations = {
    'kubectl.kubernetes.io/last-applied-configuration': 'x'.repeat(10_000),
    'example.com/kept': 'yes',
  }
  await admin.create(resources.pods, boundPod(namespace, 'bulky', 'node-1', { metadata: { annotations } }))
  const pods = new ResourceCache<PodObject>({
    client: admin,
    resource: resources.pods,
    namespace,
    signal,
    ...quickTimes,
  })
  const nodes = new ResourceCache<NodeObject>({ client: admin, resource: resources.nodes, signal, ...quickTimes })
  await Promise.all([pods.waitForSync(signal), nodes.waitForSync(signal)])
  await eventually(() => expect(pods.get({ name: 'bulky', namespace })?.status).toMatchObject({ phase: 'Running' }), {
    withinMs: 10_000,
  })
  const [pod, full] = [
    pods.get({ name: 'bulky', namespace }),
    await admin.get<PodObject>(resources.pods, { name: 'bulky', namespace }),
  ]
  expect(pod?.spec).toMatchObject({ nodeName: 'node-1' })
  expect(pod?.spec).not.toHaveProperty('containers')
  expect(pod?.metadata).not.toHaveProperty('managedFields')
  expect(pod?.metadata.annotations).toEqual({ 'example.com/kept': 'yes' })
  expect(pod?.status?.conditions?.map((condition) => condition.type)).toContain('Ready')
  expect(JSON.stringify(pod).length * 4).toBeLessThan(JSON.stringify(full).length)

  const node = nodes.get({ name: 'node-1' })
  expect(node?.status?.nodeInfo?.bootID).toMatch(/^[0-9a-f-]{36}$/)
  expect(node?.status?.conditions?.find((condition) => condition.type === 'Ready')).toMatchObject({ status: 'True' })
  expect(node?.metadata).not.toHaveProperty('managedFields')
})
