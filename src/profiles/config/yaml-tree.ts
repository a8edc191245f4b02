import { CST, isAlias, isMap, isScalar, isSeq, LineCounter, type Pair, type Scalar, type YAMLParseError } from 'yaml'
import type { ConfigProblem } from '../plugin.ts'
import { plainScalar, type ScalarValue } from './plain-scalar.ts'
import { escapedQuote, readDocuments, withPlainLineBreaks } from './read-documents.ts'

/** Lines and columns begin with 1. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** A value of the file that knows where it stands. */
export type Tree = TreeMap | TreeList | TreeScalar

export interface TreeMap {
  readonly kind: 'map'
  readonly at: Place
  readonly entries: ReadonlyMap<string, TreeEntry>
}

export interface TreeEntry {
  /** Of the key. */
  readonly at: Place
  readonly value: Tree
}

export interface TreeList {
  readonly kind: 'list'
  readonly at: Place
  readonly items: readonly Tree[]
}

export interface TreeScalar {
  readonly kind: 'scalar'
  readonly at: Place
  readonly value: ScalarValue
  /** Where the text begins, when it stands in the file letter by letter. */
  readonly textAt?: Place
  /** Came out of `${…}`: it takes the type of whoever reads it. */
  readonly isExpanded?: boolean
  /** May be a secret: it is never shown. */
  readonly isFromEnvironment?: boolean
}

export interface ReadTree {
  /** Nothing in an empty file, and in one that is no YAML. */
  readonly root: Tree | undefined
  readonly problems: readonly ConfigProblem[]
}

/** Far above any real file, and far below what an alias of an alias would unfold to. */
const mostNodes = 200_000
const deepest = 100
const mostSyntaxErrors = 5

/** What a file in UTF-16 is when it is read as UTF-8: no mark at its beginning, and a zero beside each plain letter. */
const utf16 = /^\uFFFD\uFFFD.*\0/s

/** The first document of a file, as YAML 1.1. */
export function readTree(file: string): ReadTree {
  const text = withPlainLineBreaks(file)
  const lines = new LineCounter()
  const reader = new TreeReader(text, lines)
  if (utf16.test(text)) {
    reader.say('error', { line: 1, column: 1 }, '', 'it is stored as UTF-16; store it as UTF-8')
    return { root: undefined, problems: reader.problems }
  }
  const { document, second, errors } = readDocuments(text, lines)
  if (!document) return { root: undefined, problems: [] }
  // What follows a colon may be a piece of the file, and that may be a password.
  for (const { at, message } of firstPerLine(errors, (offset) => reader.place(offset)))
    reader.say('error', at, '', `it is not YAML: ${message.split(':')[0]}; mend it here or just above`)
  if (errors.length > 0) return { root: undefined, problems: reader.problems }
  if (second)
    reader.say(
      'warning',
      reader.place(second.range[0]),
      '',
      'a second document begins here, and only the first one counts; leave it out',
    )
  try {
    const root = reader.read(document.contents, { line: 1, column: 1 }, '', 0)
    return { root: reader.isBroken ? undefined : root, problems: reader.problems }
  } catch (error) {
    if (!(error instanceof TreeFault)) throw error
    reader.say('error', error.at, error.path, error.message)
    return { root: undefined, problems: reader.problems }
  }
}

/** One slip brings many errors with it; who mends the first sees what is left. */
function firstPerLine(
  errors: readonly YAMLParseError[],
  place: (offset: number) => Place,
): readonly { readonly at: Place; readonly message: string }[] {
  const located = errors.map(({ pos, message }) => ({ at: place(pos[0]), message }))
  const firsts = located.filter(({ at }, index) => located.findIndex((other) => other.at.line === at.line) === index)
  return firsts.slice(0, mostSyntaxErrors)
}

/** Nothing can be said of the rest. */
class TreeFault extends Error {
  readonly code = 'TreeFault'
  readonly at: Place
  readonly path: string

  constructor(at: Place, path: string, message: string) {
    super(message)
    this.at = at
    this.path = path
  }
}

class TreeReader {
  readonly problems: ConfigProblem[] = []
  readonly #text: string
  readonly #lines: LineCounter
  readonly #anchors = new Map<string, { readonly tree: Tree; readonly size: number }>()
  #count = 0

  constructor(text: string, lines: LineCounter) {
    this.#text = text
    this.#lines = lines
  }

  get isBroken(): boolean {
    return this.problems.some(({ severity }) => severity === 'error')
  }

  say(severity: ConfigProblem['severity'], at: Place, path: string, message: string): void {
    this.problems.push({ severity, ...at, path, message })
  }

  place(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }

  read(node: unknown, around: Place, path: string, depth: number): Tree {
    const before = this.#count
    const at = this.#placeOf(node) ?? around
    this.#count += 1
    if (depth > deepest) throw new TreeFault(at, path, 'it is nested beyond all measure; write it flatter')
    if (isAlias(node)) return this.#alias(node.source, at, path)
    const tree = this.#below(node, at, path, depth)
    const { anchor } = (node ?? {}) as { readonly anchor?: string }
    if (anchor !== undefined) this.#anchors.set(anchor, { tree, size: this.#count - before })
    return tree
  }

