import type { Cursor } from './cursor.ts'
import { TemplateFault } from './fault.ts'
import { functionNames } from './functions.ts'
import type { Token } from './lex.ts'
import type { Command, Operand, Pipe } from './tree.ts'

/** Reads what stands between braces: `$x := .A.B "c" | printf "%s"`. Knows which variables there are. */
export class PipeParser {
  readonly #cursor: Cursor
  #variables = ['$']

  constructor(cursor: Cursor) {
    this.#cursor = cursor
  }

  /** Variables made inside are unknown outside. */
  scoped<T>(read: () => T): T {
    const known = this.#variables.length
    const result = read()
    this.#variables.length = known
    return result
  }

  /** A part of its own knows nothing of what stands around it. */
  apart<T>(read: () => T): T {
    const around = this.#variables
    this.#variables = ['$']
    const result = read()
    this.#variables = around
    return result
  }

  pipe(context: string, end: 'close' | ')' = 'close'): Pipe {
    const { at } = this.#cursor.skipSpace()
    const { variables, isAssignment } = this.#declaration(context === 'range') ?? { variables: [], isAssignment: false }
    const commands: Command[] = []
    do {
      commands.push(this.#command(commands.length > 0, context))
    } while (this.#cursor.takeSign('|'))
    const token = this.#cursor.take()
    if (end === 'close' ? token.type !== 'close' : token.text !== ')') throw unexpected(token)
    if (!isAssignment) this.#variables.push(...variables)
    return { variables, isAssignment, commands, at }
  }

  #declaration(isRange: boolean): Pick<Pipe, 'variables' | 'isAssignment'> | undefined {
    return this.#cursor.attempt(() => {
      const found: Token[] = []
      while (this.#cursor.skipSpace().type === 'variable') {
        found.push(this.#cursor.take())
        if (found.length === 2 || !this.#cursor.takeSign(',')) break
        if (!isRange) throw new TemplateFault(this.#cursor.peek().at, 'only range has two variables; write one')
      }
      const variables = found.map(({ text }) => text)
      if (variables.length > 0 && this.#cursor.takeSign(':=')) return { variables, isAssignment: false }
      if (variables.length > 0 && this.#cursor.takeSign('=')) {
        for (const { text, at } of found) this.#mustKnow(text, at)
        return { variables, isAssignment: true }
      }
      if (variables.length < 2) return undefined
      throw new TemplateFault(this.#cursor.peek().at, 'two variables get a list; write {{range $key, $value := .List}}')
    })
  }

  #mustKnow(name: string, at: number): void {
    if (!this.#variables.includes(name))
      throw new TemplateFault(at, `there is no variable ${name} here; make it with {{${name} := …}}`)
  }

  #command(isLater: boolean, context: string): Command {
    const operands: Operand[] = []
    for (;;) {
      const operand = this.#operand()
      if (operand) operands.push(operand)
      const { type, text } = this.#cursor.peek()
      if (type === 'close' || (type === 'sign' && (text === ')' || text === '|'))) break
      if (type !== 'space') throw unexpected(this.#cursor.peek())
      this.#cursor.take()
    }
    const [first, ...others] = operands
    const { at } = this.#cursor.peek()
    if (!first)
      throw new TemplateFault(
        at,
        isLater ? 'nothing follows |; write a function' : `${context} has no value; write one`,
      )
    if (isLater && ['literal', 'nil', 'dot'].includes(first.kind))
      throw new TemplateFault(first.at, 'this takes no arguments; only a function can follow |')
    return [first, ...others]
  }

  #operand(): Operand | undefined {
    this.#cursor.skipSpace()
    const term = this.#term()
    const { type, at, text } = this.#cursor.peek()
    if (!term || type !== 'field') return term
    if (term.kind === 'literal' || term.kind === 'nil' || term.kind === 'dot')
      throw new TemplateFault(at, `'${text}' cannot follow this; only objects have fields`)
    const names: string[] = []
    while (this.#cursor.peek().type === 'field') names.push(this.#cursor.take().text.slice(1))
    return term.kind === 'fields'
      ? { ...term, names: [...term.names, ...names] }
      : { kind: 'fields', of: term, names, at: term.at }
  }

  #term(): Operand | undefined {
    const token = this.#cursor.peek()
    const { at, text } = token
    switch (token.type) {
      case 'literal':
        this.#cursor.take()
        return { kind: 'literal', value: token.value, at }
      case 'dot':
        this.#cursor.take()
        return { kind: 'dot', at }
      case 'field':
        this.#cursor.take()
        return { kind: 'fields', of: { kind: 'dot', at }, names: [text.slice(1)], at }
      case 'variable':
        this.#cursor.take()
        this.#mustKnow(text, at)
        return { kind: 'variable', name: text, at }
      case 'word':
        this.#cursor.take()
        return wordOperand(text, at)
      case 'sign':
        if (text !== '(') return undefined
        this.#cursor.take()
        return this.#cursor.deeper(at, () => ({ kind: 'pipe', pipe: this.pipe('()', ')'), at }))
      case 'text':
      case 'open':
      case 'close':
      case 'space':
      case 'end':
        return undefined
    }
  }
}

const keywords = ['if', 'with', 'range', 'else', 'end', 'break', 'continue', 'define', 'block', 'template']

function wordOperand(text: string, at: number): Operand {
  if (text === 'true' || text === 'false') return { kind: 'literal', value: text === 'true', at }
  if (text === 'nil') return { kind: 'nil', at }
  if (keywords.includes(text))
    throw new TemplateFault(at, `${text} cannot stand here; it is the first word in its braces`)
  if (functionNames.includes(text)) return { kind: 'function', name: text, at }
  const known = `a field has a point before it, as .${text}, and the functions are ${functionNames.join(', ')}`
  throw new TemplateFault(at, `there is no function ${text}; ${known}`)
}

function unexpected({ at, text }: Token): TemplateFault {
  return new TemplateFault(at, `'${text}' cannot stand here; arguments have a space between them`)
}
