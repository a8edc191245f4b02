import type { Clock } from './clock.ts'

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  #now: number
  #sleepers: Sleeper[] = []

  constructor(startMs = 0) {
    this.#now = startMs
  }

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now
  }

  get sleeping(): number {
    return this.#sleepers.length
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason)
        return
      }
      const onAbort = () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper)
        reject(signal?.reason)
      }
      const sleeper: Sleeper = {
        at: this.#now + ms,
        wake: () => {
          signal?.removeEventListener('abort', onAbort)
          resolve()
        },
      }
      this.#sleepers.push(sleeper)
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  /** Moves time on, waking each sleeper at its own moment and letting what it does settle first. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    await settle()
    for (;;) {
      const next = this.#sleepers.filter((sleeper) => sleeper.at <= end).sort((a, b) => a.at - b.at)[0]
      if (!next) break
      this.#sleepers = this.#sleepers.filter((other) => other !== next)
      this.#now = Math.max(this.#now, next.at)
      next.wake()
      await settle()
    }
    this.#now = end
  }
}

/** Lets everything that is already runnable run: one macrotask drains all microtasks queued before it. */
async function settle(): Promise<void> {
  for (let round = 0; round < 3; round++) await new Promise<void>((resolve) => setImmediate(resolve))
}
