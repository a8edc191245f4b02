import { getEventListeners } from 'node:events'
import type { TLSSocket } from 'node:tls'
import { inspect } from 'node:util'
import { afterEach, describe, expect, it } from 'vitest'
import type { TlsSettings } from '../config/config.ts'
import { Secret } from '../config/secret.ts'
import { type RawReply, type RawServer, rawServer, say, until } from '../http/raw-server.ts'
import { throwawayCertificate } from '../http/throwaway-certificate.ts'
import { connectionError } from './answer.ts'
import { ConnectionFault, type HttpRequest, Transport } from './transport.ts'

const cleanups: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean()
})

const certificate = throwawayCertificate('api.example')
const fixedText = (text: string) => ({ read: () => Promise.resolve(text), expire: () => undefined })
const trusting: TlsSettings = { ca: fixedText(certificate.cert), serverName: 'api.example' }
const hello = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'
const half = 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello'

async function play(reply: RawReply, tls?: TlsSettings): Promise<{ server: RawServer; transport: Transport }> {
  const server = await rawServer(reply, tls ? certificate : undefined)
  const transport = new Transport(`${tls ? 'https' : 'http'}://127.0.0.1:${server.port}`, tls ?? {})
  cleanups.push(
    () => transport.close(),
    () => until(() => server.openCount() === 0),
    () => server.close(),
  )
  return { server, transport }
}

function requestWith(changes: Partial<HttpRequest> = {}): HttpRequest {
  return { method: 'GET', path: '/x', headers: {}, signal: new AbortController().signal, ...changes }
}

async function ask(transport: Transport, changes: Partial<HttpRequest> = {}): Promise<string> {
  const answer = await transport.send(requestWith(changes))
  return String(await answer.whole(1_000_000))
}

async function faultOf(promise: Promise<unknown>): Promise<ConnectionFault> {
  const error: unknown = await promise.then(
    () => new Error('it succeeded'),
    (caught: unknown) => caught,
  )
  if (!(error instanceof ConnectionFault)) throw error
  return error
}

describe('the address of a server', () => {
  it('goes in front of each path, and its name into the host', async () => {
    const seen: string[] = []
    const server = await rawServer((socket, request) => {
      seen.push(request)
      socket.write(hello)
    })
    const transport = new Transport(`http://localhost:${server.port}/base/`, {})
    cleanups.push(
      () => transport.close(),
      () => server.close(),
    )
    await ask(transport, { path: '/api?a=b' })
    expect(seen).toEqual([`GET /base/api?a=b HTTP/1.1\r\nHost: localhost:${server.port}`])
  })
})

describe('an abort', () => {
  const reason = new Error('enough')

  it('before the call leaves the server alone', async () => {
    const { server, transport } = await play(say(hello))
    await expect(transport.send(requestWith({ signal: AbortSignal.abort(reason) }))).rejects.toBe(reason)
    expect(server.sockets).toHaveLength(0)
  })

  it('while the connection is opened sends nothing', async () => {
    const { server, transport } = await play(say(hello))
    const stop = new AbortController()
    const sent: string[] = []
    const call = transport.send(requestWith({ signal: stop.signal, onSent: () => sent.push('sent') }))
    // Now the connection is asked for; the network has not answered.
    await Promise.resolve()
    await Promise.resolve()
    stop.abort(reason)
    await expect(call).rejects.toBe(reason)
    await until(() => server.openCount() === 0)
    expect(sent).toEqual([])
    expect(server.sockets.filter(({ bytesRead }) => bytesRead > 0)).toEqual([])
  })

  it('while the keys are exchanged sends nothing', async () => {
    const silent = await rawServer(() => undefined)
    const transport = new Transport(`https://127.0.0.1:${silent.port}`, trusting)
    cleanups.push(
      () => transport.close(),
      () => silent.close(),
    )
    const stop = new AbortController()
    const sent: string[] = []
    const call = transport.send(requestWith({ signal: stop.signal, onSent: () => sent.push('sent') }))
    await until(() => silent.sockets.some(({ bytesRead }) => bytesRead > 0))
    stop.abort(reason)
    await expect(call).rejects.toBe(reason)
    await until(() => silent.openCount() === 0)
    expect(sent).toEqual([])
  })

  it('while the answer is awaited ends the connection', async () => {
    const { server, transport } = await play(() => undefined)
    const stop = new AbortController()
    const sent: string[] = []
    const call = transport.send(requestWith({ signal: stop.signal, onSent: () => sent.push('sent') }))
    await until(() => sent.length === 1)
    stop.abort(reason)
    await expect(call).rejects.toBe(reason)
    await until(() => server.sockets.length === 1 && server.openCount() === 0)
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
  })

  it('after the headers ends the body and the connection', async () => {
    const { server, transport } = await play(say(half))
    for (const isReading of [false, true]) {
      const stop = new AbortController()
      const answer = await transport.send(requestWith({ signal: stop.signal }))
      const early = isReading ? answer.whole(99) : undefined
      stop.abort(reason)
      await expect(early ?? answer.whole(99)).rejects.toThrow('aborted')
      expect(getEventListeners(stop.signal, 'abort')).toEqual([])
      await until(() => server.openCount() === 0)
    }
  })

  it('after the answer hits nobody: others may use the connection by now', async () => {
    const { server, transport } = await play((socket, _request, count) => socket.write(count === 1 ? hello : half))
    const stop = new AbortController()
    expect(await ask(transport, { signal: stop.signal })).toBe('hello')
    expect(getEventListeners(stop.signal, 'abort')).toEqual([])
    const answer = await transport.send(requestWith())
    stop.abort(reason)
    server.sockets[0]?.write('more')
    expect(String(await answer.whole(99))).toBe('hellomore')
    expect(server.sockets).toHaveLength(1)
  })
})

