import { TemplateFault } from './fault.ts'

const escapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
}

/** Text in double quotes, as Go writes it. */
export function readQuoted(text: string, at: number): string {
  return unescaped(text.slice(1, -1), '"', at)
}

/** A character in single quotes is its number. */
export function readCharacter(text: string, at: number): bigint {
  const [one, ...others] = Array.from(unescaped(text.slice(1, -1), "'", at))
  if (one === undefined || others.length > 0)
    throw new TemplateFault(at, `${text} is not one character; text stands in double quotes`)
  return BigInt(one.codePointAt(0) ?? 0)
}

function unescaped(text: string, quote: string, at: number): string {
  return text.replaceAll(
    /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{3})|(.))/gsu,
    (all, ...groups) => {
      const [byte, short, long, octal, letter] = groups as (string | undefined)[]
      if (letter !== undefined) {
        const known = letter === quote ? quote : escapes[letter]
        if (known === undefined) throw new TemplateFault(at, `${all} is no escape; write \\\\ for a backslash`)
        return known
      }
      const code = octal === undefined ? Number.parseInt(byte ?? short ?? long ?? '', 16) : Number.parseInt(octal, 8)
      // Such a byte is no character by itself.
      const isByte = (byte !== undefined || octal !== undefined) && code > 0x7f
      if (isByte || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        throw new TemplateFault(at, `${all} is no character; write its number as \\u and four digits`)
      return String.fromCodePoint(code)
    },
  )
}

const whole = /^[+-]?(?:0|[1-9](?:_?\d)*|0[xX](?:_?[\da-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|0(?:_?[0-7])+)$/
const fraction = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n]

/** A number with a point or an exponent is another kind of number than one without, even if both are 1. */
export function readNumber(text: string, at: number): bigint | number {
  if (whole.test(text)) {
    const digits = text.replace(/^[+-]/, '').replaceAll('_', '')
    const size = BigInt(/^0\d/.test(digits) ? `0o${digits.slice(1)}` : digits)
    const value = text.startsWith('-') ? -size : size
    if (value < least || value > most) throw new TemplateFault(at, `${text} is too large; write it in quotes`)
    return value
  }
  const value = fraction.test(text) && /[.eE]/.test(text) ? Number(text) : Number.NaN
  if (!Number.isFinite(value)) throw new TemplateFault(at, `'${text}' is no number; write one such as 3, -1.5 or 0x1f`)
  return value
}
