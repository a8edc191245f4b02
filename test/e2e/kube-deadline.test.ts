import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { freezeComponent } from '../../src/dev/index.ts'
import { connect, isNotFound, resources } from '../../src/kube/index.ts'
import { startByteRelay } from '../support/byte-relay.ts'
import { eventually, type Ground, prepareGround, type Test, timed } from '../support/e2e-cluster.ts'
import { type ConfigMap, configMap } from '../support/e2e-config-maps.ts'

/** The API server keeps its connections and answers nothing until the thaw. */
async function freeze(test: Test, { record }: Ground): Promise<() => void> {
  const thaw = await freezeComponent(record, 'kube-apiserver')
  test.onTestFinished(thaw)
  return thaw
}

async function exists({ admin, namespace }: Ground, name: string): Promise<boolean> {
  try {
    await admin.get<ConfigMap>(resources.configMaps, { name, namespace })
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}

test('against a frozen API server every call ends at its deadline, says what is known, and the next ones work', async (context) => {
  const ground = await prepareGround(context)
  const { admin, config, namespace } = ground
  const stranger = connect(config, { component: 'e2e' })
  context.onTestFinished(() => stranger.close())
  await admin.get(resources.namespaces, { name: namespace })
  const deadlineMs = 1_200
  const stopped = new AbortController()
  const thaw = await freeze(context, ground)
  setTimeout(() => stopped.abort(new Error('enough')), 300)

  const [read, never, aborted, watched] = await Promise.all([
    timed(() => admin.get(resources.namespaces, { name: namespace }, { deadlineMs })),
    timed(() => stranger.create(resources.configMaps, configMap(namespace, 'never-sent'), { deadlineMs })),
    timed(() => admin.get(resources.namespaces, { name: namespace }, { signal: stopped.signal })),
    timed(async () => {
      const watch = stranger.watch(resources.nodes, { signal: ground.signal, inactivityMs: deadlineMs })
      for await (const _ of watch) break
    }),
  ])

  expect(read.error).toMatchObject({ code: 'Timeout', kind: 'retryable' })
  // Without a finished handshake not a byte of the request has left, so nothing is in doubt.
  expect(never.error).toMatchObject({ code: 'Timeout' })
  expect(watched.error).toMatchObject({ code: 'Stalled' })
  for (const { ms } of [read, never, watched]) {
    expect(ms).toBeGreaterThanOrEqual(deadlineMs - 5)
    expect(ms).toBeLessThan(deadlineMs + 5_000)
  }
  expect(aborted.error).toBe(stopped.signal.reason)
  expect(aborted.ms).toBeLessThan(5_000)

  thaw()
  for (const client of [admin, stranger])
    await eventually(() => client.get(resources.namespaces, { name: namespace }), { withinMs: 15_000 })
  await sleep(300)
  expect(await exists(ground, 'never-sent')).toBe(false)
})

test('a write on an open connection to a frozen API server is in doubt, and is not sent again after the thaw', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  await admin.get(resources.namespaces, { name: namespace })
  const thaw = await freeze(context, ground)
  const object = { metadata: { generateName: 'in-doubt-', namespace, labels: { e2e: 'doubt' } } }
  const { error, ms } = await timed(() => admin.create(resources.configMaps, object, { deadlineMs: 800 }))
  expect(error).toMatchObject({ code: 'UnknownOutcome', kind: 'retryable', attempts: 1 })
  expect(ms).toBeLessThan(6_000)
  thaw()
  await eventually(() => admin.get(resources.namespaces, { name: namespace }), { withinMs: 15_000 })
  await sleep(1_000)
  for await (const page of admin.list(resources.configMaps, { namespace, labelSelector: 'e2e=doubt' }))
    expect(page.items.length).toBeLessThanOrEqual(1)
})

test('an answer that stops half-way counts as none: the call ends at its deadline and the next one works', async (context) => {
  const { config, record } = await prepareGround(context)
  const relay = await startByteRelay(context, record)
  const client = connect({ ...config, server: relay.url }, { component: 'e2e' })
  context.onTestFinished(() => client.close())
  const list = async () => {
    for await (const page of client.list(resources.clusterRoles, { deadlineMs: 1_500 })) return page.items.length
    return 0
  }
  const whole = await list()
  relay.stallAnswerAfter(2_000)
  const { error, ms } = await timed(list)
  expect(error).toMatchObject({ code: 'Timeout' })
  expect(ms).toBeGreaterThanOrEqual(1_495)
  expect(ms).toBeLessThan(6_000)
  expect(relay.harmed).toBe(1)
  expect(await list()).toBe(whole)
  expect(whole).toBeGreaterThan(20)
})
