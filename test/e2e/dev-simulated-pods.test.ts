import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectTo } from '../../src/dev/index.ts'
import { isNotFound, type KubeClient, type PodObject, resources } from '../../src/kube/index.ts'
import { boundPod, eventually, sharedRecord } from '../support/e2e-cluster.ts'

const namespace = 'default'
const behaviours = {
  quick: {},
  'slow-start': { 'simulate.fettle.dev/start': 'slow' },
  'slow-stop': { 'simulate.fettle.dev/stop': 'slow' },
  stubborn: { 'simulate.fettle.dev/stop': 'never' },
} as const
type Behaviour = keyof typeof behaviours

/** Seconds that each pod took to run, and to go after it was told to. */
const started = new Map<string, number>()
const stopped = new Map<string, number>()
let client: KubeClient

beforeAll(async () => {
  client = await connectTo(sharedRecord())
  await Promise.all(Object.keys(behaviours).map((name) => start(name as Behaviour)))
  await Promise.all(Object.keys(behaviours).map((name) => stop(name as Behaviour)))
})
afterAll(async () => {
  await client.delete(resources.pods, { namespace, name: 'stubborn' }, { uid: 'any', gracePeriodSeconds: 0 })
  client.close()
})

async function start(name: Behaviour): Promise<void> {
  const startedAt = Date.now()
  const pod = boundPod(namespace, name, 'node-1')
  await client.create(resources.pods, { ...pod, metadata: { ...pod.metadata, annotations: behaviours[name] } })
  await eventually(async () => expect((await podOf(name))?.status?.phase).toBe('Running'), { withinMs: 20_000 })
  started.set(name, (Date.now() - startedAt) / 1000)
}

async function stop(name: Behaviour): Promise<void> {
  const askedAt = Date.now()
  await client.delete(resources.pods, { namespace, name }, { uid: 'any', gracePeriodSeconds: 30 })
  if (name === 'stubborn') return
  await eventually(async () => expect(await podOf(name)).toBeUndefined(), { withinMs: 30_000 })
  stopped.set(name, (Date.now() - askedAt) / 1000)
}

async function podOf(name: string): Promise<PodObject | undefined> {
  try {
    return await client.get<PodObject>(resources.pods, { namespace, name })
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

describe('a pod on a simulated node', () => {
  test('runs and stops at once', () => {
    expect(started.get('quick')).toBeLessThan(5)
    expect(stopped.get('quick')).toBeLessThan(10)
  })

  test('told to start slowly, needs a second or more', () => {
    expect(started.get('slow-start')).toBeGreaterThanOrEqual(1)
    expect(started.get('slow-start')).toBeLessThan(15)
  })

  test('told to stop slowly, needs two to ten seconds', () => {
    expect(stopped.get('slow-stop')).toBeGreaterThanOrEqual(2)
    expect(stopped.get('slow-stop')).toBeLessThan(20)
  })

  test('told never to stop, is still there, and marked as going', async () => {
    await sleep(1_000)
    expect((await podOf('stubborn'))?.metadata.deletionTimestamp).toBeDefined()
    expect((await podOf('stubborn'))?.status?.phase).toBe('Running')
  })
})
