import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { connectThroughProxy, eventually, prepareGround } from '../support/e2e-cluster.ts'
import {
  createConfigMaps,
  expectEqualToServer,
  followConfigMaps,
  listen,
  setValue,
} from '../support/e2e-config-maps.ts'

test('a half-open connection is noticed after the configured silence and healed without a list, and nothing is lost', async (context) => {
  const ground = await prepareGround(context)
  await createConfigMaps(ground, ['beat'])
  const { client, proxy } = await connectThroughProxy(context, ground)
  const errors: unknown[] = []
  const inactivityMs = 1_500
  const cache = followConfigMaps(ground, client, { inactivityMs, onError: (error) => errors.push(error) })
  const heard = listen(cache)
  await cache.waitForSync(ground.signal)

  // A collection that moves: its watch is alive for longer than the limit and must not be mistaken for dead.
  let beats = 0
  const beat = async () => {
    beats++
    await setValue(ground, 'beat', String(beats))
  }
  for (let round = 0; round < 10; round++) {
    await beat()
    await sleep(200)
  }
  expect(errors).toEqual([])

  await eventually(() => expect(heard).toContain(`updated beat=${beats}`), { withinMs: 10_000 })
  expect(proxy.stallWatches()).toBe(1)
  const stalledAt = performance.now()
  await beat()
  await beat()
  await eventually(() => expect(heard).toContain(`updated beat=${beats}`), { withinMs: 10_000 })
  const healedMs = performance.now() - stalledAt
  expect(healedMs).toBeGreaterThanOrEqual(inactivityMs - 250)
  expect(healedMs).toBeLessThan(inactivityMs + 6_000)
  expect(errors).toMatchObject([{ code: 'Stalled' }])
  expect(heard).toEqual(['added beat', ...Array.from({ length: beats }, (_, index) => `updated beat=${index + 1}`)])
  expect(cache.stats()).toMatchObject({ relists: 0, reconnects: 1 })
  await expectEqualToServer(ground, cache)
})

test('where one resumed watch after the other stays silent, the cache distrusts its position and lists anew', async (context) => {
  const ground = await prepareGround(context)
  await createConfigMaps(ground, ['asleep'])
  const { client, proxy } = await connectThroughProxy(context, ground)
  const cache = followConfigMaps(ground, client, { inactivityMs: 500 })
  await cache.waitForSync(ground.signal)
  await eventually(() => expect(cache.stats().relists).toBeGreaterThanOrEqual(1), { withinMs: 15_000 })
  // Silence alone must cost few requests: one watch per limit, not a storm.
  expect(client.counters().requests['GET configmaps 200']).toBeLessThanOrEqual(8)
  await setValue(ground, 'asleep', 'awake')
  await eventually(() => expect([...cache.values()][0]?.data).toEqual({ value: 'awake' }), { withinMs: 10_000 })
  expect(proxy.openWatches).toBeLessThanOrEqual(1)
})
