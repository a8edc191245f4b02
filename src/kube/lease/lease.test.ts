import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../time/fake-clock.ts'
import type { CacheHandler } from '../cache/subscriber.ts'
import type { Lease } from '../kinds.ts'
import { FakeLeaseServer, type Fate } from './fake-lease-server.ts'
import type { LeaderTerm } from './leader-term.ts'
import { type LeaderEvent, type LeaderOptions, runAsLeader } from './lease.ts'
import { releasedAnnotation } from './lease-record.ts'
import { LeaseWitness } from './lease-witness.ts'

/** The Lease as a chart installs it: free from the first second. */
function installed(): FakeLeaseServer {
  const server = new FakeLeaseServer()
  server.create({ metadata: { name: 'fettle', namespace: 'fettle', annotations: { [releasedAnnotation]: '0' } } })
  return server
}

/** What a cache tells of Leases. */
class Watch {
  readonly #handlers: CacheHandler<Lease>[] = []

  subscribe(handler: CacheHandler<Lease>): () => void {
    this.#handlers.push(handler)
    return () => undefined
  }

  show(object: Lease): void {
    for (const handler of this.#handlers) handler({ type: 'added', object })
  }
}

function candidate(server: FakeLeaseServer, clock: FakeClock, options: Partial<LeaderOptions> = {}) {
  const stop = new AbortController()
  const terms: LeaderTerm[] = []
  const events: LeaderEvent[] = []
  const state: { fate: Fate; delayMs: number } = { fate: 'answered', delayMs: 0 }
  const run = runAsLeader(
    {
      client: server.client(
        () => (state.delayMs > 0 ? clock.sleep(state.delayMs) : Promise.resolve()),
        () => state.fate,
      ),
      clock,
      random: () => 0,
      lease: { namespace: 'fettle', name: 'fettle' },
      identity: 'a',
      signal: stop.signal,
      onEvent: (event) => events.push(event),
      ...options,
    },
    (term) => {
      terms.push(term)
      return new Promise((resolve) => term.signal.addEventListener('abort', () => resolve(), { once: true }))
    },
  )
  return { stop, terms, events, state, run, term: () => terms.at(-1) }
}

describe('becoming the leader', () => {
  test('an installed Lease is taken at once', async () => {
    const [server, clock] = [installed(), new FakeClock(Date.UTC(2026, 0, 1))]
    const a = candidate(server, clock)
    await clock.advance(0)
    expect(a.term()?.isSafe()).toBe(true)
    expect(server.lease?.spec).toEqual({
      holderIdentity: 'a_00000000',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseTransitions: a.term()?.token,
    })
  })

  test('an absent Lease is created at once, but taken only after a lease duration: a leader may not know yet', async () => {
    const [server, clock] = [new FakeLeaseServer(), new FakeClock()]
    const a = candidate(server, clock)
    await clock.advance(14_999)
    expect(server.lease?.spec?.holderIdentity).toBe('')
    expect(a.terms).toEqual([])
    await clock.advance(1)
    expect(a.term()?.isSafe()).toBe(true)
  })

  test('a Lease that came and went between two looks is not mistaken for one that was never there', async () => {
    const [server, clock] = [new FakeLeaseServer(), new FakeClock()]
    const a = candidate(server, clock)
    const b = candidate(server, clock, { identity: 'b', random: () => 0.5 })
    await clock.advance(15_000)
    expect(a.term()?.isSafe()).toBe(true)
    server.lease = undefined
    await clock.advance(2_999)
    expect([a.term()?.isSafe(), b.terms.length]).toEqual([true, 0])
    await clock.advance(12_000)
    expect([a.terms.length, b.terms.length]).toEqual([1, 0])
  })

  test('only one of two leads, and the other takes over when the first falls silent', async () => {
    const [server, clock] = [installed(), new FakeClock()]
    const a = candidate(server, clock)
    await clock.advance(0)
    const b = candidate(server, clock, { identity: 'b' })
    await clock.advance(120_000)
    expect([a.terms.length, b.terms.length]).toEqual([1, 0])
    a.state.fate = 'hangs'
    await clock.advance(30_000)
    expect(a.term()?.isSafe()).toBe(false)
    expect(b.term()?.isSafe()).toBe(true)
    expect(b.term()?.token).toBeGreaterThan(a.term()?.token ?? 0)
  })

  test('whoever has watched the Lease before need not watch it anew: only what is still the same counts', async () => {
    const [server, clock] = [installed(), new FakeClock()]
    const watch = new Watch()
    const witness = new LeaseWitness(watch, { namespace: 'fettle', name: 'fettle' }, clock)
    const a = candidate(server, clock)
    await clock.advance(3_001)
    watch.show(server.get())
    a.state.fate = 'lost before'
    await clock.advance(10_000)
    const b = candidate(server, clock, { identity: 'b', witness })
    await clock.advance(4_999)
    expect(b.terms).toEqual([])
    await clock.advance(1_001)
    expect([a.term()?.isSafe(), b.term()?.isSafe()]).toEqual([false, true])
  })

  test('a watch that stands still is no witness: a Lease that was renewed meanwhile is waited for from the first look on', async () => {
    const [server, clock] = [installed(), new FakeClock()]
    const watch = new Watch()
    const witness = new LeaseWitness(watch, { namespace: 'fettle', name: 'fettle' }, clock)
    const a = candidate(server, clock)
    await clock.advance(0)
    watch.show(server.get())
    watch.show({ metadata: { namespace: 'fettle', name: 'another' } })
    await clock.advance(60_000)
    a.state.fate = 'hangs'
    const b = candidate(server, clock, { identity: 'b', witness })
    await clock.advance(14_999)
    expect(b.terms).toEqual([])
    await clock.advance(1)
    expect(b.term()?.isSafe()).toBe(true)
  })

  test('whoever takes it is told from whom, unless it was given back', async () => {
    const [server, clock] = [installed(), new FakeClock()]
    const takenFrom = ({ events }: ReturnType<typeof candidate>) =>
      events.flatMap((event) => (event.type === 'acquired' ? [event.before] : []))
    const a = candidate(server, clock)
    await clock.advance(0)
    const b = candidate(server, clock, { identity: 'b' })
    a.state.fate = 'hangs'
    await clock.advance(30_000)
    b.stop.abort()
    await clock.advance(1_000)
    const c = candidate(server, clock, { identity: 'c' })
    await clock.advance(1_000)
    expect([takenFrom(a), takenFrom(b), takenFrom(c)]).toEqual([[''], ['a_00000000'], ['']])
  })

  test('who waits is told for whom: once, and again when it is somebody else, or after trouble', async () => {
    const [server, clock] = [installed(), new FakeClock()]
    candidate(server, clock)
    await clock.advance(0)
    const b = candidate(server, clock, { identity: 'b' })
    const told = () => b.events.map((event) => (event.type === 'waits' ? `waits for ${event.holder}` : event.type))
    await clock.advance(60_000)
    expect(told()).toEqual(['waits for a_00000000'])
    b.state.fate = 'lost before'
    await clock.advance(3_000)
    b.state.fate = 'answered'
    await clock.advance(3_000)
    expect(told().slice(1)).toEqual(['trouble', 'waits for a_00000000'])
    server.edit((lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: 'c_1' } }))
    await clock.advance(6_000)
    expect(told().slice(3)).toEqual(['waits for c_1'])
  })

