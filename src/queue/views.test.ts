import { describe, expect, test } from 'vitest'
import { type CacheStats, type KubeClient, type KubeObject, type ListOptions, resources } from '../kube/index.ts'
import { behindView, staleView } from './views.ts'

const healthy: CacheStats = {
  isConnected: true,
  isSynced: true,
  reconnects: 0,
  relists: 0,
  events: 1,
  failuresInARow: 0,
  lastEventAgeMs: 5_000,
  lastContactAgeMs: 5_000,
  isCatchingUp: false,
  position: '900',
  lastError: undefined,
  objects: 2,
}
const never = new AbortController().signal
const silent = { lastContactAgeMs: 61_000 } as const
const node = (name: string, resourceVersion: string, uid = name): KubeObject => ({
  metadata: { name, uid, resourceVersion },
})

describe('a view', () => {
  test.for([
    ['that was heard of lately is good', {}, undefined],
    ['that was cut a moment ago is good', { isConnected: false, lastContactAgeMs: 60_000 }, undefined],
    [
      'that was cut and not heard of for a minute is too old',
      { isConnected: false, lastContactAgeMs: 61_400 },
      'the view of nodes is 61 s old: the API server does not answer',
    ],
    [
      'that nobody ever heard of is too old',
      { isConnected: false, lastContactAgeMs: undefined },
      'the view of nodes is of unknown age: the API server does not answer',
    ],
    ['without its first list is not complete', { isSynced: false }, 'the view of nodes is not complete yet'],
    ['that is silent but connected is not judged without asking', silent, undefined],
  ] as const)('%s', ([, stats, expected]) => {
    expect(staleView({ nodes: { stats: () => ({ ...healthy, ...stats }) } })).toBe(expected)
  })

  test('of several the one that is too old is named', () => {
    const old = { stats: () => ({ ...healthy, ...silent, isConnected: false }) }
    expect(staleView({ nodes: { stats: () => healthy }, requests: old })).toMatch(/^the view of requests is 61 s old/)
  })
})

describe('right before a claim', () => {
  const ask = async (
    stats: Partial<CacheStats> | (() => Partial<CacheStats>),
    stored: readonly KubeObject[] | Error,
    known = [node('a', '7'), node('b', '9')],
  ) => {
    const asked: ListOptions[] = []
    const client: Pick<KubeClient, 'list'> = {
      async *list<T>(_resource: unknown, options: ListOptions = {}) {
        asked.push(options)
        if (stored instanceof Error) throw stored
        yield { items: stored as readonly T[], resourceVersion: '1000' }
      },
    }
    const cache = {
      selection: { resource: resources.nodes },
      size: known.length,
      get: ({ name }: { readonly name: string }) => known.find(({ metadata }) => metadata.name === name),
      stats: () => ({ ...healthy, ...(typeof stats === 'function' ? stats() : stats) }),
    }
    const clock = { sleep: () => Promise.resolve() }
    const { stale: answer, wasAsked } = await behindView({ client, clock }, { nodes: cache }, never)
    expect(wasAsked).toBe(asked.length > 0)
    return { answer, asked }
  }
  const still = 'the view of nodes is 61 s old: its watch stands still'

  test('nothing is asked about a view that was heard of within a minute', async () => {
    expect(await ask({ lastContactAgeMs: 60_000 }, new Error('not to be asked'))).toEqual({
      answer: undefined,
      asked: [],
    })
  })

  test('a silent view is held against what is stored, by one small question', async () => {
    const { answer, asked } = await ask(silent, [node('a', '7'), node('b', '9')])
    expect(answer).toBeUndefined()
    expect(asked).toEqual([expect.objectContaining({ answer: 'metadata' })])
  })

  test.for([
    ['an object has changed', [node('a', '7'), node('b', '10')], still],
    ['an object is new', [node('a', '7'), node('b', '9'), node('c', '11')], still],
    ['an object is gone', [node('a', '7')], still],
    ['another one has its name', [node('a', '7'), node('b', '9', 'other')], still],
    ['all are gone', [], still],
    ['the server does not answer', new Error('no answer'), 'the view of nodes is 61 s old: no answer'],
  ] as const)('it is stale when %s', async ([, stored, expected]) => {
    expect((await ask(silent, stored)).answer).toBe(expected)
  })

  test('a view that is heard of again is behind until it knows all that is stored', async () => {
    let looks = 0
    const stats = () => {
      looks++
      return looks < 2 ? silent : { lastContactAgeMs: 0, position: looks < 9 ? '999' : '1000' }
    }
    const { answer, asked } = await ask(stats, [node('a', '8')])
    expect(answer).toBeUndefined()
    expect(asked.length).toBeGreaterThan(2)
  })

  const catching = { lastContactAgeMs: 0, isCatchingUp: true } as const
  test.for([
    ['that has caught up by now is good', { ...catching, position: '1000' }, undefined],
    ['that is as good as what is stored is good', catching, undefined, [node('a', '7'), node('b', '9')]],
    [
      'that does not catch up is stale',
      { ...catching, position: '999' },
      'the view of nodes was silent for long and has not caught up yet',
    ],
  ] as const)('a view after a long silence %s', async ([, stats, expected, stored = [node('a', '8')]]) => {
    const { answer, asked } = await ask(stats, stored)
    expect(answer).toBe(expected)
    expect(asked.length).toBeGreaterThan(0)
  })

  test('nobody who is told to stop hears of a stale view', async () => {
    const stop = new AbortController()
    const client: Pick<KubeClient, 'list'> = {
      async *list() {
        yield { items: [], resourceVersion: '1' }
        stop.abort(new Error('stopped'))
        throw new Error('cut')
      },
    }
    const cache = {
      selection: { resource: resources.nodes },
      size: 0,
      get: () => undefined,
      stats: () => ({ ...healthy, ...silent }),
    }
    await expect(
      behindView({ client, clock: { sleep: () => Promise.resolve() } }, { nodes: cache }, stop.signal),
    ).rejects.toThrow('stopped')
  })
})
