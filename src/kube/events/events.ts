import type { Clock } from '../../time/index.ts'
import { abortable } from '../abortable.ts'
import { backoffMs } from '../backoff.ts'
import type { KubeClient } from '../door.ts'
import { isAlreadyExists, isForbidden, isNotFound, isRetryable } from '../errors.ts'
import { LinkedList } from '../linked-list.ts'
import { coreEvents, events } from '../resources.ts'
import {
  coreEventObject,
  coreEventTally,
  type EventNote,
  type EventReporter,
  eventKey,
  eventName,
  eventNamespace,
  eventObject,
  eventSeries,
  subjectKey,
} from './event-record.ts'
import { LruMap } from './lru-map.ts'

export interface EventRecorderOptions extends EventReporter {
  readonly client: Pick<KubeClient, 'create' | 'patch'>
  readonly clock: Clock
  /** In [0, 1), as Math.random. */
  readonly random: () => number
  /** Waiting to be sent; more are dropped. Default 1,000. */
  readonly bufferSize?: number
  /** Events, and objects by reason, remembered, to count repetitions and to limit the rate. Default 4,096 each. */
  readonly memorySize?: number
  /** Requests about one object for one reason: this many at once, default 25 … */
  readonly burst?: number
  /** … and then one more per this long. Default 1 minute. */
  readonly refillMs?: number
  /** Between two requests, so that a thousand events leave the API server room for the work itself. Default 0. */
  readonly restMs?: number
  /** A repetition after a pause longer than this is a new event. Default 10 minutes. */
  readonly seriesGapMs?: number
}

export interface EventRecorderStats {
  readonly recorded: number
  readonly created: number
  readonly patched: number
  /** Not sent: buffer full, too many about one object for one reason, or recorded after the stop. */
  readonly dropped: number
  /** Refused by the API server, or given up. */
  readonly failed: number
  readonly waiting: number
}

/** One event and how often it has happened. */
interface Series {
  readonly note: EventNote
  readonly firstMs: number
  name: string
  lastMs: number
  count: number
  /** What the API server knows; 0 before the event is created. */
  sentCount: number
  isWaiting: boolean
  /** It was written to the API of old, and is raised there. */
  isCore: boolean
}

interface Call {
  readonly signal: AbortSignal
  readonly deadlineMs: number
}

interface Bucket {
  tokens: number
  filledMs: number
}

const mostAttempts = 3
const callDeadlineMs = 10_000
const backoff = { firstMs: 500, longestMs: 5_000 }

/**
 * Tells people what happened to an object, as Events. Never throws, never makes anybody wait: events are a courtesy,
 * and no decision may hang on them. Repetitions become one event with a count. The count in the cluster may lag behind
 * while an object is over its rate; the next repetition within the rate, or the stop, brings it up to date.
 */
export class EventRecorder {
  readonly #options: EventRecorderOptions
  readonly #series: LruMap<string, Series>
  readonly #buckets: LruMap<string, Bucket>
  readonly #waiting = new LinkedList<Series>()
  readonly #stopped = new AbortController()
  #sending: Promise<void> | undefined
  #isClosed = false
  /** Only the API of old is open to this account. */
  #isCoreOnly = false
  #names = 0
  #counts = { recorded: 0, created: 0, patched: 0, dropped: 0, failed: 0 }

  constructor(options: EventRecorderOptions) {
    this.#options = options
    this.#series = new LruMap(options.memorySize ?? 4096)
    this.#buckets = new LruMap(options.memorySize ?? 4096)
  }

  record(note: EventNote): void {
    this.#counts.recorded++
    try {
      this.#remember(note)
    } catch {
      // For instance a note that is no string because its type was cast away. A courtesy must not break its caller.
      this.#counts.failed++
    }
  }

