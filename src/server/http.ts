import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface HttpOptions {
  /** 0 picks a free one. */
  readonly port: number
  readonly host: string
  /** One sentence for each thing that is not ready; empty means ready. */
  readonly notReady: () => readonly string[]
  /** What people should know though the program is ready. */
  readonly remarks?: () => readonly string[]
  /** Prometheus text. */
  readonly metrics: () => Promise<string>
  /**
   * What the info API of profiles answers, as JSON; without it there is none here. One who asks for somebody else gets
   * what this process knows by itself: two that take each other for the leader would ask for ever.
   */
  readonly info?: (isForwarded: boolean) => Promise<string>
  /** What whoever asks for more than health has to send; asked for at each question, so that it may change. */
  readonly token?: () => Promise<string>
}

export interface HttpServer {
  readonly port: number
  close(): Promise<void>
}

/** Health, readiness, metrics, and what profiles do. Nothing here changes anything. */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const server = createServer((request, response) => {
    answer(options, request, response).catch((error: unknown) => {
      say(response, 500, error instanceof Error ? error.message : String(error))
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export const infoPath = '/api/v1/info'
export const forwardedHeader = 'x-fettle-forwarded'

async function answer(options: HttpOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = 'GET', url = '/' } = request
  if (method !== 'GET' && method !== 'HEAD') return say(response, 405, 'only GET is answered here')
  const path = url.replace(/\?.*/s, '')
  // Kubelets ask for health, and have no token.
  if (path !== '/healthz' && path !== '/readyz' && !(await isAllowed(options, request))) {
    response.setHeader('www-authenticate', 'Bearer')
    return say(response, 401, 'send the token of --http-token-file as Authorization: Bearer')
  }
  switch (path) {
    case '/healthz':
      return say(response, 200, 'ok')
    case '/readyz': {
      const missing = options.notReady()
      const lines = [...(missing.length === 0 ? ['ok'] : missing), ...(options.remarks?.() ?? [])]
      return say(response, missing.length === 0 ? 200 : 503, lines.join('\n'))
    }
    case '/metrics':
      return say(response, 200, await options.metrics(), 'text/plain; version=0.0.4; charset=utf-8')
    case infoPath:
      if (options.info) {
        const isForwarded = request.headers[forwardedHeader] !== undefined
        return say(response, 200, await options.info(isForwarded), 'application/json')
      }
  }
  say(response, 404, `there are /healthz, /readyz${options.info ? `, ${infoPath}` : ''} and /metrics`)
}

/** A token that is empty lets nobody in: it is a Secret that was not filled yet. */
async function isAllowed({ token }: HttpOptions, { headers }: IncomingMessage): Promise<boolean> {
  if (!token) return true
  const wanted = (await token()).trim()
  return wanted !== '' && timingSafeEqual(digest(`Bearer ${wanted}`), digest(headers.authorization ?? ''))
}

/** Of equal length, whatever is sent. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

function say(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': type })
  response.end(text.endsWith('\n') ? text : `${text}\n`)
}
