/** What the parser finds, in the order of the bytes. */
export interface AnswerEvents {
  onHead(status: number, headers: AnswerHeaders): void
  onBody(bytes: Buffer): void
  onEnd(): void
}

/** By lower-case name; values of a name that came twice are joined by commas. */
export type AnswerHeaders = Readonly<Record<string, string>>

/** What came is not the answer of an HTTP/1.1 server. The message quotes nothing: it may hold a Secret. */
export class MalformedAnswer extends Error {
  override readonly name = 'MalformedAnswer'
}

const mostHeadBytes = 64 * 1024
const mostChunkLineBytes = 1024
const headEnd = Buffer.from('\r\n\r\n')
const lineEnd = Buffer.from('\r\n')
// A server and a client that take a stray line feed or blank differently also disagree on where an answer ends.
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/
const headerLine = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*$/
const chunkLine = /^([0-9a-fA-F]{1,8})(?:;[\t\x20-\x7e\x80-\xff]*)?$/

type State = 'head' | 'sized' | 'chunkSize' | 'chunk' | 'chunkEnd' | 'trailer' | 'untilClose' | 'over'

/** Reads one HTTP/1.1 answer out of bytes that come in any pieces. */
export class AnswerParser {
  readonly #events: AnswerEvents
  readonly #hasNoBody: boolean
  #state: State = 'head'
  /** The beginning of a line, or of the head, whose end is not here yet. */
  #held: Buffer | undefined
  /** Of the body, of the chunk, or of what the trailers may take. */
  #leftBytes = 0
  #keepsAlive = false

  constructor(method: string, events: AnswerEvents) {
    this.#events = events
    this.#hasNoBody = method === 'HEAD'
  }

  /** Whether the connection can carry another exchange. */
  get mayBeFollowed(): boolean {
    return this.#state === 'over' && this.#keepsAlive
  }

  push(bytes: Buffer): void {
    let rest = bytes
    if (this.#held) {
      rest = Buffer.concat([this.#held, bytes])
      this.#held = undefined
    }
    while (rest.length > 0) {
      const left = this.#take(rest)
      if (left === undefined) {
        this.#held = rest
        return
      }
      rest = left
    }
  }

  /** The server closed the connection. Answers whether the answer is whole. */
  close(): boolean {
    if (this.#state === 'untilClose') this.#end()
    return this.#state === 'over'
  }

  /** What is left of the bytes after one more part; nothing when that part is not whole yet. */
  #take(bytes: Buffer): Buffer | undefined {
    switch (this.#state) {
      case 'head':
        return this.#takeHead(bytes)
      case 'chunkSize':
        return this.#takeLine(bytes, (line) => this.#startChunk(line))
      case 'chunkEnd':
        return this.#takeLine(bytes, (line) => {
          if (line !== '') throw new MalformedAnswer('a chunk is longer than its size')
          this.#state = 'chunkSize'
        })
      case 'trailer':
        return this.#takeLine(bytes, (line) => this.#skipTrailer(line))
      case 'untilClose':
        this.#events.onBody(bytes)
        return bytes.subarray(bytes.length)
      case 'sized':
      case 'chunk':
        return this.#takeBody(bytes)
      case 'over':
        this.#keepsAlive = false
        throw new MalformedAnswer('bytes follow the end of the answer')
    }
  }

