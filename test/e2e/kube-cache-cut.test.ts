import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { connectThroughProxy, eventually, prepareGround } from '../support/e2e-cluster.ts'
import {
  createConfigMaps,
  expectEqualToServer,
  followConfigMaps,
  listen,
  removeConfigMap,
  setValue,
} from '../support/e2e-config-maps.ts'

test('a watch that is cut again and again resumes where it stood: no new list, no change lost, none told twice', async (context) => {
  const ground = await prepareGround(context)
  await createConfigMaps(ground, ['counter', 'bystander'])
  const { client, proxy } = await connectThroughProxy(context, ground)
  const cache = followConfigMaps(ground, client)
  const heard = listen(cache)
  await cache.waitForSync(ground.signal)

  const rounds = 5
  for (let round = 1; round <= rounds; round++) {
    await setValue(ground, 'counter', `${round}-before`)
    expect(proxy.cutWatches()).toBe(1)
    await setValue(ground, 'counter', `${round}-while`)
    await createConfigMaps(ground, [`passing-${round}`])
    await removeConfigMap(ground, `passing-${round}`)
    await eventually(() => expect(proxy.openWatches).toBe(1), { withinMs: 5_000 })
  }
  await setValue(ground, 'counter', 'last')
  await eventually(() => expect(heard).toContain('updated counter=last'), { withinMs: 5_000 })

  const all = Array.from({ length: rounds }, (_, index) => index + 1)
  // Even an object that came and went while nobody watched is told, because the watch resumes in the history.
  expect(heard.filter((line) => !line.includes('bystander'))).toEqual([
    'added counter',
    ...all.flatMap((round) => [
      `updated counter=${round}-before`,
      `updated counter=${round}-while`,
      `added passing-${round}`,
      `deleted passing-${round}`,
    ]),
    'updated counter=last',
  ])
  expect(heard.filter((line) => line.includes('bystander'))).toEqual(['added bystander'])
  expect(cache.stats()).toMatchObject({ relists: 0, reconnects: rounds, isConnected: true })
  await expectEqualToServer(ground, cache)
})

test('the age of the last event grows in silence and starts again with the next change', async (context) => {
  const ground = await prepareGround(context)
  await createConfigMaps(ground, ['quiet'])
  const cache = followConfigMaps(ground, ground.admin)
  await cache.waitForSync(ground.signal)
  await sleep(300)
  const silent = cache.stats()
  expect(silent.lastEventAgeMs).toBeGreaterThanOrEqual(290)
  expect(silent.lastContactAgeMs).toBeLessThanOrEqual(silent.lastEventAgeMs ?? 0)
  const askedAt = performance.now()
  await setValue(ground, 'quiet', 'loud')
  await eventually(() => expect(cache.stats().events).toBe(silent.events + 1), { withinMs: 10_000, everyMs: 5 })
  const { lastEventAgeMs } = cache.stats()
  expect(lastEventAgeMs).toBeLessThanOrEqual(performance.now() - askedAt)
})
