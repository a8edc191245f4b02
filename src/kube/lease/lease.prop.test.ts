import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FakeClock } from '../../time/fake-clock.ts'
import type { Clock } from '../../time/index.ts'
import { FakeLeaseServer, type Fate } from './fake-lease-server.ts'
import type { LeaderTerm } from './leader-term.ts'
import { runAsLeader } from './lease.ts'
import { releasedAnnotation } from './lease-record.ts'

const hour = 3_600_000
const start = Date.UTC(2026, 0, 1)

interface Machine {
  /** How wrong its wall clock is. */
  readonly skewMs: number
  /** How fast its clocks run; the lease's margin has to cover the difference. */
  readonly speed: number
}

function machineClock(base: FakeClock, { skewMs, speed }: Machine): Clock {
  return {
    now: () => start + (base.now() - start) * speed + skewMs,
    monotonic: () => base.monotonic() * speed,
    sleep: (ms, signal) => base.sleep(ms / speed, signal),
  }
}

type Hand = 'none' | 'delete' | 'empty the holder' | 'lower the token' | 'shorten the duration' | 'restart a candidate'

interface Phase {
  readonly lastsMs: number
  /** Out of 100 requests, how many go wrong. */
  readonly faults: number
  readonly slowestMs: number
  readonly hand: Hand
  /** Nothing of the present leader's gets through. */
  readonly isLeaderCutOff: boolean
}

const calm: Phase = { lastsMs: 0, faults: 0, slowestMs: 10, hand: 'none', isLeaderCutOff: false }

/** All randomness of one run from one number, so that a failing run can be repeated. */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

class World {
  readonly clock = new FakeClock(start)
  readonly server = new FakeLeaseServer()
  readonly breaches: string[] = []
  readonly terms: LeaderTerm[] = []
  readonly #random: () => number
  readonly #candidates: { readonly machine: Machine; stop: AbortController; done: Promise<void> }[]
  #phase = calm
  #leader: Machine | undefined
  #cutOff: Machine | undefined

  constructor(machines: readonly Machine[], random: () => number) {
    this.#random = random
    this.server.create({ metadata: { name: 'l', namespace: 'n', annotations: { [releasedAnnotation]: '0' } } })
    this.#candidates = machines.map((machine) => ({ machine, ...this.#start(machine) }))
  }

  async pass(phase: Phase): Promise<void> {
    this.#phase = phase
    this.#cutOff = phase.isLeaderCutOff ? this.#leader : undefined
    this.#act(phase.hand)
    await this.clock.advance(phase.lastsMs)
  }

