import { expect, test } from 'vitest'
import { type KubeObject, resources } from '../../src/kube/index.ts'
import { connectThroughProxy, prepareGround } from '../support/e2e-cluster.ts'
import { configMap } from '../support/e2e-config-maps.ts'

test('what the guard refuses never leaves the process, whatever the verb, and is counted', async (context) => {
  const ground = await prepareGround(context)
  const guard = (method: string, path: string) =>
    method === 'GET' && path.includes('/configmaps') ? undefined : `${method} is not for this program`
  const { client, proxy } = await connectThroughProxy(context, ground, { guard })
  const ref = { name: 'x', namespace: ground.namespace }
  const object = configMap(ground.namespace, 'x')
  const refused: readonly (() => Promise<unknown>)[] = [
    () => client.get(resources.secrets, ref),
    () => client.create(resources.configMaps, object),
    () => client.replace(resources.configMaps, object),
    () => client.apply(resources.configMaps, object, { fieldManager: 'e2e' }),
    () => client.patch(resources.configMaps, ref, { type: 'merge', body: {} }),
    () => client.delete(resources.configMaps, ref, { uid: 'any' }),
    () => client.evict(ref, { uid: 'any' }),
    () => client.request({ method: 'GET', path: '/version' }),
    async () => {
      for await (const _ of client.list(resources.pods)) break
    },
    async () => {
      for await (const _ of client.watch(resources.pods, { signal: ground.signal })) break
    },
  ]
  for (const call of refused)
    await expect(call()).rejects.toMatchObject({
      code: 'GuardRefused',
      kind: 'refused',
      seen: expect.stringContaining('is not for this program') as string,
    })
  expect(proxy.counts.size).toBe(0)
  expect(client.counters()).toMatchObject({ refused: refused.length, requests: {}, bytesSent: 0 })

  for await (const page of client.list(resources.configMaps, { namespace: ground.namespace }))
    expect(page.resourceVersion).not.toBe('')
  expect(Object.fromEntries(proxy.counts)).toEqual({ 'GET 200': 1 })
})

test('counters tell attempts by method, resource and status, and the server sees our name', async (context) => {
  const ground = await prepareGround(context)
  const samples: string[] = []
  const { client, proxy } = await connectThroughProxy(context, ground, {
    observer: ({ method, resource, status, isRetry }) =>
      samples.push(`${method} ${resource} ${status}${isRetry ? ' again' : ''}`),
  })
  interface Managed extends KubeObject {
    readonly metadata: KubeObject['metadata'] & { readonly managedFields?: readonly { readonly manager: string }[] }
  }
  proxy.inject({ status: 429, count: 1, retryAfterSeconds: 0 })
  const created = await client.create<Managed>(resources.configMaps, configMap(ground.namespace, 'ours'))
  // Without a field manager of its own, a write is filed under the product name of the User-Agent.
  expect(created.metadata.managedFields?.map((entry) => entry.manager)).toEqual(['fettle'])
  await client.delete(
    resources.configMaps,
    { name: 'ours', namespace: ground.namespace },
    { uid: created.metadata.uid ?? '' },
  )
  await client.get(resources.configMaps, { name: 'ours', namespace: ground.namespace }).catch(() => undefined)
  expect(samples).toEqual([
    'POST configmaps 429',
    'POST configmaps 201 again',
    'DELETE configmaps 200',
    'GET configmaps 404',
  ])
  const { bytesReceived, bytesSent, ...counters } = client.counters()
  expect(counters).toEqual({
    requests: {
      'POST configmaps 429': 1,
      'POST configmaps 201': 1,
      'DELETE configmaps 200': 1,
      'GET configmaps 404': 1,
    },
    retries: 1,
    refused: 0,
  })
  expect(bytesSent).toBeGreaterThan(100)
  expect(bytesReceived).toBeGreaterThan(300)
})
