import { createServer, type ServerResponse } from 'node:http'
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
  /** What the info API of profiles answers; without it there is none here. */
  readonly info?: () => unknown
}

export interface HttpServer {
  readonly port: number
  close(): Promise<void>
}

/** Health, readiness, metrics, and what profiles do. Nothing here changes anything. */
export async function startHttp(options: HttpOptions): Promise<HttpServer> {
  const server = createServer((request, response) => {
    answer(options, request.method ?? 'GET', request.url ?? '/', response).catch((error: unknown) => {
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

const infoPath = '/api/v1/info'

async function answer(options: HttpOptions, method: string, url: string, response: ServerResponse): Promise<void> {
  if (method !== 'GET' && method !== 'HEAD') return say(response, 405, 'only GET is answered here')
  const path = url.replace(/\?.*/s, '')
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
      if (options.info) return say(response, 200, JSON.stringify(options.info()), 'application/json')
  }
  say(response, 404, `there are /healthz, /readyz${options.info ? `, ${infoPath}` : ''} and /metrics`)
}

function say(response: ServerResponse, status: number, text: string, type = 'text/plain; charset=utf-8'): void {
  response.writeHead(status, { 'content-type': type })
  response.end(text.endsWith('\n') ? text : `${text}\n`)
}
