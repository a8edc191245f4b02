import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FakeClock } from '../../time/fake-clock.ts'
import { WorkOrder } from './work-order.ts'
import { WorkQueue } from './work-queue.ts'
import { TerminalError } from './work-retry.ts'

const key = fc.constantFrom('a/1', 'a/2', 'b/1', 'c/1')
const ms = fc.nat(3_000)

type Step =
  | { readonly do: 'add'; readonly key: string; readonly priority: number }
  | { readonly do: 'addAfter'; readonly key: string; readonly ms: number }
  | { readonly do: 'pass'; readonly ms: number }
  | {
      readonly do: 'succeed' | 'lookAgain' | 'fail' | 'failWithHint' | 'giveUp'
      readonly which: number
      readonly ms: number
    }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('add' as const), key, priority: fc.integer({ min: -1, max: 2 }) }),
  fc.record({ do: fc.constant('addAfter' as const), key, ms }),
  fc.record({ do: fc.constant('pass' as const), ms }),
  fc.record({ do: fc.constantFrom('succeed', 'lookAgain', 'fail', 'failWithHint', 'giveUp'), which: fc.nat(10), ms }),
)

interface Run {
  readonly key: string
  readonly end: (step: Step['do'], ms: number) => void
}

/**
 * A model beside the queue: per key the one wake-up that is pending and the moment the server asked to wait for.
 * A run may start only if its wake-up is due (never early), and takes it away; at the end none may be left (none lost).
 */
class Model {
  readonly clock = new FakeClock()
  readonly running: Run[] = []
  /** Collected, since the queue would take an assertion thrown in a handler for a failed run. */
  readonly breaches: string[] = []
  readonly #wakeUps = new Map<string, number>()
  readonly #notBefore = new Map<string, number>()
  readonly #concurrency: number
  readonly queue: WorkQueue

  constructor(concurrency: number, random: () => number) {
    this.#concurrency = concurrency
    this.queue = new WorkQueue({
      clock: this.clock,
      random,
      concurrency,
      onFailure: (failure) => {
        const { retryAfterMs } = failure.error as { retryAfterMs?: number }
        if (retryAfterMs !== undefined) this.#hold(failure.key, this.clock.now() + retryAfterMs)
        if (failure.retryInMs !== undefined) this.expect(failure.key, this.clock.now() + failure.retryInMs)
      },
    })
    this.queue.start((started) => this.#run(started))
  }

  get lost(): readonly string[] {
    return [...this.#wakeUps.keys()]
  }

  expect(wanted: string, at: number): void {
    const due = Math.max(at, this.#notBefore.get(wanted) ?? 0)
    this.#wakeUps.set(wanted, Math.min(due, this.#wakeUps.get(wanted) ?? Number.POSITIVE_INFINITY))
  }

  #hold(held: string, until: number): void {
    this.#notBefore.set(held, until)
    const wakeUp = this.#wakeUps.get(held)
    if (wakeUp !== undefined) this.#wakeUps.set(held, Math.max(wakeUp, until))
  }

  #run(started: string): Promise<{ requeueAfterMs: number } | undefined> {
    const dueAt = this.#wakeUps.get(started)
    if (this.running.some((run) => run.key === started)) this.breaches.push(`${started} runs beside itself`)
    if (this.running.length >= this.#concurrency) this.breaches.push(`${started} is one run too many`)
    if (dueAt === undefined) this.breaches.push(`${started} runs though nothing asked for it`)
    else if (dueAt > this.clock.now()) this.breaches.push(`${started} runs ${dueAt - this.clock.now()} ms early`)
    this.#wakeUps.delete(started)
    this.#notBefore.delete(started)
    return new Promise((resolve, reject) => {
      const end = (how: Step['do'], delayMs: number) => {
        this.running.splice(this.running.indexOf(run), 1)
        if (how === 'lookAgain') {
          this.expect(started, this.clock.now() + delayMs)
          resolve({ requeueAfterMs: delayMs })
        } else if (how === 'fail') reject(new Error('failed'))
        else if (how === 'failWithHint') reject(Object.assign(new Error('busy'), { retryAfterMs: delayMs + 1 }))
        else if (how === 'giveUp') reject(new TerminalError('given up'))
        else resolve(undefined)
      }
      const run: Run = { key: started, end }
      this.running.push(run)
    })
  }

  async take(next: Step): Promise<void> {
    if (next.do === 'pass') {
      await this.clock.advance(next.ms)
      this.#checkNoneIsLate()
    } else if (next.do === 'add') {
      this.expect(next.key, this.clock.now())
      this.queue.add(next.key, next)
    } else if (next.do === 'addAfter') {
      this.expect(next.key, this.clock.now() + next.ms)
      this.queue.addAfter(next.key, next.ms)
    } else {
      this.running[next.which % Math.max(1, this.running.length)]?.end(next.do, next.ms)
      // The handler's promise settles before anything else is asked, as a caller's next event would.
      await this.clock.advance(0)
    }
  }

  #checkNoneIsLate(): void {
    if (this.running.length >= this.#concurrency) return
    for (const [wanted, dueAt] of this.#wakeUps) {
      const isRunning = this.running.some((run) => run.key === wanted)
      if (!isRunning && dueAt <= this.clock.now()) this.breaches.push(`${wanted} waits though a worker is free`)
    }
  }

  async finish(): Promise<void> {
    for (let round = 0; round < 20; round++) {
      await this.clock.advance(400_000)
      for (const run of [...this.running]) run.end('succeed', 0)
    }
    await this.clock.advance(0)
  }
}

test('no wake-up is lost or early, and no key runs beside itself, whatever happens in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.integer({ min: 1, max: 3 }),
      fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })),
      async (steps, concurrency, randoms) => {
        const model = new Model(concurrency, () => randoms.next().value)
        for (const next of steps) await model.take(next)
        await model.finish()
        expect(model.breaches).toEqual([])
        expect(model.lost).toEqual([])
        expect(model.queue.metrics()).toMatchObject({ depth: 0, delayed: 0, inFlight: 0 })
      },
    ),
    { numRuns: 150 },
  )
})

