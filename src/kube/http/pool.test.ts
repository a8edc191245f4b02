import type { Socket } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { HttpAnswer } from './http-answer.ts'
import { ConnectionPool } from './pool.ts'
import { type RawReply, type RawServer, rawServer, say, until } from './raw-server.ts'
import { requestBytes } from './request-bytes.ts'

const cleanups: (() => Promise<void> | void)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const clean of cleanups.splice(0)) await clean()
})

async function play(reply: RawReply): Promise<{ server: RawServer; pool: ConnectionPool }> {
  const server = await rawServer(reply)
  const pool = new ConnectionPool({ host: '127.0.0.1', port: server.port })
  cleanups.push(
    () => pool.destroy(),
    () => until(() => pool.isEmpty),
    () => server.close(),
  )
  return { server, pool }
}

/** The answer, and what else became of the exchange. */
function start(pool: ConnectionPool, { method = 'GET', path = '/', body = undefined as Buffer | undefined } = {}) {
  const told: string[] = []
  let end: () => void
  const over = new Promise<void>((resolve) => {
    end = resolve
  })
  const answer = new Promise<HttpAnswer>((resolve, reject) => {
    pool.start({
      method,
      bytes: requestBytes({ method, path, authority: 'x', headers: {}, ...(body ? { body } : {}) }),
      onSent: () => told.push('sent'),
      onAnswer: (seen) => {
        told.push('answer')
        resolve(seen)
      },
      onFault: (error) => {
        told.push('fault')
        reject(error)
      },
      onOver: () => {
        told.push('over')
        end()
      },
    })
  })
  return { answer, over, told }
}

async function ask(pool: ConnectionPool, request: Parameters<typeof start>[1] = {}): Promise<string> {
  const { answer, over } = start(pool, request)
  const { status, body } = await answer.then(async (seen) => ({ status: seen.status, body: await seen.whole(1e7) }))
  await over
  return `${status} ${body?.toString('latin1')}`
}

const ok = 'HTTP/1.1 200 OK\r\n'
const hello = `${ok}Content-Length: 5\r\n\r\nhello`
const kib64 = Buffer.alloc(64 * 1024, 'x')

