const longestMs = 600_000

interface Refusal {
  readonly cause: string
  readonly pauseMs: number
  readonly untilMs: number
}

/**
 * Nodes that cannot be written as they would have to be, and so never get into maintenance. Whoever asks again at once has
 * its seat again before anybody else looks; so it waits, for at least as long as others need to have a look.
 */
export class Refusals {
  readonly #byName = new Map<string, Refusal>()

  note(name: string, cause: string, nowMs: number, lookEveryMs: number): void {
    const { pauseMs: lastMs = lookEveryMs } = this.#byName.get(name) ?? {}
    const pauseMs = Math.max(2 * lookEveryMs, Math.min(2 * lastMs, longestMs))
    this.#byName.set(name, { cause, pauseMs, untilMs: nowMs + pauseMs })
  }

  whyNot(name: string, nowMs: number): string | undefined {
    const found = this.#byName.get(name)
    if (!found || nowMs >= found.untilMs) return undefined
    return `the node could not be written: ${found.cause}; it is tried again at ${new Date(found.untilMs).toISOString()}`
  }

  delete(name: string): void {
    this.#byName.delete(name)
  }

  /** What was refused may have come from the file. */
  clear(): void {
    this.#byName.clear()
  }
}
