import type { AnswerHeaders } from './answer-parser.ts'

/** How an answer steers the connection that it comes through. */
export interface AnswerSource {
  pause(): void
  resume(): void
  destroy(error: Error): void
}

/** A reader that is slower than the server holds it up, instead of filling the memory. */
const mostWaitingBytes = 256 * 1024

interface Waiting {
  readonly resolve: (result: IteratorResult<Buffer, undefined>) => void
  readonly reject: (error: Error) => void
}

/** An answer whose headers are here. Its body is read once: as a whole, or piece by piece while it comes. */
export class HttpAnswer implements AsyncIterableIterator<Buffer, undefined> {
  readonly status: number
  readonly headers: AnswerHeaders
  readonly #source: AnswerSource
  #chunks: Buffer[] = []
  #bytes = 0
  #isOver = false
  #fault: Error | undefined
  #isPaused = false
  /** Whoever waits for the whole body. */
  #whole: ((limit?: 'exceeded') => void) | undefined
  #limit = Number.POSITIVE_INFINITY
  #next: Waiting | undefined

  constructor(status: number, headers: AnswerHeaders, source: AnswerSource) {
    this.status = status
    this.headers = headers
    this.#source = source
  }

  /** The whole body, or undefined when it is larger than `limit`. */
  whole(limit: number): Promise<Buffer | undefined> {
    this.#limit = limit
    return new Promise((resolve, reject) => {
      this.#whole = (exceeded) => {
        this.#whole = undefined
        if (exceeded) resolve(undefined)
        else if (this.#fault) reject(this.#fault)
        else resolve(this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks, this.#bytes))
      }
      if (this.#bytes > limit) this.#giveUp()
      else if (this.#isOver) this.#whole()
      else this.#flow()
    })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Buffer, undefined>> {
    return new Promise((resolve, reject) => {
      this.#next = { resolve, reject }
      this.#serve()
    })
  }

  /** Called when a loop over the body is left early. */
  return(): Promise<IteratorResult<Buffer, undefined>> {
    this.destroy()
    return Promise.resolve({ done: true, value: undefined })
  }

  /** Nobody wants the rest. An answer that is left unread would hold its connection for ever. */
  destroy(error = new Error('the answer was given up')): void {
    if (!this.#isOver) this.#source.destroy(error)
  }

  /** For the connection: a piece of the body. */
  add(bytes: Buffer): void {
    this.#chunks.push(bytes)
    this.#bytes += bytes.length
    if (this.#next) this.#serve()
    else if (this.#whole && this.#bytes > this.#limit) this.#giveUp()
    else if (!this.#whole && this.#bytes > mostWaitingBytes && !this.#isPaused) {
      this.#isPaused = true
      this.#source.pause()
    }
  }

  /** For the connection: there is no more, or not even that. */
  end(fault?: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#fault = fault
    this.#whole?.()
    if (this.#next) this.#serve()
  }

  #giveUp(): void {
    this.#whole?.('exceeded')
    this.#chunks = []
    this.destroy()
  }

  #serve(): void {
    const waiting = this.#next
    if (!waiting || (this.#chunks.length === 0 && !this.#isOver)) {
      this.#flow()
      return
    }
    this.#next = undefined
    const value = this.#chunks.shift()
    if (value) {
      this.#bytes -= value.length
      waiting.resolve({ done: false, value })
    } else if (this.#fault) waiting.reject(this.#fault)
    else waiting.resolve({ done: true, value: undefined })
  }

  #flow(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#source.resume()
  }
}