  #takeHead(bytes: Buffer): Buffer | undefined {
    const end = findEnd(bytes, headEnd, mostHeadBytes)
    if (end === undefined) {
      // Another protocol may never send what ends a head: whoever waits for that would wait for ever.
      if (!'HTTP/1.'.startsWith(bytes.toString('latin1', 0, 7))) throw notHttp()
      return undefined
    }
    const { status, version, headers } = readHead(bytes.toString('latin1', 0, end))
    if (status === 101 || (status < 200 && version === '0'))
      throw new MalformedAnswer('the server speaks a protocol that nobody asked for')
    // What is only told in between (100, 103) comes before the answer itself.
    if (status >= 200) this.#start(status, version, headers)
    return bytes.subarray(end + headEnd.length)
  }

  #start(status: number, version: string, headers: AnswerHeaders): void {
    const connection = headers['connection']?.toLowerCase() ?? ''
    this.#keepsAlive = version === '1' && !connection.split(',').some((option) => option.trim() === 'close')
    const length = headers['content-length']
    const coding = headers['transfer-encoding']?.toLowerCase()
    if (coding !== undefined && (coding !== 'chunked' || length !== undefined))
      throw new MalformedAnswer('the headers do not tell where the body ends')
    if (length !== undefined && !/^\d{1,15}$/.test(length)) throw new MalformedAnswer('the length is no number')
    // A server that announces a body with this status may send it, and it would be taken for the next answer.
    if (status === 204 && (coding !== undefined || Number(length ?? 0) > 0)) this.#keepsAlive = false
    this.#events.onHead(status, headers)
    if (this.#hasNoBody || status === 204 || status === 304 || Number(length) === 0) this.#end()
    else if (coding !== undefined) this.#state = 'chunkSize'
    else if (length === undefined) {
      this.#keepsAlive = false
      this.#state = 'untilClose'
    } else {
      this.#leftBytes = Number(length)
      this.#state = 'sized'
    }
  }

  #takeLine(bytes: Buffer, take: (line: string) => void): Buffer | undefined {
    const end = findEnd(bytes, lineEnd, mostChunkLineBytes)
    if (end === undefined) return undefined
    take(bytes.toString('latin1', 0, end))
    return bytes.subarray(end + lineEnd.length)
  }

  #startChunk(line: string): void {
    const size = chunkLine.exec(line)?.[1]
    if (size === undefined) throw new MalformedAnswer('the size of a chunk is no number')
    this.#leftBytes = Number.parseInt(size, 16)
    this.#state = 'chunk'
    if (this.#leftBytes > 0) return
    this.#state = 'trailer'
    this.#leftBytes = mostHeadBytes
  }

  #skipTrailer(line: string): void {
    this.#leftBytes -= line.length
    if (this.#leftBytes < 0) throw tooLong(mostHeadBytes)
    if (line === '') this.#end()
    else if (!headerLine.test(line)) throw new MalformedAnswer('a trailer is no header')
  }

  #takeBody(bytes: Buffer): Buffer {
    const count = Math.min(this.#leftBytes, bytes.length)
    this.#leftBytes -= count
    this.#events.onBody(bytes.subarray(0, count))
    if (this.#leftBytes === 0) {
      if (this.#state === 'chunk') this.#state = 'chunkEnd'
      else this.#end()
    }
    return bytes.subarray(count)
  }

  #end(): void {
    this.#state = 'over'
    this.#events.onEnd()
  }
}

/** Nothing when the end may still come. */
function findEnd(bytes: Buffer, mark: Buffer, mostBytes: number): number | undefined {
  const end = bytes.indexOf(mark)
  // Half of the mark may be here already: where the bytes were cut must not decide what is too long.
  const earliest = end < 0 ? bytes.length - mark.length + 1 : end
  if (earliest > mostBytes) throw tooLong(mostBytes)
  return end < 0 ? undefined : end
}

function readHead(text: string): {
  readonly status: number
  readonly version: string
  readonly headers: AnswerHeaders
} {
  const lines = text.split('\r\n')
  const [, version, status] = statusLine.exec(lines[0] ?? '') ?? []
  if (version === undefined || status === undefined) throw notHttp()
  const headers: Record<string, string> = Object.create(null) as Record<string, string>
  for (let index = 1; index < lines.length; index++) {
    const line = lines[index] ?? ''
    if (!headerLine.test(line)) throw new MalformedAnswer('a header has no name, or characters that none can have')
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = withoutBlanks(line, colon + 1)
    const before = headers[name]
    headers[name] = before === undefined ? value : `${before}, ${value}`
  }
  return { status: Number(status), version, headers }
}

/** Only those that HTTP means: trim() would make a proper length of one that other readers refuse. */
function withoutBlanks(text: string, from: number): string {
  let start = from
  let end = text.length
  while (text[start] === ' ' || text[start] === '\t') start++
  while (end > start && (text[end - 1] === ' ' || text[end - 1] === '\t')) end--
  return text.slice(start, end)
}

function notHttp(): MalformedAnswer {
  return new MalformedAnswer('what came is no answer of HTTP/1')
}

function tooLong(mostBytes: number): MalformedAnswer {
  return new MalformedAnswer(`the headers, or a line between chunks, exceed ${mostBytes} bytes`)
}