  test('a Lease that nobody has, and nobody gave back, is waited for as well', async () => {
    const clock = new FakeClock()
    const a = candidate(new FakeLeaseServer(), clock)
    await clock.advance(10_000)
    expect(a.events).toEqual([{ type: 'waits', holder: '' }])
  })

  test('a label that changes all the time is no sign of life', async () => {
    const [server, clock] = [installed(), new FakeClock()]
    const a = candidate(server, clock)
    await clock.advance(0)
    const b = candidate(server, clock, { identity: 'b' })
    a.state.fate = 'hangs'
    for (let second = 0; second < 20; second++) {
      server.edit((lease) => ({ ...lease, metadata: { ...lease.metadata, labels: { touched: String(second) } } }))
      await clock.advance(1_000)
    }
    expect(b.term()?.isSafe()).toBe(true)
  })

  test('times that leave no margin are refused', async () => {
    const [server, clock] = [installed(), new FakeClock()]
    const { run } = candidate(server, clock, { renewDeadlineMs: 15_000, leaseDurationMs: 15_000 })
    await expect(run).rejects.toThrow('2 × renewEvery ≤ renewDeadline < leaseDuration')
  })
})

describe('ceasing to be the leader', () => {
  test('the term ends renewDeadline after the last good renewal was sent, though the request still hangs', async () => {
    const [server, clock] = [installed(), new FakeClock()]
    const a = candidate(server, clock)
    await clock.advance(3_001)
    a.state.fate = 'hangs'
    await clock.advance(3_000 + 9_998 - 3_000)
    expect(a.term()?.isSafe()).toBe(true)
    await clock.advance(1)
    expect(a.term()?.signal.aborted).toBe(true)
    expect(() => a.term()?.assertStillLeader()).toThrow(/the term with token \d+ is over: no renewal succeeded in time/)
  })

  test('a slow answer does not lengthen the term: what counts is when the renewal was sent', async () => {
    const [server, clock] = [installed(), new FakeClock()]
    const a = candidate(server, clock)
    await clock.advance(2_999)
    a.state.delayMs = 1_600
    await clock.advance(3_500)
    a.state.fate = 'hangs'
    await clock.advance(13_000 - 6_500)
    expect(a.term()?.isSafe()).toBe(true)
    await clock.advance(1)
    expect(a.term()?.isSafe()).toBe(false)
  })

  test('a process that was frozen knows by the clock that its term is over, before any timer has run', async () => {
    const clock = new FakeClock()
    let suspendedMs = 0
    const frozen = {
      now: () => clock.now() + suspendedMs,
      monotonic: () => clock.monotonic(),
      sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal),
    }
    const a = candidate(installed(), clock, { clock: frozen })
    await clock.advance(0)
    expect(a.term()?.isSafe()).toBe(true)
    suspendedMs = 10_000
    expect(a.term()?.isSafe()).toBe(false)
    suspendedMs = 0
    expect(a.term()?.isSafe()).toBe(false)
  })

  test.each<readonly [string, (server: FakeLeaseServer) => void]>([
    ['taken', (server) => server.edit((lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: 'eve' } }))],
    ['emptied', (server) => server.edit((lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: '' } }))],
    [
      'given another token',
      (server) => server.edit((lease) => ({ ...lease, spec: { ...lease.spec, leaseTransitions: 7 } })),
    ],
    [
      'deleted',
      (server) => {
        server.lease = undefined
      },
    ],
  ])(
    'a Lease that a foreign hand has %s ends the term at the next renewal, and the next token is higher',
    async (_, hand) => {
      const [server, clock] = [installed(), new FakeClock()]
      const a = candidate(server, clock)
      await clock.advance(0)
      hand(server)
      await clock.advance(3_000)
      expect(a.terms[0]?.signal.aborted).toBe(true)
      await clock.advance(30_000)
      expect(a.terms).toHaveLength(2)
      expect(a.term()?.isSafe()).toBe(true)
      expect(a.terms[1]?.token).toBeGreaterThan(a.terms[0]?.token ?? 0)
      expect(server.lease?.spec?.leaseTransitions).toBe(a.terms[1]?.token)
    },
  )

  test('a foreign label or a lost answer does not end the term', async () => {
    const [server, clock] = [installed(), new FakeClock()]
    const a = candidate(server, clock)
    await clock.advance(0)
    server.edit((lease) => ({ ...lease, metadata: { ...lease.metadata, labels: { team: 'blue' } } }))
    await clock.advance(3_000)
    a.state.fate = 'answer lost'
    await clock.advance(4_000)
    a.state.fate = 'answered'
    await clock.advance(60_000)
    expect(a.terms).toHaveLength(1)
    expect(a.term()?.isSafe()).toBe(true)
    expect(server.lease?.metadata.labels).toEqual({ team: 'blue' })
  })
})