const arrival = fc.record({
  group: fc.constantFrom('noisy', 'noisy', 'noisy', 'calm', 'third'),
  priority: fc.integer({ min: 0, max: 3 }),
  takes: fc.nat(2),
})

test('priority decides all picks but each n-th, and everyone starts within the promised number of picks', () => {
  fc.assert(
    fc.property(fc.array(arrival, { maxLength: 200 }), fc.integer({ min: 2, max: 8 }), (arrivals, patience) => {
      const order = new WorkOrder(patience)
      const waiting = new Map<string, { priority: number; group: string; bound: number; came: number }>()
      let picks = 0
      const take = () => {
        const highest = Math.max(...[...waiting.values()].map((item) => item.priority))
        const item = order.take()
        expect(item === undefined).toBe(waiting.size === 0)
        if (!item) return
        picks++
        if (picks % patience !== 0) expect(item.priority).toBe(highest)
        const known = waiting.get(item.key)
        expect(picks - (known?.came ?? 0)).toBeLessThanOrEqual(known?.bound ?? 0)
        waiting.delete(item.key)
      }
      for (const [index, { group, priority, takes }] of arrivals.entries()) {
        const older = [...waiting.values()].filter((item) => item.group === group).length
        waiting.set(String(index), { priority, group, bound: patience * 3 * (older + 1), came: picks })
        order.add({ key: String(index), group, priority, since: index })
        for (let i = 0; i < takes; i++) take()
      }
      while (waiting.size > 0) take()
    }),
    { numRuns: 200 },
  )
})

test('a noisy group cannot keep another of the same priority waiting for more than one round', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 5 }), (noise, calmKeys) => {
      const order = new WorkOrder(1_000_000)
      for (let i = 0; i < noise; i++) order.add({ key: `noisy/${i}`, group: 'noisy', priority: 0, since: i })
      for (let i = 0; i < calmKeys; i++) order.add({ key: `calm/${i}`, group: 'calm', priority: 0, since: noise + i })
      const taken = Array.from({ length: 2 * calmKeys }, () => order.take()?.group)
      expect(taken.filter((group) => group === 'calm').length).toBeGreaterThanOrEqual(calmKeys - 1)
    }),
  )
})
