import { connect as connectPlain, isIP } from 'node:net'
import { connect as connectTls, type SecureContext } from 'node:tls'
import { Connection, type Exchange } from './connection.ts'

/** Where connections lead to, and as whom. */
export interface Place {
  readonly host: string
  readonly port: number
  /** Nothing for plain HTTP. */
  readonly tls?: {
    readonly context: SecureContext
    readonly serverName: string | undefined
    readonly isUnverified: boolean
  }
}

// API servers drop idle connections after 90 s. Dropping them first avoids most writes that die with unknown outcome.
const mostIdleMs = 60_000
/** Bursts are wide, and a new connection costs both sides more than the request: those of one burst serve the next. */
const mostIdle = 128

/** Connections to one place. An exchange gets the one that rested least, or a new one. */
export class ConnectionPool {
  readonly #place: Place
  readonly #all = new Set<Connection>()
  /** The one that rested longest first. */
  #idle: { readonly connection: Connection; readonly untilMs: number }[] = []
  #sweep: NodeJS.Timeout | undefined
  /** With it a new connection starts with half the work. */
  #session: Buffer | undefined

  constructor(place: Place) {
    this.#place = place
  }

  get isEmpty(): boolean {
    return this.#all.size === 0
  }

  /** Answers the connection, for whoever wants to give up. */
  start(exchange: Exchange): Connection {
    const connection = this.#takeIdle() ?? this.#open()
    connection.start(exchange)
    return connection
  }

  destroy(): void {
    clearInterval(this.#sweep)
    this.#sweep = undefined
    for (const connection of this.#all) connection.destroy(new Error('the client is closed'))
  }

  #takeIdle(): Connection | undefined {
    for (;;) {
      const idle = this.#idle.pop()
      if (!idle) return undefined
      const { connection, untilMs } = idle
      if (connection.isUsable && untilMs > performance.now()) return connection
      connection.destroy(restedTooLong())
    }
  }

  #open(): Connection {
    const { host, port, tls } = this.#place
    const socket = tls
      ? connectTls({
          host,
          port,
          secureContext: tls.context,
          // An address is no name that a server could go by.
          servername: tls.serverName ?? (isIP(host) ? '' : host),
          rejectUnauthorized: !tls.isUnverified,
          ALPNProtocols: ['http/1.1'],
          ...(this.#session ? { session: this.#session } : {}),
        })
      : connectPlain({ host, port })
    if (tls) {
      socket.on('session', (session: Buffer) => {
        this.#session = session
      })
      socket.once('error', () => {
        this.#session = undefined
      })
    }
    const connection = new Connection(socket, tls ? 'secureConnect' : 'connect', {
      onIdle: (idle) => this.#rest(idle),
      onGone: (gone) => {
        this.#all.delete(gone)
        this.#idle = this.#idle.filter(({ connection }) => connection !== gone)
      },
    })
    this.#all.add(connection)
    return connection
  }

  #rest(connection: Connection): void {
    const untilMs = performance.now() + Math.min(mostIdleMs, connection.mostIdleMs)
    this.#idle.push({ connection, untilMs })
    if (this.#idle.length > mostIdle) this.#idle.shift()?.connection.destroy(new Error('it is one too many'))
    this.#sweep ??= setInterval(() => this.#dropOld(), mostIdleMs / 4).unref()
  }

  #dropOld(): void {
    const nowMs = performance.now()
    for (const { connection, untilMs } of this.#idle) if (untilMs <= nowMs) connection.destroy(restedTooLong())
    this.#idle = this.#idle.filter(({ untilMs }) => untilMs > nowMs)
    if (this.#idle.length > 0) return
    clearInterval(this.#sweep)
    this.#sweep = undefined
  }
}

function restedTooLong(): Error {
  return new Error('the connection rested too long')
}
