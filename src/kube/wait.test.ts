import { describe, expect, test } from 'vitest'
import { FakeClock } from '../time/fake-clock.ts'
import type { KubeClient, WatchEvent } from './door.ts'
import { ApiError, type KubeErrorCode } from './errors.ts'
import type { KubeObject } from './resource.ts'
import { pods } from './resources.ts'
import { type WaitOptions, waitFor, waitUntilGone } from './wait.ts'

const ref = { name: 'p', namespace: 'shop' }

function pod(metadata: KubeObject['metadata'] = {}): KubeObject {
  return { metadata: { name: 'p', namespace: 'shop', uid: 'u1', ...metadata } }
}

function refusal(code: KubeErrorCode): ApiError {
  return new ApiError({ code, method: 'GET', path: '/pods', seen: 'as the test wanted' })
}

type Step = WatchEvent<KubeObject> | 'end' | 'hang' | KubeErrorCode

/** Each round of list and watch, as scripted; the last list is repeated for ever. */
function bench(
  rounds: readonly { readonly list: KubeObject | undefined | KubeErrorCode; readonly watch?: readonly Step[] }[],
) {
  const clock = new FakeClock()
  const stop = new AbortController()
  const asked: string[] = []
  const progress: string[] = []
  let round = -1
  async function* list(_: unknown, { fieldSelector }: { fieldSelector: string }) {
    round = Math.min(round + 1, rounds.length - 1)
    asked.push(`list ${fieldSelector}`)
    const answer = rounds[round]?.list
    if (typeof answer === 'string') throw refusal(answer)
    yield { items: answer ? [answer] : [], resourceVersion: `${round}` }
  }
  async function* watch(_: unknown, { resourceVersion }: { resourceVersion: string }) {
    asked.push(`watch ${resourceVersion}`)
    for (const step of rounds[round]?.watch ?? ['hang']) {
      await clock.sleep(100)
      if (step === 'end') return
      if (step === 'hang') await new Promise<never>(() => undefined)
      if (typeof step === 'string') throw refusal(step as KubeErrorCode)
      yield step
    }
  }
  const client = { list, watch } as unknown as Pick<KubeClient, 'list' | 'watch'>
  const options: WaitOptions = {
    clock,
    random: () => 0.999,
    signal: stop.signal,
    deadlineMs: 60_000,
    onProgress: (missing) => progress.push(missing),
  }
  return { clock, client, options, stop, asked, progress }
}

describe('waiting until an object is gone', () => {
  test.each<readonly [string, Parameters<typeof bench>[0]]>([
    ['it is not there', [{ list: undefined }]],
    ['another one has its name', [{ list: pod({ uid: 'u2' }) }]],
    ['its resource is gone', [{ list: 'NotFound' }]],
    [
      'it is deleted',
      [
        {
          list: pod(),
          watch: [
            { type: 'MODIFIED', object: pod() },
            { type: 'DELETED', object: pod() },
          ],
        },
      ],
    ],
    ['it was replaced', [{ list: pod(), watch: [{ type: 'ADDED', object: pod({ uid: 'u2' }) }] }]],
    ['the watch ended and it went meanwhile', [{ list: pod(), watch: ['end'] }, { list: undefined }]],
    ['the watch fell behind', [{ list: pod(), watch: ['Gone'] }, { list: undefined }]],
    ['the connection broke', [{ list: 'Unreachable' }, { list: pod(), watch: ['Stalled'] }, { list: undefined }]],
  ])('says so when %s', async (_, rounds) => {
    const { clock, client, options } = bench(rounds)
    const result = waitUntilGone(client, pods, ref, { ...options, uid: 'u1' })
    await clock.advance(10_000)
    expect(await result).toEqual({ outcome: 'gone' })
    await clock.advance(100)
    expect(clock.sleeping).toBe(0)
  })

  test.each([
    ['nobody deleted it', {}, 'Pod shop/p exists and nobody has deleted it'],
    [
      'finalizers hold it',
      { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a.dev/x', 'b.dev/y'] },
      'Pod shop/p is being deleted since 2026-01-01T00:00:00Z; waits for a.dev/x, b.dev/y',
    ],
    [
      'it takes its time',
      { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 30 },
      'Pod shop/p is being deleted since 2026-01-01T00:00:00Z with 30 s of grace; no finalizer holds it',
    ],
  ])('tells at the deadline what keeps it: %s', async (_, metadata: KubeObject['metadata'], reason) => {
    const { clock, client, options, progress } = bench([{ list: pod(metadata) }])
    const result = waitUntilGone(client, pods, ref, { ...options, uid: 'u1' })
    await clock.advance(60_000)
    const { finalizers = [], deletionTimestamp } = metadata
    expect(await result).toEqual({ outcome: 'kept', reason, finalizers, deletionTimestamp })
    expect(progress).toEqual([reason])
  })

  test('watches this object only, from where the list ended', async () => {
    const { clock, client, options, stop, asked } = bench([{ list: pod(), watch: ['end'] }, { list: pod() }])
    const result = waitUntilGone(client, pods, ref, { ...options, uid: 'any' })
    await clock.advance(5_000)
    stop.abort(new Error('stopped'))
    await expect(result).rejects.toThrow('stopped')
    expect(asked).toEqual(['list metadata.name=p', 'watch 0', 'list metadata.name=p', 'watch 1'])
  })

  test('gives up at once where waiting cannot help', async () => {
    const { client, options } = bench([{ list: 'Forbidden' }])
    await expect(waitUntilGone(client, pods, ref, { ...options, uid: 'u1' })).rejects.toMatchObject({
      code: 'Forbidden',
    })
  })

  test('an API server that is away until the deadline is what keeps the answer', async () => {
    const { clock, client, options } = bench([{ list: 'Unreachable' }])
    const result = waitUntilGone(client, pods, ref, { ...options, uid: 'u1' })
    await clock.advance(60_000)
    expect(await result).toMatchObject({ outcome: 'kept', reason: expect.stringContaining('its state cannot be read') })
  })
})

describe('waiting for a condition', () => {
  const labelled = (object: KubeObject | undefined) =>
    object === undefined ? 'it does not exist' : object.metadata.labels?.['ready'] === 'yes' || 'it is not labelled'

  test('sees the object appear and change, and tells what is missing until then', async () => {
    const done = pod({ labels: { ready: 'yes' } })
    const { clock, client, options, progress } = bench([
      {
        list: undefined,
        watch: [
          { type: 'ADDED', object: pod() },
          { type: 'MODIFIED', object: done },
        ],
      },
    ])
    const result = waitFor(client, pods, ref, labelled, options)
    await clock.advance(1_000)
    expect(await result).toEqual({ outcome: 'met', object: done })
    expect(progress).toEqual(['it does not exist', 'it is not labelled'])
  })

  test('a server that ends every watch at once is not asked in a hot loop', async () => {
    const { clock, client, options, asked } = bench([{ list: pod(), watch: ['end'] }])
    const result = waitFor(client, pods, ref, labelled, options)
    await clock.advance(60_000)
    expect(await result).toEqual({ outcome: 'deadline', missing: 'it is not labelled', object: pod() })
    expect(asked.length).toBeLessThan(25)
  })
})
