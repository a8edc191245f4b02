import { createSecureContext, type SecureContext } from 'node:tls'
import type { Credential, TlsSettings } from '../config/config.ts'
import { ConfigError } from '../errors.ts'
import type { HttpAnswer } from '../http/http-answer.ts'
import { ConnectionPool } from '../http/pool.ts'
import { type RequestParts, requestBytes, UnsendableHeader } from '../http/request-bytes.ts'

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
    // A name that stands for several addresses fails with one error for each, and no words of its own.
    const causes: readonly unknown[] = cause instanceof AggregateError ? cause.errors : []
    super([cause, ...causes].flatMap((one) => (one instanceof Error && one.message) || []).join(', '), { cause })
    this.wasSent = wasSent
    this.systemCode = (cause as NodeJS.ErrnoException).code
  }
}

/** The way to one server, with the trust and the identity of the moment. */
export class Transport {
  readonly #server: { readonly host: string; readonly port: number; readonly authority: string; readonly path: string }
  readonly #isTls: boolean
  readonly #tls: TlsSettings
  #current:
    | { readonly ca: string | undefined; readonly cert: string | undefined; readonly pool: ConnectionPool }
    | undefined
  #retired: ConnectionPool[] = []

  constructor(server: string, tlsSettings: TlsSettings) {
    const { protocol, host, hostname, port, pathname } = new URL(server)
    this.#isTls = protocol === 'https:'
    this.#server = {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? (this.#isTls ? 443 : 80) : Number(port),
      authority: host,
      path: pathname.replace(/\/$/, ''),
    }
    this.#tls = tlsSettings
  }

  /** Resolves when the headers of the answer are here. Rejects with a ConnectionFault, or with the signal's reason. */
  async send(request: HttpRequest): Promise<HttpAnswer> {
    const { signal } = request
    const pool = await this.#poolFor(request.certificate)
    signal.throwIfAborted()
    const { authority, path } = this.#server
    const bytes = bytesOf({ ...request, path: `${path}${request.path}`, authority })
    return new Promise((resolve, reject) => {
      let wasSent = false
      const connection = pool.start({
        method: request.method,
        bytes,
        onSent: () => {
          wasSent = true
          request.onSent?.()
        },
        onAnswer: resolve,
        onFault: (error) => reject(signal.aborted ? signal.reason : new ConnectionFault(error, wasSent)),
        onOver: () => signal.removeEventListener('abort', onAbort),
      })
      const onAbort = () => connection.destroy(new Error('aborted'))
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  /** The text that verifies the server may have rotated: the next connection reads it again. */
  expireTrust(): void {
    this.#tls.ca?.expire()
  }

  close(): void {
    for (const pool of this.#retired) pool.destroy()
    this.#current?.pool.destroy()
    this.#retired = []
    this.#current = undefined
  }

  async #poolFor(certificate: Credential['certificate']): Promise<ConnectionPool> {
    const ca = this.#isTls ? await this.#tls.ca?.read() : undefined
    const cert = this.#isTls ? certificate?.cert : undefined
    const current = this.#current
    if (current && current.ca === ca && current.cert === cert) return current.pool
    const { host, port } = this.#server
    const pool = new ConnectionPool({
      host,
      port,
      ...(this.#isTls
        ? {
            tls: {
              // Parsed once here instead of at every connection.
              context: secureContext(ca, certificate),
              serverName: this.#tls.serverName,
              isUnverified: this.#tls.insecureSkipVerify === true,
            },
          }
        : {}),
    })
    this.#retire()
    this.#current = { ca, cert, pool }
    return pool
  }

  /** Watches on the old identity go on until they end; only then its connections can be forgotten. */
  #retire(): void {
    if (this.#current) this.#retired.push(this.#current.pool)
    this.#retired = this.#retired.filter((pool) => !pool.isEmpty)
  }
}

function bytesOf(parts: RequestParts): Buffer {
  try {
    return requestBytes(parts)
  } catch (cause) {
    if (!(cause instanceof UnsendableHeader)) throw cause
    // A token pasted with a line break, for one.
    throw new ConfigError('CredentialUnreadable', `token or user name cannot be sent: ${cause.message}`)
  }
}

function secureContext(ca: string | undefined, certificate: Credential['certificate']): SecureContext {
  try {
    return createSecureContext({
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
