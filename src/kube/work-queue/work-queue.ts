import type { Clock } from '../../time/index.ts'
import { abortable, noLongerNeeded } from '../abortable.ts'
import { type BackoffOptions, backoffMs } from '../backoff.ts'
import { readFailure } from './work-retry.ts'
import { type ScheduledKey, WorkSchedule } from './work-schedule.ts'

export interface WorkQueueOptions {
  readonly clock: Clock
  /** In [0, 1), as Math.random. */
  readonly random: () => number
  /** Runs at the same time. Default 4. */
  readonly concurrency?: number
  /** Keys of one group share one turn in the round. Default: what stands before the first `/`. */
  readonly groupOf?: (key: string) => string
  /** Each n-th pick ignores priority, see WorkOrder for the bound that follows. Default 8. */
  readonly patience?: number
  /** Per key, between failed runs. Default 500 ms, doubling up to 5 minutes, half of it random. */
  readonly backoff?: BackoffOptions
  /** Aborts a run's signal after this long. The key stays taken until the handler really returns. Default: never. */
  readonly runDeadlineMs?: number
  /** Hears of each failed run. Must not throw. */
  readonly onFailure?: (failure: WorkFailure) => void
}

export interface AddOptions {
  /** Higher first. Default 0. */
  readonly priority?: number
}

export interface WorkContext {
  readonly signal: AbortSignal
  /** 1 for the first run since the last success. */
  readonly attempt: number
  readonly priority: number
}

/**
 * Reads the world anew and brings one key closer to what is wanted. Nothing returned: done until the next `add`.
 * Thrown: tried again with back-off, not before the error's `retryAfterMs` if it has one, and not at all if the error
 * says `doNotRequeue: true` (see TerminalError): then only a new `add` runs the key again.
 */
export type WorkHandler = (key: string, context: WorkContext) => Promise<LookAgain | undefined>

/** A successful run that wants to look again later. Priority 0 unless said. */
export interface LookAgain {
  readonly requeueAfterMs: number
  readonly priority?: number
}

export interface WorkFailure {
  readonly key: string
  readonly error: unknown
  readonly attempt: number
  /** Undefined when the error is terminal or the queue is closed. */
  readonly retryInMs: number | undefined
}

export interface WorkQueueMetrics {
  /** Ready and waiting for a worker. */
  readonly depth: number
  /** Waiting for their time. */
  readonly delayed: number
  readonly inFlight: number
  readonly oldestWaitingMs: number
  readonly retries: number
  readonly done: number
  readonly terminal: number
  readonly dropped: number
  /** Of all runs, those still going included. */
  readonly longestRunMs: number
}

export interface DrainResult {
  readonly dropped: number
  /** Keys whose handler ignored its aborted signal. */
  readonly unfinished: readonly string[]
}

interface Run {
  readonly key: string
  readonly priority: number
  readonly startedAt: number
  readonly abort: AbortController
}

const defaultBackoff = { firstMs: 500, longestMs: 300_000 }
/** What aborted handlers get to wind up in, before `drain` gives them up. */
const abortGraceMs = 1_000

/**
 * The queue of one controller: keys in, runs of the handler out. A key never runs twice at the same time, however
 * often it is added; added during its run, it runs once more afterwards. Everything is level-triggered: a run that
 * starts after an `add` answers it, so adds may be merged but are never lost.
 */
export class WorkQueue {
  readonly #options: WorkQueueOptions
  readonly #clock: Clock
  readonly #schedule: WorkSchedule
  readonly #running = new Map<Run, Promise<void>>()
  #handler: WorkHandler | undefined
  #isPumpDue = false
  #isClosed = false
  #counts = { retries: 0, done: 0, terminal: 0, dropped: 0 }
  #longestRunMs = 0

  constructor(options: WorkQueueOptions) {
    const { clock, groupOf = beforeSlash, patience = 8 } = options
    this.#options = options
    this.#clock = clock
    this.#schedule = new WorkSchedule(clock, groupOf, patience, () => this.#pumpSoon())
  }

