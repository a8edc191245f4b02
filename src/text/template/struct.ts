import { Refusal } from './fault.ts'
import { type Value, valueFrom } from './value.ts'

/** What is asked of a struct with a fixed number of arguments. */
export interface Method {
  readonly takes: number
  readonly run: (args: readonly Value[]) => Value
}

interface StructParts {
  /** As Go names it. */
  readonly type: string
  /** Of what JSON can hold, or structs again. */
  readonly fields?: Readonly<Record<string, unknown>>
  readonly methods?: Readonly<Record<string, Method>>
  /** How it shows where text is wanted. Without it, it cannot be shown. */
  readonly shown?: string
  /** What it is to everybody who does not ask for a field of it. */
  readonly plain?: string
  /** Everything in it, in Go's order, so that all of it can be shown at once. */
  readonly parts?: Readonly<Record<string, unknown>>
  /** What it is as a number: Go has numbers that show as names. */
  readonly number?: bigint
}

/** Data of a known shape. Asking a map for a key that is not there finds nothing; asking this is a mistake. */
export class Struct {
  readonly type: string
  readonly shown: string | undefined
  readonly plain: string | undefined
  readonly parts: ReadonlyMap<string, Value> | undefined
  readonly number: bigint | undefined
  readonly #fields: ReadonlyMap<string, Value>
  readonly #methods: ReadonlyMap<string, Method>

  constructor({ type, fields = {}, methods = {}, shown, plain, parts, number }: StructParts) {
    this.type = type
    this.shown = shown
    this.plain = plain
    this.parts = parts && valuesOf(parts)
    this.number = number
    this.#fields = valuesOf(fields)
    this.#methods = new Map(Object.entries(methods))
  }

  method(name: string): Method | undefined {
    return this.#methods.get(name)
  }

  ask(name: string, args: readonly Value[]): Value {
    const method = this.#methods.get(name)
    if (method) {
      if (args.length !== method.takes)
        throw new Refusal(`.${name} takes ${method.takes} arguments and got ${args.length}`)
      return method.run(args.map(plainOf))
    }
    if (!this.#fields.has(name)) {
      const known = [...this.#fields.keys(), ...this.#methods.keys()].join(', ')
      throw new Refusal(`there is no .${name} in ${this.type}; it has ${known}`)
    }
    if (args.length > 0) throw new Refusal(`.${name} is no function and takes no arguments`)
    return this.#fields.get(name)
  }
}

function valuesOf(json: Readonly<Record<string, unknown>>): ReadonlyMap<string, Value> {
  return new Map(Object.entries(json).map(([name, item]) => [name, valueFrom(item)]))
}

export function plainOf(value: Value): Value {
  return value instanceof Struct ? (value.plain ?? value) : value
}
