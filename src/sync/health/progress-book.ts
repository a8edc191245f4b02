import type { Clock } from '../../time/index.ts'
import { type Key, keyText } from '../key.ts'
import type { Health } from './verdict.ts'

export interface Waited {
  readonly key: Key
  readonly health: Health
  /** Until it was healthy, or until the wait ended. */
  readonly seconds: number
}

interface BookOptions {
  readonly clock: Clock
  readonly onProgress?: (line: string) => void
}

/** Who is how, since when, and what of it is news. */
export class ProgressBook {
  readonly #options: BookOptions
  readonly #startedAt: number
  readonly #told = new Map<string, string>()
  readonly #currentAt = new Map<string, number>()

  constructor(options: BookOptions, startedAt: number) {
    this.#options = options
    this.#startedAt = startedAt
  }

  note(key: Key, health: Health): Waited {
    const id = keyText(key)
    const now = this.#options.clock.monotonic()
    if (health.is !== 'Current') this.#currentAt.delete(id)
    else if (!this.#currentAt.has(id)) this.#currentAt.set(id, now)
    const line = `${id}: ${health.message}`
    // What was healthy at the first look is no news.
    const isNews = this.#told.get(id) !== line && !(health.is === 'Current' && !this.#told.has(id))
    if (isNews && health.reason !== 'NotReadYet') {
      this.#told.set(id, line)
      this.#options.onProgress?.(line)
    }
    return { key, health, seconds: ((this.#currentAt.get(id) ?? now) - this.#startedAt) / 1_000 }
  }
}