describe('a fault', () => {
  it('says that nothing was sent only when nobody was there to see it', async () => {
    const { server, transport } = await play((socket) => socket.resetAndDestroy())
    expect(await faultOf(transport.send(requestWith()))).toMatchObject({ wasSent: true, systemCode: 'ECONNRESET' })
    await server.close()
    expect(await faultOf(transport.send(requestWith()))).toMatchObject({ wasSent: false, systemCode: 'ECONNREFUSED' })
  })

  it('at every address of a name says what was wrong with each', () => {
    const cause = new AggregateError([new Error('refused at ::1'), new Error('refused at 127.0.0.1')])
    expect(new ConnectionFault(cause, false).message).toBe('refused at ::1, refused at 127.0.0.1')
    expect(new ConnectionFault(new Error('reset'), false).message).toBe('reset')
  })

  it('on a connection that the server has just closed leaves the request in doubt', async () => {
    const { server, transport } = await play(say(hello))
    await ask(transport)
    // Both in one turn: the client cannot know yet.
    server.sockets[0]?.destroy()
    expect(await faultOf(transport.send(requestWith()))).toMatchObject({ wasSent: true })
    expect(await ask(transport)).toBe('hello')
  })

  it('of the call itself reaches nobody', async () => {
    const { server, transport } = await play(say(hello))
    const headers = { Authorization: 'Bearer canary\r\nX: y' }
    const error: unknown = await transport.send(requestWith({ headers })).catch((caught: unknown) => caught)
    expect(error).toMatchObject({ code: 'CredentialUnreadable' })
    expect(inspect(error)).not.toContain('canary')
    await expect(transport.send(requestWith({ path: '/a b' }))).rejects.toThrow(TypeError)
    expect(server.sockets).toHaveLength(0)
  })
})

