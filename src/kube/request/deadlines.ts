import type { Clock } from '../../time/index.ts'
import { noLongerNeeded } from '../abortable.ts'

/** Deadlines of many calls behind one timer: most calls end long before theirs, and a timer of its own costs each. */
export class Deadlines {
  readonly #clock: Clock
  readonly #open = new Map<() => void, number>()
  #timer: { readonly at: number; readonly stop: AbortController } | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls back when the time is up. Whoever adds also removes; without any left no timer runs. */
  add(ms: number, onPassed: () => void): void {
    const at = this.#clock.monotonic() + ms
    this.#open.set(onPassed, at)
    if (this.#timer && this.#timer.at <= at) return
    this.#stop()
    this.#start(at)
  }

  remove(onPassed: () => void): void {
    this.#open.delete(onPassed)
    if (this.#open.size === 0) this.#stop()
  }

  #start(at: number): void {
    const stop = new AbortController()
    this.#timer = { at, stop }
    this.#clock.sleep(Math.max(0, at - this.#clock.monotonic()), stop.signal).then(
      () => this.#wake(),
      () => undefined,
    )
  }

  #stop(): void {
    this.#timer?.stop.abort(noLongerNeeded)
    this.#timer = undefined
  }

  #wake(): void {
    this.#timer = undefined
    const now = this.#clock.monotonic()
    let next = Number.POSITIVE_INFINITY
    for (const [onPassed, at] of this.#open) {
      // Timers of the system may fire a moment early.
      if (at > now + 1) next = Math.min(next, at)
      else {
        this.#open.delete(onPassed)
        onPassed()
      }
    }
    if (this.#open.size > 0) this.#start(next)
  }
}
