import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../time/fake-clock.ts'
import type { KubeObject } from '../resource.ts'
import { configMaps } from '../resources.ts'
import { type CacheOptions, ResourceCache } from './cache.ts'
import { ModelServer } from './model-server.ts'

function start(server: ModelServer, options: Partial<CacheOptions<KubeObject>> = {}) {
  const clock = new FakeClock()
  const stop = new AbortController()
  const errors: unknown[] = []
  const onError = (error: unknown) => errors.push(error)
  const cache = new ResourceCache<KubeObject>({
    client: server,
    resource: configMaps,
    clock,
    random: () => 0.5,
    signal: stop.signal,
    onError,
    ...options,
  })
  const told: string[] = []
  cache.subscribe((event) => told.push(`${event.type} ${event.object.metadata.name} ${event.object.metadata.uid}`))
  return { cache, clock, stop, errors, told }
}

const names = (cache: ResourceCache<KubeObject>) => [...cache.values()].map((one) => one.metadata.name ?? '').sort()

describe('a cache', () => {
  it('is not synced before the whole first list is in, and then is', async () => {
    const server = new ModelServer()
    server.put('a')
    const { cache, clock } = start(server)
    let isReady = false
    const ready = cache.waitForSync(new AbortController().signal).then(() => {
      isReady = true
    })
    expect(cache.isSynced).toBe(false)
    expect(isReady).toBe(false)
    await clock.advance(1)
    await ready
    expect(names(cache)).toEqual(['a'])
    expect(cache.stats()).toMatchObject({ isConnected: true, isSynced: true, reconnects: 0, relists: 0, objects: 1 })
  })

  it('stops waiting for sync when told to', async () => {
    const server = new ModelServer()
    server.pageFaults = Array.from({ length: 9 }, () => 'Unreachable')
    server.canStream = false
    const { cache } = start(server)
    const stop = new AbortController()
    const ready = cache.waitForSync(stop.signal)
    stop.abort(new Error('enough'))
    await expect(ready).rejects.toThrow('enough')
  })

  it('follows additions, changes and deletions', async () => {
    const server = new ModelServer()
    const { cache, clock, told } = start(server)
    await clock.advance(1)
    server.put('a')
    server.put('a')
    server.put('b')
    server.remove('a')
    await clock.advance(1)
    expect(names(cache)).toEqual(['b'])
    expect(told).toEqual(['added a uid-1', 'updated a uid-1', 'added b uid-2', 'deleted a uid-1'])
  })

  it('falls back to pages where the server cannot stream, and remembers', async () => {
    const server = new ModelServer()
    server.canStream = false
    for (const name of ['a', 'b', 'c']) server.put(name)
    const { cache, clock } = start(server, { pageSize: 2 })
    await clock.advance(1)
    expect(names(cache)).toEqual(['a', 'b', 'c'])
    expect({ opens: server.opens, lists: server.lists }).toEqual({ opens: 2, lists: 1 })
    server.compact()
    server.cut('Gone')
    await clock.advance(2_000)
    expect({ opens: server.opens, lists: server.lists }).toEqual({ opens: 3, lists: 2 })
    expect(cache.stats()).toMatchObject({ relists: 1, isConnected: true })
  })

  it('starts the list again when the continue token expires between pages', async () => {
    const server = new ModelServer()
    server.canStream = false
    for (const name of ['a', 'b', 'c']) server.put(name)
    const { cache, clock } = start(server, { pageSize: 1 })
    const { shift } = server.pageFaults
    let pages = 0
    server.pageFaults.shift = () => (++pages === 2 ? 'Gone' : shift.call(server.pageFaults))
    await clock.advance(1)
    expect(cache.isSynced).toBe(false)
    await clock.advance(1_000)
    expect(names(cache)).toEqual(['a', 'b', 'c'])
  })

  it('resumes at the last version when a watch ends, without a list', async () => {
    const server = new ModelServer()
    server.put('a')
    const { cache, clock, told } = start(server)
    await clock.advance(20_000)
    server.cut('end')
    server.put('b')
    await clock.advance(1)
    expect(names(cache)).toEqual(['a', 'b'])
    expect(told.length).toBe(2)
    expect(cache.stats()).toMatchObject({ reconnects: 1, relists: 0, isConnected: true })
  })

  it('resumes at a bookmark after the events before it are forgotten', async () => {
    const server = new ModelServer()
    const { cache, clock } = start(server)
    await clock.advance(20_000)
    server.put('a')
    server.bookmark()
    server.compact()
    await clock.advance(1)
    server.cut('Unreachable')
    await clock.advance(2_000)
    expect(cache.stats()).toMatchObject({ reconnects: 1, relists: 0 })
  })

  it('lists again after 410, and tells what vanished, changed and came meanwhile', async () => {
    const server = new ModelServer()
    for (const name of ['gone', 'kept', 'changed', 'reborn']) server.put(name)
    const { cache, clock, told } = start(server)
    await clock.advance(1)
    told.length = 0
    server.cut('Unreachable')
    server.remove('gone')
    server.put('changed')
    server.remove('reborn')
    server.put('reborn')
    server.put('new')
    server.compact()
    await clock.advance(5_000)
    expect(names(cache)).toEqual(['changed', 'kept', 'new', 'reborn'])
    expect(told.sort()).toEqual([
      'added new uid-6',
      'added reborn uid-5',
      'deleted gone uid-1',
      'deleted reborn uid-4',
      'updated changed uid-3',
    ])
    expect(cache.stats().relists).toBe(1)
  })

  it('lists again when the same line stays unreadable', async () => {
    const server = new ModelServer()
    server.put('a')
    const { cache, clock } = start(server)
    await clock.advance(1)
    server.cut('BadResponse')
    await clock.advance(1_000)
    expect(cache.stats()).toMatchObject({ relists: 1, isConnected: true })
  })

  it('suspects its position after two silent watches in a row', async () => {
    const server = new ModelServer()
    const { cache, clock } = start(server)
    await clock.advance(1)
    server.cut('Stalled')
    await clock.advance(5_000)
    expect(cache.stats().relists).toBe(0)
    server.cut('Stalled')
    await clock.advance(5_000)
    expect(cache.stats().relists).toBe(1)
  })

  it('keeps trying through a long outage, ever more slowly, and recovers', async () => {
    const server = new ModelServer()
    server.canStream = false
    server.pageFaults = Array.from({ length: 20 }, () => 'Unreachable')
    const { cache, clock, errors } = start(server)
    await clock.advance(60_000)
    const inFirstMinute = errors.length
    expect(inFirstMinute).toBeLessThan(9)
    expect(cache.stats()).toMatchObject({ isConnected: false, isSynced: false })
    expect(cache.stats().lastError).toContain('Unreachable')
    await clock.advance(600_000)
    expect(cache.stats()).toMatchObject({ isConnected: true, isSynced: true })
  })

  it('does not storm a server that ends each watch at once', async () => {
    const server = new ModelServer()
    const { clock } = start(server)
    for (let second = 0; second < 60; second++) {
      server.cut('end')
      await clock.advance(1_000)
    }
    expect(server.opens).toBeLessThan(12)
  })

  it('tells the ages of the last event and of the last contact', async () => {
    const server = new ModelServer()
    const { cache, clock } = start(server)
    await clock.advance(1)
    server.put('a')
    await clock.advance(30_000)
    server.bookmark()
    await clock.advance(10_000)
    expect(cache.stats()).toMatchObject({ lastEventAgeMs: 40_000, lastContactAgeMs: 10_000, events: 1 })
  })

  it('catches up after a long silence until a bookmark says that nothing is missing', async () => {
    const server = new ModelServer()
    const { cache, clock } = start(server)
    await clock.advance(1)
    server.put('a')
    await clock.advance(60_000)
    server.put('b')
    await clock.advance(1)
    expect(cache.stats()).toMatchObject({ isCatchingUp: false, position: '3' })
    await clock.advance(60_001)
    server.put('c')
    await clock.advance(1)
    expect(cache.stats()).toMatchObject({ isCatchingUp: true, position: '4' })
    server.put('d')
    await clock.advance(1)
    expect(cache.stats().isCatchingUp).toBe(true)
    server.bookmark()
    await clock.advance(1)
    expect(cache.stats().isCatchingUp).toBe(false)
  })

  it('ends with its signal', async () => {
    const server = new ModelServer()
    const { cache, clock, stop } = start(server)
    await clock.advance(1)
    stop.abort()
    await cache.ended
    expect(cache.stats().isConnected).toBe(false)
  })
})

