import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, request as requestSecure } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { certificateFolder } from './certificates.ts'
import { apiServerUrl, type ClusterRecord } from './cluster-record.ts'

/** What the proxy does to requests that match. Each fault is used up after `count` requests. */
export interface InjectedFault {
  readonly status: 403 | 410 | 429 | 500 | 503
  readonly count: number
  readonly matches?: (request: { readonly method: string; readonly path: string }) => boolean
  readonly retryAfterSeconds?: number
}

/** Stands between a client and the API server and breaks things on demand. */
export interface FaultProxy {
  readonly url: string
  readonly port: number
  /** Ends every open watch connection without a word. Returns how many. */
  cutWatches(): number
  /** Watches stay connected but nothing arrives any more, like behind a firewall that forgot them. Returns how many. */
  stallWatches(): number
  /** For this long no new connection gets an answer. */
  blackout(ms: number): void
  inject(fault: InjectedFault): void
  /** Requests seen since the start, by method and status. */
  readonly counts: ReadonlyMap<string, number>
  readonly openWatches: number
  close(): Promise<void>
}

/**
 * The proxy terminates TLS with the cluster's own serving certificate and forwards the caller's credentials as they
 * are. Client certificates end at the proxy, so callers use a token, or the proxy speaks as `speakAs`.
 */
export async function startFaultProxy(
  record: ClusterRecord,
  options: { readonly speakAs?: 'admin' } = {},
): Promise<FaultProxy> {
  const pem = (name: string) => readFileSync(join(certificateFolder(record), name))
  const upstream = new URL(apiServerUrl(record))
  const faults: { fault: InjectedFault; left: number }[] = []
  const watches = new Set<{ readonly socket: Socket; stall(): void }>()
  const sockets = new Set<Socket>()
  const counts = new Map<string, number>()
  let darkUntil = 0

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const path = request.url ?? '/'
    const method = request.method ?? 'GET'
    const count = (status: number) => counts.set(`${method} ${status}`, (counts.get(`${method} ${status}`) ?? 0) + 1)
    if (Date.now() < darkUntil) {
      request.socket.destroy()
      return
    }
    const entry = faults.find(({ fault, left }) => left > 0 && (fault.matches?.({ method, path }) ?? true))
    if (entry) {
      entry.left--
      count(entry.fault.status)
      respondWithFault(response, entry.fault)
      return
    }
    const isWatch = /[?&]watch=(true|1)/.test(path)
    const forwarded = requestSecure(
      {
        host: upstream.hostname,
        port: upstream.port,
        method,
        path,
        headers: request.headers,
        ca: pem('ca.crt'),
        ...(options.speakAs ? { cert: pem(`${options.speakAs}.crt`), key: pem(`${options.speakAs}.key`) } : {}),
        agent: false,
      },
      (reply) => {
        count(reply.statusCode ?? 0)
        response.writeHead(reply.statusCode ?? 502, reply.headers)
        response.flushHeaders()
        if (isWatch) {
          const watch = {
            socket: request.socket,
            stall: () => {
              reply.unpipe(response)
              reply.resume()
            },
          }
          watches.add(watch)
          response.once('close', () => watches.delete(watch))
        }
        reply.once('error', () => request.socket.destroy())
        reply.pipe(response)
      },
    )
    forwarded.once('error', () => request.socket.destroy())
    response.once('close', () => forwarded.destroy())
    request.pipe(forwarded)
  }

  const server = createServer({ cert: pem('kube-apiserver.crt'), key: pem('kube-apiserver.key') }, answer)
  server.on('secureConnection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    // A cut connection is what this is for.
    socket.on('error', () => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  return {
    url: `https://127.0.0.1:${port}`,
    port,
    cutWatches() {
      const cut = [...watches]
      for (const watch of cut) watch.socket.destroy()
      return cut.length
    },
    stallWatches() {
      for (const watch of watches) watch.stall()
      return watches.size
    },
    blackout(ms) {
      darkUntil = Date.now() + ms
      for (const socket of sockets) socket.destroy()
    },
    inject(fault) {
      faults.push({ fault, left: fault.count })
    },
    counts,
    get openWatches() {
      return watches.size
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** The bodies that the API server itself would send, so that clients cannot tell. */
function respondWithFault(response: ServerResponse, fault: InjectedFault): void {
  const reasons = {
    403: 'Forbidden',
    410: 'Expired',
    429: 'TooManyRequests',
    500: 'InternalError',
    503: 'ServiceUnavailable',
  } as const
  const body = JSON.stringify({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `injected: ${reasons[fault.status]}`,
    reason: reasons[fault.status],
    code: fault.status,
  })
  response.writeHead(fault.status, {
    'content-type': 'application/json',
    ...(fault.retryAfterSeconds === undefined ? {} : { 'retry-after': String(fault.retryAfterSeconds) }),
  })
  response.end(body)
}
