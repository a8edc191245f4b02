/** A template that was read. `at` is an offset in its text, for messages. */

export type Node =
  | { readonly kind: 'text'; readonly text: string; readonly at: number }
  | { readonly kind: 'show'; readonly pipe: Pipe; readonly at: number }
  | {
      readonly kind: 'if' | 'with' | 'range'
      readonly pipe: Pipe
      readonly body: readonly Node[]
      readonly otherwise: readonly Node[]
      readonly at: number
    }
  | { readonly kind: 'break' | 'continue'; readonly at: number }
  | { readonly kind: 'template'; readonly name: string; readonly pipe: Pipe | undefined; readonly at: number }

/** Commands, each of which gets the result of the one before as its last argument. */
export interface Pipe {
  readonly variables: readonly string[]
  /** `=` changes variables, `:=` makes them. */
  readonly isAssignment: boolean
  readonly commands: readonly Command[]
  readonly at: number
}

/** A function and its arguments, or a lone operand. */
export type Command = readonly [Operand, ...Operand[]]

export type Operand =
  | { readonly kind: 'literal'; readonly value: string | bigint | number | boolean; readonly at: number }
  | { readonly kind: 'nil' | 'dot'; readonly at: number }
  | { readonly kind: 'function'; readonly name: string; readonly at: number }
  | { readonly kind: 'variable'; readonly name: string; readonly at: number }
  | { readonly kind: 'pipe'; readonly pipe: Pipe; readonly at: number }
  | { readonly kind: 'fields'; readonly of: Operand; readonly names: readonly string[]; readonly at: number }

export interface Template {
  readonly source: string
  readonly body: readonly Node[]
  /** By the name that `define` or `block` gave it. */
  readonly parts: ReadonlyMap<string, readonly Node[]>
}
