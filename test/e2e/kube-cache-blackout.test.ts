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

test.concurrent('for twenty seconds without a server the cache keeps asking, ever more rarely, and then catches up', async (context) => {
  const ground = await prepareGround(context)
  await createConfigMaps(ground, ['patient'])
  const { client, proxy } = await connectThroughProxy(context, ground)
  const backoff = { firstMs: 100, longestMs: 2_000 }
  const cache = followConfigMaps(ground, client, { backoff })
  const heard = listen(cache)
  await cache.waitForSync(ground.signal)

  const darkMs = 20_000
  proxy.blackout(darkMs)
  await setValue(ground, 'patient', 'meanwhile')
  await sleep(darkMs - 1_000)
  const { failuresInARow, isConnected, lastEventAgeMs } = cache.stats()
  expect(isConnected).toBe(false)
  expect(lastEventAgeMs).toBeGreaterThan(darkMs - 2_000)
  const attempts = client.counters().requests['GET configmaps none'] ?? 0
  // Waits between half and the whole of 100, 200, 400, 800, 1600 and then 2000 ms.
  expect(attempts).toBeGreaterThanOrEqual(10)
  expect(attempts).toBeLessThanOrEqual(25)
  expect(failuresInARow).toBeGreaterThanOrEqual(10)

  await eventually(() => expect(heard).toContain('updated patient=meanwhile'), { withinMs: 15_000 })
  expect(heard).toEqual(['added patient', 'updated patient=meanwhile'])
  expect(cache.stats()).toMatchObject({ relists: 0 })
  await expectEqualToServer(ground, cache)
})

test.concurrent('a server that throws every watch out at once is asked ever more rarely, too', async (context) => {
  const ground = await prepareGround(context)
  await createConfigMaps(ground, ['victim'])
  const { client, proxy } = await connectThroughProxy(context, ground)
  const cache = followConfigMaps(ground, client, { backoff: { firstMs: 100, longestMs: 2_000 } })
  await cache.waitForSync(ground.signal)
  const endsAt = performance.now() + 8_000
  while (performance.now() < endsAt) {
    proxy.cutWatches()
    await sleep(20)
  }
  expect(client.counters().requests['GET configmaps 200']).toBeLessThanOrEqual(14)
  await setValue(ground, 'victim', 'spared')
  await expectEqualToServer(ground, cache)
})

test.concurrent('the readiness gate stays shut while the first list cannot be had, and opens when it is whole', async (context) => {
  const ground = await prepareGround(context)
  await createConfigMaps(ground, ['a', 'b'])
  const { client, proxy } = await connectThroughProxy(context, ground)
  proxy.blackout(60_000)
  const cache = followConfigMaps(ground, client)
  const giveUp = new AbortController()
  const impatient = cache.waitForSync(giveUp.signal)
  let isOpen = false
  const patient = cache.waitForSync(ground.signal).then(() => {
    isOpen = true
    return cache.size
  })
  await sleep(1_000)
  expect([isOpen, cache.isSynced, cache.size]).toEqual([false, false, 0])
  expect(cache.stats()).toMatchObject({ isSynced: false, lastEventAgeMs: undefined, lastContactAgeMs: undefined })
  giveUp.abort(new Error('no longer wanted'))
  await expect(impatient).rejects.toThrow('no longer wanted')
  proxy.blackout(0)
  expect(await patient).toBe(2)
})