describe('the indexes of a cache', () => {
  const byColour = (object: KubeObject) => object.metadata.labels?.['colour']

  it('follow each change', async () => {
    const server = new ModelServer()
    server.put('a', { colour: 'red' })
    const { cache, clock } = start(server, { indexes: { byColour } })
    await clock.advance(1)
    server.put('b', { colour: 'red' })
    server.put('a', { colour: 'blue' })
    server.put('c')
    await clock.advance(1)
    const found = (key: string) => cache.byIndex('byColour', key).map((one) => one.metadata.name)
    expect([found('red'), found('blue'), found('green')]).toEqual([['b'], ['a'], []])
    server.remove('a')
    await clock.advance(1)
    expect([...cache.indexKeys('byColour')]).toEqual(['red'])
  })

  it('can be added later, but not twice with different functions', async () => {
    const server = new ModelServer()
    server.put('a', { colour: 'red' })
    const { cache, clock } = start(server)
    await clock.advance(1)
    cache.addIndex('byColour', byColour)
    cache.addIndex('byColour', byColour)
    expect(cache.byIndex('byColour', 'red').length).toBe(1)
    expect(() => cache.addIndex('byColour', () => 'x')).toThrow('another function')
    expect(() => cache.byIndex('bySize', 'x')).toThrow('no index "bySize"')
  })
})

