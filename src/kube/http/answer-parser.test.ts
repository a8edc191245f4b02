import { describe, expect, it } from 'vitest'
import { type AnswerHeaders, AnswerParser, MalformedAnswer } from './answer-parser.ts'

interface Read {
  readonly status: number | undefined
  readonly headers: AnswerHeaders
  readonly body: string
  readonly isWhole: boolean
  readonly mayBeFollowed: boolean
}

/** Throws as the parser does. */
function read(answer: string, { method = 'GET', isClosed = false, size = answer.length || 1 } = {}): Read {
  let status: number | undefined
  let headers: AnswerHeaders = {}
  let body = ''
  let ends = 0
  const parser = new AnswerParser(method, {
    onHead: (seenStatus, seenHeaders) => {
      expect(status, 'one head for one answer').toBeUndefined()
      status = seenStatus
      headers = seenHeaders
    },
    onBody: (bytes) => {
      expect(ends, 'no body after the end').toBe(0)
      expect(bytes.length, 'no empty piece').toBeGreaterThan(0)
      body += bytes.toString('latin1')
    },
    onEnd: () => ends++,
  })
  const bytes = Buffer.from(answer, 'latin1')
  for (let at = 0; at < bytes.length; at += size) parser.push(bytes.subarray(at, at + size))
  const isWhole = isClosed ? parser.close() : ends > 0
  expect(ends, 'one end, and only when it is whole').toBe(isWhole ? 1 : 0)
  return { status, headers, body, isWhole, mayBeFollowed: parser.mayBeFollowed }
}

