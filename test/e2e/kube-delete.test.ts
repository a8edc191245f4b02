import { expect, test } from 'vitest'
import { resources } from '../../src/kube/index.ts'
import { connectThroughProxy, eventually, prepareGround } from '../support/e2e-cluster.ts'
import { configMap, followConfigMaps, listen } from '../support/e2e-config-maps.ts'

test('a deletion with the UID of another object is a Conflict and leaves the object alone', async (context) => {
  const { admin, namespace } = await prepareGround(context)
  const ref = { name: 'precious', namespace }
  const first = await admin.create(resources.configMaps, configMap(namespace, 'precious'))
  await admin.delete(resources.configMaps, ref, { uid: first.metadata.uid ?? '' })
  const second = await admin.create(resources.configMaps, configMap(namespace, 'precious'))
  const wrong = admin.delete(resources.configMaps, ref, { uid: first.metadata.uid ?? '' })
  await expect(wrong).rejects.toMatchObject({ code: 'Conflict', status: 409, attempts: 1 })
  expect((await admin.get(resources.configMaps, ref)).metadata.uid).toBe(second.metadata.uid)
  const outdated = admin.delete(resources.configMaps, ref, {
    uid: second.metadata.uid ?? '',
    resourceVersion: first.metadata.resourceVersion ?? '',
  })
  await expect(outdated).rejects.toMatchObject({ code: 'Conflict' })
  await admin.delete(resources.configMaps, ref, { uid: second.metadata.uid ?? '' })
  await expect(admin.get(resources.configMaps, ref)).rejects.toMatchObject({ code: 'NotFound' })
  await expect(admin.delete(resources.configMaps, ref, { uid: second.metadata.uid ?? '' })).rejects.toMatchObject({
    code: 'NotFound',
    attempts: 1,
  })
})

test('without a name nothing is sent, because the path would be that of the whole collection', async (context) => {
  const ground = await prepareGround(context)
  const { client, proxy } = await connectThroughProxy(context, ground)
  const { namespace } = ground
  for (const ref of [{ name: '', namespace }, { name: 'x' }, { name: '..', namespace }, { name: 'a/../b', namespace }])
    await expect(client.delete(resources.configMaps, ref, { uid: 'any' })).rejects.toMatchObject({ code: 'BadCall' })
  expect(proxy.counts.size).toBe(0)
})

test('with Foreground the dependants go first, and with Orphan they stay without an owner', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  const createFamily = async (name: string) => {
    const { metadata } = await admin.create(resources.configMaps, configMap(namespace, name))
    const { uid = '' } = metadata
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid, blockOwnerDeletion: true }]
    const child = configMap(namespace, `child-of-${name}`)
    await admin.create(resources.configMaps, { ...child, metadata: { ...child.metadata, ownerReferences } })
    return { ref: { name, namespace }, uid }
  }
  const [strict, mild] = [await createFamily('strict'), await createFamily('mild')]
  const cache = followConfigMaps(ground, admin)
  const heard = listen(cache)
  await cache.waitForSync(ground.signal)
  await admin.delete(resources.configMaps, strict.ref, { uid: strict.uid, propagationPolicy: 'Foreground' })
  await admin.delete(resources.configMaps, mild.ref, { uid: mild.uid, propagationPolicy: 'Orphan' })
  await eventually(
    () => {
      const deletions = heard.filter((line) => line.startsWith('deleted'))
      expect(deletions.filter((line) => line.endsWith('strict'))).toEqual(['deleted child-of-strict', 'deleted strict'])
      expect(deletions.filter((line) => line.endsWith('mild'))).toEqual(['deleted mild'])
    },
    { withinMs: 20_000 },
  )
  const orphan = cache.get({ name: 'child-of-mild', namespace })
  expect(orphan?.metadata.ownerReferences ?? []).toEqual([])
})
