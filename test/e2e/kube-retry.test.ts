import { expect, test } from 'vitest'
import { resources } from '../../src/kube/index.ts'
import { connectThroughProxy, prepareGround, timed } from '../support/e2e-cluster.ts'
import { configMap } from '../support/e2e-config-maps.ts'

test('a 429 is repeated after the time the server asks for, reads and writes alike', async (context) => {
  const ground = await prepareGround(context)
  const { client, proxy } = await connectThroughProxy(context, ground)
  proxy.inject({ status: 429, count: 2, retryAfterSeconds: 1 })
  const { error, ms } = await timed(() =>
    client.create(resources.configMaps, configMap(ground.namespace, 'after-patience')),
  )
  expect(error).toBeUndefined()
  expect(ms).toBeGreaterThanOrEqual(2_000)
  expect(ms).toBeLessThan(10_000)
  expect(Object.fromEntries(proxy.counts)).toEqual({ 'POST 429': 2, 'POST 201': 1 })
  expect(client.counters()).toMatchObject({
    retries: 2,
    requests: { 'POST configmaps 429': 2, 'POST configmaps 201': 1 },
  })
})

test('a wait that does not fit into the deadline is not begun: the refusal comes at once, with its hint', async (context) => {
  const ground = await prepareGround(context)
  const { client, proxy } = await connectThroughProxy(context, ground)
  proxy.inject({ status: 429, count: 1, retryAfterSeconds: 20 })
  const { error, ms } = await timed(() =>
    client.get(resources.namespaces, { name: ground.namespace }, { deadlineMs: 10_000 }),
  )
  expect(error).toMatchObject({ code: 'TooManyRequests', retryAfterMs: 20_000, attempts: 1 })
  expect(ms).toBeLessThan(5_000)
})

test('a read is repeated after 500 with Retry-After and after 503, a write only where the server says that it did nothing', async (context) => {
  const ground = await prepareGround(context)
  const { client, proxy } = await connectThroughProxy(context, ground)
  const read = () => client.get(resources.namespaces, { name: ground.namespace })
  const write = (name: string) => client.create(resources.configMaps, configMap(ground.namespace, name))

  proxy.inject({ status: 500, count: 2, retryAfterSeconds: 0 })
  await read()
  proxy.inject({ status: 503, count: 2 })
  await read()
  expect(Object.fromEntries(proxy.counts)).toEqual({ 'GET 500': 2, 'GET 503': 2, 'GET 200': 2 })

  proxy.inject({ status: 500, count: 1 })
  await expect(read()).rejects.toMatchObject({ code: 'Server', status: 500, attempts: 1 })
  proxy.inject({ status: 500, count: 1 })
  await expect(write('after-500')).rejects.toMatchObject({ code: 'Server', status: 500, attempts: 1 })
  proxy.inject({ status: 503, count: 1 })
  await expect(write('after-503')).rejects.toMatchObject({ code: 'Unavailable', status: 503, attempts: 1 })
  proxy.inject({ status: 503, count: 1, retryAfterSeconds: 0 })
  await write('asked-to-come-back')
  expect(proxy.counts.get('POST 201')).toBe(1)
})

test('a server that refuses for ever is given up after ten answers, not hammered until the deadline', async (context) => {
  const ground = await prepareGround(context)
  const { client, proxy } = await connectThroughProxy(context, ground)
  proxy.inject({ status: 429, count: 1_000, retryAfterSeconds: 0 })
  const read = client.get(resources.namespaces, { name: ground.namespace })
  await expect(read).rejects.toMatchObject({ code: 'TooManyRequests', attempts: 10 })
  expect(proxy.counts.get('GET 429')).toBe(10)
})

test('a read survives a cut connection, and a server that is away for a moment', async (context) => {
  const ground = await prepareGround(context)
  const { client, proxy } = await connectThroughProxy(context, ground)
  const read = () => client.get(resources.namespaces, { name: ground.namespace })
  await read()
  proxy.blackout(250)
  const { error, ms } = await timed(read)
  expect(error).toBeUndefined()
  expect(ms).toBeGreaterThanOrEqual(200)
  expect(client.counters().requests['GET namespaces none']).toBeGreaterThanOrEqual(1)
})
