import * as http from 'node:http'
import * as https from 'node:https'
import * as tls from 'node:tls'
import type { Credential, TlsSettings } from '../config/config.ts'
import { ConfigError } from '../errors.ts'

export interface HttpRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body?: Buffer
  readonly certificate?: Credential['certificate'] | undefined
  /** Called when the first byte may have left. */
  readonly onSent?: () => void
  readonly signal: AbortSignal
}

/** The connection failed. `wasSent` is false only when the server certainly saw no byte of the request. */
export class ConnectionFault extends Error {
  override readonly name = 'ConnectionFault'
  readonly wasSent: boolean
  readonly systemCode: string | undefined

  constructor(cause: Error, wasSent: boolean) {
    super(cause.message, { cause })
    this.wasSent = wasSent
    this.systemCode = (cause as NodeJS.ErrnoException).code
  }
}

// API servers drop idle connections after 90 s. Dropping them first avoids most writes that die with unknown outcome.
const idleSocketMs = 60_000
/** Bursts are wide, and a new connection costs both sides more than the request: those of one burst serve the next. */
const mostIdleSockets = 128
// Linux then probes every second, ten times: a dead peer is noticed in under half a minute even on a silent watch.
const tcpKeepAliveMs = 15_000

/** Sockets to one server. On bare node:https, because an agent with a budget of 64 MiB cannot pay for a client library. */
export class Transport {
  readonly #server: URL
  readonly #tls: TlsSettings
  #current:
    | { readonly ca: string | undefined; readonly cert: string | undefined; readonly agent: http.Agent }
    | undefined
  #retired: http.Agent[] = []

  constructor(server: string, tlsSettings: TlsSettings) {
    this.#server = new URL(server)
    this.#tls = tlsSettings
  }

  /** Resolves when the headers of the answer are here. Rejects with a ConnectionFault, or with the signal's reason. */
  async send(request: HttpRequest): Promise<http.IncomingMessage> {
    const agent = await this.#agentFor(request.certificate)
    request.signal.throwIfAborted()
    return new Promise((resolve, reject) => {
      let wasSent = false
      const { signal } = request
      const outgoing = this.#open(agent, request)
      const onAbort = () => outgoing.destroy(new Error('aborted'))
      signal.addEventListener('abort', onAbort, { once: true })
      outgoing.once('close', () => signal.removeEventListener('abort', onAbort))
      outgoing.once('socket', (socket) => {
        socket.setKeepAlive(true, tcpKeepAliveMs)
        socket.setNoDelay(true)
        const onSent = () => {
          wasSent = true
          request.onSent?.()
        }
        if (outgoing.reusedSocket) onSent()
        else socket.once(socket instanceof tls.TLSSocket ? 'secureConnect' : 'connect', onSent)
      })
      outgoing.once('response', resolve)
      outgoing.on('error', (error) => reject(signal.aborted ? signal.reason : new ConnectionFault(error, wasSent)))
      outgoing.end(request.body)
    })
  }

  /** The text that verifies the server may have rotated: the next connection reads it again. */
  expireTrust(): void {
    this.#tls.ca?.expire()
  }

  close(): void {
    for (const agent of this.#retired) agent.destroy()
    this.#current?.agent.destroy()
    this.#retired = []
    this.#current = undefined
  }

  #open(agent: http.Agent, request: HttpRequest): http.ClientRequest {
    const { protocol, hostname, port, pathname } = this.#server
    const options = {
      agent,
      method: request.method,
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
      path: `${pathname.replace(/\/$/, '')}${request.path}`,
      headers: request.headers,
    }
    try {
      return protocol === 'https:' ? https.request(options) : http.request(options)
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ERR_INVALID_CHAR') throw cause
      // A token pasted with a line break, for one. Node names the header and keeps its value to itself.
      const seen = cause instanceof Error ? cause.message : String(cause)
      throw new ConfigError('CredentialUnreadable', `token or user name cannot be sent: ${seen}`)
    }
  }

  async #agentFor(certificate: Credential['certificate']): Promise<http.Agent> {
    const isTls = this.#server.protocol === 'https:'
    const ca = isTls ? await this.#tls.ca?.read() : undefined
    const cert = isTls ? certificate?.cert : undefined
    const current = this.#current
    if (current && current.ca === ca && current.cert === cert) return current.agent
    const pool = {
      keepAlive: true,
      keepAliveMsecs: tcpKeepAliveMs,
      timeout: idleSocketMs,
      maxFreeSockets: mostIdleSockets,
    }
    const agent = isTls
      ? new https.Agent({
          ...pool,
          // Parsed once here instead of at every connection.
          secureContext: secureContext(ca, certificate),
          ...(this.#tls.serverName === undefined ? {} : { servername: this.#tls.serverName }),
          rejectUnauthorized: this.#tls.insecureSkipVerify !== true,
        })
      : new http.Agent(pool)
    this.#retire()
    this.#current = { ca, cert, agent }
    return agent
  }

  /** Watches on the old identity go on until they end; only then its agent can be forgotten. */
  #retire(): void {
    if (this.#current) this.#retired.push(this.#current.agent)
    this.#retired = this.#retired.filter((agent) => isInUse(agent))
  }
}

function secureContext(ca: string | undefined, certificate: Credential['certificate']): tls.SecureContext {
  try {
    return tls.createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...(certificate ? { cert: certificate.cert, key: certificate.key.reveal() } : {}),
      minVersion: 'TLSv1.2',
    })
  } catch (cause) {
    // Also seen in the moment between the rotation of a certificate and that of its key; it passes.
    const seen = cause instanceof Error ? cause.message : String(cause)
    throw new ConfigError(
      'CredentialUnreadable',
      `certificate authority, client certificate and key do not fit: ${seen}`,
    )
  }
}

function isInUse(agent: http.Agent): boolean {
  return Object.keys(agent.sockets).length > 0 || Object.keys(agent.freeSockets).length > 0
}

/** Reads a whole body, or answers undefined when it is larger than `limit`. By events: an iterator costs as much as the rest. */
export function readBody(answer: http.IncomingMessage, limit: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    answer.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) chunks.push(chunk)
      else {
        resolve(undefined)
        answer.destroy()
      }
    })
    answer.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size)))
    answer.once('error', reject)
    // A connection that breaks half-way says no more than this.
    answer.once('close', () => reject(new Error('the connection was closed before the whole answer was here')))
  })
}
