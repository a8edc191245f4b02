import { afterEach, describe, expect, it, vi } from 'vitest'
import { FakeClock } from '../../time/fake-clock.ts'
import type { WatchEvent, WatchOptions } from '../door.ts'
import { ApiError } from '../errors.ts'
import { connect } from '../request/client.ts'
import { lines, type Reply, refusal, scriptedServer } from '../request/scripted-server.ts'
import type { KubeObject } from '../resource.ts'
import { nodes } from '../resources.ts'

const cleanups: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean()
})

const event = (type: string, name: string, resourceVersion = '1') => ({
  type,
  object: { metadata: { name, resourceVersion } },
})
const bookmark = (resourceVersion: string, annotations = {}) => ({
  type: 'BOOKMARK',
  object: { metadata: { resourceVersion, annotations } },
})
const error = (code: number, reason: string) => ({
  type: 'ERROR',
  object: { kind: 'Status', status: 'Failure', code, reason, message: 'the reason why' },
})

async function open(replies: readonly Reply[], options: Partial<WatchOptions> = {}, clock?: FakeClock) {
  const server = await scriptedServer(...replies)
  const client = connect(server.config, { component: 'test', ...(clock ? { clock } : {}) })
  cleanups.push(
    () => client.close(),
    () => server.close(),
  )
  const signal = options.signal ?? new AbortController().signal
  return { server, client, watch: client.watch(nodes, { ...options, signal }) }
}

async function collect(watch: AsyncIterable<WatchEvent<KubeObject>>) {
  const events: WatchEvent<KubeObject>[] = []
  let thrown: unknown
  try {
    for await (const one of watch) events.push(one)
  } catch (caught) {
    thrown = caught
  }
  return { events, thrown, code: thrown instanceof ApiError ? thrown.code : undefined }
}

describe('a watch', () => {
  it('asks for bookmarks and yields each event until the server ends it', async () => {
    const replies = [lines([event('ADDED', 'a'), event('MODIFIED', 'a'), event('DELETED', 'a'), bookmark('7')])]
    const { server, watch } = await open(replies, { resourceVersion: '5', timeoutSeconds: 300 })
    const { events, thrown } = await collect(watch)
    expect(thrown).toBeUndefined()
    expect(events.map((one) => one.type)).toEqual(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK'])
    expect(events[3]).toEqual({ type: 'BOOKMARK', resourceVersion: '7', initialEventsEnd: false })
    expect(server.seen[0]?.query.toString()).toBe(
      'watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=300',
    )
  })

  it('knows the bookmark that ends the initial events', async () => {
    const end = bookmark('9', { 'k8s.io/initial-events-end': 'true' })
    const { server, watch } = await open([lines([end])], { sendInitialEvents: true })
    expect((await collect(watch)).events[0]).toMatchObject({ initialEventsEnd: true })
    expect(server.seen[0]?.query.get('resourceVersionMatch')).toBe('NotOlderThan')
  })

  it('puts lines together that come in pieces', async () => {
    const text = `${JSON.stringify(event('ADDED', 'ü'))}\n`
    const bytes = Buffer.from(text)
    const inPieces: Reply = async (answer) => {
      answer.writeHead(200)
      for (const piece of [bytes.subarray(0, 40), bytes.subarray(40, 45), bytes.subarray(45)]) {
        answer.write(piece)
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      answer.end()
    }
    const { watch } = await open([inPieces])
    expect((await collect(watch)).events).toMatchObject([{ object: { metadata: { name: 'ü' } } }])
  })

  const faults: readonly [string, readonly (string | object)[], 'end' | 'cut', string][] = [
    ['an ERROR event with 410', [error(410, 'Expired')], 'end', 'Gone'],
    ['an ERROR event with 500', [error(500, 'InternalError')], 'end', 'Server'],
    ['a line that is not JSON', ['{"type":"ADDED", garbage\n'], 'end', 'BadResponse'],
    ['an event of an unknown type', [{ type: 'SURPRISE', object: {} }], 'end', 'BadResponse'],
    ['a stream that ends inside an event', ['{"type":"ADD'], 'end', 'Unreachable'],
    ['a connection that is cut', [event('ADDED', 'a')], 'cut', 'Unreachable'],
  ]
  for (const [name, texts, then, code] of faults) {
    it(`throws ${code} for ${name}`, async () => {
      const { watch } = await open([lines(texts, then)])
      expect((await collect(watch)).code).toBe(code)
    })
  }

  it('throws what the server says instead of opening', async () => {
    const { watch } = await open([refusal(410, 'Expired', 'too old resource version')])
    expect((await collect(watch)).code).toBe('Gone')
  })

  it('throws Stalled when no byte comes, and counts from the last byte', async () => {
    const clock = new FakeClock()
    const { watch } = await open([lines([event('ADDED', 'a')], 'stay')], { inactivityMs: 90_000 }, clock)
    const iterator = watch[Symbol.asyncIterator]()
    await clock.advance(0)
    await iterator.next()
    await clock.advance(60_000)
    const next = iterator.next().catch((caught: unknown) => caught)
    await clock.advance(89_000)
    await clock.advance(60_000)
    expect(await next).toMatchObject({ code: 'Stalled' })
  })

  it('throws Stalled when not even the headers come', async () => {
    const clock = new FakeClock()
    const { watch } = await open([() => undefined], { inactivityMs: 90_000 }, clock)
    const collected = collect(watch)
    await clock.advance(91_000)
    expect((await collected).code).toBe('Stalled')
  })

  it('throws the reason of the signal, and lets the socket go', async () => {
    const stop = new AbortController()
    let isClosed = false
    const stay: Reply = (answer, request) => {
      answer.on('close', () => {
        isClosed = true
      })
      setTimeout(() => stop.abort(new Error('enough')), 15)
      return lines([event('ADDED', 'a')], 'stay')(answer, request)
    }
    const { watch } = await open([stay], { signal: stop.signal })
    const collected = collect(watch)
    expect((await collected).thrown).toMatchObject({ message: 'enough' })
    await vi.waitFor(() => expect(isClosed).toBe(true), 5_000)
  })

  it('lets the socket go when the reader stops early', async () => {
    let isClosed = false
    const stay: Reply = (answer, request) => {
      answer.on('close', () => {
        isClosed = true
      })
      return lines([event('ADDED', 'a')], 'stay')(answer, request)
    }
    const { watch } = await open([stay])
    for await (const one of watch) {
      expect(one.type).toBe('ADDED')
      break
    }
    await vi.waitFor(() => expect(isClosed).toBe(true), 5_000)
  })
})