  stats(): EventRecorderStats {
    return { ...this.#counts, waiting: this.#waiting.size }
  }

  /** Sends what is left, counts included, until the signal aborts. */
  async stop(signal: AbortSignal): Promise<EventRecorderStats> {
    this.#isClosed = true
    for (const series of this.#series.values()) {
      if (series.sentCount > 0 && series.count > series.sentCount) this.#enqueue(series)
    }
    await abortable(this.#sending ?? Promise.resolve(), signal).catch(() => undefined)
    this.#stopped.abort(signal.reason)
    this.#counts.dropped += this.#waiting.size
    for (let first = this.#waiting.first; first; first = this.#waiting.first) this.#waiting.remove(first)
    return this.stats()
  }

  #remember(note: EventNote): void {
    const now = this.#options.clock.now()
    const key = eventKey(note)
    let series = this.#series.get(key)
    if (series && now - series.lastMs <= (this.#options.seriesGapMs ?? 600_000)) {
      series.count++
      series.lastMs = now
      if (series.isWaiting || this.#isClosed || !this.#takeToken(note)) return
    } else {
      if (this.#isClosed || this.#waiting.size >= (this.#options.bufferSize ?? 1000) || !this.#takeToken(note)) {
        this.#counts.dropped++
        return
      }
      const name = this.#newName(note, now)
      series = { note, name, firstMs: now, lastMs: now, count: 1, sentCount: 0, isWaiting: false, isCore: false }
      this.#series.set(key, series)
    }
    this.#enqueue(series)
  }

  #newName(note: EventNote, now: number): string {
    const chance = Math.floor(this.#options.random() * 2 ** 24).toString(16)
    return eventName(note.regarding, `${now.toString(16)}${chance.padStart(6, '0')}${(this.#names++).toString(16)}`)
  }

  /**
   * A token bucket per object and reason: an object in a hot loop must not push the others' events out, nor what fails on
   * it at each look the news of it.
   */
  #takeToken({ regarding, reason }: EventNote): boolean {
    const { burst = 25, refillMs = 60_000, clock } = this.#options
    const key = `${reason} ${subjectKey(regarding)}`
    const now = clock.monotonic()
    const bucket = this.#buckets.get(key) ?? { tokens: burst, filledMs: now }
    const tokens = Math.min(burst, bucket.tokens + (now - bucket.filledMs) / refillMs)
    const mayTake = tokens >= 1
    this.#buckets.set(key, { tokens: mayTake ? tokens - 1 : tokens, filledMs: now })
    return mayTake
  }

  #enqueue(series: Series): void {
    if (series.isWaiting) return
    series.isWaiting = true
    this.#waiting.push(series)
    this.#sending ??= this.#sendAll()
  }

  async #sendAll(): Promise<void> {
    const { clock, restMs = 0 } = this.#options
    // First let the caller finish what it is doing: repetitions in the same breath become one request.
    await Promise.resolve()
    for (let first = this.#waiting.first; first; first = this.#waiting.first) {
      this.#waiting.remove(first)
      first.value.isWaiting = false
      // Everything may have been told by the request that was on its way when this one got in line.
      if (first.value.count > first.value.sentCount) await this.#deliver(first.value)
      if (restMs > 0 && !this.#isClosed) await clock.sleep(restMs, this.#stopped.signal).catch(() => undefined)
    }
    // In the same turn as the last look at the list: an event recorded a moment later must start a new round.
    this.#sending = undefined
  }

  async #deliver(series: Series): Promise<void> {
    const { clock, random } = this.#options
    const signal = this.#stopped.signal
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        await this.#send(series, { signal, deadlineMs: callDeadlineMs })
        return
      } catch (error) {
        if (attempt === mostAttempts || !isRetryable(error)) break
        await clock.sleep(backoffMs(attempt, backoff, random), signal).catch(() => undefined)
      }
    }
    this.#counts.failed++
    if (series.sentCount === 0) this.#series.delete(eventKey(series.note))
  }

  async #send(series: Series, call: Call): Promise<void> {
    const { client, clock } = this.#options
    const { note, count, lastMs, isCore } = series
    try {
      if (series.sentCount > 0) {
        const ref = { name: series.name, namespace: eventNamespace(note.regarding) }
        const body = isCore ? coreEventTally(count, lastMs) : { series: eventSeries(count, lastMs) }
        await client.patch(isCore ? coreEvents : events, ref, { type: 'merge', body }, call)
        this.#counts.patched++
      } else {
        await this.#create(series, call)
        this.#counts.created++
      }
    } catch (error) {
      if (isNotFound(error) && series.sentCount > 0) {
        // The API server forgets events after an hour; the series goes on under a new name.
        series.sentCount = 0
        series.name = this.#newName(note, clock.now())
        return this.#send(series, call)
      }
      // The name is ours alone, so it was created by an earlier attempt whose answer got lost.
      if (!isAlreadyExists(error)) throw error
      this.#counts.created++
    }
    series.sentCount = count
  }

  /** Accounts of older programs, maintenance-controller's among them, may write events to the API of old only. */
  async #create(series: Series, call: Call): Promise<void> {
    const { client } = this.#options
    const { note, name, firstMs, count, lastMs } = series
    const event = eventObject(note, this.#options, name, firstMs)
    if (!this.#isCoreOnly)
      try {
        await client.create(events, count > 1 ? { ...event, series: eventSeries(count, lastMs) } : event, call)
        series.isCore = false
        return
      } catch (error) {
        if (!isForbidden(error)) throw error
      }
    // Noted before: if the answer gets lost, it is raised where it may be.
    series.isCore = true
    await client.create(coreEvents, coreEventObject(event, count, lastMs), call)
    // Only now: a namespace that is being deleted forbids both, and says nothing about the account.
    this.#isCoreOnly = true
  }
}
