import { expect, test } from 'vitest'
import { killComponent } from '../../src/dev/index.ts'
import { resources } from '../../src/kube/index.ts'
import { eventually, prepareGround, restartControlPlane, timed } from '../support/e2e-cluster.ts'
import {
  configMap,
  createConfigMaps,
  expectEqualToServer,
  followConfigMaps,
  listen,
  setValue,
} from '../support/e2e-config-maps.ts'

test('when etcd is killed, calls end at their deadline and the cache catches up after the restart', async (context) => {
  const ground = await prepareGround(context)
  await createConfigMaps(ground, ['kept'])
  const cache = followConfigMaps(ground, ground.admin)
  const heard = listen(cache)
  await cache.waitForSync(ground.signal)
  await setValue(ground, 'kept', 'just before')

  context.onTestFinished(() => restartControlPlane(ground.record))
  await killComponent(ground.record, 'etcd')
  const { error, ms } = await timed(() =>
    ground.admin.create(resources.configMaps, configMap(ground.namespace, 'in-doubt'), { deadlineMs: 2_000 }),
  )
  expect(error).toMatchObject({ code: expect.stringMatching(/^(UnknownOutcome|Server|Unavailable)$/) as string })
  expect(ms).toBeLessThan(10_000)
  expect(cache.stats()).toMatchObject({ isSynced: true })
  expect(cache.get({ name: 'kept', namespace: ground.namespace })?.data).toEqual({ value: 'just before' })

  await restartControlPlane(ground.record)
  // The API server may need a moment longer than its readiness says.
  await eventually(() => setValue(ground, 'kept', 'just after'), { withinMs: 20_000 })
  await eventually(() => expect(heard).toContain('updated kept=just after'), { withinMs: 20_000 })
  await createConfigMaps(ground, ['new'])
  await expectEqualToServer(ground, cache, 10_000)
  expect(heard.filter((line) => line.endsWith(' kept'))).toEqual(['added kept'])
})
