import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ClusterConfig } from '../config/config.ts'
import { anonymous } from '../config/credentials.ts'

/** A request as the scripted server saw it. */
export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: unknown
}

export type Reply = (answer: ServerResponse, request: SeenRequest) => void | Promise<void>

export interface ScriptedServer {
  readonly config: ClusterConfig
  readonly seen: readonly SeenRequest[]
  close(): Promise<void>
}

/** For unit tests: plays one reply per request, the last one for ever. */
export async function scriptedServer(...replies: readonly Reply[]): Promise<ScriptedServer> {
  const seen: SeenRequest[] = []
  const server = createServer((incoming, answer) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const url = new URL(incoming.url ?? '/', 'http://scripted')
      const text = Buffer.concat(chunks).toString('utf8')
      const request: SeenRequest = {
        method: incoming.method ?? '',
        path: url.pathname,
        query: url.searchParams,
        headers: incoming.headers,
        body: text === '' ? undefined : (JSON.parse(text) as unknown),
      }
      const reply = replies[Math.min(seen.length, replies.length - 1)]
      seen.push(request)
      void reply?.(answer, request)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    config: {
      server: `http://127.0.0.1:${port}`,
      tls: {},
      credentials: anonymous,
      namespace: 'default',
      source: 'a scripted server',
    },
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  (answer) => {
    answer.writeHead(status, { 'content-type': 'application/json', ...headers })
    answer.end(JSON.stringify(body))
  }

export const plain =
  (status: number, body: string, headers: Record<string, string> = {}): Reply =>
  (answer) => {
    answer.writeHead(status, { 'content-type': 'text/plain', ...headers })
    answer.end(body)
  }

/** A Status object, the API server's way of saying no. */
export const refusal = (code: number, reason: string, message: string, details?: object, headers = {}): Reply =>
  json(code, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, reason, message, details }, headers)

/** Takes the request and cuts the connection without an answer. */
export const reset: Reply = (answer) => {
  answer.socket?.resetAndDestroy()
}

/** Opens a watch, writes lines, and leaves it open unless told to end. */
export const lines =
  (texts: readonly (string | object)[], then: 'end' | 'stay' | 'cut' = 'end'): Reply =>
  async (answer) => {
    answer.writeHead(200, { 'content-type': 'application/json' })
    answer.flushHeaders()
    for (const text of texts) answer.write(typeof text === 'string' ? text : `${JSON.stringify(text)}\n`)
    if (then === 'end') answer.end()
    if (then === 'cut') {
      await new Promise((resolve) => setTimeout(resolve, 5))
      answer.socket?.destroy()
    }
  }
