import type { Clock } from '../../time/index.ts'
import { noLongerNeeded } from '../abortable.ts'
import { type Due, DueHeap } from './due-heap.ts'

/** setTimeout fires at once beyond 2^31 ms; longer delays are slept in pieces. */
const longestSleepMs = 86_400_000

/** Holds items until their time and hands them over then, never early. One timer for all. */
export class DelayLine<T extends Due> {
  readonly #clock: Clock
  readonly #onDue: (item: T) => void
  readonly #heap = new DueHeap<T>()
  #alarm: { readonly at: number; readonly cancel: AbortController } | undefined

  constructor(clock: Clock, onDue: (item: T) => void) {
    this.#clock = clock
    this.#onDue = onDue
  }

  get size(): number {
    return this.#heap.size
  }

  push(item: T): void {
    this.#heap.push(item)
    this.#setAlarm()
  }

  remove(item: T): void {
    this.#heap.remove(item)
  }

  clear(): void {
    this.#alarm?.cancel.abort(noLongerNeeded)
    this.#alarm = undefined
    for (let next = this.#heap.peek(); next; next = this.#heap.peek()) this.#heap.remove(next)
  }

  /** An alarm that comes too early for what is left does no harm: it sets the next one. */
  #setAlarm(): void {
    const next = this.#heap.peek()
    if (!next || (this.#alarm && this.#alarm.at <= next.dueAt)) return
    this.#alarm?.cancel.abort(noLongerNeeded)
    const now = this.#clock.monotonic()
    const ms = Math.min(Math.max(0, next.dueAt - now), longestSleepMs)
    const alarm = { at: now + ms, cancel: new AbortController() }
    this.#alarm = alarm
    this.#clock.sleep(ms, alarm.cancel.signal).then(
      () => {
        if (this.#alarm === alarm) this.#ring()
      },
      () => undefined,
    )
  }

  /** Real timers may fire a fraction of a millisecond early; what is not due yet is slept on again. */
  #ring(): void {
    this.#alarm = undefined
    const now = this.#clock.monotonic()
    for (let next = this.#heap.peek(); next && next.dueAt <= now; next = this.#heap.peek()) {
      this.#heap.remove(next)
      this.#onDue(next)
    }
    this.#setAlarm()
  }
}