  #below(node: unknown, at: Place, path: string, depth: number): Tree {
    if (isMap(node)) return { kind: 'map', at, entries: this.#entries(node.items, at, path, depth) }
    if (isSeq(node)) {
      const items = node.items.map((item, index) => this.read(item, at, `${path}[${index}]`, depth + 1))
      return { kind: 'list', at, items }
    }
    return isScalar(node) ? this.#scalar(node, at) : { kind: 'scalar', at, value: null }
  }

  /** Counts what it stands for, because everybody who walks the tree will. */
  #alias(name: string, at: Place, path: string): Tree {
    const found = this.#anchors.get(name)
    if (!found)
      throw new TreeFault(at, path, 'no anchor of this name stands before the alias; write what it stands for')
    this.#count += found.size
    if (this.#count > mostNodes)
      throw new TreeFault(at, path, 'aliases unfold it beyond all measure; write it without them')
    return { ...found.tree, at }
  }

  #entries(
    pairs: readonly Pair<unknown, unknown>[],
    around: Place,
    path: string,
    depth: number,
  ): ReadonlyMap<string, TreeEntry> {
    const entries = new Map<string, TreeEntry>()
    const own = new Set<string>()
    for (const { key, value } of pairs) {
      const name = this.read(key, around, path, depth + 1)
      if (name.kind === 'scalar' && name.value === '<<' && isScalar(key) && key.type === 'PLAIN') {
        this.#merge(entries, this.read(value, name.at, path, depth + 1), path)
        continue
      }
      if (name.kind !== 'scalar' || typeof name.value !== 'string') {
        const seen = name.kind === 'scalar' ? `it means ${String(name.value)} in YAML 1.1` : `it is a ${name.kind}`
        this.say('error', name.at, path, `the key here is not text: ${seen}; put the key in quotes`)
        continue
      }
      const below = path === '' ? name.value : `${path}.${name.value}`
      if (own.has(name.value))
        this.say('warning', name.at, below, 'the key is there twice, and the last one counts; leave the other out')
      own.add(name.value)
      const read = this.read(value, name.at, below, depth + 1)
      // An empty value stands nowhere; its key does.
      const isNothing = read.kind === 'scalar' && read.value === null
      entries.set(name.value, { at: name.at, value: isNothing ? { ...read, at: name.at } : read })
    }
    return entries
  }

  /** In the order of the text, as the original's reader does it: a merge also replaces what stands above it. */
  #merge(into: Map<string, TreeEntry>, from: Tree, path: string): void {
    if (from.kind === 'list') for (const item of from.items.toReversed()) this.#merge(into, item, path)
    else if (from.kind === 'map') for (const [key, entry] of from.entries) into.set(key, entry)
    else
      this.say('error', from.at, path, '<< takes a mapping or a list of mappings, and here is neither; write an alias')
  }

  #scalar(node: Scalar, at: Place): TreeScalar {
    // Without a schema there is nothing but text.
    const text = typeof node.value === 'string' ? this.#unescaped(node, node.value) : ''
    const tag = node.tag?.replace('tag:yaml.org,2002:', '')
    const isTyped = tag === undefined ? node.type === 'PLAIN' : ['int', 'float', 'bool', 'null'].includes(tag)
    if (tag === 'binary') return { kind: 'scalar', at, value: Buffer.from(text, 'base64').toString('utf8') }
    const textAt = this.#textAt(node, text)
    return { kind: 'scalar', at, value: isTyped ? plainScalar(text) : text, ...(textAt ? { textAt } : {}) }
  }

  /** The package leaves `\'` as it is, and the backslash of `\\'` is one that is meant: only the file tells them apart. */
  #unescaped({ type, range }: Scalar, text: string): string {
    if (type !== 'QUOTE_DOUBLE' || !range || !text.includes(escapedQuote)) return text
    const written = this.#text.slice(range[0], range[1])
    const source = written.replace(/\\[\s\S]/g, (pair) => (pair === escapedQuote ? "'" : pair))
    const token = { type: 'double-quoted-scalar', offset: 0, indent: 0, source } as const
    return CST.resolveAsScalar(token, true, () => undefined)?.value ?? text
  }

  #textAt(node: Scalar, text: string): Place | undefined {
    const [start, end] = node.range ?? []
    if (start === undefined || end === undefined) return undefined
    const offset = node.type === 'PLAIN' ? start : start + 1
    return this.#text.startsWith(text, offset) && !text.includes('\n') ? this.place(offset) : undefined
  }

  #placeOf(node: unknown): Place | undefined {
    const start = (node as { readonly range?: readonly number[] | null } | null | undefined)?.range?.[0]
    return start === undefined ? undefined : this.place(start)
  }
}
