import { inspect } from 'node:util'

const mask = '[redacted]'

/** A value that must never be printed. Whatever prints, serialises or inspects it gets a mask; only `reveal` gives it out. */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return mask
  }

  toJSON(): string {
    return mask
  }

  [inspect.custom](): string {
    return mask
  }
}
