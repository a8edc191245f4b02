import { get, type IncomingMessage } from 'node:http'
import { Duplex } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AnswerParser } from './answer-parser.ts'

interface Read {
  status?: number
  headers?: Readonly<Record<string, unknown>>
  body: string
  isWhole: boolean
  mayBeFollowed?: boolean
  fault?: string
}

function read(pieces: readonly Buffer[]): Read {
  const found: Read = { body: '', isWhole: false }
  const parser = new AnswerParser('GET', {
    onHead: (status, headers) => Object.assign(found, { status, headers: { ...headers } }),
    onBody: (bytes) => {
      found.body += bytes.toString('latin1')
    },
    onEnd: () => undefined,
  })
  try {
    for (const piece of pieces) parser.push(piece)
    found.mayBeFollowed = parser.mayBeFollowed
    found.isWhole = parser.close()
  } catch (error) {
    found.fault = String(error)
  }
  return found
}

/** What Node's own client makes of the same bytes. */
function readByNode(bytes: Buffer): Promise<Read> {
  const connection = new Duplex({ read: () => undefined, write: (_bytes, _encoding, done) => done() })
  return new Promise((resolve) => {
    const found: Read = { body: '', isWhole: false }
    const onFault = (error: Error) => resolve({ ...found, fault: String(error) })
    const onAnswer = (answer: IncomingMessage) => {
      found.status = answer.statusCode ?? 0
      found.headers = answer.headers
      answer.setEncoding('latin1')
      answer.on('data', (text: string) => {
        found.body += text
      })
      answer.on('error', onFault)
      answer.on('end', () => resolve({ ...found, isWhole: answer.complete }))
    }
    get('http://any', { createConnection: () => connection }, onAnswer).on('error', onFault)
    connection.push(bytes)
    connection.push(null)
  })
}

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  let at = 0
  for (const size of sizes) {
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return [...pieces, bytes.subarray(at)]
}

const tokenText = (from: string, least: number, most: number) =>
  fc.string({ unit: fc.constantFrom(...from.split('')), minLength: least, maxLength: most })
const latin1 = fc.string({
  unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
  maxLength: 40,
})
// What looks like the frame of an answer must not matter inside of a body.
const content = fc.oneof(latin1, fc.constantFrom('\r\n', '\r\n\r\n', '0\r\n\r\n', 'HTTP/1.1 200 OK\r\n\r\n'))
const header = fc.tuple(
  tokenText('abcXYZ-_!#', 1, 8).map((name) => `X-${name}`),
  tokenText('abc019 \t:;,="\xe4', 0, 20),
)
const chunk = fc.record({
  content: content.filter((text) => text !== ''),
  extension: fc.constantFrom('', ';a', ';a=b', ';a="b c"'),
  isUpper: fc.boolean(),
})
const frame = fc.oneof(
  content.map((text) => ({ headers: `Content-Length: ${text.length}\r\n`, bytes: text, body: text })),
  fc.tuple(fc.array(chunk, { maxLength: 4 }), fc.array(header, { maxLength: 2 })).map(([chunks, trailers]) => ({
    headers: 'Transfer-Encoding: chunked\r\n',
    bytes: `${chunks
      .map(({ content: text, extension, isUpper }) => {
        const size = text.length.toString(16)
        return `${isUpper ? size.toUpperCase() : size}${extension}\r\n${text}\r\n`
      })
      .join('')}0\r\n${trailers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
    body: chunks.map(({ content: text }) => text).join(''),
  })),
  content.map((text) => ({ headers: '', bytes: text, body: text })),
)
const answer = fc
  .record({
    before: fc.constantFrom('', '', 'HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n'),
    status: fc.constantFrom(200, 201, 404, 409, 500),
    reason: tokenText('OKok \xe9', 0, 8),
    headers: fc.uniqueArray(header, { maxLength: 4, selector: ([name]) => name.toLowerCase() }),
    frame,
  })
  .map(({ before, status, reason, headers, frame: { headers: framing, bytes, body } }) => ({
    status,
    body,
    bytes: Buffer.from(
      `${before}HTTP/1.1 ${status} ${reason}\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}${framing}\r\n${bytes}`,
      'latin1',
    ),
  }))
const sizes = fc.array(fc.nat({ max: 30 }), { maxLength: 40 })
/** Small damage, of the kind that makes two readers disagree. */
const damage = fc.array(
  fc.record({
    at: fc.nat({ max: 300 }),
    remove: fc.nat({ max: 2 }),
    insert: fc.constantFrom(
      '',
      '\r',
      '\n',
      '\r\n',
      ' ',
      '\t',
      '\0',
      ':',
      ';',
      ',',
      '0',
      '1',
      'a',
      '\x0b',
      '\xa0',
      '\x7f',
    ),
  }),
  { minLength: 1, maxLength: 3 },
)
const damaged = fc.tuple(answer, damage).map(([{ bytes }, changes]) => {
  let text = bytes.toString('latin1')
  for (const { at, remove, insert } of changes) {
    const place = at % text.length
    text = `${text.slice(0, place)}${insert}${text.slice(place + remove)}`
  }
  return Buffer.from(text, 'latin1')
})

describe('AnswerParser', () => {
  it('reads the same however the bytes are cut', () => {
    fc.assert(
      fc.property(answer, sizes, ({ bytes, status, body }, cuts) => {
        const found = read(cut(bytes, cuts))
        expect(found).toEqual(read([bytes]))
        expect(found).toMatchObject({ status, body, isWhole: true })
      }),
    )
  })

  it('reads or refuses what is damaged the same however the bytes are cut', () => {
    fc.assert(
      fc.property(damaged, sizes, (bytes, cuts) => {
        expect(read(cut(bytes, cuts))).toEqual(read([bytes]))
      }),
      { numRuns: 500 },
    )
  })

  it('takes a part of an answer for whole only if the connection marks its end', () => {
    fc.assert(
      fc.property(answer, fc.nat({ max: 300 }), ({ bytes }, length) => {
        fc.pre(/content-length|transfer-encoding/i.test(bytes.toString('latin1')))
        const part = read([bytes.subarray(0, length % bytes.length)])
        expect(part).toMatchObject({ isWhole: false })
        expect(part.fault).toBeUndefined()
      }),
    )
  })

  it('finds what Node finds', async () => {
    await fc.assert(
      fc.asyncProperty(answer, async ({ bytes }) => {
        const { status, headers, body, isWhole } = read([bytes])
        expect({ status, headers, body, isWhole }).toEqual(await readByNode(bytes))
      }),
    )
  })

  it('is never content with what Node refuses or takes for something else', async () => {
    await fc.assert(
      fc.asyncProperty(damaged, async (bytes) => {
        const { status, body, isWhole, fault } = read([bytes])
        fc.pre(isWhole && fault === undefined)
        const byNode = await readByNode(bytes)
        // What an extension may say has no bearing on where anything ends; Node is only stricter about its letters.
        fc.pre(!byNode.fault?.includes('in chunk extensions'))
        // A blank behind a value may be a tab (RFC 9110 5.5), which Node takes for a part of it.
        fc.pre(!/^(?:content-length|transfer-encoding):[^\r]*\t/im.test(bytes.toString('latin1')))
        expect(byNode).toMatchObject({ status, body, isWhole: true })
      }),
      { numRuns: 200 },
    )
  })
})
