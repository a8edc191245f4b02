import { expect, test } from 'vitest'
import { connectThroughProxy, eventually, type Ground, prepareGround } from '../support/e2e-cluster.ts'
import {
  createConfigMaps,
  expectEqualToServer,
  followConfigMaps,
  listen,
  removeConfigMap,
  setValue,
} from '../support/e2e-config-maps.ts'

const before = ['changed', 'deleted', 'reborn', 'untouched']
const isResumed = ({ path }: { readonly path: string }) =>
  path.includes('watch=true') && !path.includes('sendInitialEvents')

/** One of each kind of change, and one object that comes and goes unseen. */
async function changeEverything(ground: Ground): Promise<void> {
  await setValue(ground, 'changed', 'second')
  await removeConfigMap(ground, 'deleted')
  await removeConfigMap(ground, 'reborn')
  await createConfigMaps(ground, ['reborn', 'new', 'passing'])
  await removeConfigMap(ground, 'passing')
}

/** What must be heard after a gap in the history, in any order but within one name. */
function expectWholeDifference(heard: readonly string[]): void {
  const of = (name: string) => heard.filter((line) => line.split(/[ =]/)[1] === name)
  expect(of('changed')).toEqual(['added changed', 'updated changed=second'])
  expect(of('deleted')).toEqual(['added deleted', 'deleted deleted'])
  expect(of('reborn')).toEqual(['added reborn', 'deleted reborn', 'added reborn'])
  expect(of('new')).toEqual(['added new'])
  expect(of('untouched')).toEqual(['added untouched'])
  expect(of('passing')).toEqual([])
}

test('after a 410 everything is listed anew, and the difference is told: changes, deletions, a new object of an old name', async (context) => {
  const ground = await prepareGround(context)
  const objects = await createConfigMaps(ground, before)
  const { client, proxy } = await connectThroughProxy(context, ground)
  const errors: unknown[] = []
  const cache = followConfigMaps(ground, client, { onError: (error) => errors.push(error) })
  const heard = listen(cache)
  await cache.waitForSync(ground.signal)

  proxy.inject({ status: 410, count: 1, matches: isResumed })
  proxy.blackout(60_000)
  await changeEverything(ground)
  expect(cache.size).toBe(before.length)
  proxy.blackout(0)
  await eventually(() => expect(cache.stats().relists).toBe(1), { withinMs: 10_000 })

  expectWholeDifference(heard)
  expect(errors).toContainEqual(expect.objectContaining({ code: 'Gone', status: 410 }))
  const reborn = cache.get({ name: 'reborn', namespace: ground.namespace })
  expect(reborn?.metadata.uid).not.toBe(objects.find((object) => object.metadata.name === 'reborn')?.metadata.uid)
  await expectEqualToServer(ground, cache)

  await setValue(ground, 'reborn', 'alive')
  await eventually(() => expect(heard.at(-1)).toBe('updated reborn=alive'), { withinMs: 10_000 })
})
