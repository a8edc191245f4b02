import { setMaxListeners } from 'node:events'
import type { Clock } from '../../time/index.ts'
import { abortable, noLongerNeeded } from '../abortable.ts'
import { type ClusterConfig, type Credential, identityHeaders } from '../config/config.ts'
import { ApiError } from '../errors.ts'
import type { HttpAnswer } from '../http/http-answer.ts'
import {
  closedError,
  connectionError,
  isSuccess,
  type Progress,
  parseAnswer,
  recoded,
  refusalError,
  timeoutError,
} from './answer.ts'
import type { CounterBook } from './counters.ts'
import { deadlinePassed } from './deadline.ts'
import { Deadlines } from './deadlines.ts'
import { jsonText } from './json-text.ts'
import { withQuery } from './paths.ts'
import { decideRetry } from './retry.ts'
import { ConnectionFault, type Transport } from './transport.ts'

/** Answers a sentence when a request must not leave the process. */
export type Guard = (method: string, path: string) => string | undefined

export interface Call {
  readonly method: string
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  readonly contentType?: string
  readonly accept?: string
  readonly signal?: AbortSignal | undefined
  readonly deadlineMs: number
  readonly isRepeatable: boolean
  readonly isEviction?: boolean
  readonly beforeAttempt?: (() => void) | undefined
  readonly mostBytes: number
}

/** A call whose answer is read as a stream, by the caller. */
export type StreamCall = Omit<Call, 'mostBytes' | 'deadlineMs' | 'isRepeatable'>

export interface RequesterParts {
  readonly config: ClusterConfig
  readonly transport: Transport
  readonly counters: CounterBook
  readonly clock: Clock
  readonly random: () => number
  readonly guard?: Guard | undefined
  readonly userAgent: string
  readonly isPatient?: boolean | undefined
}

/** The reason with which calls end when their client is closed. */
const clientClosed: unique symbol = Symbol('client closed')

/** Turns calls into HTTP exchanges: identity, guard, deadline, retries, counters, typed errors. */
export class Requester {
  readonly #parts: RequesterParts
  readonly #deadlines: Deadlines
  /** Of what is under way. */
  readonly #running = new Set<AbortController>()
  #isClosed = false
  #hasAnswered = false

  constructor(parts: RequesterParts) {
    this.#parts = parts
    this.#deadlines = new Deadlines(parts.clock)
  }