  async stop(): Promise<void> {
    for (const candidate of this.#candidates) candidate.stop.abort()
    await this.clock.advance(60_000)
    await Promise.all(this.#candidates.map((candidate) => candidate.done))
  }

  #start(machine: Machine): { stop: AbortController; done: Promise<void> } {
    const stop = new AbortController()
    return { stop, done: this.#candidate(machine, stop.signal) }
  }

  async #candidate(machine: Machine, signal: AbortSignal): Promise<void> {
    const random = this.#random
    const client = this.server.client(
      () => this.clock.sleep(random() * this.#phase.slowestMs),
      () => this.#fate(machine),
    )
    const clock = machineClock(this.clock, machine)
    const lease = { namespace: 'n', name: 'l' }
    // Less margin than by default: just enough for the difference in speed.
    const options = { client, clock, random, lease, identity: 'candidate', signal, leaseDurationMs: 12_000 }
    // Work that throws ends the candidacy; a supervisor would start the process again.
    while (!signal.aborted) await runAsLeader(options, (term) => this.#work(machine, term)).catch(() => undefined)
  }

  /** Some work gives up by itself, some needs time to wind up. */
  async #work(machine: Machine, term: LeaderTerm): Promise<void> {
    this.#check(term)
    this.#leader = machine
    const ended = new Promise<void>((resolve) => term.signal.addEventListener('abort', () => resolve(), { once: true }))
    const givesUp = this.#random() < 0.1
    await Promise.race([ended, givesUp ? this.clock.sleep(this.#random() * 20_000) : ended])
    if (!term.signal.aborted) throw new Error('gave up')
    await this.clock.sleep(this.#random() * 3_000)
  }

  /** An overlap of two terms would begin when the later one begins, so looking at these moments is enough. */
  #check(term: LeaderTerm): void {
    for (const other of this.terms) {
      if (other.isSafe()) this.breaches.push(`terms ${other.token} and ${term.token} are both safe`)
      if (other.token >= term.token) this.breaches.push(`token ${term.token} follows ${other.token}`)
    }
    if (term.isSafe()) this.terms.push(term)
  }

  #fate(machine: Machine): Fate {
    if (machine === this.#cutOff) return 'hangs'
    if (this.#random() * 100 >= this.#phase.faults) return 'answered'
    const fates: readonly Fate[] = ['lost before', 'answer lost', 'hangs', 'hangs after storing']
    return fates[Math.floor(this.#random() * fates.length)] ?? 'answered'
  }

  #act(hand: Hand): void {
    const edit = (spec: object) => this.server.edit((lease) => ({ ...lease, spec: { ...lease.spec, ...spec } }))
    if (hand === 'delete') this.server.lease = undefined
    else if (hand === 'empty the holder') edit({ holderIdentity: '' })
    else if (hand === 'lower the token') edit({ leaseTransitions: 1 })
    else if (hand === 'shorten the duration') edit({ leaseDurationSeconds: 1 })
    else if (hand === 'restart a candidate') this.#restart(Math.floor(this.#random() * this.#candidates.length))
  }

  #restart(index: number): void {
    const candidate = this.#candidates[index]
    if (!candidate) return
    candidate.stop.abort()
    Object.assign(candidate, this.#start(candidate.machine))
  }
}

const phaseWith = (...hands: readonly Hand[]): fc.Arbitrary<Phase> =>
  fc.record({
    lastsMs: fc.integer({ min: 100, max: 40_000 }),
    faults: fc.constantFrom(0, 0, 10, 60),
    slowestMs: fc.constantFrom(0, 50, 500, 4_000),
    hand: fc.constantFrom<Hand>('none', 'restart a candidate', ...hands),
    isLeaderCutOff: fc.boolean(),
  })

const machinesWith = (skewMs: number): fc.Arbitrary<Machine[]> =>
  fc.array(
    fc.record({
      skewMs: fc.integer({ min: -skewMs, max: skewMs }),
      speed: fc.double({ min: 0.95, max: 1.05, noNaN: true }),
    }),
    { minLength: 2, maxLength: 4 },
  )

async function hold(machines: Machine[], phases: Phase[], seed: number): Promise<void> {
  const world = new World(machines, randomFrom(seed))
  for (const phase of phases) await world.pass(phase)
  let isLed = false
  for (let second = 0; second < 40; second++) {
    await world.pass({ ...calm, lastsMs: 1_000 })
    isLed ||= world.terms.some((term) => term.isSafe())
  }
  expect(world.breaches).toEqual([])
  expect(isLed).toBe(true)
  await world.stop()
}

test('never two leaders, ever higher tokens, and a leader again after the faults, with clocks wrong by hours', async () => {
  const property = fc.asyncProperty(
    machinesWith(10 * hour),
    fc.array(phaseWith('empty the holder', 'shorten the duration'), { minLength: 1, maxLength: 8 }),
    fc.integer(),
    hold,
  )
  await fc.assert(property, { numRuns: 60 })
})

test('the same when the Lease is deleted or its token lowered, with clocks wrong by seconds', async () => {
  const property = fc.asyncProperty(
    machinesWith(3_000),
    fc.array(phaseWith('delete', 'lower the token', 'empty the holder'), { minLength: 1, maxLength: 8 }),
    fc.integer(),
    hold,
  )
  await fc.assert(property, { numRuns: 60 })
})
