import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket } from 'node:tls'

export interface RawServer {
  readonly port: number
  /** All that ever connected, in their order. */
  readonly sockets: readonly Socket[]
  /** How many are connected now. */
  openCount(): number
  close(): Promise<void>
}

/** Called for each request whose head is here, with what came of it so far. */
export type RawReply = (socket: Socket, request: string, count: number) => unknown

/** For unit tests: a server that says exactly what it is told to, right or wrong. */
export async function rawServer(
  reply: RawReply,
  certificate?: { readonly cert: string; readonly key: string },
): Promise<RawServer> {
  const sockets: Socket[] = []
  let count = 0
  const onSocket = (socket: Socket) => {
    sockets.push(socket)
    // The client may go away at any time.
    socket.on('error', () => undefined)
    let text = ''
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1')
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const request = text.slice(0, end)
        text = text.slice(end + 4)
        reply(socket, request, ++count)
      }
    })
  }
  const server: Server = certificate
    ? createTlsServer({ ...certificate, ALPNProtocols: ['http/1.1'] }, (socket: TLSSocket) => onSocket(socket))
    : createServer(onSocket)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    openCount: () => sockets.filter((socket) => !socket.destroyed).length,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/** Answers every request with the same text. */
export const say =
  (text: string): RawReply =>
  (socket) =>
    socket.write(Buffer.from(text, 'latin1'))

/** Polls, because what another end of a connection sees has no event here. */
export async function until(isTrue: () => boolean): Promise<void> {
  for (const endsAt = performance.now() + 15_000; !isTrue(); ) {
    if (performance.now() > endsAt) throw new Error('it never became true')
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}