describe('over TLS', () => {
  it('exchanges share a connection', async () => {
    const { server, transport } = await play(say(hello), trusting)
    for (let count = 0; count < 3; count++) expect(await ask(transport)).toBe('hello')
    expect(server.sockets).toHaveLength(1)
    expect((server.sockets[0] as TLSSocket).alpnProtocol).toBe('http/1.1')
  })

  it('the next connection starts with what the one before agreed on', async () => {
    const isReused: boolean[] = []
    const { transport } = await play((socket) => {
      isReused.push((socket as TLSSocket).isSessionReused())
      socket.write(hello.replace('\r\n', '\r\nConnection: close\r\n'))
    }, trusting)
    for (let count = 0; count < 3; count++) expect(await ask(transport)).toBe('hello')
    expect(isReused).toEqual([false, true, true])
  })

  const untrusted: readonly [string, TlsSettings, string][] = [
    ['for another name', { ...trusting, serverName: 'other.example' }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['for a name, asked by address', { ca: fixedText(certificate.cert) }, 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['of nobody known', { serverName: 'api.example' }, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    [
      'of another with the same name',
      { ...trusting, ca: fixedText(throwawayCertificate('api.example').cert) },
      'DEPTH_ZERO_SELF_SIGNED_CERT',
    ],
  ]
  for (const [name, settings, code] of untrusted) {
    it(`a certificate ${name} is refused each time before anything is sent`, async () => {
      let requests = 0
      const { transport } = await play(() => requests++, settings)
      for (let count = 0; count < 2; count++) {
        const sent: string[] = []
        const fault = await faultOf(transport.send(requestWith({ onSent: () => sent.push('sent') })))
        expect(fault).toMatchObject({ wasSent: false, systemCode: code })
        expect(connectionError({ method: 'GET', path: '/x' }, fault, 'here', 1).code).toBe('Untrusted')
        expect(sent).toEqual([])
      }
      expect(requests).toBe(0)
    })
  }

  it('any certificate will do when nothing is verified', async () => {
    const { transport } = await play(say(hello), { insecureSkipVerify: true })
    expect(await ask(transport)).toBe('hello')
  })

  /** One that accepts connections and does not know what TLS is. */
  async function askPlainServer() {
    const plain = await rawServer(() => undefined)
    const transport = new Transport(`https://127.0.0.1:${plain.port}`, trusting)
    cleanups.push(
      () => transport.close(),
      () => plain.close(),
    )
    return { plain, call: faultOf(transport.send(requestWith())) }
  }

  it('a server that does not speak it is a fault before anything is sent', async () => {
    const { plain, call } = await askPlainServer()
    await until(() => plain.sockets.length === 1)
    plain.sockets[0]?.end('HTTP/1.1 400 Bad Request\r\n\r\n')
    expect(await call).toMatchObject({ wasSent: false })
  })

  it('a connection that ends before the keys are exchanged is a fault before anything is sent', async () => {
    const { plain, call } = await askPlainServer()
    // Bytes that were not read would turn the end into a reset.
    await until(() => plain.sockets.some(({ bytesRead }) => bytesRead > 0))
    plain.sockets[0]?.end()
    const fault = await call
    expect(fault).toMatchObject({ wasSent: false, systemCode: 'ECONNRESET' })
    expect(fault.message).toContain('before secure TLS connection was established')
  })

  it('an answer that the reader leaves waiting arrives whole', async () => {
    const text = 'x'.repeat(3_000_000)
    const { transport } = await play(say(`HTTP/1.1 200 OK\r\nContent-Length: ${text.length}\r\n\r\n${text}`), trusting)
    for (let count = 0; count < 2; count++) {
      const answer = await transport.send(requestWith())
      await new Promise((resolve) => setTimeout(resolve, 10))
      expect((await answer.whole(5_000_000))?.length).toBe(text.length)
    }
  })

  it('a connection does not keep the process alive while it rests, and does while somebody waits', async () => {
    const { server, transport } = await play(say(hello), trusting)
    const keeping = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
    await ask(transport)
    for (let count = 0; count < 3; count++) {
      let waiting: number | undefined
      // In one turn, in which no other socket can come or go.
      const resting = keeping()
      await ask(transport, {
        onSent: () => {
          waiting = keeping()
        },
      })
      expect(waiting).toBe(resting + 1)
    }
    expect(server.sockets).toHaveLength(1)
  })

  it('another identity gets its own connections, and those of the old one end with what they carry', async () => {
    const { server, transport } = await play(
      (socket, request) => socket.write(request.includes('/watch') ? half : hello),
      trusting,
    )
    const watch = await transport.send(requestWith({ path: '/watch' }))
    const { cert, key } = throwawayCertificate('client')
    const identity = { cert, key: new Secret(key) }
    expect(await ask(transport, { certificate: identity })).toBe('hello')
    expect(await ask(transport, { certificate: identity })).toBe('hello')
    expect(server.sockets).toHaveLength(2)
    server.sockets[0]?.write('more')
    expect(String(await watch.whole(99))).toBe('hellomore')
    transport.close()
    await until(() => server.openCount() === 0)
  })
})
