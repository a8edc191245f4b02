/** A text with `${…}` in it, taken apart. */
export type Piece = string | Variable

export interface Variable {
  readonly name: readonly Piece[]
  readonly operator: '' | ':' | ':+' | ':?'
  /** What stands behind the operator. */
  readonly rest: readonly Piece[]
}

/** What a name stands for. */
export interface Found {
  readonly text: string
  readonly isFromEnvironment: boolean
}

/** Names that come out of the environment themselves are not shown. */
export type Expanded = Found | { readonly unset: string | undefined } | { readonly refused: string }

/** Undefined when a `${` has no end, or nothing in it. */
export function parseExpansion(text: string): readonly Piece[] | undefined {
  const parser = new ExpansionParser(text)
  const pieces = parser.pieces(0, false)
  return parser.isBroken ? undefined : pieces
}

class ExpansionParser {
  isBroken = false
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  pieces(depth: number, endsAtColon: boolean): readonly Piece[] {
    const pieces: Piece[] = []
    let literal = ''
    const flush = () => {
      if (literal !== '') pieces.push(literal)
      literal = ''
    }
    while (this.#at < this.#text.length) {
      const two = this.#text.slice(this.#at, this.#at + 2)
      const one = two.charAt(0)
      if (two === '$$' || (two === '$}' && depth > 0)) {
        // Outside of `${…}` a `$}` is left alone: it is the end of `{{$}}` in a message.
        literal += two.charAt(1)
        this.#at += 2
      } else if (two === '${') {
        this.#at += 2
        flush()
        pieces.push(this.#variable(depth + 1))
      } else if (depth > 0 && (one === '}' || (one === ':' && endsAtColon))) break
      else {
        literal += one
        this.#at += 1
      }
    }
    flush()
    return pieces
  }

  #variable(depth: number): Variable {
    const name = this.pieces(depth, true)
    if (name.length === 0) this.isBroken = true
    let operator: Variable['operator'] = ''
    if (this.#text[this.#at] === ':') {
      const next = this.#text[this.#at + 1]
      operator = next === '+' || next === '?' ? `:${next}` : ':'
      this.#at += operator.length
    }
    const rest = operator === '' ? [] : this.pieces(depth, false)
    if (this.#text[this.#at] === '}') this.#at += 1
    else this.isBroken = true
    return { name, operator, rest }
  }
}

/** Puts in what the names stand for. An empty text is as good as none, except behind `:+`. */
export function expand(pieces: readonly Piece[], find: (name: string) => Found | undefined): Expanded {
  let text = ''
  let isFromEnvironment = false
  for (const piece of pieces) {
    const one = typeof piece === 'string' ? { text: piece, isFromEnvironment: false } : expandVariable(piece, find)
    if (!('text' in one)) return one
    text += one.text
    isFromEnvironment ||= one.isFromEnvironment
  }
  return { text, isFromEnvironment }
}

function expandVariable({ name, operator, rest }: Variable, find: (name: string) => Found | undefined): Expanded {
  const named = expand(name, find)
  const found = 'text' in named && named.text !== '' ? find(named.text) : undefined
  const shown = 'text' in named && !named.isFromEnvironment ? named.text : undefined
  switch (operator) {
    case '':
      if (!('text' in named)) return named
      return found ?? { unset: shown }
    case ':':
      return found && found.text !== '' ? found : expand(rest, find)
    case ':+':
      return found ? expand(rest, find) : { text: '', isFromEnvironment: false }
    case ':?': {
      if (found && found.text !== '') return found
      const message = expand(rest, find)
      if (!('text' in message)) return message
      return { refused: message.isFromEnvironment ? `${shown ?? 'the variable'} is not set` : message.text }
    }
  }
}

/** All names that are written out in it; those that come out of other variables are not known yet. */
export function* namesIn(pieces: readonly Piece[]): Generator<string> {
  for (const piece of pieces) {
    if (typeof piece === 'string') continue
    const [only] = piece.name
    if (piece.name.length === 1 && typeof only === 'string') yield only
    yield* namesIn(piece.name)
    yield* namesIn(piece.rest)
  }
}
