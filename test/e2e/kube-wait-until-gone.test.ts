import { expect, test } from 'vitest'
import {
  type KubeClient,
  type KubeObject,
  resources,
  type WaitOptions,
  waitFor,
  waitUntilGone,
} from '../../src/kube/index.ts'
import { systemClock } from '../../src/time/index.ts'
import {
  boundPod,
  connectThroughProxy,
  ensureDefaultAccount,
  eventually,
  type Ground,
  prepareGround,
} from '../support/e2e-cluster.ts'
import { type ConfigMap, configMap, setValue } from '../support/e2e-config-maps.ts'

const holder = 'example.com/hold'

function waiting(ground: Ground, deadlineMs = 20_000) {
  const told: string[] = []
  const options: WaitOptions = {
    clock: systemClock,
    random: Math.random,
    signal: ground.signal,
    deadlineMs,
    onProgress: (missing) => told.push(missing),
  }
  return { options, told }
}

/** A config map that a finalizer holds. */
async function createHeld({ admin, namespace }: Ground, name: string) {
  const { metadata, data } = configMap(namespace, name)
  const object = await admin.create<KubeObject>(resources.configMaps, {
    metadata: { ...metadata, finalizers: [holder] },
    data,
  } as ConfigMap)
  return { ref: { name, namespace }, uid: object.metadata.uid ?? '' }
}

async function letGo(client: KubeClient, ref: { readonly name: string; readonly namespace: string }): Promise<void> {
  await client.patch(resources.configMaps, ref, { type: 'merge', body: { metadata: { finalizers: null } } })
}

test('the wait tells what keeps the object, as it changes, and ends when the last finalizer goes', async (context) => {
  const ground = await prepareGround(context)
  const { ref, uid } = await createHeld(ground, 'held')
  const { options, told } = waiting(ground)
  const gone = waitUntilGone(ground.admin, resources.configMaps, ref, { ...options, uid })
  await eventually(() => expect(told).toHaveLength(1), { withinMs: 10_000 })
  expect(told[0]).toBe(`ConfigMap ${ref.namespace}/held exists and nobody has deleted it`)
  await ground.admin.delete(resources.configMaps, ref, { uid })
  await eventually(() => expect(told).toHaveLength(2), { withinMs: 10_000 })
  expect(told[1]).toMatch(new RegExp(`is being deleted since \\S+Z; waits for ${holder}`))
  await letGo(ground.admin, ref)
  expect(await gone).toEqual({ outcome: 'gone' })
})

test('at the deadline the wait answers what still keeps the object', async (context) => {
  const ground = await prepareGround(context)
  const { ref, uid } = await createHeld(ground, 'stuck')
  context.onTestFinished(() => letGo(ground.admin, ref))
  await ground.admin.delete(resources.configMaps, ref, { uid })
  const { options } = waiting(ground, 500)
  const kept = await waitUntilGone(ground.admin, resources.configMaps, ref, { ...options, uid })
  expect(kept).toMatchObject({ outcome: 'kept', finalizers: [holder] })
  expect(kept).toMatchObject({ deletionTimestamp: expect.stringMatching(/Z$/) as string })
})

test('an object that was created anew under the same name counts as gone, even when both happened unseen', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  const { client, proxy } = await connectThroughProxy(context, ground)
  const ref = { name: 'reborn', namespace }
  const first = await admin.create(resources.configMaps, configMap(namespace, 'reborn'))
  const { options, told } = waiting(ground)
  const gone = waitUntilGone(client, resources.configMaps, ref, { ...options, uid: first.metadata.uid ?? '' })
  await eventually(() => expect(proxy.openWatches).toBe(1), { withinMs: 10_000 })
  proxy.blackout(60_000)
  await admin.delete(resources.configMaps, ref, { uid: first.metadata.uid ?? '' })
  const second = await admin.create(resources.configMaps, configMap(namespace, 'reborn'))
  proxy.blackout(0)
  expect(await gone).toEqual({ outcome: 'gone' })
  expect((await admin.get(resources.configMaps, ref)).metadata.uid).toBe(second.metadata.uid)
  expect(told.at(-1)).toMatch(/exists and nobody has deleted it|cannot be read/)
})

test('what is gone already, and what never was, needs no wait', async (context) => {
  const ground = await prepareGround(context)
  const { options } = waiting(ground)
  const ref = { name: 'never', namespace: ground.namespace }
  expect(await waitUntilGone(ground.admin, resources.configMaps, ref, { ...options, uid: 'any' })).toEqual({
    outcome: 'gone',
  })
})

test('a pod that stops is gone for the wait when the server has removed it, not when it is told to stop', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  await ensureDefaultAccount(ground)
  const ref = { name: 'stopping', namespace }
  const pod = await admin.create(
    resources.pods,
    boundPod(namespace, 'stopping', 'node-2', { metadata: { annotations: { 'simulate.fettle.dev/stop': 'never' } } }),
  )
  const uid = pod.metadata.uid ?? ''
  await admin.delete(resources.pods, ref, { uid, gracePeriodSeconds: 30 })
  const { options, told } = waiting(ground)
  const gone = waitUntilGone(admin, resources.pods, ref, { ...options, uid })
  await eventually(() => expect(told[0]).toMatch(/with 30 s of grace; no finalizer holds it/), { withinMs: 10_000 })
  await admin.delete(resources.pods, ref, { uid, gracePeriodSeconds: 0 })
  expect(await gone).toEqual({ outcome: 'gone' })
})

test('a wait survives cut watches and 410s, and an abort ends it with its reason', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  const { client, proxy } = await connectThroughProxy(context, ground)
  await admin.create(resources.configMaps, configMap(namespace, 'slow', '0'))
  const isThree = (object: ConfigMap | undefined) =>
    object?.data?.['value'] === '3' || `its value is ${object?.data?.['value']}, not 3`
  const { options, told } = waiting(ground)
  const met = waitFor<ConfigMap>(client, resources.configMaps, { name: 'slow', namespace }, isThree, options)
  await eventually(() => expect(proxy.openWatches).toBe(1), { withinMs: 10_000 })
  proxy.inject({ status: 410, count: 1, matches: ({ path }) => path.includes('watch=true') })
  proxy.cutWatches()
  for (const value of ['1', '2']) {
    await setValue(ground, 'slow', value)
    await eventually(() => expect(told.at(-1)).toContain(`its value is ${value}`), { withinMs: 10_000 })
    proxy.cutWatches()
  }
  await setValue(ground, 'slow', '3')
  expect(await met).toMatchObject({ outcome: 'met', object: { data: { value: '3' } } })
  expect(proxy.counts.get('GET 410')).toBe(1)

  const stop = new AbortController()
  const never = waitFor<ConfigMap>(client, resources.configMaps, { name: 'slow', namespace }, () => 'never', {
    ...options,
    signal: stop.signal,
  })
  await eventually(() => expect(proxy.openWatches).toBe(1), { withinMs: 10_000 })
  stop.abort(new Error('changed my mind'))
  await expect(never).rejects.toThrow('changed my mind')
  await eventually(() => expect(proxy.openWatches).toBe(0), { withinMs: 10_000 })
})