  close(): void {
    this.#isClosed = true
    // First the calls: one that only lost its connection would open another.
    for (const running of this.#running) running.abort(clientClosed)
    this.#parts.transport.close()
  }

  /** The parsed JSON of the answer; the text itself if the server says that it is text. */
  async call(call: Call): Promise<unknown> {
    this.#admit(call)
    const progress: Progress = { attempts: 0, wasSent: false, hasRefreshed: false }
    const endsAt = this.#parts.clock.monotonic() + call.deadlineMs
    const running = this.#untilClosed(call.signal)
    const onLate = () => running.abort(deadlinePassed)
    this.#deadlines.add(call.deadlineMs, onLate)
    try {
      running.signal.throwIfAborted()
      for (;;) {
        const result = await this.#attempt(call, progress, running.signal)
        if (!(result instanceof ApiError)) return result.value
        await this.#pause(call, result, progress, endsAt - this.#parts.clock.monotonic(), running.signal)
      }
    } catch (error) {
      if (error === clientClosed) throw closedError(call, progress)
      if (error !== deadlinePassed) throw error
      throw timeoutError(call, progress)
    } finally {
      this.#deadlines.remove(onLate)
      running.release()
    }
  }

  /** Opens a stream: the answer after its headers, already known to be a success. */
  async open(call: StreamCall, signal: AbortSignal): Promise<HttpAnswer> {
    this.#admit(call)
    const { clock, config } = this.#parts
    for (let attempt = 1; ; attempt++) {
      const credential = await this.#credential(signal)
      const answer = await this.#exchange(call, credential, attempt, signal).catch((error: unknown) => {
        throw error instanceof ConnectionFault ? this.#lostConnection(call, error, attempt) : error
      })
      if (isSuccess(answer)) return answer
      const error = await refusalError(call, answer, attempt, clock.now())
      if (!(error.code === 'Unauthorized' && attempt === 1 && config.credentials.refresh(credential))) throw error
    }
  }

  /** As open, but gives up when the headers do not come in time: the inactivity timer of the stream starts only after them. */
  async openWithin(limitMs: number, call: StreamCall, signal: AbortSignal): Promise<HttpAnswer> {
    // The exchange outlives the limit, so it runs on its own signal and only the opening is raced.
    const exchange = this.#untilClosed(signal)
    const timer = new AbortController()
    this.#parts.clock.sleep(limitMs, timer.signal).then(
      () => exchange.abort(deadlinePassed),
      () => undefined,
    )
    try {
      return await this.open(call, exchange.signal)
    } catch (error) {
      const { method, path } = call
      if (error === clientClosed) throw closedError({ method, path, isRepeatable: true })
      if (error !== deadlinePassed) throw error
      throw new ApiError({ code: 'Stalled', method, path, seen: `no answer within ${limitMs} ms` })
    } finally {
      timer.abort(noLongerNeeded)
      exchange.release()
    }
  }

  /** A signal that follows the caller's and also ends with the client. It has to be released, or both would collect them. */
  #untilClosed(caller: AbortSignal | undefined) {
    const running = new AbortController()
    const onAbort = () => running.abort(caller?.reason)
    if (caller?.aborted) onAbort()
    if (caller) {
      // One signal ends a whole program with dozens of watches; Node takes the eleventh listener for a leak and says so.
      setMaxListeners(0, caller)
      caller.addEventListener('abort', onAbort, { once: true })
    }
    this.#running.add(running)
    return {
      signal: running.signal,
      abort: (reason: unknown) => running.abort(reason),
      release: () => {
        this.#running.delete(running)
        caller?.removeEventListener('abort', onAbort)
      },
    }
  }

  #admit(call: Pick<Call, 'method' | 'path'>): void {
    const { method, path } = call
    if (this.#isClosed) throw new ApiError({ code: 'Closed', method, path, seen: 'the client is closed' })
    const refusal = this.#parts.guard?.(method, path)
    if (refusal === undefined) return
    this.#parts.counters.noteRefusal()
    throw new ApiError({ code: 'GuardRefused', method, path, seen: refusal })
  }

  async #attempt(call: Call, progress: Progress, signal: AbortSignal): Promise<ApiError | { readonly value: unknown }> {
    progress.attempts++
    const { attempts } = progress
    // An earlier attempt in doubt would not have been repeated, so only this one counts.
    progress.wasSent = false
    try {
      const credential = await this.#credential(signal)
      progress.credential = credential
      // Last, because a pause or a credential plugin may have taken longer than what it asks for lasts.
      call.beforeAttempt?.()
      const answer = await this.#exchange(call, credential, attempts, signal, () => {
        progress.wasSent = true
      })
      if (!isSuccess(answer)) {
        const refusal = await refusalError(call, answer, attempts, this.#parts.clock.now())
        progress.wasSent = false
        return refusal
      }
      const body = await answer.whole(call.mostBytes).catch((error: Error) => {
        throw new ConnectionFault(error, true)
      })
      this.#parts.counters.noteBytes(body?.length ?? 0)
      return parseAnswer(call, answer, body, attempts)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof ConnectionFault) return this.#lostConnection(call, error, attempts)
      throw error
    }
  }

  #lostConnection(call: StreamCall, fault: ConnectionFault, attempts: number): ApiError {
    const { config, transport } = this.#parts
    const error = connectionError(call, fault, `${config.server} (${config.source})`, attempts)
    if (error.code === 'Untrusted') transport.expireTrust()
    return error
  }

  async #pause(call: Call, error: ApiError, progress: Progress, leftMs: number, signal: AbortSignal): Promise<void> {
    progress.lastError = error
    const { config, clock, random, isPatient = false } = this.#parts
    if (error.code === 'Unauthorized' && !progress.hasRefreshed && config.credentials.refresh(progress.credential)) {
      progress.hasRefreshed = true
      return
    }
    const { code, retryAfterMs } = error
    const { wasSent } = progress
    const decision = decideRetry(
      {
        number: progress.attempts,
        code,
        wasSent,
        retryAfterMs,
        isRepeatable: call.isRepeatable,
        isWaitedFor: isPatient && this.#hasAnswered,
      },
      random,
    )
    // Better the true reason now than "deadline" after a pointless wait.
    if (!decision.retry || decision.afterMs >= leftMs) {
      throw decision.retry || decision.code === code ? error : recoded(error, decision.code)
    }
    await clock.sleep(decision.afterMs, signal)
  }

  /** A credential plugin runs on for the others who wait, but a call has its deadline. */
  #credential(signal: AbortSignal): Promise<Credential> {
    return abortable(this.#parts.config.credentials.current(signal), signal)
  }

  async #exchange(call: StreamCall, credential: Credential, attempt: number, signal: AbortSignal, onSent?: () => void) {
    const { config, transport, counters, clock, userAgent } = this.#parts
    const body = call.body === undefined ? undefined : Buffer.from(jsonText(call.body))
    const started = clock.monotonic()
    let status = 0
    try {
      const answer = await transport.send({
        method: call.method,
        path: withQuery(call.path, call.query),
        headers: {
          Accept: call.accept ?? 'application/json',
          'User-Agent': userAgent,
          ...(body ? { 'Content-Type': call.contentType ?? 'application/json' } : {}),
          ...identityHeaders(credential, config.impersonate),
        },
        ...(body ? { body } : {}),
        certificate: credential.certificate,
        ...(onSent ? { onSent } : {}),
        signal,
      })
      status = answer.status
      this.#hasAnswered = true
      return answer
    } finally {
      counters.note({
        method: call.method,
        path: call.path,
        status,
        durationMs: clock.monotonic() - started,
        bytesSent: body?.length ?? 0,
        bytesReceived: 0,
        isRetry: attempt > 1,
      })
    }
  }
}
