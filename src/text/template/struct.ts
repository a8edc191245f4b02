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
}

/** Data of a known shape. Asking a map for a key that is not there finds nothing; asking this is a mistake. */
export class Struct {
  readonly type: string
  readonly shown: string | undefined
  readonly plain: string | undefined
  readonly #fields: ReadonlyMap<string, Value>
  readonly #methods: ReadonlyMap<string, Method>

  constructor({ type, fields = {}, methods = {}, shown, plain }: StructParts) {
    this.type = type
    this.shown = shown
    this.plain = plain
    this.#fields = new Map(Object.entries(fields).map(([name, json]) => [name, valueFrom(json)]))
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

export function plainOf(value: Value): Value {
  return value instanceof Struct ? (value.plain ?? value) : value
}
