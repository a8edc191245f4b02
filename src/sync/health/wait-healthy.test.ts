import { expect, test } from 'vitest'
import {
  ApiError,
  type KubeClient,
  type KubeObject,
  type Resource,
  resources,
  type WatchEvent,
  type WatchOptions,
} from '../../kube/index.ts'
import { FakeClock } from '../../time/fake-clock.ts'
import { type HealthTarget, waitHealthy } from './wait-healthy.ts'

const startMs = Date.parse('2026-05-01T12:00:00Z')

/** A server whose watches send what there is, and then what the test changes. */
class PlayedServer {
  readonly opened: string[] = []
  readonly #objects = new Map<string, KubeObject>()
  readonly #watches = new Set<{ readonly plural: string; readonly send: (event: WatchEvent<KubeObject>) => void }>()
  #version = 1

  put(plural: string, object: object): void {
    const next = {
      ...object,
      metadata: { ...(object as KubeObject).metadata, resourceVersion: String(++this.#version) },
    }
    this.#objects.set(`${plural} ${next.metadata.name}`, next)
    this.#send(plural, { type: 'MODIFIED', object: next })
  }

  remove(plural: string, name: string): void {
    const object = this.#objects.get(`${plural} ${name}`)
    this.#objects.delete(`${plural} ${name}`)
    if (object) this.#send(plural, { type: 'DELETED', object })
  }

  get client(): KubeClient {
    return {
      list: () => {
        throw new Error('lists are streamed')
      },
      watch: (resource: Resource, options: WatchOptions) => this.#watch(resource, options),
    } as unknown as KubeClient
  }

  async *#watch({ plural }: Resource, options: WatchOptions): AsyncGenerator<WatchEvent<KubeObject>> {
    this.opened.push(
      `${plural} in ${options.namespace ?? 'all'}${options.fieldSelector ? ` by ${options.fieldSelector}` : ''}`,
    )
    const queue: WatchEvent<KubeObject>[] = []
    let wake: () => void = () => undefined
    const watch = {
      plural,
      send: (event: WatchEvent<KubeObject>) => {
        queue.push(event)
        wake()
      },
    }
    for (const [id, object] of this.#objects) if (id.startsWith(`${plural} `)) queue.push({ type: 'ADDED', object })
    queue.push({ type: 'BOOKMARK', resourceVersion: String(this.#version), initialEventsEnd: true })
    this.#watches.add(watch)
    options.onOpen?.()
    options.signal.addEventListener('abort', () => wake())
    for (;;) {
      options.signal.throwIfAborted()
      const next = queue.shift()
      if (next) yield next
      else
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    }
  }

  #send(plural: string, event: WatchEvent<KubeObject>): void {
    for (const watch of this.#watches) if (watch.plural === plural) watch.send(event)
  }
}

const metadata = (name: string, uid = `uid of ${name}`) => ({ name, namespace: 'shop', uid })
const pod = (name: string, isReady: boolean) => ({
  metadata: metadata(name),
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
})
const target = (resource: Resource, name: string, uid = `uid of ${name}`): HealthTarget => ({
  key: { group: resource.group, kind: resource.kind, namespace: resource.namespaced ? 'shop' : '', name },
  resource,
  uid,
})

function waiting(server: PlayedServer, targets: readonly HealthTarget[], deadlineMs = 600_000) {
  const clock = new FakeClock(startMs)
  const end = new AbortController()
  const told: string[] = []
  const onProgress = (line: string) => told.push(line)
  const result = waitHealthy(server.client, targets, { clock, deadlineMs, signal: end.signal, onProgress })
  let isOver = false
  result.then(
    () => {
      isOver = true
    },
    () => undefined,
  )
  return { clock, end, told, result, isOver: () => isOver }
}

test('what is healthy as soon as it exists is not asked about', async () => {
  const server = new PlayedServer()
  const { result } = waiting(server, [target(resources.configMaps, 'a'), target(resources.roles, 'b')])
  expect(await result).toMatchObject({ outcome: 'healthy', waited: [{ seconds: 0 }, { seconds: 0 }] })
  expect(server.opened).toEqual([])
})

test('one watch serves all objects of a kind and namespace; a single one is watched by its name', async () => {
  const server = new PlayedServer()
  for (const name of ['a', 'b']) server.put('pods', pod(name, true))
  server.put('customresourcedefinitions', {
    metadata: { name: 'c', uid: 'uid of c' },
    status: { conditions: [{ type: 'Established', status: 'True' }] },
  })
  const targets = [
    target(resources.pods, 'a'),
    target(resources.pods, 'b'),
    target(resources.customResourceDefinitions, 'c'),
  ]
  const { clock, result } = waiting(server, targets)
  await clock.advance(100)
  expect((await result).outcome).toBe('healthy')
  expect(server.opened).toEqual(['pods in shop', 'customresourcedefinitions in all by metadata.name=c'])
})

test('all have to be healthy at the same time', async () => {
  const server = new PlayedServer()
  server.put('pods', pod('a', true))
  server.put('pods', pod('b', false))
  const { clock, told, result, isOver } = waiting(server, [target(resources.pods, 'a'), target(resources.pods, 'b')])
  await clock.advance(1_000)
  server.put('pods', pod('a', false))
  await clock.advance(1_000)
  server.put('pods', pod('b', true))
  await clock.advance(1_000)
  expect(isOver()).toBe(false)
  server.put('pods', pod('a', true))
  await clock.advance(100)
  const { outcome, waited } = await result
  expect(outcome).toBe('healthy')
  expect(waited.map(({ seconds }) => Math.round(seconds))).toEqual([3, 2])
  expect(told).toEqual([
    'Pod shop/b: it runs and is not ready',
    'Pod shop/a: it runs and is not ready',
    'Pod shop/b: it is ready',
    'Pod shop/a: it is ready',
  ])
})

test('a rule that holds a time comes true without an event', async () => {
  const server = new PlayedServer()
  const lastTransitionTime = new Date(startMs).toISOString()
  const scheduled = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', lastTransitionTime }
  server.put('pods', { metadata: metadata('a'), status: { phase: 'Pending', conditions: [scheduled] } })
  const { clock, result, isOver } = waiting(server, [target(resources.pods, 'a')])
  await clock.advance(15_000)
  expect(isOver()).toBe(false)
  await clock.advance(2_000)
  expect(await result).toMatchObject({
    outcome: 'failed',
    waited: [{ health: { is: 'Failed', reason: 'Unschedulable' } }],
  })
})

test.for([
  ['is deleted', (server: PlayedServer) => server.remove('pods', 'a'), { is: 'NotFound', reason: 'Deleted' }],
  [
    'is replaced',
    (server: PlayedServer) => server.put('pods', { ...pod('a', true), metadata: metadata('a', 'another') }),
    { is: 'NotFound', reason: 'Replaced' },
  ],
  [
    'is being deleted',
    (server: PlayedServer) =>
      server.put('pods', {
        ...pod('a', true),
        metadata: { ...metadata('a'), deletionTimestamp: '2026-05-01T12:00:01Z' },
      }),
    { is: 'Terminating' },
  ],
] as const)('an object that %s ends the wait', async ([, happens, health]) => {
  const server = new PlayedServer()
  server.put('pods', pod('a', false))
  const { clock, result } = waiting(server, [target(resources.pods, 'a')])
  await clock.advance(1_000)
  happens(server)
  await clock.advance(100)
  expect(await result).toMatchObject({ outcome: 'failed', waited: [{ health }] })
})

test('whatever bears the name will do if no UID is known', async () => {
  const server = new PlayedServer()
  server.put('pods', pod('a', true))
  const { clock, result } = waiting(server, [target(resources.pods, 'a', 'any')])
  await clock.advance(100)
  expect((await result).outcome).toBe('healthy')
})

test('at the deadline it says how each is', async () => {
  const server = new PlayedServer()
  server.put('pods', pod('a', false))
  const { clock, result } = waiting(server, [target(resources.pods, 'a'), target(resources.configMaps, 'b')], 5_000)
  await clock.advance(5_100)
  expect(await result).toMatchObject({
    outcome: 'deadline',
    waited: [{ health: { is: 'InProgress' } }, { health: { is: 'Current' }, seconds: 0 }],
  })
})

test('what may not be read has a health that nobody knows', async () => {
  const server = new PlayedServer()
  const client = {
    ...server.client,
    watch: () => {
      throw new ApiError({ code: 'Forbidden', method: 'GET', path: '/pods', seen: 'no right' })
    },
  }
  const clock = new FakeClock(startMs)
  const signal = new AbortController().signal
  const result = waitHealthy(client, [target(resources.pods, 'a')], { clock, signal, deadlineMs: 60_000 })
  await clock.advance(1_000)
  expect(await result).toMatchObject({
    outcome: 'failed',
    waited: [{ health: { is: 'Unknown', reason: 'NotReadable' } }],
  })
})

test('an abort throws its reason and leaves nothing that sleeps', async () => {
  const server = new PlayedServer()
  server.put('pods', pod('a', false))
  const { clock, end, result } = waiting(server, [target(resources.pods, 'a')])
  await clock.advance(1_000)
  end.abort(new Error('a new commit came'))
  await expect(result).rejects.toThrow('a new commit came')
  await clock.advance(0)
  expect(clock.sleeping).toBe(0)
})
