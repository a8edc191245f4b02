import { backoffMs } from '../backoff.ts'
import type { WatchEvent } from '../door.ts'
import { ApiError, hasCode } from '../errors.ts'
import type { KubeObject } from '../resource.ts'
import { longSilenceMs, type ReflectorOptions, type ReflectorSink, type ReflectorStats } from './reflector-options.ts'
import { isOlderVersion } from './resource-version.ts'
import { TurnKeeper } from './turn.ts'

const defaultBackoff = { firstMs: 500, longestMs: 30_000 }
// After this many failures at one position the position itself is under suspicion (an etcd restored from backup, for one).
const mostFailuresAtOnePosition = 5
const mostSilencesAtOnePosition = 2
// These say nothing about the position, and answering an overloaded server with a relist would make it worse.
const positionNeutral = [
  'Unreachable',
  'Unavailable',
  'TooManyRequests',
  'Unauthorized',
  'ExecPluginFailed',
  'CredentialUnreadable',
] as const
// Some servers accept a streamed list and then never end it; after this many, pages are tried in between.
const mostBrokenStreams = 2
const longestAskedWaitMs = 60_000

/** Thrown by our own checks when the position in the history cannot be right. */
class PositionLost extends Error {
  override readonly name = 'PositionLost'
}

/** Follows one collection for as long as the signal lives: list, watch, resume, relist. Never gives up, never trusts a lost position. */
export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions
  readonly #sink: ReflectorSink<T>
  /** Undefined: the next step is a whole list. */
  #position: string | undefined
  #mayStream = true
  #hasListed = false
  #openedAt: number | undefined
  #brokenStreams = 0
  #opened = 0
  #relists = 0
  #events = 0
  #failures = 0
  #failuresHere = 0
  #silencesHere = 0
  #lastEventAt: number | undefined
  #lastContactAt: number | undefined
  #isCatchingUp = false
  #lastError: string | undefined

  constructor(options: ReflectorOptions, sink: ReflectorSink<T>) {
    this.#options = options
    this.#sink = sink
  }

  stats(): ReflectorStats {
    const now = this.#options.clock.monotonic()
    return {
      isConnected: this.#openedAt !== undefined && this.#position !== undefined,
      reconnects: Math.max(0, this.#opened - 1),
      relists: this.#relists,
      events: this.#events,
      failuresInARow: this.#failures,
      lastEventAgeMs: this.#lastEventAt === undefined ? undefined : now - this.#lastEventAt,
      lastContactAgeMs: this.#lastContactAt === undefined ? undefined : now - this.#lastContactAt,
      isCatchingUp: this.#isCatchingUp,
      position: this.#position,
      lastError: this.#lastError,
    }
  }

  /** Resolves when the signal aborts. */
  async run(): Promise<void> {
    const { signal, clock, random } = this.#options
    while (!signal.aborted) {
      let askedMs = 0
      try {
        await this.#follow()
        // A watch that ends well but at once, again and again, must not become a storm of requests.
        this.#failures = this.#wasHealthy ? 0 : this.#failures + 1
      } catch (error) {
        if (signal.aborted) return
        this.#failures = this.#wasHealthy ? 1 : this.#failures + 1
        this.#noteFailure(error)
        if (error instanceof ApiError) askedMs = Math.min(error.retryAfterMs ?? 0, longestAskedWaitMs)
      } finally {
        this.#openedAt = undefined
      }
      if (this.#failures === 0) continue
      const waitMs = Math.max(askedMs, backoffMs(this.#failures, this.#options.backoff ?? defaultBackoff, random))
      await clock.sleep(waitMs, signal).catch(() => undefined)
    }
  }

  get #wasHealthy(): boolean {
    const { clock, healthyMs = 10_000 } = this.#options
    if (this.#openedAt === undefined || this.#position === undefined) return false
    return clock.monotonic() - this.#openedAt >= healthyMs
  }

  #noteFailure(error: unknown): void {
    this.#lastError = error instanceof Error ? error.message : String(error)
    const isSilence = hasCode(error, 'Stalled')
    if (isSilence) this.#silencesHere++
    else if (!hasCode(error, ...positionNeutral)) this.#failuresHere++
    const isLost =
      error instanceof PositionLost ||
      hasCode(error, 'Gone', 'BadResponse', 'BadRequest', 'Invalid') ||
      this.#silencesHere >= mostSilencesAtOnePosition ||
      this.#failuresHere >= mostFailuresAtOnePosition
    if (isLost) this.#forgetPosition()
    this.#options.onError(error)
  }

  #forgetPosition(): void {
    this.#position = undefined
    this.#failuresHere = 0
    this.#silencesHere = 0
  }

  async #follow(): Promise<void> {
    if (this.#position !== undefined) return this.#watchFrom(this.#position)
    if (!this.#mayStream || this.#brokenStreams >= mostBrokenStreams) return this.#listThenWatch()
    try {
      await this.#streamAll()
    } catch (error) {
      const isComplete = this.#position !== undefined
      if (!isComplete && !hasCode(error, 'Unreachable')) this.#brokenStreams++
      if (isComplete || !isStreamingRefusal(error)) throw error
      this.#mayStream = false
      await this.#listThenWatch()
    }
  }

  /** The server streams the present state, marks its end with a bookmark, and goes on with changes. */
  async #streamAll(): Promise<void> {
    const seen = new Set<string>()
    let isComplete = false
    for await (const event of this.#watch({ sendInitialEvents: true })) {
      if (isComplete) this.#apply(event)
      else if (event.type !== 'BOOKMARK') {
        this.#contact(true)
        if (event.type === 'DELETED') this.#sink.remove(event.object)
        else seen.add(this.#sink.put(event.object))
      } else if (event.initialEventsEnd) {
        isComplete = true
        this.#complete(seen, event.resourceVersion)
        seen.clear()
      } else {
        throw new StreamingIgnored('the server sent a bookmark but no end of the initial events')
      }
    }
    if (!isComplete) throw new PositionLost('the server ended the first list before it was complete')
  }

  async #listThenWatch(): Promise<void> {
    const { client, selection, signal, pageSize = 500 } = this.#options
    const { resource, ...where } = selection
    const seen = new Set<string>()
    const turn = new TurnKeeper()
    let position: string | undefined
    for await (const page of client.list<T>(resource, { ...where, signal, pageSize })) {
      for (const object of page.items) {
        this.#contact(true)
        seen.add(this.#sink.put(object))
        if (turn.isOver) await turn.yield()
      }
      this.#contact(false)
      // All pages belong to one snapshot, but only the first is sure to name a version that a watch can start at.
      position ??= page.resourceVersion
    }
    signal.throwIfAborted()
    if (position === undefined) throw new PositionLost('the list had no page')
    this.#complete(seen, position)
    await this.#watchFrom(position)
  }

  async #watchFrom(resourceVersion: string): Promise<void> {
    for await (const event of this.#watch({ resourceVersion })) this.#apply(event)
  }

  #watch(
    from: { readonly resourceVersion: string } | { readonly sendInitialEvents: true },
  ): AsyncIterable<WatchEvent<T>> {
    const { client, selection, clock, random, signal, inactivityMs } = this.#options
    const { resource, ...where } = selection
    return client.watch<T>(resource, {
      ...where,
      ...from,
      signal,
      // Random, so that the watches of many processes do not all end in the same second.
      timeoutSeconds: 300 + Math.floor(random() * 300),
      ...(inactivityMs === undefined ? {} : { inactivityMs }),
      onOpen: () => {
        this.#opened++
        this.#openedAt = clock.monotonic()
      },
    })
  }

  #complete(seen: ReadonlySet<string>, position: string): void {
    this.#position = position
    this.#brokenStreams = 0
    if (this.#hasListed) this.#relists++
    this.#hasListed = true
    this.#contact(false)
    this.#isCatchingUp = false
    this.#sink.retain(seen)
  }

  #apply(event: WatchEvent<T>): void {
    if (event.type === 'BOOKMARK') {
      if (isOlderVersion(event.resourceVersion, this.#position)) {
        throw new PositionLost(`the server is at version ${event.resourceVersion}, before ours: ${this.#position}`)
      }
      this.#position = event.resourceVersion
      this.#contact(false)
      // Whatever happened before it was told before it.
      this.#isCatchingUp = false
      return
    }
    if (event.type === 'DELETED') this.#sink.remove(event.object)
    else this.#sink.put(event.object)
    this.#position = event.object.metadata.resourceVersion ?? this.#position
    this.#contact(true)
  }

  #contact(isEvent: boolean): void {
    const now = this.#options.clock.monotonic()
    if (this.#lastContactAt !== undefined && now - this.#lastContactAt > longSilenceMs) this.#isCatchingUp = true
    this.#lastContactAt = now
    this.#failuresHere = 0
    this.#silencesHere = 0
    if (!isEvent) return
    this.#lastEventAt = this.#lastContactAt
    this.#events++
  }
}

/** The server took the request but did not understand it as streaming. */
class StreamingIgnored extends Error {
  override readonly name = 'StreamingIgnored'
}

function isStreamingRefusal(error: unknown): boolean {
  return error instanceof StreamingIgnored || hasCode(error, 'Invalid', 'BadRequest', 'NotSupported')
}
