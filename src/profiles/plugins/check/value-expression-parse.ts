import { type OperatorSign, precedence, type UnarySign, type Value } from './value-operators.ts'

export type Node =
  | { readonly kind: 'constant'; readonly value: Value }
  | { readonly kind: 'value' }
  | { readonly kind: 'list'; readonly items: readonly Node[] }
  | { readonly kind: 'unary'; readonly operator: UnarySign; readonly operand: Node }
  | { readonly kind: 'binary'; readonly operator: OperatorSign; readonly left: Node; readonly right: Node }
  | { readonly kind: 'choice'; readonly condition: Node; readonly then: Node; readonly otherwise?: Node }

export type ParsedExpression = { readonly root: Node } | { readonly problem: string }

export function parseExpression(text: string): ParsedExpression {
  try {
    const parser = new Parser(tokensOf(text))
    const root = parser.choice()
    parser.end()
    return { root }
  } catch (error) {
    if (error instanceof Fault) return { problem: error.message }
    throw error
  }
}

class Fault extends Error {}

interface Token {
  readonly kind: 'number' | 'text' | 'name' | 'sign' | 'end'
  readonly text: string
  readonly column: number
}

/** Between two digits there may be a _, so that people can count them. */
const digits = String.raw`\d+(?:_\d+)*`

const shapes: readonly (readonly [Token['kind'], RegExp])[] = [
  ['number', new RegExp(`(?:${digits}\\.?(?:${digits})?|\\.${digits})(?:[eE][+-]?${digits})?`, 'y')],
  ['text', /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`/y],
  ['name', /[\p{L}_][\p{L}\p{Nd}_]*/uy],
  ['sign', /\?\?|\|\||&&|==|!=|>=|<=|=~|!~|<<|>>|\*\*|[-+*/%^&|<>!?:()[\],]/y],
]

/** Spaces, and comments as Go has them; one that is not closed reaches to the end, as in the original. */
const nothing = /(?:\s|\/\/[^\n]*|\/\*.*?(?:\*\/|$))*/sy

function afterNothing(text: string, at: number): number {
  nothing.lastIndex = at
  return at + (nothing.exec(text)?.[0].length ?? 0)
}

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  for (let at = afterNothing(text, 0); at < text.length; ) {
    const token = tokenAt(text, at)
    tokens.push(token)
    at = afterNothing(text, at + token.text.length)
  }
  return [...tokens, { kind: 'end', text: '', column: text.length + 1 }]
}

function tokenAt(text: string, at: number): Token {
  for (const [kind, shape] of shapes) {
    shape.lastIndex = at
    const found = shape.exec(text)
    if (found) return { kind, text: found[0], column: at + 1 }
  }
  const seen = text.charAt(at)
  throw new Fault(
    /["'`]/.test(seen)
      ? `the text that begins at character ${at + 1} has no closing ${seen}`
      : `${JSON.stringify(seen)} at character ${at + 1} means nothing in an expression`,
  )
}

const deepest = 100

/** Recursive descent: each method reads what it is named after. */
class Parser {
  readonly #tokens: readonly Token[]
  #at = 0
  #depth = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  get #next(): Token {
    return this.#tokens[this.#at] ?? { kind: 'end', text: '', column: 0 }
  }

  end(): void {
    if (this.#next.kind !== 'end') throw this.#unexpected('an operator')
  }

  choice(): Node {
    // A file must not be able to make the stack overflow.
    if (++this.#depth > deepest)
      throw new Fault(`it is nested deeper than ${deepest} levels; write it in a simpler way`)
    const condition = this.#binary(0)
    let node = condition
    if (this.#accept('?')) {
      const then = this.choice()
      node = this.#accept(':')
        ? { kind: 'choice', condition, then, otherwise: this.choice() }
        : { kind: 'choice', condition, then }
    }
    this.#depth--
    return node
  }

  #binary(level: number): Node {
    const signs = precedence[level]
    if (!signs) return this.#unary()
    let left = this.#binary(level + 1)
    for (let operator = this.#acceptOperator(signs); operator; operator = this.#acceptOperator(signs))
      left = { kind: 'binary', operator, left, right: this.#binary(level + 1) }
    return left
  }

  #unary(): Node {
    const signs: UnarySign[] = []
    for (;;)
      if (this.#accept('!')) signs.unshift('!')
      else if (this.#accept('-')) signs.unshift('-')
      else break
    if (signs.length > deepest) throw new Fault(`${signs.length} signs before one value are too many`)
    return signs.reduce<Node>((operand, operator) => ({ kind: 'unary', operator, operand }), this.#primary())
  }

  #primary(): Node {
    const token = this.#next
    if (this.#accept('(')) {
      const inner = this.choice()
      this.#expect(')')
      return inner
    }
    if (this.#accept('[')) return { kind: 'list', items: this.#items() }
    if (token.kind === 'sign' || token.kind === 'end') throw this.#unexpected('a value')
    this.#at++
    if (token.kind === 'number') return { kind: 'constant', value: Number(token.text.replaceAll('_', '')) }
    if (token.kind === 'text') return { kind: 'constant', value: unquoted(token) }
    if (token.text === 'value') return { kind: 'value' }
    if (token.text === 'true' || token.text === 'false') return { kind: 'constant', value: token.text === 'true' }
    throw new Fault(`nobody knows ${token.text} at character ${token.column}; the sample is called value`)
  }

  #items(): Node[] {
    const items: Node[] = []
    while (!this.#accept(']')) {
      if (items.length > 0) this.#expect(',')
      items.push(this.choice())
    }
    return items
  }

  #accept(sign: string): boolean {
    const { kind, text } = this.#next
    if (kind !== 'sign' || text !== sign) return false
    this.#at++
    return true
  }

  #acceptOperator(signs: readonly OperatorSign[]): OperatorSign | undefined {
    const { kind, text } = this.#next
    if (kind !== 'sign' && kind !== 'name') return undefined
    const found = signs.find((sign) => sign === text)
    if (found) this.#at++
    return found
  }

  #expect(sign: string): void {
    if (!this.#accept(sign)) throw this.#unexpected(sign)
  }

  #unexpected(wanted: string): Fault {
    const { kind, text, column } = this.#next
    if (kind === 'end') return new Fault(`it ends where ${wanted} should come`)
    return new Fault(`${text} at character ${column} stands where ${wanted} should come; write for example value > 5`)
  }
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' }

function unquoted({ text }: Token): string {
  const inner = text.slice(1, -1)
  if (text.startsWith('`')) return inner
  return inner.replace(/\\(.)/gs, (_, character: string) => escapes[character] ?? character)
}
