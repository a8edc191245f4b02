import { expect, test } from 'vitest'
import { connectThroughProxy, eventually, prepareGround } from '../support/e2e-cluster.ts'
import {
  createConfigMaps,
  expectEqualToServer,
  followConfigMaps,
  listen,
  setValue,
} from '../support/e2e-config-maps.ts'

const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const isStreamed = ({ path }: { readonly path: string }) => path.includes('sendInitialEvents=true')

test('the first list is streamed over the watch itself: one request, and everything is there', async (context) => {
  const ground = await prepareGround(context)
  await createConfigMaps(ground, names)
  const { client, proxy } = await connectThroughProxy(context, ground)
  const cache = followConfigMaps(ground, client)
  await cache.waitForSync(ground.signal)
  expect([...cache.values()].map((object) => object.metadata.name ?? '').sort()).toEqual(names)
  await expectEqualToServer(ground, cache)
  expect(client.counters().requests).toEqual({ 'GET configmaps 200': 1 })
  expect(proxy.openWatches).toBe(1)
  expect(cache.stats()).toMatchObject({ isConnected: true, relists: 0, reconnects: 0, objects: 7 })
})

test('where streaming keeps failing, pages smaller than the collection give the same, and changes follow', async (context) => {
  const ground = await prepareGround(context)
  await createConfigMaps(ground, names)
  const { client, proxy } = await connectThroughProxy(context, ground)
  proxy.inject({ status: 500, count: 1_000, matches: isStreamed })
  const cache = followConfigMaps(ground, client, { pageSize: 3 })
  const heard = listen(cache)
  await cache.waitForSync(ground.signal)
  await expectEqualToServer(ground, cache)
  expect(heard.sort()).toEqual(names.map((name) => `added ${name}`))
  await eventually(() => expect(proxy.openWatches).toBe(1), { withinMs: 10_000 })
  // Two refused streams, three pages, one watch from where the list stood; it counts once its answer is here.
  const requests = { 'GET configmaps 500': 2, 'GET configmaps 200': 4 }
  await eventually(() => expect(client.counters().requests).toEqual(requests), { withinMs: 10_000 })
  await setValue(ground, 'd', 'second')
  await eventually(() => expect(heard).toContain('updated d=second'), { withinMs: 10_000 })
  expect(cache.stats()).toMatchObject({ relists: 0, reconnects: 0 })
})

test('pages that expire half-way are begun anew, and nobody hears of an object twice', async (context) => {
  const ground = await prepareGround(context)
  await createConfigMaps(ground, names)
  const { client, proxy } = await connectThroughProxy(context, ground)
  proxy.inject({ status: 500, count: 1_000, matches: isStreamed })
  proxy.inject({ status: 410, count: 2, matches: ({ path }) => path.includes('continue=') })
  const cache = followConfigMaps(ground, client, { pageSize: 3 })
  const heard = listen(cache)
  expect(cache.isSynced).toBe(false)
  await cache.waitForSync(ground.signal)
  await expectEqualToServer(ground, cache)
  expect(heard.sort()).toEqual(names.map((name) => `added ${name}`))
  expect(proxy.counts.get('GET 410')).toBe(2)
})
