import type { Clock } from '../../time/index.ts'

/** One uninterrupted time of being the leader. */
export interface LeaderTerm {
  /** Higher than that of every term before; hand it to whatever can refuse an older one. */
  readonly token: number
  /** Aborts before anybody else can become the leader. */
  readonly signal: AbortSignal
  /** Looks at the clock too, so it is right even when the process was frozen and no timer has run yet. */
  isSafe(): boolean
  /** Throws NotLeaderError; to be called right before each write that only a leader may make. */
  assertStillLeader(): void
}

export class NotLeaderError extends Error {
  override readonly name = 'NotLeaderError'
  readonly code = 'NotLeader'
  readonly kind = 'retryable'
  readonly token: number

  constructor(token: number, why: string) {
    super(`the term with token ${token} is over: ${why}. Stop writing; the next term starts by itself.`)
    this.token = token
  }
}

export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonic(), wallMs: clock.now() }
}

/** Counts down from the moment the last successful renewal was sent, whatever the requests are doing meanwhile. */
export class Term implements LeaderTerm {
  readonly token: number
  readonly #clock: Clock
  readonly #renewDeadlineMs: number
  readonly #abort = new AbortController()
  #renewed: Moment

  constructor(clock: Clock, token: number, renewDeadlineMs: number, sent: Moment) {
    this.token = token
    this.#clock = clock
    this.#renewDeadlineMs = renewDeadlineMs
    this.#renewed = sent
    this.#watch().catch(() => undefined)
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  isSafe(): boolean {
    if (!this.signal.aborted && this.#remainingMs() <= 0) this.end('no renewal succeeded in time')
    return !this.signal.aborted
  }

  assertStillLeader(): void {
    if (!this.isSafe()) throw this.signal.reason
  }

  /** A renewal that was sent at that moment has succeeded. Comes too late for a term that is over. */
  extend(sent: Moment): void {
    if (this.isSafe()) this.#renewed = sent
  }

  end(why: string): void {
    if (!this.signal.aborted) this.#abort.abort(new NotLeaderError(this.token, why))
  }

  /**
   * The wall clock is this machine's own, compared only with itself: the monotonic one stands still while a machine
   * is suspended, and then the wall clock alone knows that the others have moved on.
   */
  #remainingMs(): number {
    const monotonicMs = this.#clock.monotonic() - this.#renewed.monotonicMs
    const wallMs = this.#clock.now() - this.#renewed.wallMs
    return this.#renewDeadlineMs - Math.max(monotonicMs, wallMs)
  }

  async #watch(): Promise<void> {
    while (this.isSafe()) await this.#clock.sleep(this.#remainingMs(), this.signal)
  }
}
