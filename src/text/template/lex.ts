import { TemplateFault } from './fault.ts'
import { readCharacter, readNumber, readQuoted } from './literal.ts'

/** `word` is a keyword, a function, true, false or nil. */
export type Token = { readonly at: number; readonly text: string } & (
  | {
      readonly type: 'text' | 'open' | 'close' | 'space' | 'word' | 'field' | 'dot' | 'variable' | 'sign' | 'end'
    }
  | { readonly type: 'literal'; readonly value: string | bigint | number }
)

const space = ' \t\r\n'
const closing = /[ \t\r\n]+-\}\}|\}\}/y
const afterComment = /[ \t\r\n]-\}\}|\}\}/y
const name = /[\p{L}\p{Nd}_]+/uy
const number =
  /[+-]?(?:0[xX][\da-fA-F_]*|0[oO][0-7_]*|0[bB][01_]*|[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?[\d_]*)?)(?=([\p{L}\p{Nd}_.+-])?)/uy
const quoted = /"(?:[^"\\\n]|\\[^\n])*"/y
const raw = /`[^`]*`/y
const character = /'(?:[^'\\\n]|\\[^\n])*'/y
const ends = /[ \t\r\n.,|:()]|\}\}|$/y

/** The whole text as tokens. Space between words counts: it tells `.a .b` from `.a.b`. */
export function tokensOf(source: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  const match = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at
    return pattern.exec(source) ?? undefined
  }
  const push = (type: Exclude<Token['type'], 'literal'>, length: number) => {
    tokens.push({ type, at, text: source.slice(at, at + length) })
    at += length
  }
  const skipSpaceIf = (isTrimmed: boolean) => {
    while (isTrimmed && at < source.length && space.includes(source.charAt(at))) at++
  }
  /** A name that something else sticks to is most likely a slip. */
  const endsAt = (length: number, what: string) => {
    ends.lastIndex = at + length
    if (ends.test(source)) return length
    const seen = String.fromCodePoint(source.codePointAt(at + length) ?? 0)
    throw new TemplateFault(at + length, `${what} is followed by '${seen}'; put a space between them`)
  }

  const plainText = () => {
    const found = source.indexOf('{{', at)
    const end = found < 0 ? source.length : found
    const isTrimmed = source.charAt(end + 2) === '-' && isSpaceAt(source, end + 3)
    const text = source.slice(at, end)
    const kept = isTrimmed ? text.slice(0, trimmedLength(text)) : text
    if (kept !== '') tokens.push({ type: 'text', at, text: kept })
    at = end
    if (found < 0) return
    const length = isTrimmed ? 4 : 2
    if (source.startsWith('/*', at + length)) comment(length)
    else {
      push('open', length)
      action()
    }
  }

  const comment = (length: number) => {
    const end = source.indexOf('*/', at + length)
    if (end < 0) throw new TemplateFault(at, 'this comment does not end; write */}} behind it')
    const begin = at
    at = end + 2
    const close = match(afterComment)
    if (!close) throw new TemplateFault(begin, 'a comment fills its braces alone; write {{/* like this */}}')
    at += close[0].length
    skipSpaceIf(close[0] !== '}}')
  }

  const action = () => {
    const begin = tokens.at(-1)?.at ?? 0
    const open: number[] = []
    for (;;) {
      const close = match(closing)
      if (close) {
        const paren = open.at(-1)
        if (paren !== undefined) throw new TemplateFault(paren, 'this ( is not closed; write ) before }}')
        push('close', close[0].length)
        skipSpaceIf(close[0] !== '}}')
        return
      }
      if (at >= source.length) throw new TemplateFault(begin, 'these braces are not closed; write }} behind the action')
      inside(open)
    }
  }

  const literal = (
    found: RegExpExecArray | undefined,
    read: (text: string, at: number) => string | bigint | number,
  ) => {
    const text = found?.[0] ?? ''
    if (text === '') throw new TemplateFault(at, 'this text in quotes does not end on its line; close it')
    tokens.push({ type: 'literal', at, text, value: read(text, at) })
    at += text.length
  }

  const inside = (open: number[]) => {
    const first = source.charAt(at)
    const second = source.charAt(at + 1)
    const word = match(name)?.[0].length ?? 0
    if (space.includes(first)) push('space', spaceLength(source, at))
    else if (first === ':' && second === '=') push('sign', 2)
    else if ('=|,'.includes(first)) push('sign', 1)
    else if (first === '(') {
      open.push(at)
      push('sign', 1)
    } else if (first === ')') {
      if (open.pop() === undefined) throw new TemplateFault(at, 'this ) closes nothing; take it away')
      push('sign', 1)
    } else if (first === '"') literal(match(quoted), readQuoted)
    else if (first === '`') literal(match(raw), (text) => text.slice(1, -1).replaceAll('\r', ''))
    else if (first === "'") literal(match(character), readCharacter)
    else if (first === '$' || (first === '.' && !/\d/.test(second))) {
      at++
      const length = match(name)?.[0].length ?? 0
      at--
      const type = first === '$' ? 'variable' : length === 0 ? 'dot' : 'field'
      push(type, endsAt(length + 1, `'${source.slice(at, at + length + 1)}'`))
    } else if (/[\d.+-]/.test(first)) {
      const found = match(number)
      if (!found || found[0] === '' || found[1] !== undefined)
        throw new TemplateFault(at, 'this is no number; write one such as 3, -1.5 or 0x1f, with spaces around it')
      literal(found, readNumber)
    } else if (word > 0) push('word', endsAt(word, `'${source.slice(at, at + word)}'`))
    else {
      const seen = String.fromCodePoint(source.codePointAt(at) ?? 0)
      throw new TemplateFault(
        at,
        `'${seen}' means nothing here; text to be shown stands in quotes or outside of the braces`,
      )
    }
  }

  while (at < source.length) plainText()
  tokens.push({ type: 'end', at, text: '' })
  return tokens
}

function isSpaceAt(source: string, at: number): boolean {
  return at < source.length && space.includes(source.charAt(at))
}

function spaceLength(source: string, at: number): number {
  let end = at
  while (isSpaceAt(source, end)) end++
  return end - at
}

function trimmedLength(text: string): number {
  let end = text.length
  while (end > 0 && isSpaceAt(text, end - 1)) end--
  return end
}