const ok = 'HTTP/1.1 200 OK\r\n'
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`

describe('an answer', () => {
  const cases: readonly [string, string, Partial<Read>, { method?: string; isClosed?: boolean }?][] = [
    ['of a length', `${ok}Content-Length: 5\r\n\r\nhello`, { body: 'hello', isWhole: true, mayBeFollowed: true }],
    ['of no length', `${ok}Content-Length: 0\r\n\r\n`, { body: '', isWhole: true, mayBeFollowed: true }],
    ['of no length, in many digits', `${ok}Content-Length: 000\r\n\r\n`, { isWhole: true, mayBeFollowed: true }],
    ['of a length with zeros in front', `${ok}Content-Length: 0005\r\n\r\nhello`, { body: 'hello', isWhole: true }],
    ['that is not all here', `${ok}Content-Length: 5\r\n\r\nhell`, { body: 'hell', isWhole: false }],
    ['that breaks off', `${ok}Content-Length: 5\r\n\r\nhell`, { isWhole: false }, { isClosed: true }],
    ['that breaks off in its headers', `${ok}Content-Le`, { isWhole: false }, { isClosed: true }],
    ['that breaks off in a chunk', `${chunked}5\r\nhel`, { isWhole: false }, { isClosed: true }],
    ['that breaks off after a chunk', `${chunked}5\r\nhello\r\n`, { isWhole: false }, { isClosed: true }],
    ['that breaks off before its last line', `${chunked}0\r\n`, { isWhole: false }, { isClosed: true }],
    ['that never began', '', { status: undefined, isWhole: false }, { isClosed: true }],
    [
      'in chunks',
      `${chunked}5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n`,
      { body: 'hello!', isWhole: true, mayBeFollowed: true },
    ],
    ['in no chunk', `${chunked}0\r\n\r\n`, { body: '', isWhole: true, mayBeFollowed: true }],
    [
      'in chunks with extensions, capitals and zeros in front',
      `${chunked}00A;a=b;c="d e"\r\n0123456789\r\n1;x\r\n!\r\n000;last\r\n\r\n`,
      { body: '0123456789!', isWhole: true, mayBeFollowed: true },
    ],
    [
      'in chunks with trailers, which change nothing',
      `${chunked}1\r\nx\r\n0\r\nETag: a\r\nContent-Length: 9\r\nConnection: close\r\n\r\n`,
      { body: 'x', isWhole: true, mayBeFollowed: true },
    ],
    [
      'in chunks that look like heads',
      `${chunked}11\r\nHTTP/1.1 500\r\n\r\n0\r\n0\r\n\r\n`,
      { status: 200, isWhole: true },
    ],
    ['in a coding written in capitals', `${ok}TRANSFER-ENCODING:CHUNKED\r\n\r\n0\r\n\r\n`, { isWhole: true }],
    [
      'without a length ends with the connection',
      `${ok}\r\nhello`,
      { body: 'hello', isWhole: true },
      { isClosed: true },
    ],
    ['without a length is open until then', `${ok}\r\nhello`, { body: 'hello', isWhole: false, mayBeFollowed: false }],
    ['without a reason', 'HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n', { status: 200, isWhole: true }],
    ['without a header', 'HTTP/1.1 204 No Content\r\n\r\n', { status: 204, isWhole: true, mayBeFollowed: true }],
    ['with a reason in Latin-1', 'HTTP/1.1 200 fa\xe7on\r\nContent-Length: 0\r\n\r\n', { isWhole: true }],
    [
      'after other news',
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\nContent-Length: 7\r\n\r\n${ok}Content-Length: 1\r\n\r\nx`,
      { status: 200, body: 'x', headers: { 'content-length': '1' }, isWhole: true, mayBeFollowed: true },
    ],
    [
      'to HEAD has no body',
      `${ok}Content-Length: 5\r\n\r\n`,
      { body: '', isWhole: true, mayBeFollowed: true },
      { method: 'HEAD' },
    ],
    [
      'to HEAD in chunks has none either',
      chunked,
      { body: '', isWhole: true, mayBeFollowed: true },
      { method: 'HEAD' },
    ],
    ['to HEAD without a length', `${ok}\r\n`, { isWhole: true, mayBeFollowed: true }, { method: 'HEAD' }],
    [
      '304 with a length has no body',
      'HTTP/1.1 304 \r\nContent-Length: 5\r\n\r\n',
      { isWhole: true, mayBeFollowed: true },
    ],
    ['304 in chunks', 'HTTP/1.1 304 \r\nTransfer-Encoding: chunked\r\n\r\n', { isWhole: true, mayBeFollowed: true }],
    ['204 with no length', 'HTTP/1.1 204 \r\nContent-Length: 0\r\n\r\n', { isWhole: true, mayBeFollowed: true }],
    [
      '204 that announces a body',
      'HTTP/1.1 204 \r\nContent-Length: 5\r\n\r\n',
      { isWhole: true, mayBeFollowed: false },
    ],
    ['204 in chunks', 'HTTP/1.1 204 \r\nTransfer-Encoding: chunked\r\n\r\n', { isWhole: true, mayBeFollowed: false }],
    ['that says close', `${ok}Connection: close\r\nContent-Length: 0\r\n\r\n`, { isWhole: true, mayBeFollowed: false }],
    ['that says it among others', `${ok}Connection: a ,\tClose\r\nContent-Length: 0\r\n\r\n`, { mayBeFollowed: false }],
    [
      'that says it twice',
      `${ok}Connection: a\r\nConnection: CLOSE\r\nContent-Length: 0\r\n\r\n`,
      { mayBeFollowed: false },
    ],
    ['that says nearly that', `${ok}Connection: closed\r\nContent-Length: 0\r\n\r\n`, { mayBeFollowed: true }],
    [
      'of HTTP/1.0',
      'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n',
      { isWhole: true, mayBeFollowed: false },
    ],
    ['of another status', 'HTTP/1.1 599 \r\nContent-Length: 0\r\n\r\n', { status: 599, isWhole: true }],
  ]
  for (const [name, answer, expected, options] of cases) {
    it(name, () => {
      expect(read(answer, options)).toMatchObject(expected)
      expect(read(answer, { ...options, size: 1 })).toMatchObject(expected)
    })
  }

  it('has headers by lower-case name, without the blanks around them, the values of one name in a row', () => {
    const lines = 'X-A: \t 1 2\t \r\nx-a:3\r\nEmpty:\r\nColons: a:b: c\r\n__proto__: x\r\nLatin: \xa0\xff\r\n'
    const { headers } = read(`${ok}${lines}Content-Length: 0\r\n\r\n`)
    expect(Object.entries(headers)).toEqual([
      ['x-a', '1 2, 3'],
      ['empty', ''],
      ['colons', 'a:b: c'],
      ['__proto__', 'x'],
      ['latin', '\xa0\xff'],
      ['content-length', '0'],
    ])
  })
})

