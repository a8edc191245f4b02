import { Refusal, TemplateFault } from './fault.ts'
import { showAddress, sprint } from './format.ts'
import { call } from './functions.ts'
import { plainOf, Struct } from './struct.ts'
import type { Command, Node, Operand, Pipe, Template } from './tree.ts'
import { isList, isMap, isTrue, typeName, type Value, valueFrom } from './value.ts'

/** A message is for people. Longer ones, and such that take longer to make, are mistakes. */
const [mostCharacters, mostSteps, deepest] = [16_384, 10_000, 50]
/** So many characters made on the way cost as much as one step. */
const charactersPerStep = 64

type Jump = 'break' | 'continue' | undefined

export function run(template: Template, data: unknown): string {
  const root = valueFrom(data)
  const budget = { steps: 0, text: '' }
  new Run(template, budget, root, 0).walk(template.body, root)
  return budget.text
}

/** One pass through the template or one of its parts. */
class Run {
  readonly #template: Template
  readonly #shared: { steps: number; text: string }
  readonly #depth: number
  readonly #variables: { readonly name: string; value: Value }[]

  constructor(template: Template, shared: { steps: number; text: string }, root: Value, depth: number) {
    this.#template = template
    this.#shared = shared
    this.#depth = depth
    this.#variables = [{ name: '$', value: root }]
  }

  walk(nodes: readonly Node[], dot: Value): Jump {
    for (const node of nodes) {
      const jump = this.#visit(node, dot)
      if (jump) return jump
    }
    return undefined
  }

  #visit(node: Node, dot: Value): Jump {
    this.#spend(1, node.at)
    switch (node.kind) {
      case 'text':
        this.#write(node.text, node.at)
        return undefined
      case 'show': {
        const value = this.#pipe(node.pipe, dot)
        if (node.pipe.variables.length === 0) this.#write(shown(value, node.at), node.at)
        return undefined
      }
      case 'if':
      case 'with':
        return this.#scoped(() => {
          const value = this.#pipe(node.pipe, dot)
          if (!isTrue(value)) return this.walk(node.otherwise, dot)
          return this.walk(node.body, node.kind === 'with' ? value : dot)
        })
      case 'range':
        return this.#scoped(() => this.#range(node, dot))
      case 'break':
      case 'continue':
        return node.kind
      case 'template': {
        if (this.#depth >= deepest) throw new TemplateFault(node.at, `'${node.name}' calls itself without an end`)
        const value = node.pipe && this.#pipe(node.pipe, dot)
        const part = this.#template.parts.get(node.name) ?? []
        new Run(this.#template, this.#shared, value, this.#depth + 1).walk(part, value)
        return undefined
      }
    }
  }

  #range(node: Extract<Node, { kind: 'if' | 'with' | 'range' }>, dot: Value): Jump {
    const { pipe, body, otherwise, at } = node
    const value = this.#pipe(pipe, dot)
    const [first, second] = pipe.variables
    if (typeof value === 'bigint' && second !== undefined)
      throw new TemplateFault(at, 'a range over a number has one variable; write one')
    let isEmpty = true
    for (const [key, item] of entries(value, at)) {
      isEmpty = false
      this.#spend(1, at)
      // One variable is the item, of two the first is its key.
      if (first !== undefined) this.#assign(first, second === undefined ? item : key)
      if (second !== undefined) this.#assign(second, item)
      if (this.#scoped(() => this.walk(body, item)) === 'break') break
    }
    return isEmpty ? this.walk(otherwise, dot) : undefined
  }

  /** Variables made inside are unknown outside. */
  #scoped<T>(walk: () => T): T {
    const known = this.#variables.length
    const result = walk()
    this.#variables.length = known
    return result
  }

  #assign(name: string, value: Value): void {
    const variable = this.#variables.findLast((one) => one.name === name)
    if (variable) variable.value = value
  }

  #pipe({ variables, isAssignment, commands }: Pipe, dot: Value): Value {
    let results: readonly Value[] = []
    for (const command of commands) results = [this.#command(command, results, dot) ?? undefined]
    const [value] = results
    for (const name of variables) {
      if (isAssignment) this.#assign(name, value)
      else this.#variables.push({ name, value })
    }
    return value
  }

  /** `before` holds the result of the command before it, if there is one. */
  #command([first, ...others]: Command, before: readonly Value[], dot: Value): Value {
    const { at } = first
    this.#spend(1, at)
    if (first.kind === 'function') return this.#call(first.name, others, before, dot, at)
    if (first.kind === 'fields' && (others.length > 0 || before.length > 0)) {
      const args = others.map((operand) => this.#operand(operand, dot))
      return this.#made(this.#fields(first, [...args, ...before], dot), at)
    }
    if (others.length > 0 || before.length > 0)
      throw new TemplateFault(at, 'this is no function and takes no arguments; begin with a function')
    if (first.kind === 'nil') throw new TemplateFault(at, 'nil cannot stand alone; compare something with it')
    return this.#operand(first, dot)
  }

  #call(name: string, operands: readonly Operand[], before: readonly Value[], dot: Value, at: number): Value {
    const args: Value[] = []
    for (const operand of operands) {
      const arg = this.#operand(operand, dot)
      args.push(arg)
      // What would fail is often asked for only after it was found to be there.
      if ((name === 'and' && !isTrue(arg)) || (name === 'or' && isTrue(arg))) return arg
    }
    return this.#made(
      refusedAt(at, () => call(name, [...args, ...before])),
      at,
    )
  }

  /** What was made on the way costs, too, even if it is thrown away. */
  #made(result: Value, at: number): Value {
    if (typeof result === 'string') this.#spend(result.length / charactersPerStep, at)
    if (typeof result === 'string' && result.length > mostCharacters) throw tooLong(at)
    return result
  }

  #operand(operand: Operand, dot: Value): Value {
    switch (operand.kind) {
      case 'literal':
        return operand.value
      case 'nil':
        return undefined
      case 'dot':
        return dot
      case 'variable':
        return this.#variables.findLast(({ name }) => name === operand.name)?.value
      case 'function':
        return this.#call(operand.name, [], [], dot, operand.at)
      case 'pipe':
        return this.#pipe(operand.pipe, dot)
      case 'fields':
        return this.#fields(operand, [], dot)
    }
  }

  /** Arguments are for the last of them. */
  #fields({ of, names, at }: Extract<Operand, { kind: 'fields' }>, args: readonly Value[], dot: Value): Value {
    return names.reduce(
      (value, name, index) => field(value, name, at, index === names.length - 1 ? args : []),
      this.#operand(of, dot),
    )
  }

  #spend(steps: number, at: number): void {
    this.#shared.steps += steps
    if (this.#shared.steps > mostSteps) throw new TemplateFault(at, 'this takes too long; range over less')
  }

  #write(text: string, at: number): void {
    this.#shared.text += text
    if (this.#shared.text.length > mostCharacters) throw tooLong(at)
  }
}

