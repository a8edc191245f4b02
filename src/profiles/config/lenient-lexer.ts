import { Lexer } from 'yaml'

/** What the package's lexer has and its types do not show. */
interface Inside {
  /** Lines that begin further left end what is being read. */
  indentNext: number
  parseQuotedScalar(): Generator<string, string | null>
  parseFlowCollection(): Generator<string, string | null>
}

/**
 * A lexer for which quotes and brackets end where they are closed, however far left the lines in them begin. YAML
 * wants these lines further right than their key, and so does the package; the original's reader never asks, and files
 * that it reads close their quotes and brackets at the column of the key.
 */
export function lenientLexer(): Lexer {
  const lexer = new Lexer()
  const inside = lexer as unknown as Inside
  for (const method of ['parseQuotedScalar', 'parseFlowCollection'] as const) {
    const parse = inside[method]
    inside[method] = function* () {
      const { indentNext } = inside
      inside.indentNext = 0
      try {
        return yield* parse.call(inside)
      } finally {
        inside.indentNext = indentNext
      }
    }
  }
  return lexer
}
