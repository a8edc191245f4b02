import { Composer, type CST, type Document, Lexer, type LineCounter, Parser, type YAMLParseError } from 'yaml'
import { lenientLexer } from './lenient-lexer.ts'

export interface ReadDocuments {
  readonly document: Document.Parsed | undefined
  readonly second: Document.Parsed | undefined
  /** Of the first document. */
  readonly errors: readonly YAMLParseError[]
}

/** No escape of YAML, but one of the original's reader. */
export const escapedQuote = "\\'"

/** A CR alone ends a line for the original's reader. Every letter stays where it is. */
export function withPlainLineBreaks(text: string): string {
  return text.replace(/\r(?!\n)/g, '\n')
}

/** Types are ours to tell: no schema of the package knows octal numbers without knowing base sixty too. */
export function readDocuments(text: string, lines: LineCounter): ReadDocuments {
  lines.addNewLine(0)
  const [document, second] = compose(text, lenientLexer(), lines.addNewLine)
  const errors = mistakes(document, text)
  if (errors.length === 0) return { document, second, errors }
  // A quote that is never closed runs on to the next one, wherever that is: who minds the columns sees where it began.
  const [strict] = compose(text, new Lexer())
  const nearer = mistakes(strict, text)
  return { document, second, errors: nearer.length > 0 ? nearer : errors }
}

function compose(text: string, lexer: Lexer, onNewLine?: (offset: number) => void): Document.Parsed[] {
  const composer = new Composer({ version: '1.1', schema: 'failsafe', uniqueKeys: false, logLevel: 'silent' })
  return [...composer.compose(tokensOf(text, lexer, onNewLine))]
}

function* tokensOf(text: string, lexer: Lexer, onNewLine?: (offset: number) => void): Generator<CST.Token, void> {
  const parser = new Parser(onNewLine)
  for (const lexeme of lexer.lex(text)) yield* parser.next(lexeme)
  yield* parser.end()
}

/** Without those that the original's reader does not know. */
function mistakes(document: Document.Parsed | undefined, text: string): readonly YAMLParseError[] {
  return (document?.errors ?? []).filter(
    ({ code, message, pos: [offset] }) =>
      !(code === 'BAD_DQ_ESCAPE' && text.startsWith(escapedQuote, offset)) &&
      !(code === 'MISSING_CHAR' && message.startsWith('Comments must be separated')),
  )
}
