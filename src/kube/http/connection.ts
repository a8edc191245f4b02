import type { Socket } from 'node:net'
import { AnswerParser } from './answer-parser.ts'
import { HttpAnswer } from './http-answer.ts'

/** A request as it goes over the wire, and who waits for its answer. */
export interface Exchange {
  readonly method: string
  readonly bytes: Buffer
  /** Called when the first byte may leave. */
  readonly onSent: () => void
  /** The headers of the answer are here. */
  readonly onAnswer: (answer: HttpAnswer) => void
  /** There will be none. */
  readonly onFault: (error: Error) => void
  /** The last byte of the answer is here, or none will come any more. */
  readonly onOver: () => void
}

export interface ConnectionEvents {
  /** It can carry the next exchange. */
  readonly onIdle: (connection: Connection) => void
  readonly onGone: (connection: Connection) => void
}

// Linux then probes every second, ten times: a dead peer is noticed in under half a minute even on a silent watch.
const tcpKeepAliveMs = 15_000

/** One connection to a server that speaks HTTP/1.1. It carries one exchange at a time. */
export class Connection {
  readonly #socket: Socket
  readonly #events: ConnectionEvents
  #isOpen = false
  #exchange: Exchange | undefined
  #parser: AnswerParser | undefined
  #answer: HttpAnswer | undefined
  #fault: Error | undefined
  #mostIdleMs = Number.POSITIVE_INFINITY

  /** `openEvent` is what the socket says when the first request may leave. */
  constructor(socket: Socket, openEvent: 'connect' | 'secureConnect', events: ConnectionEvents) {
    this.#socket = socket
    this.#events = events
    socket.setNoDelay(true)
    socket.setKeepAlive(true, tcpKeepAliveMs)
    socket.once(openEvent, () => {
      this.#isOpen = true
      this.#send()
    })
    socket.on('data', (bytes: Buffer) => this.#receive(bytes))
    socket.on('end', () => {
      this.#parser?.close()
      // Left to itself the socket first waits for the server to take the rest of the request, which it need not do.
      // Before it is open there is no request, and Node knows better what went wrong.
      if (this.#isOpen) this.destroy(closedByServer())
    })
    socket.on('error', (error) => {
      this.#fault ??= error
    })
    socket.once('close', () => {
      this.#isOpen = false
      this.#giveUp(this.#fault ?? closedByServer())
      events.onGone(this)
    })
  }

  get isUsable(): boolean {
    return !this.#socket.destroyed && this.#socket.writable && this.#socket.readable
  }

  /** How long it may be idle before the server closes it, as far as the server says so. */
  get mostIdleMs(): number {
    return this.#mostIdleMs
  }

  /** Only when it is idle. */
  start(exchange: Exchange): void {
    this.#socket.ref()
    this.#exchange = exchange
    this.#parser = new AnswerParser(exchange.method, {
      onHead: (status, headers) => {
        const seconds = /\btimeout=(\d{1,9})/i.exec(headers['keep-alive'] ?? '')?.[1]
        // A second earlier: a request that crosses the server's farewell is lost, and a write is then in doubt.
        if (seconds !== undefined) this.#mostIdleMs = (Number(seconds) - 1) * 1000
        this.#answer = new HttpAnswer(status, headers, this.#source)
        exchange.onAnswer(this.#answer)
      },
      onBody: (bytes) => this.#answer?.add(bytes),
      onEnd: () => this.#finish(),
    })
    if (this.#isOpen) this.#send()
  }

  /** Whoever waits for an answer hears of the error at once. */
  destroy(error: Error): void {
    this.#fault ??= error
    this.#giveUp(error)
    this.#socket.destroy()
  }

  readonly #source = {
    pause: () => this.#socket.pause(),
    resume: () => this.#socket.resume(),
    destroy: (error: Error) => this.destroy(error),
  }

  #send(): void {
    if (!this.#exchange) return
    this.#exchange.onSent()
    this.#socket.write(this.#exchange.bytes)
  }

  #receive(bytes: Buffer): void {
    try {
      if (!this.#parser) throw new Error('the server sent bytes that nobody asked for')
      this.#parser.push(bytes)
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #finish(): void {
    const { mayBeFollowed } = this.#parser ?? { mayBeFollowed: false }
    const exchange = this.#exchange
    const answer = this.#answer
    this.#exchange = undefined
    this.#parser = undefined
    this.#answer = undefined
    answer?.end()
    exchange?.onOver()
    // A server that has answered may never take the rest of a request, and the next one would wait behind it.
    if (!mayBeFollowed || !this.isUsable || this.#socket.writableNeedDrain) {
      this.#socket.destroy()
      return
    }
    if (this.#socket.isPaused()) this.#socket.resume()
    // Nobody waits for a server that is only kept in reach.
    this.#socket.unref()
    this.#events.onIdle(this)
  }

  #giveUp(error: Error): void {
    const exchange = this.#exchange
    const answer = this.#answer
    this.#exchange = undefined
    this.#parser = undefined
    this.#answer = undefined
    if (answer) answer.end(new Error(`the connection was closed before the whole answer was here: ${error.message}`))
    else exchange?.onFault(error)
    exchange?.onOver()
  }
}

function closedByServer(): Error {
  return Object.assign(new Error('the server closed the connection without an answer'), { code: 'ECONNRESET' })
}
