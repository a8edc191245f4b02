import { resourceLabel } from './paths.ts'

/** One attempt, finished. `status` is 0 when no answer came. */
export interface RequestSample {
  readonly method: string
  readonly resource: string
  readonly status: number
  readonly durationMs: number
  readonly bytesSent: number
  readonly bytesReceived: number
  readonly isRetry: boolean
}

/** Gets every attempt; metrics hang here. Must not throw. */
export type RequestObserver = (sample: RequestSample) => void

export interface RequestCounters {
  /** Attempts by `METHOD resource status`. */
  readonly requests: Readonly<Record<string, number>>
  readonly retries: number
  readonly refused: number
  readonly bytesSent: number
  readonly bytesReceived: number
}

export class CounterBook {
  readonly #requests = new Map<string, number>()
  readonly #observer: RequestObserver | undefined
  #retries = 0
  #refused = 0
  #bytesSent = 0
  #bytesReceived = 0

  constructor(observer: RequestObserver | undefined) {
    this.#observer = observer
  }

  note(sample: Omit<RequestSample, 'resource'> & { readonly path: string }): void {
    const { path, ...rest } = sample
    const resource = resourceLabel(path)
    const key = `${sample.method} ${resource} ${sample.status === 0 ? 'none' : sample.status}`
    this.#requests.set(key, (this.#requests.get(key) ?? 0) + 1)
    if (sample.isRetry) this.#retries++
    this.#bytesSent += sample.bytesSent
    this.#bytesReceived += sample.bytesReceived
    this.#observer?.({ ...rest, resource })
  }

  /** Watches run for minutes: their bytes count as they come. */
  noteBytes(received: number): void {
    this.#bytesReceived += received
  }

  noteRefusal(): void {
    this.#refused++
  }

  snapshot(): RequestCounters {
    return {
      requests: Object.fromEntries(this.#requests),
      retries: this.#retries,
      refused: this.#refused,
      bytesSent: this.#bytesSent,
      bytesReceived: this.#bytesReceived,
    }
  }
}
