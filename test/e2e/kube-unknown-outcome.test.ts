import { expect, test } from 'vitest'
import { connect, type KubeObject, resources } from '../../src/kube/index.ts'
import { startByteRelay } from '../support/byte-relay.ts'
import { prepareGround, type Test } from '../support/e2e-cluster.ts'
import { type ConfigMap, configMap } from '../support/e2e-config-maps.ts'

async function prepare(test: Test) {
  const ground = await prepareGround(test)
  const relay = await startByteRelay(test, ground.record)
  const client = connect({ ...ground.config, server: relay.url }, { component: 'e2e' })
  test.onTestFinished(() => client.close())
  // The connection is there before the relay is armed, so that it is not the handshake that gets lost.
  await client.get(resources.namespaces, { name: ground.namespace })
  const names = async () => {
    const found: string[] = []
    for await (const page of ground.admin.list(resources.configMaps, {
      namespace: ground.namespace,
      labelSelector: 'e2e=ours',
    }))
      found.push(...page.items.map((item) => item.metadata.name ?? ''))
    return found
  }
  return { ground, relay, client, names }
}

test('a creation whose answer got lost is told as UnknownOutcome and not made twice', async (context) => {
  const { client, ground, names, relay } = await prepare(context)
  relay.loseAnswers(1)
  const object = { metadata: { generateName: 'twice-', namespace: ground.namespace, labels: { e2e: 'ours' } } }
  const creation = client.create<KubeObject>(resources.configMaps, object)
  await expect(creation).rejects.toMatchObject({ code: 'UnknownOutcome', kind: 'retryable', attempts: 1 })
  expect(relay.harmed).toBe(1)
  expect(await names()).toHaveLength(1)
})

test('a patch and a replacement whose answers got lost are in doubt and not repeated', async (context) => {
  const { client, ground, relay } = await prepare(context)
  const { namespace } = ground
  const object = await client.create(resources.configMaps, configMap(namespace, 'counted', 'first'))
  const ref = { name: 'counted', namespace }
  relay.loseAnswers(1)
  const steps = [{ op: 'add', path: '/data/patched', value: 'yes' }] as const
  const patch = client.patch(resources.configMaps, ref, { type: 'json', body: steps })
  await expect(patch).rejects.toMatchObject({ code: 'UnknownOutcome' })
  const patched = await client.get<ConfigMap>(resources.configMaps, ref)
  expect(patched.data).toEqual({ value: 'first', patched: 'yes' })

  relay.loseAnswers(1)
  const replacement = client.replace(resources.configMaps, { ...patched, data: { value: 'second' } })
  await expect(replacement).rejects.toMatchObject({ code: 'UnknownOutcome' })
  const replaced = await client.get<ConfigMap>(resources.configMaps, ref)
  expect(replaced.data).toEqual({ value: 'second' })
  expect(replaced.metadata.uid).toBe(object.metadata.uid)
  expect(relay.harmed).toBe(2)
})

test('a server-side apply whose answer got lost is simply made again', async (context) => {
  const { client, ground, names, relay } = await prepare(context)
  relay.loseAnswers(1)
  const applied = await client.apply(resources.configMaps, configMap(ground.namespace, 'applied', 'x'), {
    fieldManager: 'e2e',
  })
  expect(applied.data).toEqual({ value: 'x' })
  expect(relay.harmed).toBe(1)
  expect(await names()).toEqual(['applied'])
  expect(client.counters()).toMatchObject({
    retries: 1,
    requests: { 'PATCH configmaps none': 1, 'PATCH configmaps 200': 1 },
  })
})

test('a deletion by UID whose answer got lost is repeated and cannot hit a new object of the same name', async (context) => {
  const { client, ground, names, relay } = await prepare(context)
  const { namespace } = ground
  const ref = { name: 'reborn', namespace }
  const first = await client.create(resources.configMaps, configMap(namespace, 'reborn'))
  relay.loseAnswers(1)
  const deletion = client.delete(resources.configMaps, ref, { uid: first.metadata.uid ?? '' })
  await expect(deletion).rejects.toMatchObject({ code: 'NotFound', attempts: 2 })
  expect(await names()).toEqual([])

  const second = await ground.admin.create(resources.configMaps, configMap(namespace, 'reborn'))
  const late = client.delete(resources.configMaps, ref, { uid: first.metadata.uid ?? '' })
  await expect(late).rejects.toMatchObject({ code: 'Conflict' })
  relay.loseAnswers(1)
  const blind = client.delete(resources.configMaps, ref, { uid: 'any' })
  await expect(blind).rejects.toMatchObject({ code: 'UnknownOutcome' })
  expect(second.metadata.uid).not.toBe(first.metadata.uid)
})
