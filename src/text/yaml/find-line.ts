import { isMap, isScalar, isSeq, LineCounter } from 'yaml'
import { parseDocuments, startOf } from './read-full.ts'
import { withPlainLines } from './read-yaml.ts'

/** Where in a file a field stands: the document is named by its line. */
export type FindLine = (documentLine: number, path: readonly (string | number)[]) => number

/**
 * Finds lines of fields for messages; reading alone does not keep them. A field that is not there, or came by an alias,
 * stands where its nearest parent does.
 */
export function lineFinder(text: string): FindLine {
  const counter = new LineCounter()
  const documents = parseDocuments(withPlainLines(text), counter)
  const lineOf = (node: unknown) => counter.linePos(startOf(node) ?? 0).line
  const roots = new Map(documents.map(({ contents }): [number, unknown] => [lineOf(contents), contents]))
  return (documentLine, path) => {
    let node = roots.get(documentLine)
    let line = documentLine
    for (const step of path) {
      if (isSeq(node) && typeof step === 'number') {
        node = node.items[step]
        if (node !== undefined) line = lineOf(node)
      } else if (isMap(node)) {
        const pair = node.items.find(({ key }) => isScalar(key) && key.value === step)
        if (!pair) return line
        line = lineOf(pair.key)
        node = pair.value
      } else return line
    }
    return line
  }
}