describe('stopping', () => {
  test('gives the Lease back, so that the next one starts at its next look', async () => {
    const [server, clock] = [installed(), new FakeClock()]
    const a = candidate(server, clock)
    await clock.advance(0)
    const b = candidate(server, clock, { identity: 'b' })
    await clock.advance(1_000)
    a.stop.abort()
    await a.run
    expect(server.lease?.spec?.holderIdentity).toBe('')
    await clock.advance(3_000)
    expect(b.term()?.isSafe()).toBe(true)
    b.stop.abort()
    await b.run
    expect(clock.sleeping).toBe(0)
  })

  test('without releaseOnStop the Lease runs out by itself', async () => {
    const [server, clock] = [installed(), new FakeClock()]
    const a = candidate(server, clock, { releaseOnStop: false })
    await clock.advance(0)
    a.stop.abort()
    await a.run
    expect(server.lease?.spec?.holderIdentity).toBe('a_00000000')
  })

  test('work that throws while leading gives the Lease back and fails the run', async () => {
    const [server, clock] = [installed(), new FakeClock()]
    const options: LeaderOptions = {
      client: server.client(
        () => Promise.resolve(),
        () => 'answered',
      ),
      clock,
      random: () => 0,
      lease: { namespace: 'fettle', name: 'fettle' },
      identity: 'a',
      signal: new AbortController().signal,
    }
    await expect(runAsLeader(options, () => Promise.reject(new Error('bug')))).rejects.toThrow('bug')
    expect(server.lease?.spec?.holderIdentity).toBe('')
  })
})
