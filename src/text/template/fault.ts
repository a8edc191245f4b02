/** Why a template cannot be used: where, what was seen, and what to write instead. */
export interface TemplateProblem {
  readonly line: number
  readonly column: number
  /** With the place in front. */
  readonly message: string
}

/** Ends reading or rendering. Becomes a problem at the room's door, and never leaves it. */
export class TemplateFault extends Error {
  readonly code = 'TemplateFault'
  /** Offset in the text of the template. */
  readonly at: number

  constructor(at: number, message: string) {
    super(message)
    this.at = at
  }
}

/** Arguments that a function cannot use. Whoever called it knows the place. */
export class Refusal extends Error {
  readonly code = 'Refusal'
}

export function problemOf({ at, message }: TemplateFault, source: string): TemplateProblem {
  const before = source.slice(0, at).split('\n')
  const line = before.length
  const column = Array.from(before.at(-1) ?? '').length + 1
  return { line, column, message: `line ${line}, column ${column}: ${message}` }
}
