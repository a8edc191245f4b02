import { expect, test } from 'vitest'
import { keyOf, WorkQueue } from '../../src/kube/index.ts'
import { systemClock } from '../../src/time/index.ts'
import { connectThroughProxy, eventually, prepareGround } from '../support/e2e-cluster.ts'
import { createConfigMaps, followConfigMaps, removeConfigMap, setValue } from '../support/e2e-config-maps.ts'

test('what changes in the cluster is worked on until its last state, one run per object at a time, cuts or not', async (context) => {
  const ground = await prepareGround(context)
  const names = Array.from({ length: 20 }, (_, index) => `object-${index}`)
  await createConfigMaps(ground, names)
  const { client, proxy } = await connectThroughProxy(context, ground)
  const cache = followConfigMaps(ground, client)
  const queue = new WorkQueue({
    clock: systemClock,
    random: Math.random,
    concurrency: 4,
    backoff: { firstMs: 20, longestMs: 100 },
  })
  context.onTestFinished(async () => {
    await queue.drain(AbortSignal.timeout(1_000))
  })
  cache.subscribe(({ object }) => queue.add(keyOf(object.metadata)))

  const seen = new Map<string, string | undefined>()
  const running = new Set<string>()
  let overlaps = 0
  let runs = 0
  let failures = 0
  queue.start(async (key) => {
    if (running.has(key)) overlaps++
    running.add(key)
    const [namespace = '', name = ''] = key.split('/')
    await systemClock.sleep(2)
    running.delete(key)
    // Every seventh run fails, as work does.
    if (++runs % 7 === 0) {
      failures++
      throw new Error('not today')
    }
    seen.set(name, cache.get({ name, namespace })?.data?.['value'] ?? 'gone')
    return undefined
  })
  await cache.waitForSync(ground.signal)

  for (let round = 1; round <= 3; round++) {
    await Promise.all(names.map((name) => setValue(ground, name, `round-${round}`)))
    proxy.cutWatches()
  }
  await removeConfigMap(ground, 'object-0')
  const expected = new Map(names.map((name) => [name, name === 'object-0' ? 'gone' : 'round-3']))
  await eventually(() => expect(seen).toEqual(expected), { withinMs: 10_000 })
  expect(overlaps).toBe(0)
  await eventually(() => expect(queue.metrics()).toMatchObject({ depth: 0, delayed: 0, inFlight: 0 }), {
    withinMs: 10_000,
  })
  expect(queue.metrics()).toMatchObject({ retries: failures, terminal: 0, dropped: 0 })
})
