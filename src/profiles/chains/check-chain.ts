/** A boolean expression over names, taken apart; or what is wrong with it, and where. */
export type ParsedCheckChain = CheckExpression | ChainProblem

export interface CheckExpression {
  /** In the order of the text; a name written twice is here twice. */
  readonly names: readonly ChainName[]
  /** With the answers in the same order. */
  evaluate(answers: readonly boolean[]): boolean
}

export interface ChainName {
  readonly name: string
  readonly offset: number
}

export interface ChainProblem {
  readonly offset: number
  readonly message: string
}

type Expression =
  | { readonly is: 'name'; readonly index: number }
  | { readonly is: 'not'; readonly of: Expression }
  | { readonly is: 'and' | 'or'; readonly of: readonly Expression[] }

interface Token {
  readonly is: '&&' | '||' | '!' | '(' | ')' | 'name' | 'end'
  readonly text: string
  readonly offset: number
}

/** Far above any real chain, and far below what would exhaust the stack. */
const deepest = 200

class ChainFault extends Error {
  readonly code = 'ChainFault'
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.offset = offset
  }
}

export function parseCheckChain(text: string): ParsedCheckChain {
  try {
    return new ChainParser(text).parse()
  } catch (error) {
    if (error instanceof ChainFault) return { offset: error.offset, message: error.message }
    throw error
  }
}

/** What the original finds in it: it takes the operators out and cuts the rest at blanks. */
export function namesForOriginal(text: string): readonly string[] {
  return text
    .replaceAll(/[&|!()]/g, '')
    .split(' ')
    .filter((name) => name !== '')
}

/** `!` binds tightest, then `&&`, then `||`. */
class ChainParser {
  readonly #tokens: readonly Token[]
  readonly #names: ChainName[] = []
  #at = 0
  #depth = 0

  constructor(text: string) {
    this.#tokens = [...tokensOf(text)]
  }

  parse(): CheckExpression {
    if (this.#tokens[0]?.is === 'end')
      throw new ChainFault('it is empty; write the names of checks, such as a && !b', 0)
    const expression = this.#or()
    const { is, text, offset } = this.#next
    if (is === 'name') throw new ChainFault(`there is no && or || before ${text}`, offset)
    if (is !== 'end') throw new ChainFault(`a ${text} stands here that nothing opened; take it out`, offset)
    return { names: this.#names, evaluate: (answers) => evaluate(expression, answers) }
  }

  get #next(): Token {
    return this.#tokens[this.#at] ?? { is: 'end', text: '', offset: 0 }
  }

  #or(): Expression {
    return this.#joined('||', 'or', () => this.#joined('&&', 'and', () => this.#unary()))
  }

  #joined(operator: '&&' | '||', is: 'and' | 'or', below: () => Expression): Expression {
    const of = [below()]
    while (this.#next.is === operator) {
      this.#at++
      of.push(below())
    }
    const [only] = of
    return of.length === 1 && only ? only : { is, of }
  }

  #unary(): Expression {
    const { is, text, offset } = this.#next
    if (++this.#depth > deepest) throw new ChainFault('it is nested too deep; write it with fewer brackets', offset)
    this.#at++
    const expression = this.#operand(is, text, offset)
    this.#depth--
    return expression
  }

  #operand(is: Token['is'], text: string, offset: number): Expression {
    if (is === '!') return { is: 'not', of: this.#unary() }
    if (is === 'name') return { is: 'name', index: this.#names.push({ name: text, offset }) - 1 }
    if (is === 'end') throw new ChainFault('it ends where the name of a check should follow', offset)
    if (is !== '(') throw new ChainFault(`a ${text} stands where the name of a check should be`, offset)
    const inside = this.#or()
    if (this.#next.is !== ')') throw new ChainFault('the ( here has no ) behind it', offset)
    this.#at++
    return inside
  }
}

function* tokensOf(text: string): Generator<Token> {
  // Names may begin with a digit and hold - and . , which the original takes for something else.
  const token = /\s*(?:(&&|\|\||[!()])|([\p{L}\p{Nd}_][\p{L}\p{M}\p{Nd}_.-]*)|(\S))/uy
  let end = 0
  for (let match = token.exec(text); match; match = token.exec(text)) {
    end = token.lastIndex
    const [, operator, name, other] = match
    if (operator !== undefined) yield { is: operator as Token['is'], text: operator, offset: end - operator.length }
    else if (name !== undefined) yield { is: 'name', text: name, offset: end - name.length }
    else if (other !== undefined) throw new ChainFault(otherText(other), end - other.length)
  }
  yield { is: 'end', text: '', offset: end }
}

function otherText(other: string): string {
  if (other === '&' || other === '|') return `a single ${other} stands here; write ${other}${other}`
  return `${JSON.stringify(other)} means nothing in a chain of checks; join names with &&, ||, ! and brackets`
}

function evaluate(expression: Expression, answers: readonly boolean[]): boolean {
  switch (expression.is) {
    case 'name':
      return answers[expression.index] === true
    case 'not':
      return !evaluate(expression.of, answers)
    case 'and':
      return expression.of.every((part) => evaluate(part, answers))
    case 'or':
      return expression.of.some((part) => evaluate(part, answers))
  }
}
