import type { Clock } from '../../time/index.ts'
import type { WatchEvent } from '../door.ts'
import { ApiError, type ApiErrorFields } from '../errors.ts'
import type { HttpAnswer } from '../http/http-answer.ts'
import { isRecord, refusalFields, statusOf } from '../request/status.ts'
import type { KubeObject } from '../resource.ts'
import { TurnKeeper } from './turn.ts'
import { LineSplitter, LineTooLong } from './watch-lines.ts'

export interface WatchStreamParts {
  readonly answer: HttpAnswer
  readonly path: string
  readonly clock: Clock
  readonly inactivityMs: number
  readonly signal: AbortSignal
  readonly onBytes: (count: number) => void
}

// etcd refuses objects over 1.5 MiB by default and 10 MiB is the most that is ever configured.
const longestLineBytes = 32 * 1024 * 1024

/** The events of one open watch. Ends when the server ends it; throws ApiError for everything else, or the signal's reason. */
export async function* readWatch<T extends KubeObject>(parts: WatchStreamParts): AsyncGenerator<WatchEvent<T>> {
  const { answer, path, signal } = parts
  const lines = new LineSplitter(longestLineBytes)
  const turn = new TurnKeeper()
  const silence = new SilenceAlarm(parts)
  const onAbort = () => answer.destroy()
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    signal.throwIfAborted()
    for (;;) {
      const chunk = await silence.during(answer.next())
      signal.throwIfAborted()
      if (chunk.done) break
      parts.onBytes(chunk.value.length)
      for (const line of lines.push(chunk.value)) {
        yield parseEvent<T>(line, path)
        signal.throwIfAborted()
        if (turn.isOver) await turn.yield()
      }
    }
    if (lines.pendingBytes > 0) throw fault(path, 'Unreachable', 'the stream ended in the middle of an event')
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ApiError) throw error
    if (error instanceof LineTooLong) throw fault(path, 'BadResponse', error.message)
    if (silence.hasRung) throw fault(path, 'Stalled', `no byte for ${parts.inactivityMs} ms`)
    throw fault(
      path,
      'Unreachable',
      `the stream broke: ${error instanceof Error ? error.message : String(error)}`,
      error,
    )
  } finally {
    silence.stop()
    signal.removeEventListener('abort', onAbort)
    // Also reached when the reader stops early: an answer left open would hold its socket for ever.
    answer.destroy()
  }
}

/** Destroys a stream that stays silent. Only the time spent waiting for bytes counts, not the time a slow reader takes. */
class SilenceAlarm {
  readonly #parts: WatchStreamParts
  readonly #stop = new AbortController()
  #waitingSince: number | undefined
  hasRung = false

  constructor(parts: WatchStreamParts) {
    this.#parts = parts
    this.#run().catch(() => undefined)
  }

  async during<R>(wait: Promise<R>): Promise<R> {
    this.#waitingSince = this.#parts.clock.monotonic()
    try {
      return await wait
    } finally {
      this.#waitingSince = undefined
    }
  }

  stop(): void {
    this.#stop.abort()
  }

  /** One timer per watch instead of one per chunk: it sleeps, looks, and sleeps for the rest. */
  async #run(): Promise<void> {
    const { clock, inactivityMs, answer } = this.#parts
    let sleepMs = inactivityMs
    for (;;) {
      await clock.sleep(sleepMs, this.#stop.signal)
      // After a blocked turn this timer fires before the bytes that waited meanwhile: let them in first.
      await new Promise<void>((resolve) => setImmediate(resolve))
      const silentMs = this.#waitingSince === undefined ? 0 : clock.monotonic() - this.#waitingSince
      if (silentMs >= inactivityMs) {
        this.hasRung = true
        answer.destroy(new Error('silent'))
        return
      }
      sleepMs = inactivityMs - silentMs
    }
  }
}

/** One line of a watch. */
export function parseEvent<T extends KubeObject>(line: string, path: string): WatchEvent<T> {
  const event = parseJson(line, path)
  const object = event['object']
  if (!isRecord(object)) throw fault(path, 'BadResponse', 'an event has no object')
  switch (event['type']) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      if (!isRecord(object['metadata'])) throw fault(path, 'BadResponse', 'the object of an event has no metadata')
      return { type: event['type'], object: object as unknown as T }
    case 'BOOKMARK': {
      const { resourceVersion, annotations } = (object as unknown as KubeObject).metadata ?? {}
      if (!resourceVersion) throw fault(path, 'BadResponse', 'a bookmark has no resourceVersion')
      return {
        type: 'BOOKMARK',
        resourceVersion,
        initialEventsEnd: annotations?.['k8s.io/initial-events-end'] === 'true',
      }
    }
    case 'ERROR': {
      const status = typeof object['code'] === 'number' ? object['code'] : 500
      throw new ApiError({ method: 'WATCH', path, ...refusalFields(status, statusOf(object)) })
    }
    default:
      throw fault(path, 'BadResponse', `an event has the unknown type ${JSON.stringify(event['type'])?.slice(0, 40)}`)
  }
}

function parseJson(line: string, path: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    // The parser's message quotes the line, which may hold a Secret: only its length is told.
    throw fault(path, 'BadResponse', `a line of ${line.length} characters is not JSON`)
  }
  if (!isRecord(value)) throw fault(path, 'BadResponse', 'a line is not an object')
  return value
}

function fault(path: string, code: ApiErrorFields['code'], seen: string, cause?: unknown): ApiError {
  return new ApiError({ code, method: 'WATCH', path, seen, cause })
}
