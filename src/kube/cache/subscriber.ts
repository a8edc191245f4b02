import type { CacheEvent } from './store.ts'

export type CacheHandler<T> = (event: CacheEvent<T>) => void

/** One listener of a cache. Gets the present objects as added, then each change, in order, and cannot harm the cache. */
export class Subscriber<T> {
  readonly #handler: CacheHandler<T>
  readonly #onError: (error: unknown) => void
  /** Keys that the replay has still to tell; undefined once it is through. */
  #untold: Set<string> | undefined
  #isClosed = false

  constructor(handler: CacheHandler<T>, onError: (error: unknown) => void) {
    this.#handler = handler
    this.#onError = onError
  }

  close(): void {
    this.#isClosed = true
    this.#untold = undefined
  }

  /** Tells the present state in slices, so that fifty thousand objects do not fill one turn. */
  async replay(keys: Iterable<string>, get: (key: string) => T | undefined, turn: () => Promise<void>): Promise<void> {
    this.#untold = new Set(keys)
    let told = 0
    for (const key of this.#untold) {
      if (this.#isClosed) return
      this.#untold?.delete(key)
      const object = get(key)
      if (object !== undefined) this.#call({ type: 'added', object })
      if (++told % replaySlice === 0) await turn()
    }
    this.#untold = undefined
  }

  /** A change of the object under `key`. One that the replay has not come to yet is told as new, or not at all. */
  tell(key: string, event: CacheEvent<T>): void {
    if (this.#isClosed) return
    if (this.#untold?.delete(key)) {
      if (event.type !== 'deleted') this.#call({ type: 'added', object: event.object })
      return
    }
    this.#call(event)
  }

  #call(event: CacheEvent<T>): void {
    try {
      // Typed as void, yet an async function fits; its rejection must not end the process.
      const result: unknown = this.#handler(event)
      if (result instanceof Promise) result.catch(this.#onError)
    } catch (error) {
      this.#onError(error)
    }
  }
}

const replaySlice = 500
