const newline = 0x0a

/** A line grew past what any object of Kubernetes can be. */
export class LineTooLong extends Error {
  override readonly name = 'LineTooLong'
}

/** Cuts a byte stream into lines. Works on bytes: a chunk may end in the middle of a character, and long lines come in many chunks. */
export class LineSplitter {
  readonly #longest: number
  #pending: Buffer[] = []
  #pendingBytes = 0

  constructor(longestLineBytes: number) {
    this.#longest = longestLineBytes
  }

  /** Bytes of a line that has not ended yet. */
  get pendingBytes(): number {
    return this.#pendingBytes
  }

  /** The lines that end in this chunk, without their newline; empty lines are skipped. */
  *push(chunk: Buffer): Generator<string, void, void> {
    let start = 0
    for (let end = chunk.indexOf(newline, start); end !== -1; end = chunk.indexOf(newline, start)) {
      const line =
        this.#pendingBytes === 0 ? chunk.toString('utf8', start, end) : this.#join(chunk.subarray(start, end))
      start = end + 1
      if (line !== '') yield line
    }
    if (start < chunk.length) this.#keep(start === 0 ? chunk : chunk.subarray(start))
  }

  #keep(part: Buffer): void {
    this.#pendingBytes += part.length
    if (this.#pendingBytes > this.#longest) throw new LineTooLong(`a line is longer than ${this.#longest} bytes`)
    this.#pending.push(part)
  }

  #join(last: Buffer): string {
    // One copy per line, however many chunks it came in.
    const whole = Buffer.concat([...this.#pending, last], this.#pendingBytes + last.length)
    this.#pending = []
    this.#pendingBytes = 0
    return whole.toString('utf8')
  }
}
