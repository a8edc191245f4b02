import { TemplateFault } from './fault.ts'
import { type Token, tokensOf } from './lex.ts'

/** Deeper than people write, and shallower than the stack. */
const deepest = 100

/** Goes through the tokens of a template, once. */
export class Cursor {
  readonly #tokens: readonly Token[]
  readonly #end: Token
  #next = 0
  #depth = 0

  constructor(source: string) {
    this.#tokens = tokensOf(source)
    this.#end = { type: 'end', at: source.length, text: '' }
  }

  peek(): Token {
    return this.#tokens[this.#next] ?? this.#end
  }

  take(): Token {
    const token = this.peek()
    this.#next++
    return token
  }

  /** The next one that is not space; it stays. */
  skipSpace(): Token {
    while (this.peek().type === 'space') this.#next++
    return this.peek()
  }

  takeSign(sign: string): boolean {
    const { type, text } = this.skipSpace()
    if (type !== 'sign' || text !== sign) return false
    this.#next++
    return true
  }

  takeWord(...words: readonly string[]): Token | undefined {
    const { type, text } = this.skipSpace()
    return type === 'word' && words.includes(text) ? this.take() : undefined
  }

  /** The end of braces in which nothing else may stand. */
  close(after: string): void {
    const { type, at, text } = this.skipSpace()
    if (type !== 'close') throw new TemplateFault(at, `'${text}' is too much; write {{${after}}} alone`)
    this.#next++
  }

  /** Looks ahead: what was taken is put back when nothing came of it. */
  attempt<T>(take: () => T | undefined): T | undefined {
    const before = this.#next
    const result = take()
    if (result === undefined) this.#next = before
    return result
  }

  deeper<T>(at: number, read: () => T): T {
    if (++this.#depth > deepest) throw new TemplateFault(at, `more than ${deepest} levels deep; make it flatter`)
    const result = read()
    this.#depth--
    return result
  }
}