describe('a connection', () => {
  it('carries one exchange after the other', async () => {
    const { server, pool } = await play(say(hello))
    for (let count = 0; count < 5; count++) expect(await ask(pool)).toBe('200 hello')
    expect(server.sockets).toHaveLength(1)
  })

  const reusable: readonly [string, string, string, string?][] = [
    [
      'in chunks with extensions and trailers',
      `${ok}Transfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nA: b\r\n\r\n`,
      '200 hello',
    ],
    ['after other news', `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n${hello}`, '200 hello'],
    ['to HEAD', `${ok}Content-Length: 5\r\n\r\n`, '200 ', 'HEAD'],
    ['without content', 'HTTP/1.1 204 No Content\r\n\r\n', '204 '],
    ['without news', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', '304 '],
  ]
  for (const [name, text, expected, method = 'GET'] of reusable) {
    it(`is used again after an answer ${name}`, async () => {
      const { server, pool } = await play(say(text))
      expect(await ask(pool, { method })).toBe(expected)
      expect(await ask(pool, { method })).toBe(expected)
      expect(server.sockets).toHaveLength(1)
    })
  }

  const final: readonly [string, string][] = [
    ['says close', `${ok}Connection: close\r\nContent-Length: 5\r\n\r\nhello`],
    ['is of HTTP/1.0', 'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello'],
    ['is followed by more', `${hello}x`],
    ['is followed by another one', `${hello}${hello}`],
  ]
  for (const [name, text] of final) {
    it(`is not used again after an answer that ${name}`, async () => {
      const { server, pool } = await play(say(text))
      expect(await ask(pool)).toBe('200 hello')
      expect(await ask(pool)).toBe('200 hello')
      expect(server.sockets).toHaveLength(2)
      await until(() => pool.isEmpty && server.openCount() === 0)
    })
  }

  it('is not used again after an answer that ends with it', async () => {
    const { server, pool } = await play((socket) => socket.end(`${ok}\r\nhello`))
    expect(await ask(pool)).toBe('200 hello')
    expect(await ask(pool)).toBe('200 hello')
    expect(server.sockets).toHaveLength(2)
    await until(() => pool.isEmpty)
  })

  it('is not used again when the server answered before it took the whole request', async () => {
    const { server, pool } = await play((socket) => {
      socket.pause()
      socket.write(hello)
    })
    const body = Buffer.alloc(20_000_000)
    expect(await ask(pool, { method: 'POST', body })).toBe('200 hello')
    expect(await ask(pool)).toBe('200 hello')
    expect(server.sockets).toHaveLength(2)
  })

  it('that the server closes while it rests is forgotten', async () => {
    const { server, pool } = await play(say(hello))
    for (const leave of ['end', 'resetAndDestroy', 'destroy'] as const) {
      await ask(pool)
      server.sockets.at(-1)?.[leave]()
      await until(() => pool.isEmpty)
    }
    expect(await ask(pool)).toBe('200 hello')
    expect(server.sockets).toHaveLength(4)
  })

  it('on which bytes come that nobody asked for is forgotten', async () => {
    const { server, pool } = await play(say(hello))
    await ask(pool)
    server.sockets[0]?.write(hello)
    await until(() => pool.isEmpty && server.openCount() === 0)
    expect(await ask(pool)).toBe('200 hello')
  })

  it('does not keep the process alive while it rests, and does while somebody waits', async () => {
    const { server, pool } = await play(say(hello))
    const keeping = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
    await ask(pool)
    for (let count = 0; count < 3; count++) {
      // In one turn, in which no other socket can come or go.
      const resting = keeping()
      const call = ask(pool)
      expect(keeping()).toBe(resting + 1)
      await call
    }
    expect(server.sockets).toHaveLength(1)
  })
})

describe('an answer', () => {
  it('may come in the smallest pieces', async () => {
    const text = `HTTP/1.1 100 \r\n\r\n${ok}Transfer-Encoding: chunked\r\n\r\n5;a\r\nhello\r\n0\r\nA: b\r\n\r\n`
    const { server, pool } = await play(async (socket) => {
      socket.setNoDelay(true)
      for (const byte of text) {
        socket.write(byte)
        await new Promise((resolve) => setImmediate(resolve))
      }
    })
    expect(await ask(pool)).toBe('200 hello')
    expect(await ask(pool)).toBe('200 hello')
    expect(server.sockets).toHaveLength(1)
  })

  it('that is larger than its reader wants ends its connection', async () => {
    const { server, pool } = await play((socket) => {
      socket.write(`${ok}Transfer-Encoding: chunked\r\n\r\n`)
      const more = () => {
        while (
          !socket.destroyed &&
          socket.write(Buffer.concat([Buffer.from('10000\r\n'), kib64, Buffer.from('\r\n')]))
        );
        socket.once('drain', more)
      }
      more()
    })
    const { answer, over, told } = start(pool)
    expect(await (await answer).whole(1_000_000)).toBeUndefined()
    await over
    expect(told).toEqual(['sent', 'answer', 'over'])
    await until(() => pool.isEmpty && server.openCount() === 0)
  })

  it('that is not read is held up at the server, goes on when it is, and loses nothing', async () => {
    const pieces = 600
    const sent: number[] = []
    const { server, pool } = await play(async (socket, _request, count) => {
      if (count > 1) return socket.write(hello)
      socket.write(`${ok}Content-Length: ${pieces * kib64.length}\r\n\r\n`)
      for (let index = 0; index < pieces; index++) {
        sent.push(index)
        const piece = Buffer.alloc(kib64.length, index % 251)
        if (!socket.write(piece)) await new Promise((resolve) => socket.once('drain', resolve))
      }
    })
    const slow = await start(pool).answer
    let before = -1
    for (let still = 0; still < 20; still = sent.length === before ? still + 1 : 0) {
      before = sent.length
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    expect(sent.length).toBeLessThan(pieces)
    let at = 0
    for await (const piece of slow) {
      for (let index = 0; index < piece.length; index += 4096) {
        const offset = at + index
        if (piece[index] !== Math.floor(offset / kib64.length) % 251) throw new Error(`wrong byte at ${offset}`)
      }
      at += piece.length
    }
    expect(at).toBe(pieces * kib64.length)
    expect(await ask(pool)).toBe('200 hello')
    expect(server.sockets).toHaveLength(1)
  })

  it('that is all here but not read neither holds its connection nor mixes with what comes next on it', async () => {
    // One byte more than is kept waiting: the server is held up by the very piece that ends the answer.
    const text = '1'.repeat(256 * 1024 + 1)
    const large = `${ok}Content-Length: ${text.length}\r\n\r\n${text}`
    const { server, pool } = await play((socket, _request, count) => socket.write(count === 1 ? large : hello))
    const { answer, over } = start(pool)
    await over
    expect(await ask(pool)).toBe('200 hello')
    expect(String(await (await answer).whole(1_000_000))).toBe(text)
    expect(await ask(pool)).toBe('200 hello')
    expect(server.sockets).toHaveLength(1)
  })

  it('that its reader gives up ends its connection, and only that', async () => {
    const { server, pool } = await play((socket) => socket.write(`${ok}Content-Length: 9\r\n\r\nhello`))
    const [first, second] = await Promise.all([start(pool).answer, start(pool).answer])
    await first.return()
    await until(() => server.openCount() === 1)
    expect(String((await second.next()).value)).toBe('hello')
    await expect(first.whole(9)).rejects.toThrow('given up')
  })

  const broken: readonly [string, RawReply, RegExp][] = [
    ['that is none', say('SSH-2.0-OpenSSH\r\n'), /no answer of HTTP/],
    ['with two lengths', say(`${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nhello`), /no number/],
    ['with headers without end', say(`${ok}A: ${'b'.repeat(70_000)}`), /exceed 65536 bytes/],
    ['that never comes', (socket) => socket.end(), /closed the connection without an answer/],
    ['that breaks off in its headers', (socket) => socket.end(`${ok}Content-Le`), /closed the connection/],
    ['whose connection is reset', (socket) => socket.resetAndDestroy(), /ECONNRESET/],
  ]
  for (const [name, reply, message] of broken) {
    it(`${name} is a fault, once, and ends its connection`, async () => {
      const { server, pool } = await play(reply)
      const { answer, over, told } = start(pool)
      await expect(answer).rejects.toThrow(message)
      await over
      await until(() => pool.isEmpty && server.openCount() === 0)
      expect(told).toEqual(['sent', 'fault', 'over'])
    })
  }

  const half = `${ok}Content-Length: 9\r\n\r\nhello`
  const brokenLater: readonly [string, RawReply, RegExp][] = [
    ['ends too early', (socket) => socket.end(half), /before the whole answer/],
    [
      'ends between chunks',
      (socket) => socket.end(`${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`),
      /whole answer/,
    ],
    ['is no body', say(`${ok}Transfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n`), /longer than its size/],
    [
      'is reset',
      (socket) => socket.write(half, () => setTimeout(() => socket.resetAndDestroy(), 5)),
      /ECONNRESET|whole/,
    ],
  ]
  for (const [name, reply, message] of brokenLater) {
    it(`whose body ${name} is not taken for whole`, async () => {
      const { server, pool } = await play(reply)
      const first = start(pool)
      await expect(first.answer.then((answer) => answer.whole(99))).rejects.toThrow(message)
      const second = start(pool)
      const answer = await second.answer
      expect(String((await answer.next()).value)).toBe('hello')
      await expect(answer.next()).rejects.toThrow(message)
      await Promise.all([first.over, second.over])
      await until(() => pool.isEmpty && server.openCount() === 0)
      expect(second.told).toEqual(['sent', 'answer', 'over'])
    })
  }

  it('is given up at once when the server closes in the middle of a request that it does not read', async () => {
    const { pool } = await play((socket) => {
      socket.pause()
      socket.end()
    })
    const { answer } = start(pool, { method: 'POST', body: Buffer.alloc(20_000_000) })
    await expect(answer).rejects.toThrow('closed the connection')
    await until(() => pool.isEmpty)
  })
})

describe('a request', () => {
  it('is not sent when nobody listens', async () => {
    const { server, pool } = await play(say(hello))
    await server.close()
    const { answer, told } = start(pool)
    await expect(answer).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    expect(told).toEqual(['fault', 'over'])
    await until(() => pool.isEmpty)
  })

  it('that is given up before the connection is open is not sent, nor is anything else', async () => {
    const { server, pool } = await play(say(hello))
    const { answer, told } = start(pool)
    pool.destroy()
    await expect(answer).rejects.toThrow('the client is closed')
    expect(told).toEqual(['fault', 'over'])
    await until(() => pool.isEmpty && server.openCount() === 0)
    expect(server.sockets.map((socket) => socket.bytesRead).filter((count) => count > 0)).toEqual([])
  })

  it('is written whole, however large', async () => {
    let received = 0
    const body = Buffer.alloc(1_000_000, 'b')
    const { server, pool } = await play((socket) => {
      const count = () => {
        received = socket.bytesRead
        if (received >= body.length) socket.write(hello)
      }
      socket.on('data', count)
    })
    expect(await ask(pool, { method: 'PUT', body })).toBe('200 hello')
    expect(received).toBe(requestBytes({ method: 'PUT', path: '/', authority: 'x', headers: {}, body }).length)
    expect(server.sockets).toHaveLength(1)
  })
})

describe('a pool', () => {
  const echo: RawReply = (socket, request) => {
    const path = request.split(' ')[1] ?? ''
    const text = path.repeat(50)
    socket.write(`${ok}Transfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n`)
    setImmediate(() => socket.write(`${text}\r\n0\r\n\r\n`))
  }

  it('gives each of many exchanges its own answer, keeps 128 connections, uses them again, and ends them all', async () => {
    const { server, pool } = await play(echo)
    const paths = Array.from({ length: 200 }, (_, index) => `/${index}`)
    const round = () =>
      Promise.all(paths.map(async (path) => expect(await ask(pool, { path })).toBe(`200 ${path.repeat(50)}`)))
    await round()
    expect(server.sockets).toHaveLength(200)
    await until(() => server.openCount() === 128)
    await round()
    expect(server.sockets).toHaveLength(272)
    await until(() => server.openCount() === 128)
    pool.destroy()
    await until(() => pool.isEmpty && server.openCount() === 0)
  })

  it('takes the connection that rested least', async () => {
    const seen: Socket[] = []
    const { server, pool } = await play((socket) => {
      seen.push(socket)
      socket.write(hello)
    })
    await Promise.all([ask(pool), ask(pool)])
    seen.length = 0
    for (let count = 0; count < 4; count++) await ask(pool)
    expect(new Set(seen).size).toBe(1)
    expect(server.sockets).toHaveLength(2)
  })

  it('ends what it carries when it is destroyed, with a word to everybody who waits', async () => {
    const { server, pool } = await play((socket, request) => {
      if (request.includes('/half')) socket.write(`${ok}Content-Length: 9\r\n\r\nhello`)
    })
    const waiting = start(pool)
    const answered = start(pool, { path: '/half' })
    const whole = (await answered.answer).whole(99)
    await until(() => waiting.told.includes('sent'))
    pool.destroy()
    await expect(waiting.answer).rejects.toThrow('the client is closed')
    await expect(whole).rejects.toThrow('the client is closed')
    await until(() => pool.isEmpty && server.openCount() === 0)
  })

  it('drops a connection that rested for a minute', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
    const { server, pool } = await play(say(hello))
    await ask(pool)
    vi.advanceTimersByTime(59_000)
    await ask(pool)
    vi.advanceTimersByTime(59_000)
    expect(pool.isEmpty).toBe(false)
    vi.advanceTimersByTime(17_000)
    vi.useRealTimers()
    await until(() => pool.isEmpty && server.openCount() === 0)
    expect(server.sockets).toHaveLength(1)
  })

  it('uses no connection that the server is about to close, as it says, or that rested while the process did', async () => {
    const rests: readonly [string, number, number][] = [
      ['timeout=5', 3_900, 1],
      ['timeout=5, max=100', 4_100, 2],
      ['max=100, Timeout=5', 4_100, 2],
      ['timeout=1', 0, 2],
      ['timeout=600', 59_900, 1],
      ['max=100', 60_100, 2],
    ]
    for (const [hint, restMs, connections] of rests) {
      const { server, pool } = await play(say(hello.replace('\r\n', `\r\nKeep-Alive: ${hint}\r\n`)))
      vi.useFakeTimers({ toFake: ['performance'] })
      await ask(pool)
      vi.advanceTimersByTime(restMs)
      await ask(pool)
      vi.useRealTimers()
      expect(server.sockets, hint).toHaveLength(connections)
      await until(() => server.openCount() <= 1)
    }
  })
})
