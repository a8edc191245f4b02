import { expect, test } from 'vitest'
import { type KubeObject, type Resource, ResourceCache, resources, waitUntilGone } from '../../src/kube/index.ts'
import { systemClock } from '../../src/time/index.ts'
import { eventually, type Ground, prepareGround } from '../support/e2e-cluster.ts'
import { quickTimes } from '../support/e2e-config-maps.ts'

async function installDefinition({ admin }: Ground, widget: Resource): Promise<string> {
  const { group, plural, kind } = widget
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const { metadata } = await admin.create<KubeObject>(resources.customResourceDefinitions, {
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind, singular: plural.slice(0, -1) },
      versions: [{ name: widget.version, served: true, storage: true, schema }],
    },
  } as KubeObject)
  return metadata.uid ?? ''
}

test('a cache outlives its own kind: not there yet, installed, removed, and installed anew', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace, signal } = ground
  const group = `${namespace}.example.com`
  const widget: Resource = { group, version: 'v1', plural: 'widgets', kind: 'Widget', namespaced: true }
  const definition = { name: `widgets.${group}` }
  const cache = new ResourceCache<KubeObject>({ client: admin, resource: widget, namespace, signal, ...quickTimes })
  const heard: string[] = []
  cache.subscribe(({ type, object }) => heard.push(`${type} ${object.metadata.name}`))
  await eventually(() => expect(cache.stats().lastError).toMatch(/NotFound/), { withinMs: 10_000 })
  expect(cache.isSynced).toBe(false)

  context.onTestFinished(() =>
    admin.delete(resources.customResourceDefinitions, definition, { uid: 'any' }).catch(() => undefined),
  )
  const create = (name: string) =>
    eventually(() => admin.create<KubeObject>(widget, { metadata: { name, namespace } }), { withinMs: 10_000 })
  const firstUid = await installDefinition(ground, widget)
  const first = await create('one')
  await eventually(() => expect(heard).toEqual(['added one']), { withinMs: 10_000 })
  expect(cache.isSynced).toBe(true)

  await admin.delete(resources.customResourceDefinitions, definition, { uid: firstUid })
  const gone = await waitUntilGone(admin, resources.customResourceDefinitions, definition, {
    uid: firstUid,
    clock: systemClock,
    random: Math.random,
    signal,
    deadlineMs: 30_000,
  })
  expect(gone).toEqual({ outcome: 'gone' })
  await eventually(() => expect(cache.size).toBe(0), { withinMs: 10_000 })

  await installDefinition(ground, widget)
  const second = await create('one')
  await create('two')
  await eventually(
    () => expect([...cache.values()].map((object) => object.metadata.name ?? '').sort()).toEqual(['one', 'two']),
    {
      withinMs: 10_000,
    },
  )
  expect(cache.get({ name: 'one', namespace })?.metadata.uid).toBe(second.metadata.uid)
  expect(second.metadata.uid).not.toBe(first.metadata.uid)
  expect(heard.slice(0, 2)).toEqual(['added one', 'deleted one'])
})