  /** Adds made before this wait, so that a controller can fill its queue while its caches load. */
  start(handler: WorkHandler): void {
    if (this.#handler) throw new Error('this work queue has been started already; make one queue per handler')
    this.#handler = handler
    this.#pumpSoon()
  }

  add(key: string, options: AddOptions = {}): void {
    this.addAfter(key, 0, options)
  }

  /** Never runs earlier than that, unless something else asks for an earlier run: the earliest wins. */
  addAfter(key: string, delayMs: number, options: AddOptions = {}): void {
    if (this.#isClosed) this.#counts.dropped++
    else this.#schedule.wake(key, this.#clock.monotonic() + Math.max(0, delayMs), options.priority ?? 0)
  }

  /** Adds after the key's back-off and makes the next back-off longer. */
  addRateLimited(key: string, options: AddOptions = {}): void {
    const failures = this.#isClosed ? 0 : this.#schedule.countFailure(key)
    this.addAfter(key, this.#backoffMs(failures), options)
  }

  /** Lets the key's back-off start from the beginning. A success does the same by itself. */
  forget(key: string): void {
    this.#schedule.forget(key)
  }

  metrics(): WorkQueueMetrics {
    const now = this.#clock.monotonic()
    const runs = [...this.#running.keys()].map((run) => now - run.startedAt)
    return {
      ...this.#counts,
      depth: this.#schedule.ready,
      delayed: this.#schedule.delayed,
      inFlight: this.#running.size,
      oldestWaitingMs: now - (this.#schedule.oldestSince() ?? now),
      longestRunMs: Math.max(this.#longestRunMs, ...runs),
    }
  }

  /**
   * Closes the queue: what waits is dropped, what runs may finish. When the signal aborts, the runs are told to stop.
   * Later adds are dropped and counted.
   */
  async drain(signal: AbortSignal): Promise<DrainResult> {
    this.#isClosed = true
    const dropped = this.#schedule.clear()
    this.#counts.dropped += dropped
    const finished = Promise.all(this.#running.values())
    try {
      await abortable(finished, signal)
    } catch (reason) {
      for (const run of this.#running.keys()) run.abort.abort(reason)
      const timer = new AbortController()
      await Promise.race([finished, this.#clock.sleep(abortGraceMs, timer.signal).catch(() => undefined)])
      timer.abort(noLongerNeeded)
    }
    return { dropped, unfinished: [...this.#running.keys()].map((run) => run.key) }
  }

  /** In a microtask, so that adds made together are ordered before the first of them starts. */
  #pumpSoon(): void {
    if (this.#isPumpDue) return
    this.#isPumpDue = true
    queueMicrotask(() => {
      this.#isPumpDue = false
      this.#pump()
    })
  }

  #pump(): void {
    while (this.#handler && this.#running.size < (this.#options.concurrency ?? 4)) {
      const entry = this.#schedule.take()
      if (!entry) return
      const { key, priority } = entry
      const run: Run = { key, priority, startedAt: this.#clock.monotonic(), abort: new AbortController() }
      this.#running.set(run, this.#run(this.#handler, entry, run))
    }
  }

  async #run(handler: WorkHandler, entry: ScheduledKey, run: Run): Promise<void> {
    const attempt = entry.failures + 1
    if (attempt > 1) this.#counts.retries++
    const finished = new AbortController()
    this.#limit(run, finished.signal)
    try {
      const result = await handler(run.key, { signal: run.abort.signal, attempt, priority: run.priority })
      this.#succeed(entry, result)
    } catch (error) {
      this.#fail(entry, run, attempt, error)
    } finally {
      finished.abort(noLongerNeeded)
      this.#longestRunMs = Math.max(this.#longestRunMs, this.#clock.monotonic() - run.startedAt)
      this.#running.delete(run)
      this.#schedule.release(entry)
      this.#pumpSoon()
    }
  }

  #succeed(entry: ScheduledKey, result: LookAgain | undefined): void {
    this.#counts.done++
    entry.failures = 0
    if (result) this.addAfter(entry.key, result.requeueAfterMs, result)
  }

  /** A wake-up that came during the failed run may still come before the back-off: the world has changed since. */
  #fail(entry: ScheduledKey, run: Run, attempt: number, error: unknown): void {
    const { isTerminal, retryAfterMs = 0 } = readFailure(error)
    const mayRetry = !isTerminal && !this.#isClosed
    let retryInMs: number | undefined
    if (isTerminal) this.#counts.terminal++
    entry.failures = mayRetry ? attempt : 0
    if (mayRetry) {
      retryInMs = Math.max(this.#backoffMs(attempt), retryAfterMs)
      this.#schedule.holdUntil(entry, this.#clock.monotonic() + retryAfterMs)
      this.addAfter(entry.key, retryInMs, run)
    }
    this.#options.onFailure?.({ key: entry.key, error, attempt, retryInMs })
  }

  #backoffMs(failures: number): number {
    return backoffMs(failures, this.#options.backoff ?? defaultBackoff, this.#options.random)
  }

  /** The deadline speaks through the signal only: a key whose handler still runs must not be started again. */
  #limit(run: Run, finished: AbortSignal): void {
    const { runDeadlineMs } = this.#options
    if (runDeadlineMs === undefined) return
    const tooLong = () => new DOMException(`the run of ${run.key} took longer than ${runDeadlineMs} ms`, 'TimeoutError')
    this.#clock.sleep(runDeadlineMs, finished).then(
      () => run.abort.abort(tooLong()),
      () => undefined,
    )
  }
}

const beforeSlash = (key: string): string => key.slice(0, Math.max(0, key.indexOf('/')))