describe('the subscribers of a cache', () => {
  it('cannot break it by throwing or rejecting', async () => {
    const server = new ModelServer()
    const { cache, clock, errors, told } = start(server)
    await clock.advance(1)
    cache.subscribe(() => {
      throw new Error('thrown')
    })
    const rejecting = async () => {
      throw new Error('rejected')
    }
    cache.subscribe(rejecting as unknown as () => void)
    server.put('a')
    await clock.advance(1)
    expect(told).toEqual(['added a uid-1'])
    expect(errors.map((error) => (error as Error).message).sort()).toEqual(['rejected', 'thrown'])
  })

  it('that come late get what there is, and nothing twice', async () => {
    const server = new ModelServer()
    for (let number = 0; number < 1_200; number++) server.put(`o${number}`)
    const { cache, clock } = start(server)
    await clock.advance(1)
    const late: string[] = []
    cache.subscribe((event) => late.push(`${event.type} ${event.object.metadata.name}`))
    // The first slice is told; the rest is still to come when these change.
    server.put('o1')
    server.put('o1100')
    server.remove('o1101')
    await clock.advance(1)
    await clock.advance(1)
    expect(late.length).toBe(1_200)
    expect(late.filter((one) => one.endsWith(' o1100'))).toEqual(['added o1100'])
    expect(late.filter((one) => one.endsWith(' o1101'))).toEqual([])
    expect(late.filter((one) => one.endsWith(' o1'))).toEqual(['added o1', 'updated o1'])
  })

  it('hear nothing more after they stop', async () => {
    const server = new ModelServer()
    const { cache, clock } = start(server)
    await clock.advance(1)
    const heard: string[] = []
    const stop = cache.subscribe((event) => heard.push(event.type))
    stop()
    server.put('a')
    await clock.advance(1)
    expect(heard).toEqual([])
  })
})