describe('what is no answer is refused, however it is cut', () => {
  const sized = 'Content-Length: 5\r\n'
  const cases: readonly [string, string][] = [
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['a TLS alert', '\x15\x03\x01\x00\x02\x02\x46'],
    ['HTTP/2', 'HTTP/2 200\r\n\r\n'],
    ['HTTP/1.2', 'HTTP/1.2 200 OK\r\n\r\n'],
    ['a protocol in small letters', 'http/1.1 200 OK\r\n\r\n'],
    ['an empty line in front', `\r\n${ok}${sized}\r\n`],
    ['an empty head', '\r\n\r\n'],
    ['a status of two digits', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 2000 OK\r\n\r\n'],
    ['a status under 100', 'HTTP/1.1 099 OK\r\n\r\n'],
    ['a status with a tab', 'HTTP/1.1\t200 OK\r\n\r\n'],
    ['another protocol in the same connection', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n'],
    ['news that HTTP/1.0 does not have', `HTTP/1.0 100 Continue\r\n\r\n${ok}${sized}\r\n`],
    ['a line feed in the first line', `HTTP/1.1 200 OK\n${sized}\r\n\r\n`],
    ['a zero in the first line', `HTTP/1.1 200 O\0K\r\n${sized}\r\n`],
    ['a line feed in a header', `${ok}A: b\nContent-Length: 5\r\n\r\n`],
    ['a carriage return in a header', `${ok}A: b\rContent-Length: 5\r\n\r\n`],
    ['a carriage return at the end of a header', `${ok}A: b\r\r\n${sized}\r\n`],
    ['a zero in a header', `${ok}A: b\0\r\n${sized}\r\n`],
    ['a form feed behind the coding', `${ok}Transfer-Encoding: chunked\f\r\n\r\n`],
    ['a hard blank around the coding', `${ok}Transfer-Encoding: \xa0chunked\r\n\r\n`],
    ['a header without a colon', `${ok}Nonsense\r\n${sized}\r\n`],
    ['a header without a name', `${ok}: x\r\n${sized}\r\n`],
    ['a blank before the colon', `${ok}Content-Length : 5\r\n\r\n`],
    ['a tab before the colon', `${ok}Transfer-Encoding\t: chunked\r\n\r\n`],
    ['a blank in a name', `${ok}A b: c\r\n${sized}\r\n`],
    ['a name in Latin-1', `${ok}\xe4: c\r\n${sized}\r\n`],
    ['a folded header', `${ok}A: b\r\n c\r\n${sized}\r\n`],
    ['a folded header with a colon', `${ok}A: b\r\n\tTransfer-Encoding: chunked\r\n${sized}\r\n`],
    ['two lengths', `${ok}${sized}Content-Length: 6\r\n\r\n`],
    ['one length twice', `${ok}${sized}${sized}\r\n`],
    ['a list of lengths', `${ok}Content-Length: 5, 5\r\n\r\n`],
    ['an empty length', `${ok}Content-Length:\r\n\r\n`],
    ['a length with a sign', `${ok}Content-Length: +5\r\n\r\n`],
    ['a length below zero', `${ok}Content-Length: -5\r\n\r\n`],
    ['a length in hex', `${ok}Content-Length: 0x5\r\n\r\n`],
    ['a length with a point', `${ok}Content-Length: 5.0\r\n\r\n`],
    ['a length that no number can hold', `${ok}Content-Length: 99999999999999999999\r\n\r\n`],
    ['a length in other digits', `${ok}Content-Length: \xb2\r\n\r\n`],
    ['a length and chunks', `${ok}${sized}Transfer-Encoding: chunked\r\n\r\n`],
    ['chunks and a length', `${ok}Transfer-Encoding: chunked\r\n${sized}\r\n`],
    ['another coding', `${ok}Transfer-Encoding: gzip\r\n\r\n`],
    ['another coding in chunks', `${ok}Transfer-Encoding: gzip, chunked\r\n\r\n`],
    ['chunks twice', `${ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`],
    ['no coding at all', `${ok}Transfer-Encoding: identity\r\n\r\n`],
    ['an empty coding', `${ok}Transfer-Encoding:\r\n\r\n`],
    ['a coding like chunks', `${ok}Transfer-Encoding: xchunked\r\n\r\n`],
    ['a chunk without a size', `${chunked}\r\nhello\r\n`],
    ['a chunk with only an extension', `${chunked};a\r\nhello\r\n`],
    ['a chunk whose size is no number', `${chunked}5g\r\nhello\r\n`],
    ['a chunk whose size has a prefix', `${chunked}0x5\r\nhello\r\n`],
    ['a chunk whose size has a sign', `${chunked}+5\r\nhello\r\n`],
    ['a chunk whose size is below zero', `${chunked}-5\r\nhello\r\n`],
    ['a chunk with a blank in front', `${chunked} 5\r\nhello\r\n`],
    ['a chunk with a blank behind', `${chunked}5 \r\nhello\r\n`],
    ['a chunk with a blank before its extension', `${chunked}5 ;a\r\nhello\r\n`],
    ['a chunk of two sizes', `${chunked}5 5\r\nhello\r\n`],
    ['a chunk too large to be one', `${chunked}FFFFFFFFF\r\nhello\r\n`],
    ['a line feed in an extension', `${chunked}5;a\nb\r\nhello\r\n`],
    ['a carriage return in an extension', `${chunked}5;a\rb\r\nhello\r\n`],
    ['a zero in an extension', `${chunked}5;\0\r\nhello\r\n`],
    ['a chunk longer than its size', `${chunked}5\r\nhello!\r\n0\r\n\r\n`],
    ['a chunk shorter than its size', `${chunked}5\r\nhell\r\n0\r\n\r\n`],
    ['a chunk that ends in a line feed', `${chunked}5\r\nhello\n0\r\n\r\n`],
    ['a trailer without a name', `${chunked}0\r\nnonsense\r\n\r\n`],
    ['a trailer with a line feed', `${chunked}0\r\na: b\nc: d\r\n\r\n`],
    ['bytes after the end', `${ok}${sized}\r\nhello!`],
    ['bytes after the last chunk', `${chunked}0\r\n\r\n\r\n`],
    ['bytes after an answer without a body', 'HTTP/1.1 204 \r\n\r\nx'],
    ['a second answer', `${ok}${sized}\r\nhello${ok}${sized}\r\nhello`],
  ]
  for (const [name, answer] of cases) {
    it(name, () => {
      expect(() => read(answer)).toThrow(MalformedAnswer)
      expect(() => read(answer, { size: 1 })).toThrow(MalformedAnswer)
    })
  }

  it('without quoting it', () => {
    for (const [, answer] of cases) {
      const quoted = answer.replaceAll('hello', 'canary').replaceAll('5', '6').replaceAll('b', 'canary')
      expect(() => read(quoted)).not.toThrow('canary')
    }
  })

  it('after the end the connection can carry nothing more', () => {
    const parser = new AnswerParser('GET', { onHead: () => undefined, onBody: () => undefined, onEnd: () => undefined })
    parser.push(Buffer.from(`${ok}${sized}\r\nhello`))
    expect(parser.mayBeFollowed).toBe(true)
    expect(() => parser.push(Buffer.from('x'))).toThrow(MalformedAnswer)
    expect(parser.mayBeFollowed).toBe(false)
  })
})

describe('a limit holds to the byte, however the bytes are cut', () => {
  const sizes = [1_000_000, 4_093, 4_096]
  const headOf = (bytes: number) => {
    const start = `${ok}Content-Length: 0\r\nX: `
    return `${start}${'x'.repeat(bytes - start.length)}\r\n\r\n`
  }
  const extended = (bytes: number) => `${chunked}0;${'x'.repeat(bytes - 2)}\r\n\r\n`
  const trailed = (bytes: number) => `${chunked}0\r\na:${'x'.repeat(bytes - 2)}\r\n\r\n`

  it('of the headers', () => {
    for (const size of sizes) {
      expect(read(headOf(64 * 1024), { size }).isWhole).toBe(true)
      expect(() => read(headOf(64 * 1024 + 1), { size })).toThrow('exceed')
    }
    for (const cut of [1, 2, 3]) {
      const head = headOf(64 * 1024)
      expect(read(head, { size: head.length - cut }).isWhole).toBe(true)
    }
    expect(() => read(`${ok}X: ${'x'.repeat(70_000)}`)).toThrow('exceed')
  })

  it('of the lines between chunks', () => {
    for (const line of [extended, trailed]) {
      for (const size of [1_000_000, 1]) {
        expect(read(line(1024), { size }).isWhole).toBe(true)
        expect(() => read(line(1025), { size })).toThrow('exceed')
      }
    }
    expect(() => read(`${chunked}${'0'.repeat(2_000)}`)).toThrow('exceed')
  })

  it('of the trailers together', () => {
    const trailers = (count: number) => `${chunked}0\r\n${`a: ${'x'.repeat(995)}\r\n`.repeat(count)}\r\n`
    expect(read(trailers(60)).isWhole).toBe(true)
    expect(() => read(trailers(70))).toThrow('exceed')
    expect(() => read(trailers(70), { size: 999 })).toThrow('exceed')
  })

  it('and blanks without end cost no more than other bytes', () => {
    const blanks = ' '.repeat(60_000)
    const started = performance.now()
    read(`${ok}Connection: a${blanks}b\r\nContent-Length: 0\r\n\r\n`)
    read(`${ok}X: a${blanks}b\r\nContent-Length: 0\r\n\r\n`)
    // A pattern that starts anew at each blank takes seconds.
    expect(performance.now() - started).toBeLessThan(5_000)
  })
})
