import {
  Composer,
  type CST,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Pair,
  Parser,
  type Scalar,
  type YAMLParseError,
} from 'yaml'
import { plainKey, plainScalar } from './plain-scalar.ts'
import { deepest, type YamlDocument, type YamlMap, type YamlProblem, type YamlValue } from './yaml-value.ts'

/** Characters and nodes that aliases may add to what is written. */
const mostUnfolded = 2_000_000

const tooDeep = 'it is nested beyond all measure; write it flatter'
/** Of the library's tokens, a few of which make one value. */
const mostOpen = 3 * deepest

const core = 'tag:yaml.org,2002:'

/** Reads all of YAML that kubectl reads, and refuses what it would drop, rename or guess. */
export function readFull(
  text: string,
): { readonly documents: readonly YamlDocument[] } | { readonly problem: YamlProblem } {
  const lines = new LineCounter()
  const problemAt = (offset: number, message: string) => {
    const { line, col } = lines.linePos(offset)
    return { problem: { line: Math.max(1, line), column: Math.max(1, col), message } }
  }
  try {
    const roots = parseDocuments(text, lines)
    const documents: YamlDocument[] = []
    const reader = new NodeReader(lines)
    for (const { errors, contents } of roots) {
      const [error] = errors.toSorted((one, other) => one.pos[0] - other.pos[0])
      if (error) return problemAt(error.pos[0], `it is not YAML: ${withoutText(error)}; mend it here or just above`)
      const value = reader.document(contents)
      if (value !== null) documents.push({ value, line: lines.linePos(startOf(contents) ?? 0).line })
    }
    return { documents }
  } catch (error) {
    if (error instanceof YamlFault) return problemAt(error.offset, error.message)
    throw error
  }
}

/** What the library says may hold a piece of the file, and that may be a password. */
function withoutText({ code, message }: YAMLParseError): string {
  return code === 'BAD_DQ_ESCAPE' ? 'there is no such escape in double quotes' : (message.split(':')[0] ?? '')
}

/** Types are ours to tell: no schema of the library knows octal numbers without knowing base sixty too. */
export function parseDocuments(text: string, lines: LineCounter) {
  const composer = new Composer({
    version: '1.1',
    schema: 'failsafe',
    resolveKnownTags: false,
    uniqueKeys: false,
    logLevel: 'silent',
  })
  return [...composer.compose(tokensOf(text, lines))]
}

/** The library composes by recursion without a bound, and a hundred thousand brackets end the whole process. */
function* tokensOf(text: string, lines: LineCounter): Generator<CST.Token, void> {
  const parser = new Parser(lines.addNewLine)
  lines.addNewLine(0)
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme)
    if (parser.stack.length > mostOpen) throw new YamlFault(parser.offset, tooDeep)
  }
  yield* parser.end()
}

export function startOf(node: unknown): number | undefined {
  return (node as { readonly range?: readonly number[] | null } | null | undefined)?.range?.[0]
}

/** Nothing can be said of the rest. */
class YamlFault extends Error {
  readonly code = 'YamlFault'
  readonly offset: number

  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}

class NodeReader {
  readonly #lines: LineCounter
  /** Undefined while the anchored value itself is being read. */
  readonly #anchors = new Map<string, { readonly value: YamlValue; readonly weight: number } | undefined>()
  #weight = 0
  #unfolded = 0

  constructor(lines: LineCounter) {
    this.#lines = lines
  }

  /** Anchors end with their document; what they may unfold to does not. */
  document(contents: unknown): YamlValue {
    this.#anchors.clear()
    return this.#read(contents, 0, 0)
  }