function tooLong(at: number): TemplateFault {
  return new TemplateFault(at, `the text becomes longer than ${mostCharacters} characters; say less`)
}

function* entries(given: Value, at: number): Generator<readonly [Value, Value]> {
  const value = plainOf(given)
  if (value === undefined) return
  if (typeof value === 'bigint') for (let count = 0n; count < value; count++) yield [undefined, count]
  else if (isList(value)) for (const [index, item] of value.entries()) yield [BigInt(index), item]
  else if (isMap(value)) yield* value
  else throw new TemplateFault(at, `range over ${typeName(value)}; only lists, maps and whole numbers have items`)
}

function shown(value: Value, at: number): string {
  if (value === undefined) return '<no value>'
  return refusedAt(at, () => (value instanceof Struct && value.parts ? showAddress(value) : sprint([plainOf(value)])))
}

/** A field of something missing is missing as well. One of null, or of a text, is a mistake. */
export function field(value: Value, name: string, at: number, args: readonly Value[] = []): Value {
  if (value instanceof Struct) return refusedAt(at, () => value.ask(name, args))
  if (args.length > 0) throw new TemplateFault(at, `.${name} is no function and takes no arguments`)
  if (value === undefined) return undefined
  if (!isMap(value)) throw new TemplateFault(at, `.${name} is asked of ${typeName(value)}, which has no fields`)
  return value.get(name)
}

function refusedAt<T>(at: number, run: () => T): T {
  try {
    return run()
  } catch (error) {
    if (error instanceof Refusal) throw new TemplateFault(at, error.message)
    throw error
  }
}
