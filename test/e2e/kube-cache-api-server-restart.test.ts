import { expect, test } from 'vitest'
import { resources } from '../../src/kube/index.ts'
import { connectThroughProxy, eventually, killedApiServer, prepareGround } from '../support/e2e-cluster.ts'
import {
  createConfigMaps,
  expectEqualToServer,
  followConfigMaps,
  listen,
  removeConfigMap,
  setValue,
} from '../support/e2e-config-maps.ts'

test('when the API server is killed, caches keep what they know and catch up after the restart, even through a real 410', async (context) => {
  const ground = await prepareGround(context)
  await createConfigMaps(ground, ['kept', 'changed', 'deleted-before', 'reborn', 'deleted-after'])
  const { client, proxy } = await connectThroughProxy(context, ground)
  const errors: unknown[] = []
  const near = followConfigMaps(ground, ground.admin)
  const far = followConfigMaps(ground, client, { onError: (error) => errors.push(error) })
  const heard = listen(near)
  const heardFar = listen(far)
  await Promise.all([near.waitForSync(ground.signal), far.waitForSync(ground.signal)])

  // The far cache is cut off and misses these. The restarted server's memory of changes begins after them, so that
  // what the far cache resumes from is too old.
  proxy.blackout(300_000)
  await setValue(ground, 'changed', 'just before')
  await removeConfigMap(ground, 'deleted-before')
  await removeConfigMap(ground, 'reborn')
  await createConfigMaps(ground, ['reborn'])
  await expectEqualToServer(ground, near)

  const restart = await killedApiServer(context, ground.record)
  await eventually(() => expect(near.stats().failuresInARow).toBeGreaterThanOrEqual(3), { withinMs: 10_000 })
  expect(near.stats()).toMatchObject({ isSynced: true, isConnected: false, objects: 4 })
  expect(near.stats().lastError).toMatch(/Unreachable|Unavailable/)
  expect(near.get({ name: 'kept', namespace: ground.namespace })?.data).toEqual({ value: 'first' })

  await restart()
  await removeConfigMap(ground, 'deleted-after')
  await setValue(ground, 'changed', 'just after')
  await createConfigMaps(ground, ['new'])
  proxy.blackout(0)
  await expectEqualToServer(ground, near, 15_000)
  await expectEqualToServer(ground, far, 15_000)

  for (const [lines, changes] of [
    [heard, ['added changed', 'updated changed=just before', 'updated changed=just after']],
    [heardFar, ['added changed', 'updated changed=just after']],
  ] as const) {
    const of = (name: string) => lines.filter((line) => line.split(/[ =]/)[1] === name)
    expect(of('kept')).toEqual(['added kept'])
    expect(of('deleted-before')).toEqual(['added deleted-before', 'deleted deleted-before'])
    expect(of('deleted-after')).toEqual(['added deleted-after', 'deleted deleted-after'])
    expect(of('reborn')).toEqual(['added reborn', 'deleted reborn', 'added reborn'])
    expect(of('new')).toEqual(['added new'])
    expect(of('changed')).toEqual(changes)
  }
  expect(errors).toContainEqual(
    expect.objectContaining({ code: 'Gone', seen: expect.stringContaining('too old') as string }),
  )
  expect(far.stats().relists).toBeGreaterThanOrEqual(1)
  const { admin, namespace, signal } = ground
  const ancient = admin.watch(resources.configMaps, { namespace, signal, resourceVersion: '1' })
  await expect(ancient[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'Gone', status: 410 })
  await eventually(() => expect(near.stats()).toMatchObject({ isConnected: true }), { withinMs: 5_000 })
})
