import { plainScalar } from './plain-scalar.ts'
import { readFlowLine } from './read-flow-line.ts'
import { deepest, type YamlDocument, type YamlMap, type YamlValue } from './yaml-value.ts'

/**
 * Reads files as most people write them, ten times faster than the full reader: blocks, values on one line, literal
 * texts. Anything else, and anything wrong, is undefined: the full reader says what it means, or what is wrong with it.
 */
export function readBlocks(text: string): readonly YamlDocument[] | undefined {
  try {
    return new BlockReader(text).documents()
  } catch (error) {
    if (error === unusual) return undefined
    throw error
  }
}

/** Thrown, because it may be met at any depth. It has no stack to be filled in. */
const unusual = { code: 'Unusual' } as const

function giveUp(): never {
  throw unusual
}

const blank = 32
const key = /([A-Za-z_][\w./-]{0,500}|"[^"\\]{0,500}"|'[^']{0,500}')(?::(?= |$))/y
const doubleQuoted = /^("(?:[^"\\]|\\["\\/bfnrt])*")(?: *| +#.*)$/
const singleQuoted = /^'((?:[^']|'')*)'(?: *| +#.*)$/
const separator = /^---(?: *| +#.*)$/

class BlockReader {
  readonly #lines: readonly string[]
  /** Of the line that is looked at. */
  #at = -1
  #line = ''
  /** Where its content begins; after a dash that is behind the dash. -1: there is no line left in the document. */
  #indent = -1

  constructor(text: string) {
    // Tabs count as blanks in some places and are forbidden in others.
    if (text.includes('\t')) giveUp()
    this.#lines = text.split('\n')
  }

  documents(): readonly YamlDocument[] {
    const found: YamlDocument[] = []
    while (this.#at < this.#lines.length) {
      this.#next()
      const indent = this.#indent
      if (indent === -1) continue
      const line = this.#at + 1
      const value = this.#isDash() ? this.#list(indent, 0) : this.#map(indent, 0)
      // Less indented than the beginning.
      if (!this.#isOver()) giveUp()
      found.push({ value, line })
    }
    return found
  }

  /** Goes to the next line with content, at most to the end of the document. */
  #next(): void {
    this.#indent = -1
    for (;;) {
      this.#at += 1
      const line = this.#lines[this.#at]
      if (line === undefined) return
      const indent = contentStart(line)
      if (indent === -1 || line[indent] === '#') continue
      if (indent === 0 && (line.startsWith('---') || line.startsWith('...') || line.startsWith('%'))) {
        if (separator.test(line)) return
        giveUp()
      }
      this.#line = line
      this.#indent = indent
      return
    }
  }

  #isOver(): boolean {
    return this.#indent === -1
  }

  #isDash(): boolean {
    return this.#line[this.#indent] === '-' && (this.#line[this.#indent + 1] ?? ' ') === ' '
  }

  #map(indent: number, depth: number): YamlMap {
    if (depth > deepest) giveUp()
    const map: Record<string, YamlValue> = {}
    while (this.#indent === indent) {
      const { name, end } = this.#key() ?? giveUp()
      if (Object.hasOwn(map, name)) giveUp()
      const start = blanksFrom(this.#line, end)
      map[name] = isNothing(this.#line, start) ? this.#below(indent, depth) : this.#value(start, indent)
    }
    if (this.#indent > indent) giveUp()
    return map
  }

  #list(indent: number, depth: number): readonly YamlValue[] {
    if (depth > deepest) giveUp()
    const items: YamlValue[] = []
    while (this.#indent === indent && this.#isDash()) {
      const start = blanksFrom(this.#line, indent + 1)
      if (isNothing(this.#line, start)) giveUp()
      // What stands behind the dash is a block of its own that begins there.
      this.#indent = start
      if (this.#isDash()) items.push(this.#list(start, depth + 1))
      else if (this.#key()) items.push(this.#map(start, depth + 1))
      else items.push(this.#value(start, indent))
    }
    if (this.#indent > indent) giveUp()
    return items
  }

  #key(): { readonly name: string; readonly end: number } | undefined {
    key.lastIndex = this.#indent
    const [, written] = key.exec(this.#line) ?? []
    if (written === undefined) return undefined
    const end = key.lastIndex
    if (written.startsWith('"') || written.startsWith("'")) {
      const name = written.slice(1, -1)
      return name === '__proto__' ? giveUp() : { name, end }
    }
    // Words that mean something else than themselves.
    return written === '__proto__' || plainScalar(written) !== written ? giveUp() : { name: written, end }
  }

  /** What belongs to a key that has nothing behind it. */
  #below(indent: number, depth: number): YamlValue {
    this.#next()
    if (this.#indent > indent)
      return this.#isDash() ? this.#list(this.#indent, depth + 1) : this.#map(this.#indent, depth + 1)
    // A list may stand right under its key.
    if (this.#indent === indent && this.#isDash()) return this.#list(indent, depth + 1)
    return null
  }

  #value(start: number, indent: number): YamlValue {
    const rest = this.#line.slice(start)
    if (rest.startsWith('|')) return this.#literal(rest, indent)
    const value = oneLine(rest)
    this.#next()
    // The text goes on, or something is wrong.
    if (this.#indent > indent) giveUp()
    return value
  }

  /** A text that stands in the file letter by letter. */
  #literal(header: string, indent: number): string {
    const [, chomp] = /^\|([+-]?) *$/.exec(header) ?? giveUp()
    const first = this.#at + 1
    let from = first
    while (this.#lines[from] === '') from += 1
    const width = contentStart(this.#lines[from] ?? '')
    if (width <= indent) giveUp()
    const content: string[] = this.#lines.slice(first, from)
    let end = from
    for (; end < this.#lines.length; end += 1) {
      const line = this.#lines[end] ?? ''
      const here = contentStart(line)
      if (here === -1) {
        if (line.length > width) giveUp()
        content.push('')
      } else if (here >= width) content.push(line.slice(width))
      // Between the two indents only a comment could stand.
      else if (here > indent) giveUp()
      else break
    }
    this.#at = end - 1
    const trailing = content.length - 1 - content.findLastIndex((line) => line !== '')
    // The end of the file is one line too many.
    const kept = end === this.#lines.length ? trailing - 1 : trailing
    const body = content.slice(0, content.length - trailing).join('\n')
    this.#next()
    return `${body}${chomp === '-' ? '' : chomp === '+' ? '\n'.repeat(kept + 1) : '\n'}`
  }
}

/** -1: there is none. */
function contentStart(line: string): number {
  const start = blanksFrom(line, 0)
  return start === line.length ? -1 : start
}

function blanksFrom(line: string, start: number): number {
  let at = start
  while (line.charCodeAt(at) === blank) at += 1
  return at
}

function isNothing(line: string, start: number): boolean {
  return start >= line.length || line[start] === '#'
}

function oneLine(rest: string): YamlValue {
  switch (rest.charAt(0)) {
    case '"': {
      const [, quoted] = doubleQuoted.exec(rest) ?? giveUp()
      return JSON.parse(quoted ?? '') as string
    }
    case "'": {
      const [, quoted] = singleQuoted.exec(rest) ?? giveUp()
      return (quoted ?? '').replaceAll("''", "'")
    }
    case '{':
    case '[':
      return readFlowLine(rest) ?? giveUp()
    default:
      return plain(rest)
  }
}

function plain(rest: string): YamlValue {
  if (/^(?:[-?:](?: |$)|[&*!|>%@`#,\]}?:<])/.test(rest)) giveUp()
  const comment = rest.indexOf(' #')
  const text = (comment === -1 ? rest : rest.slice(0, comment)).replace(/ +$/, '')
  if (text.includes(': ') || text.endsWith(':')) giveUp()
  const value = plainScalar(text)
  return typeof value === 'number' && !Number.isFinite(value) ? giveUp() : value
}
