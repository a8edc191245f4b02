import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../time/fake-clock.ts'
import { configMaps, deployments } from '../resources.ts'
import { ModelServer } from './model-server.ts'
import { SharedCaches, selectionKey } from './shared-caches.ts'
import { trimAny } from './trim.ts'

describe('shared caches', () => {
  const start = () => {
    const server = new ModelServer()
    const clock = new FakeClock()
    const stop = new AbortController()
    return { server, clock, stop, caches: new SharedCaches({ client: server, clock, signal: stop.signal }) }
  }

  it('hand out one cache per selection, started on first use', async () => {
    const { server, clock, caches } = start()
    expect(server.opens).toBe(0)
    const first = caches.of({ resource: configMaps })
    const second = caches.of({ resource: configMaps, indexes: { byName: (object) => object.metadata.name } })
    const other = caches.of({ resource: configMaps, namespace: 'shop' })
    expect(second).toBe(first)
    expect(other).not.toBe(first)
    await clock.advance(1)
    await caches.waitForSync(new AbortController().signal)
    expect(server.opens).toBe(2)
    server.put('a')
    await clock.advance(1)
    expect(first.byIndex('byName', 'a').length).toBe(1)
    expect([...caches.all().keys()]).toEqual(['v1/configmaps', 'v1/configmaps in shop'])
  })

  it('refuse a second opinion on trimming', () => {
    const { caches } = start()
    caches.of({ resource: configMaps })
    expect(() => caches.of({ resource: configMaps, trim: trimAny })).toThrow('another trim')
  })

  it('end all together', async () => {
    const { caches, clock, stop } = start()
    const cache = caches.of({ resource: configMaps })
    await clock.advance(1)
    stop.abort()
    await cache.ended
  })

  it('are keyed by everything that selects', () => {
    const selection = { resource: deployments, namespace: 'shop', labelSelector: 'app=x', fieldSelector: 'a=b' }
    expect(selectionKey(selection)).toBe('apps/v1/deployments in shop where app=x with a=b')
  })
})
