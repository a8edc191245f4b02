import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Blocker } from '../../api/index.ts'
import { type ReadSecretKey, Secret } from '../../kube/index.ts'
import { FakeClock } from '../../time/fake-clock.ts'
import { node, request } from '../fixture-world.ts'
import { BlockerBoard, type Candidate } from './blocker-board.ts'

type Reply = (answer: ServerResponse, incoming: IncomingMessage) => void

/** The user's side of a hook, or a stand-in for Prometheus. Counts who asked. */
async function listen(reply: Reply): Promise<{ readonly url: string; readonly seen: string[] }> {
  const seen: string[] = []
  const server = createServer((incoming, answer) => {
    seen.push(`${incoming.method} ${new URL(incoming.url ?? '', 'http://here').pathname}`)
    reply(answer, incoming)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen }
}

const saying =
  (body: () => unknown): Reply =>
  (answer) =>
    answer.end(JSON.stringify(body()))
const noAlerts = { status: 'success', data: { resultType: 'vector', result: [] } }

const hookAt = (url: string, more: Partial<NonNullable<Blocker['hook']>> = {}): Blocker => ({
  name: 'board',
  hook: { url, deadline: '5s', ...more },
})
const alertsAt = (url: string): Blocker => ({ name: 'calm', alerts: { url, firingOnly: false, deadline: '5s' } })
const candidate = (name: string): Candidate => ({ node: node(name), request: request(`r-${name}`, name) })
const [a, b] = [candidate('a'), candidate('b')]
const never = new AbortController().signal

function boardAt(
  clock: FakeClock,
  readToken: ReadSecretKey = () => Promise.resolve('nothing is stored'),
): BlockerBoard {
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  return new BlockerBoard({ clock, random: () => 0, readToken, signal: stop.signal })
}

const verdict = (board: BlockerBoard, blocker: Blocker, { node, request }: Candidate) =>
  board.answer(blocker, node, request)

describe('what was answered', () => {
  test('with yes is used for ten seconds, and then asked anew', async () => {
    const clock = new FakeClock()
    const board = boardAt(clock)
    const { url, seen } = await listen(saying(() => ({ allow: true })))
    const hook = hookAt(url)
    expect(verdict(board, hook, a)).toBe('unasked')
    await board.ask([a], [hook], never)
    expect(verdict(board, hook, a)).toBeUndefined()
    // Nothing waits for a yes.
    expect(board.nextChangeMs()).toBeUndefined()
    await clock.advance(9_999)
    await board.ask([a], [hook], never)
    expect(verdict(board, hook, a)).toBeUndefined()
    expect(seen).toHaveLength(1)
    await clock.advance(1)
    expect(verdict(board, hook, a)).toBe('unasked')
    await board.ask([a], [hook], never)
    expect(seen).toEqual(['POST /', 'POST /'])
  })

  test('with no is asked again, calmly', async () => {
    const clock = new FakeClock()
    const board = boardAt(clock)
    let allow = false
    const { url, seen } = await listen(saying(() => ({ allow, message: 'not today' })))
    const hook = hookAt(url)
    await board.ask([a], [hook], never)
    expect(board.nextChangeMs()).toBe(30_000)
    allow = true
    await clock.advance(29_999)
    await board.ask([a], [hook], never)
    expect(verdict(board, hook, a)).toMatchObject({ message: 'blocker board: not today' })
    expect(seen).toHaveLength(1)
    await clock.advance(1)
    expect(verdict(board, hook, a)).toBe('unasked')
    await board.ask([a], [hook], never)
    expect(verdict(board, hook, a)).toBeUndefined()
  })

  test('with no wakes nobody once no decision looks at it', async () => {
    const clock = new FakeClock()
    const board = boardAt(clock)
    const { url } = await listen(saying(() => ({ allow: false })))
    // So many that the next question is far away.
    const many = Array.from({ length: 200 }, (_, index) => candidate(`n${index}`))
    for (let round = 0; round < 10; round++) await board.ask(many, [hookAt(url)], never)
    await board.ask([a], [hookAt(url)], never)
    expect(board.nextChangeMs()).toBeLessThanOrEqual(30_000)
    await clock.advance(60_000)
    expect(board.nextChangeMs()).toBeUndefined()
    verdict(board, hookAt(url), a)
    expect(board.nextChangeMs()).toBe(200 * 500 - 60_000)
  })

  test('about alerts holds for every node, about a hook for one node and request', async () => {
    const board = boardAt(new FakeClock())
    const prometheus = await listen(saying(() => noAlerts))
    const hook = await listen(saying(() => ({ allow: true })))
    const blockers = [alertsAt(`${prometheus.url}/prefix/`), hookAt(hook.url)]
    await board.ask([a, b, { ...a, request: request('other', 'a') }], blockers, never)
    expect(prometheus.seen).toEqual(['GET /prefix/api/v1/query'])
    expect(hook.seen).toHaveLength(3)
    for (const blocker of blockers) expect(verdict(board, blocker, b)).toBeUndefined()
  })

  test('is worth nothing after the blocker was edited, or for another node of the same name', async () => {
    const board = boardAt(new FakeClock())
    const { url } = await listen(saying(() => ({ allow: true })))
    await board.ask([a], [hookAt(url)], never)
    expect(verdict(board, hookAt(url), a)).toBeUndefined()
    expect(verdict(board, hookAt(url, { deadline: '6s' }), a)).toBe('unasked')
    const twin = { ...a, node: { ...a.node, metadata: { ...a.node.metadata, uid: 'another' } } }
    expect(verdict(board, hookAt(url), twin)).toBe('unasked')
  })
})

describe('a slow answer', () => {
  test('is not waited for, blocks until it comes, and then is told', async () => {
    const clock = new FakeClock()
    const board = boardAt(clock)
    const open: ServerResponse[] = []
    const { url } = await listen((answer) => open.push(answer))
    let told = 0
    const stop = board.subscribe(() => told++)
    const asking = board.ask([a], [hookAt(url)], never)
    await expect.poll(() => open.length).toBe(1)
    await clock.advance(1_000)
    await asking
    expect(verdict(board, hookAt(url), a)).toMatchObject({ message: 'blocker board has not answered yet' })
    // It is under way, and not asked twice.
    await board.ask([a], [hookAt(url)], never)
    expect(told).toBe(0)
    open[0]?.end('{"allow": true}')
    await expect.poll(() => told).toBe(1)
    expect(verdict(board, hookAt(url), a)).toBeUndefined()
    expect(open).toHaveLength(1)
    stop()
  })

  test('to a question asked again leaves the old no in place', async () => {
    const clock = new FakeClock()
    const board = boardAt(clock)
    let isSlow = false
    const { url, seen } = await listen((answer) => {
      if (!isSlow) answer.end('{"allow": false, "message": "not today"}')
    })
    await board.ask([a], [hookAt(url)], never)
    isSlow = true
    await clock.advance(30_000)
    const asking = board.ask([a], [hookAt(url)], never)
    await expect.poll(() => seen.length).toBe(2)
    await clock.advance(1_000)
    await asking
    expect(verdict(board, hookAt(url), a)).toMatchObject({ message: 'blocker board: not today' })
  })
})

describe('questions', () => {
  test('are none when nothing is in line, or nobody is to be asked', async () => {
    const board = boardAt(new FakeClock())
    const pods: Blocker = { name: 'p', pods: { selector: {}, onThisNode: true } }
    const { url, seen } = await listen(saying(() => ({ allow: true })))
    await board.ask([], [hookAt(url)], never)
    await board.ask([a], [pods], never)
    expect(seen).toEqual([])
  })

  test('are at most 24 at once, 8 side by side, and all come to their turn', async () => {
    const board = boardAt(new FakeClock())
    let [open, most] = [0, 0]
    const { url, seen } = await listen((answer) => {
      most = Math.max(most, ++open)
      setTimeout(() => {
        open--
        answer.end('{"allow": false}')
      }, 5)
    })
    const many = Array.from({ length: 60 }, (_, index) => candidate(`n${index}`))
    for (const expected of [24, 48, 60, 60]) {
      await board.ask(many, [hookAt(url)], never)
      expect(seen).toHaveLength(expected)
    }
    expect(most).toBeLessThanOrEqual(8)
  })

  test('are asked to the end for those who are first in line', async () => {
    const board = boardAt(new FakeClock())
    const { url } = await listen(saying(() => ({ allow: true })))
    const hooks = [hookAt(url), { ...hookAt(url), name: 'second' }]
    const many = Array.from({ length: 24 }, (_, index) => candidate(`n${index}`))
    await board.ask(many, hooks, never)
    const isAsked = many.map((one) => hooks.every((hook) => verdict(board, hook, one) !== 'unasked'))
    expect(isAsked).toEqual([...Array(12).fill(true), ...Array(12).fill(false)])
  })

  test('that would be too many wait without being asked', async () => {
    const clock = new FakeClock()
    const board = boardAt(clock)
    const { url, seen } = await listen(() => undefined)
    const many = Array.from({ length: 24 }, (_, index) => candidate(`n${index}`))
    const asking = board.ask(many, [hookAt(url)], never)
    await expect.poll(() => seen.length).toBe(8)
    expect(verdict(board, hookAt(url), a)).toMatchObject({ message: 'blocker board has not answered yet' })
    await board.ask([a], [hookAt(url)], never)
    await clock.advance(1_000)
    await asking
    expect(seen).toHaveLength(8)
  })

  test('end with the board', async () => {
    const stop = new AbortController()
    const clock = new FakeClock()
    const readToken = () => Promise.resolve('nothing is stored')
    const board = new BlockerBoard({ clock, random: () => 0, readToken, signal: stop.signal })
    let closed = 0
    const { url, seen } = await listen((_answer, { socket }) => socket.once('close', () => closed++))
    const asking = board.ask([a], [hookAt(url)], never)
    await expect.poll(() => seen.length).toBe(1)
    stop.abort(new Error('no longer leader'))
    await asking
    await expect.poll(() => closed).toBe(1)
    expect(verdict(board, hookAt(url), a)).toBe('unasked')
  })

  test('are not waited for by who is no longer interested', async () => {
    const board = boardAt(new FakeClock())
    const { url, seen } = await listen(() => undefined)
    const stop = new AbortController()
    const asking = board.ask([a], [hookAt(url)], stop.signal)
    await expect.poll(() => seen.length).toBe(1)
    stop.abort(new Error('the turn took too long'))
    await expect(asking).rejects.toThrow('the turn took too long')
  })
})

describe('no answer', () => {
  test('in time blocks', async () => {
    const clock = new FakeClock()
    const board = boardAt(clock)
    const { url, seen } = await listen((answer) => answer.write('{"allow"'))
    const asking = board.ask([a], [hookAt(url, { deadline: '2s' })], never)
    await expect.poll(() => seen.length).toBe(1)
    await clock.advance(2_000)
    await asking
    await expect.poll(() => clock.sleeping).toBe(0)
    expect(verdict(board, hookAt(url, { deadline: '2s' }), a)).toMatchObject({
      message: `blocker board cannot be judged: ${url} gave no answer within 2 s`,
    })
  })

  test.for([
    ['a redirect', (answer) => answer.writeHead(302, { location: '/elsewhere' }).end(), 'redirects are not followed'],
    ['too much', (answer) => answer.end(`{"allow": true, "x": "${'x'.repeat(300_000)}"}`), 'more than 256 KiB'],
    [
      'half of it',
      (answer) => answer.writeHead(200, { 'content-length': 99 }).write('{"allow": true}', () => answer.destroy()),
      'cannot be asked: ECONNRESET',
    ],
    ['nothing', (answer) => answer.destroy(), 'cannot be asked: ECONNRESET'],
    ['another thing', (answer) => answer.end('yes'), 'answered 200 without {"allow": true}'],
    ['an error', (answer) => answer.writeHead(500).end('{"allow": true}'), 'answered 500 without'],
  ] satisfies readonly [string, Reply, string][])('but %s blocks', async ([, reply, message]) => {
    const board = boardAt(new FakeClock())
    const { url, seen } = await listen(reply)
    await board.ask([a], [hookAt(url)], never)
    expect(verdict(board, hookAt(url), a)).toMatchObject({ message: expect.stringContaining(message) })
    expect(seen).toHaveLength(1)
  })

  test('because of a fault of our own blocks, and is not tried again at once', async () => {
    const board = boardAt(new FakeClock(), () => Promise.reject(new RangeError('c4n4ry')))
    const hook = hookAt('http://127.0.0.1:1', { tokenSecretKey: 'hook' })
    await board.ask([a], [hook], never)
    expect(verdict(board, hook, a)).toMatchObject({ message: expect.stringMatching(/cannot be asked: RangeError$/) })
    expect(board.nextChangeMs()).toBe(30_000)
  })

  test('because nobody listens blocks', async () => {
    const board = boardAt(new FakeClock())
    const hook = hookAt('http://127.0.0.1:1')
    await board.ask([a], [hook], never)
    expect(verdict(board, hook, a)).toMatchObject({ message: expect.stringContaining('cannot be asked: ECONNREFUSED') })
  })
})

describe('a token', () => {
  const readToken: ReadSecretKey = (key) =>
    Promise.resolve(key === 'hook' ? new Secret('c4n4ry') : `Secret fettle/fettle-blockers has no key ${key}`)

  test('is sent, and masked where it comes back', async () => {
    const board = boardAt(new FakeClock(), readToken)
    const { url } = await listen((answer, { headers }) =>
      answer.end(JSON.stringify({ allow: false, message: `you sent ${headers.authorization}` })),
    )
    const hook = hookAt(url, { tokenSecretKey: 'hook' })
    await board.ask([a], [hook], never)
    expect(verdict(board, hook, a)).toMatchObject({ message: 'blocker board: you sent Bearer [redacted]' })
  })

  test('that is not there blocks, and nobody is asked', async () => {
    const board = boardAt(new FakeClock(), readToken)
    const { url, seen } = await listen(saying(() => ({ allow: true })))
    const hook = hookAt(url, { tokenSecretKey: 'other' })
    await board.ask([a], [hook], never)
    expect(verdict(board, hook, a)).toMatchObject({
      message: `blocker board cannot be judged: ${url} was not asked: Secret fettle/fettle-blockers has no key other`,
    })
    expect(seen).toEqual([])
  })
})
