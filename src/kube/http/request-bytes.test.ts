import { createServer } from 'node:http'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type RequestParts, requestBytes, UnsendableHeader } from './request-bytes.ts'

const parts: RequestParts = { method: 'GET', path: '/a?b=c', authority: 'host:6443', headers: {} }
const text = (changes: Partial<RequestParts>) => requestBytes({ ...parts, ...changes }).toString('latin1')

describe('a request', () => {
  it('names its host and ends its head', () => {
    expect(text({})).toBe('GET /a?b=c HTTP/1.1\r\nHost: host:6443\r\n\r\n')
  })

  it('has a line for each value of a header', () => {
    expect(text({ headers: { A: 'b\tc', D: ['e', 'f'], G: '', H: [], I: '\xe4' } })).toBe(
      'GET /a?b=c HTTP/1.1\r\nHost: host:6443\r\nA: b\tc\r\nD: e\r\nD: f\r\nG: \r\nI: \xe4\r\n\r\n',
    )
  })

  it('tells the length of its body in bytes, and carries them as they are', () => {
    const body = Buffer.from('\u00e4\u20ac\r\n\r\n\0')
    const bytes = requestBytes({ ...parts, method: 'POST', body })
    expect(bytes.toString('latin1')).toContain('\r\nContent-Length: 10\r\n\r\n')
    expect(bytes.subarray(-10)).toEqual(body)
  })

  it('is not touched by what happens to the body later', () => {
    const body = Buffer.from('before')
    const bytes = requestBytes({ ...parts, method: 'POST', body })
    body.write('after!')
    expect(bytes.toString()).toMatch(/before$/)
  })

  it('without a body says so where one is usual', () => {
    for (const method of ['POST', 'PUT', 'PATCH']) expect(text({ method })).toContain('\r\nContent-Length: 0\r\n\r\n')
    for (const method of ['GET', 'HEAD', 'DELETE']) expect(text({ method })).not.toContain('Content-Length')
    expect(text({ method: 'DELETE', body: Buffer.alloc(0) })).toContain('\r\nContent-Length: 0\r\n\r\n')
  })
})

describe('what would become another request is refused', () => {
  // Of the last two only the lower byte would be sent: a line feed, a carriage return.
  const breaks = ['\n', '\r', '\r\n', '\0', '\x7f', '\u010a', '\u200d\u010d']

  it('in a header', () => {
    for (const text of breaks) {
      expect(() => requestBytes({ ...parts, headers: { A: `canary${text}b` } })).toThrow(UnsendableHeader)
      expect(() => requestBytes({ ...parts, headers: { A: ['b', `canary${text}`] } })).toThrow(
        /^header "A" (?!.*canary)/,
      )
      expect(() => requestBytes({ ...parts, headers: { [`A${text}`]: 'b' } })).toThrow(UnsendableHeader)
    }
    for (const name of ['', 'A b', 'A:', 'A(', '\xe4']) {
      expect(() => requestBytes({ ...parts, headers: { [name]: 'b' } })).toThrow(UnsendableHeader)
    }
  })

  it('in a header that would contradict the frame', () => {
    for (const name of [
      'Host',
      'content-length',
      'Transfer-Encoding',
      'CONNECTION',
      'Upgrade',
      'expect',
      'Trailer',
      'TE',
    ])
      expect(() => requestBytes({ ...parts, headers: { [name]: '1' } })).toThrow(TypeError)
  })

  it('in the path', () => {
    for (const text of [...breaks, ' ', '\t', '\xe4', '\ud83d\ude00'])
      expect(() => requestBytes({ ...parts, path: `/a${text}b` })).toThrow(TypeError)
    for (const path of ['', 'a', '?a', '*', 'http://elsewhere/'])
      expect(() => requestBytes({ ...parts, path })).toThrow(TypeError)
  })

  it('in the method', () => {
    for (const method of ['', 'GET ', 'GET /x HTTP/1.1\r\nA: b\r\n\r\nGET', 'GE\nT', 'G\u010aT'])
      expect(() => requestBytes({ ...parts, method })).toThrow(TypeError)
  })
})

interface Seen {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: readonly string[]
  readonly body: Buffer
}

/** The requests that Node's own server finds in the bytes. */
async function readByNode(bytes: Buffer): Promise<Seen[]> {
  const seen: Seen[] = []
  const server = createServer((incoming, answer) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const { method, url: path, rawHeaders: headers } = incoming
      seen.push({ method, path, headers, body: Buffer.concat(chunks) })
      answer.end()
    })
  })
  server.on('clientError', (error) => {
    throw error
  })
  const connection = new Duplex({ read: () => undefined, write: (_bytes, _encoding, done) => done() })
  server.emit('connection', connection)
  connection.push(bytes)
  connection.push(null)
  await new Promise((resolve) => connection.once('close', resolve))
  return seen
}

describe('whatever is asked for', () => {
  const anyText = fc.string({
    unit: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...'abcXYZ09-_:; \t/?%&='.split('')) },
      { weight: 1, arbitrary: fc.constantFrom('\r', '\n', '\r\n', '\0', '\xe4', '\u010a', 'GET / HTTP/1.1\r\n\r\n') },
    ),
    maxLength: 12,
  })

  it('is refused, or is one request that the server reads as it was meant', async () => {
    const asked = fc.record({
      method: fc.constantFrom('GET', 'POST', 'DELETE', 'PATCH'),
      path: anyText.map((path) => `/${path}`),
      name: fc.oneof(anyText, fc.constant('X-A')),
      value: anyText,
      body: fc.option(fc.uint8Array({ maxLength: 20 }), { nil: undefined }),
    })
    await fc.assert(
      fc.asyncProperty(asked, async ({ method, path, name, value, body }) => {
        let bytes: Buffer | undefined
        try {
          bytes = requestBytes({
            ...parts,
            method,
            path,
            headers: { [name]: value },
            ...(body ? { body: Buffer.from(body) } : {}),
          })
        } catch (error) {
          if (!(error instanceof UnsendableHeader || error instanceof TypeError)) throw error
        }
        fc.pre(bytes !== undefined)
        const [seen, ...others] = await readByNode(bytes)
        expect(others).toEqual([])
        expect(seen).toMatchObject({ method, path, body: Buffer.from(body ?? []) })
        expect(seen?.headers.slice(2, 4)).toEqual([name, value.replace(/^[ \t]+|[ \t]+$/g, '')])
      }),
    )
  })
})