  #read(node: unknown, around: number, depth: number): YamlValue {
    const at = startOf(node) ?? around
    if (depth > deepest) throw new YamlFault(at, tooDeep)
    if (isAlias(node)) return this.#alias(node.source, at)
    const { anchor } = (node ?? {}) as { readonly anchor?: string }
    if (anchor === undefined) return this.#below(node, at, depth)
    const before = this.#weight
    this.#anchors.set(anchor, undefined)
    const value = this.#below(node, at, depth)
    this.#anchors.set(anchor, { value, weight: this.#weight - before })
    return value
  }

  /** Counts what it stands for, because everybody who walks the value will. */
  #alias(name: string, at: number): YamlValue {
    const found = this.#anchors.get(name)
    if (!found) throw new YamlFault(at, 'no anchor of this name is complete before the alias; write what it stands for')
    this.#weight += found.weight
    this.#unfolded += found.weight
    if (this.#unfolded > mostUnfolded)
      throw new YamlFault(at, 'aliases unfold it beyond all measure; write it without them')
    return found.value
  }

  #below(node: unknown, at: number, depth: number): YamlValue {
    this.#weight += 1
    if (isMap(node)) {
      this.#requireTag(node.tag, ['map'], at)
      return this.#map(node.items, at, depth)
    }
    if (isSeq(node)) {
      this.#requireTag(node.tag, ['seq'], at)
      return node.items.map((item) => this.#read(item, at, depth + 1))
    }
    return isScalar(node) ? this.#scalar(node, at) : null
  }

  #map(pairs: readonly Pair<unknown, unknown>[], around: number, depth: number): YamlMap {
    const map: Record<string, YamlValue> = {}
    const own = new Map<string, number>()
    for (const { key, value } of pairs) {
      const at = startOf(key) ?? around
      if (isScalar(key) && key.value === '<<' && key.type === 'PLAIN' && key.tag === undefined) {
        this.#merge(map, this.#read(value, at, depth + 1), at)
        continue
      }
      const name = this.#key(key, at)
      const first = own.get(name)
      if (first !== undefined)
        throw new YamlFault(
          at,
          `the key stands on line ${this.#lines.linePos(first).line} already; leave one of the two out`,
        )
      own.set(name, at)
      this.#weight += name.length
      map[name] = this.#read(value, at, depth + 1)
    }
    return map
  }

  #key(node: unknown, at: number): string {
    if (!isScalar(node)) throw new YamlFault(at, 'the key here is no text; write a text, in quotes if need be')
    const { text, isPlain } = this.#text(node, at)
    const name = isPlain ? plainKey(text) : text
    if (name === '__proto__') throw new YamlFault(at, 'no field has this name; leave it out')
    if (name !== undefined) return name
    const meant = plainScalar(text)
    const seen = meant === null ? 'nothing' : typeof meant === 'boolean' ? String(meant) : 'a number'
    throw new YamlFault(at, `the key here is no text: without quotes it means ${seen} in YAML 1.1; put it in quotes`)
  }

  /** In the order of the text, as kubectl does it: a merge also replaces what stands above it. */
  #merge(into: Record<string, YamlValue>, from: YamlValue, at: number): void {
    const maps: readonly YamlValue[] = Array.isArray(from) ? from.toReversed() : [from]
    for (const map of maps) {
      if (typeof map !== 'object' || map === null || Array.isArray(map))
        throw new YamlFault(at, '<< takes a mapping or a list of mappings, and here is neither; write an alias of one')
      Object.assign(into, map)
    }
  }

  #scalar(node: Scalar, at: number): YamlValue {
    const { text, isPlain } = this.#text(node, at)
    this.#weight += text.length
    if (!isPlain) return text
    const value = plainScalar(text)
    if (typeof value === 'number' && !Number.isFinite(value))
      throw new YamlFault(at, 'JSON has no such number; write a finite one, or put it in quotes')
    return value
  }

  /** Text in quotes stays text, and so does what is tagged as text. */
  #text(node: Scalar, at: number): { readonly text: string; readonly isPlain: boolean } {
    this.#requireTag(node.tag, ['str'], at)
    // Without a schema there is nothing but text.
    const text = typeof node.value === 'string' ? node.value : ''
    if (/\p{Surrogate}/u.test(text))
      throw new YamlFault(at, 'half of a character is escaped here; write the character itself')
    return { text, isPlain: node.tag === undefined && (node.type === 'PLAIN' || node.type === undefined) }
  }

  #requireTag(tag: string | undefined, known: readonly string[], at: number): void {
    if (tag === undefined || known.some((name) => tag === `${core}${name}`)) return
    throw new YamlFault(at, 'this tag is not known here; write the value without it')
  }
}
