import { type Document, isAlias, isMap, isScalar, isSeq, LineCounter, type ParsedNode, parseAllDocuments } from 'yaml'
import { CliFault } from '../context.ts'

/** What was given cannot be read at all; the command ends with exit code 2. */
export class InputFault extends CliFault {}

/** A YAML value that remembers where it stands. */
export type Located = LocatedMap | LocatedList | LocatedScalar

export interface LocatedMap {
  readonly kind: 'map'
  readonly line: number
  readonly entries: readonly LocatedEntry[]
}

export interface LocatedEntry {
  readonly key: string
  /** Of the key. */
  readonly line: number
  readonly value: Located
}

export interface LocatedList {
  readonly kind: 'list'
  readonly line: number
  readonly items: readonly Located[]
}

export interface LocatedScalar {
  readonly kind: 'scalar'
  readonly line: number
  /** As it is written, so that 22:00 and 007 stay what they are. */
  readonly text: string
  /** Whether a chart takes it for not given: nothing, empty, 0 or false, unless in quotes. */
  readonly isEmpty: boolean
}

/** Far above any manifest, and far below what an alias of itself would unfold to. */
const mostNodes = 200_000
const deepest = 100

/** All documents of a file, without the empty ones. */
export function readDocuments(file: string, text: string): Located[] {
  const lines = new LineCounter()
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false })
  if (!Array.isArray(documents)) return []
  return documents.flatMap((document) => {
    const [error] = document.errors
    if (error)
      // What follows a colon may be a piece of the file, and that may be a password.
      throw new InputFault(
        `${file}:${lines.linePos(error.pos[0]).line}: it is not YAML: ${error.message.split(':')[0]}; write Helm values, or manifests as kubectl get -o yaml prints them`,
      )
    return document.contents === null ? [] : [locate(file, document, lines)]
  })
}

function locate(file: string, document: Document.Parsed, lines: LineCounter): Located {
  let count = 0
  const visit = (node: unknown, around: number, depth: number): Located => {
    const range = (node as { readonly range?: readonly number[] | null } | null)?.range
    const line = range?.[0] === undefined ? around : lines.linePos(range[0]).line
    if (++count > mostNodes || depth > deepest)
      throw new InputFault(`${file}:${line}: aliases unfold it beyond all measure; write it without them`)
    if (isAlias(node)) return visit(node.resolve(document), line, depth + 1)
    if (isMap<ParsedNode, ParsedNode | null>(node))
      return {
        kind: 'map',
        line,
        entries: node.items.map(({ key, value }) => {
          const name = visit(key, line, depth + 1)
          return {
            key: name.kind === 'scalar' ? name.text : '?',
            line: name.line,
            value: visit(value, name.line, depth + 1),
          }
        }),
      }
    if (isSeq(node)) return { kind: 'list', line, items: node.items.map((item) => visit(item, line, depth + 1)) }
    const value = isScalar(node) ? (node.value as string | number | boolean | bigint | null) : null
    const isPlain = isScalar(node) && node.type === 'PLAIN'
    const written = isPlain ? (node.source ?? String(value)) : String(value)
    return {
      kind: 'scalar',
      line,
      text: value === null ? '' : written,
      isEmpty: value === null || value === '' || (isPlain && (value === 0 || value === false)),
    }
  }
  return visit(document.contents, 1, 0)
}

export function entryOf(from: Located | undefined, key: string): LocatedEntry | undefined {
  return from?.kind === 'map' ? from.entries.find((entry) => entry.key === key) : undefined
}

/** The value at a path of keys, if everything on the way is a map. */
export function at(from: Located | undefined, ...path: readonly string[]): Located | undefined {
  return path.reduce((value, key) => entryOf(value, key)?.value, from)
}

export function textAt(from: Located | undefined, ...path: readonly string[]): string | undefined {
  const found = at(from, ...path)
  return found?.kind === 'scalar' && found.text !== '' ? found.text : undefined
}

export function itemsAt(from: Located | undefined, ...path: readonly string[]): readonly Located[] {
  const found = at(from, ...path)
  return found?.kind === 'list' ? found.items : []
}

export function isEmpty(value: Located): boolean {
  switch (value.kind) {
    case 'map':
      return value.entries.length === 0
    case 'list':
      return value.items.length === 0
    case 'scalar':
      return value.isEmpty
  }
}
