import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../../time/fake-clock.ts'
import type { KubeObject } from '../resource.ts'
import { configMaps } from '../resources.ts'
import { ResourceCache } from './cache.ts'
import { ModelServer } from './model-server.ts'

type Step =
  | { readonly do: 'put'; readonly name: string; readonly colour: string }
  | { readonly do: 'remove' | 'replace' | 'removeUnseen'; readonly name: string }
  | { readonly do: 'bookmark' | 'compact' | 'toggleStreaming' | 'pageFault' }
  | { readonly do: 'cut'; readonly how: 'end' | 'Unreachable' | 'Gone' | 'Stalled' | 'BadResponse' | 'Server' }
  | { readonly do: 'wait'; readonly ms: number }

const name = fc.constantFrom('a', 'b', 'c', 'd', 'e')
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('put' as const), name, colour: fc.constantFrom('red', 'blue') }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom('remove' as const, 'replace' as const, 'removeUnseen' as const), name }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('bookmark' as const, 'compact' as const, 'toggleStreaming' as const, 'pageFault' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('cut' as const),
      how: fc.constantFrom('end', 'Unreachable', 'Gone', 'Stalled', 'BadResponse', 'Server'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.constantFrom(0, 1, 300, 5_000, 40_000) }),
  },
)

async function take(server: ModelServer, clock: FakeClock, one: Step): Promise<void> {
  switch (one.do) {
    case 'put':
      return server.put(one.name, { colour: one.colour })
    case 'remove':
      return server.remove(one.name)
    case 'replace':
      server.remove(one.name)
      return server.put(one.name)
    case 'removeUnseen':
      server.cut('Unreachable')
      server.remove(one.name)
      return server.compact()
    case 'bookmark':
      return server.bookmark()
    case 'compact':
      return server.compact()
    case 'toggleStreaming':
      server.canStream = !server.canStream
      return
    case 'pageFault':
      server.pageFaults.push('Gone')
      return
    case 'cut':
      return server.cut(one.how)
    case 'wait':
      return clock.advance(one.ms)
  }
}

/** What a reader knows who believes the events alone. Throws when an event contradicts the ones before. */
class Replay {
  readonly objects = new Map<string, KubeObject>()

  hear(event: { type: string; object: KubeObject; old?: KubeObject | undefined }): void {
    const key = event.object.metadata.name ?? ''
    const known = this.objects.get(key)
    if ((event.type === 'added') === (known !== undefined)) throw new Error(`${event.type} ${key} does not fit`)
    if (event.old !== known) throw new Error(`${event.type} ${key} has another old object`)
    if (known && known.metadata.uid !== event.object.metadata.uid) throw new Error(`${key} changed its uid`)
    if (known && version(event.object) < version(known)) throw new Error(`${key} went back in time`)
    if (event.type === 'updated' && version(event.object) === version(known)) throw new Error(`${key} did not change`)
    if (event.type === 'deleted') this.objects.delete(key)
    else this.objects.set(key, event.object)
  }
}

const version = (object: KubeObject | undefined) => Number(object?.metadata.resourceVersion)

const plain = (objects: Iterable<KubeObject>) =>
  [...objects].map((one) => `${one.metadata.name} ${one.metadata.uid} ${one.metadata.resourceVersion}`).sort()

describe('a cache under random changes, cuts, 410s and relists', () => {
  it('ends equal to the server, with indexes to match, and its events tell the same story', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 40 }),
        fc.boolean(),
        fc.infiniteStream(fc.double({ min: 0, max: 0.99, noNaN: true })),
        async (steps, canStream, jitter) => {
          const server = new ModelServer()
          server.canStream = canStream
          server.put('a')
          const clock = new FakeClock()
          const stop = new AbortController()
          const faults: unknown[] = []
          const replay = new Replay()
          const cache = new ResourceCache<KubeObject>({
            client: server,
            resource: configMaps,
            pageSize: 2,
            clock,
            random: () => jitter.next().value ?? 0,
            signal: stop.signal,
            indexes: { byColour: (object) => object.metadata.labels?.['colour'] },
          })
          cache.subscribe((event) => {
            try {
              replay.hear(event)
            } catch (fault) {
              faults.push(fault)
            }
          })
          for (const one of steps) await take(server, clock, one)
          server.pageFaults.length = 0
          await clock.advance(120_000)
          expect(faults).toEqual([])
          expect(cache.isSynced).toBe(true)
          expect(plain(cache.values())).toEqual(plain(server.objects.values()))
          expect(plain(replay.objects.values())).toEqual(plain(server.objects.values()))
          for (const colour of ['red', 'blue']) {
            const expected = [...server.objects.values()].filter((one) => one.metadata.labels?.['colour'] === colour)
            expect(plain(cache.byIndex('byColour', colour))).toEqual(plain(expected))
          }
          stop.abort()
          await cache.ended
        },
      ),
      { numRuns: 100 },
    )
  })
})
