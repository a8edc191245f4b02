import { quote } from './escape.ts'
import { Refusal } from './fault.ts'
import { floatText } from './float.ts'
import { Struct } from './struct.ts'
import { isList, isMap, typeName, type Value } from './value.ts'

/** How a value is shown: the part of Go's fmt that templates use. */

interface Verb {
  readonly letter: string
  readonly flags: string
  readonly width: number
  readonly precision: number | undefined
  /** Whether structs are shown with the names of their fields. */
  readonly isNamed: boolean
}

/** Nobody reads wider columns, and a hundred of them are still a small text. */
const widest = 1_000
const plain: Verb = { letter: 'v', flags: '', width: 0, precision: undefined, isNamed: false }

/** With a space between two of which neither is text. */
export function sprint(args: readonly Value[]): string {
  return args
    .map((arg, index) => {
      const isApart = index > 0 && typeof arg !== 'string' && typeof args[index - 1] !== 'string'
      return (isApart ? ' ' : '') + show(arg, plain)
    })
    .join('')
}

export function sprintln(args: readonly Value[]): string {
  return `${args.map((arg) => show(arg, plain)).join(' ')}\n`
}

const directive = /%([-+# 0]*)(\*|\d+)?(?:\.(\*|\d*))?(\[)?(.)?/gsu

export function sprintf(format: string, args: readonly Value[]): string {
  let used = 0
  const text = format.replaceAll(
    directive,
    (all, flags: string, width = '', precision?: string, bracket?: string, letter?: string) => {
      if (width === '*' || precision === '*' || bracket)
        throw new Refusal(`printf does not know '${all}'; write the number itself`)
      if (letter === undefined) return '%!(NOVERB)'
      if (letter === '%') return '%'
      const verb = {
        letter,
        // With v it asks for the names of fields, and for no sign.
        isNamed: letter === 'v' && flags.includes('+'),
        flags: letter === 'v' ? flags.replaceAll('+', '') : flags,
        width: Number(width),
        precision: precision === undefined ? undefined : Number(precision),
      }
      if (Math.max(verb.width, verb.precision ?? 0) > widest)
        throw new Refusal(`'${all}' is wider than ${widest} characters`)
      if (flags.includes('#') || 'TpbOoUeEGF'.includes(letter))
        throw new Refusal(`printf does not know '${all}'; it knows v, s, q, d, t, f, g, x, X and c`)
      if (used >= args.length) return `%!${letter}(MISSING)`
      return show(args[used++], verb)
    },
  )
  const extra = args
    .slice(used)
    .map((arg) => (arg === null || arg === undefined ? '<nil>' : `${typeName(arg)}=${show(arg, plain)}`))
  return extra.length === 0 ? text : `${text}%!(EXTRA ${extra.join(', ')})`
}

function show(value: Value, verb: Verb, isInside = false): string {
  if (value === undefined || value === null) {
    if (isInside) return '<nil>'
    return verb.letter === 'v' ? pad('<nil>', verb) : bad(value, verb)
  }
  if (value instanceof Struct) return showStruct(value, verb)
  if (isList(value)) return `[${value.map((item) => show(item, verb, true)).join(' ')}]`
  if (isMap(value))
    return `map[${[...value].map(([key, item]) => `${show(key, verb, true)}:${show(item, verb, true)}`).join(' ')}]`
  if (typeof value === 'string') return showText(value, verb)
  if (typeof value === 'bigint') return showWhole(value, verb)
  if (typeof value === 'number') return showFraction(value, verb)
  return 'vt'.includes(verb.letter) ? pad(String(value), verb) : bad(value, verb)
}

/** Of a field, or an item of a list, Go's template takes the address before it shows it, and Kubernetes' types show that so. */
export function showAddress({ type, parts = new Map() }: Struct): string {
  const items = [...parts].map(([name, item]) => `${name}:${show(item, plain, true)},`)
  return `&${type.slice(type.indexOf('.') + 1)}{${items.join('')}}`
}

function showStruct({ shown, plain, type, parts, number }: Struct, verb: Verb): string {
  const text = shown ?? plain
  if (text !== undefined && 'vsqxX'.includes(verb.letter)) return showText(text, verb)
  if (number !== undefined && 'dc'.includes(verb.letter)) return showWhole(number, verb)
  if (parts && 'vsq'.includes(verb.letter)) {
    const items = [...parts].map(([name, item]) => (verb.isNamed ? `${name}:` : '') + show(item, verb, true))
    return `{${items.join(' ')}}`
  }
  throw new Refusal(
    `${type} cannot be shown${text === undefined && !parts ? '; ask for one of its fields' : ` by %${verb.letter}; write %v`}`,
  )
}

/** As Go does: the mistake is seen where it was made. */
function bad(value: Value, verb: Verb): string {
  const seen = value === null || value === undefined ? '' : `${typeName(value)}=`
  return `%!${verb.letter}(${seen}${show(value, { ...verb, letter: 'v', width: seen === '' ? 0 : verb.width })})`
}

function showText(value: string, verb: Verb): string {
  const { letter, precision, flags } = verb
  const cut = precision === undefined ? value : Array.from(value).slice(0, precision).join('')
  switch (letter) {
    case 'v':
    case 's':
      return pad(cut, verb)
    case 'q':
      return pad(flags.includes('+') ? quoteAscii(cut) : quote(cut), verb)
    case 'x':
    case 'X': {
      const bytes = Buffer.from(value).subarray(0, precision ?? value.length * 4)
      const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join(flags.includes(' ') ? ' ' : '')
      return pad(letter === 'X' ? digits.toUpperCase() : digits, verb)
    }
    default:
      return bad(value, verb)
  }
}

function quoteAscii(text: string): string {
  return quote(text).replaceAll(/\P{ASCII}/gu, (one) => {
    const code = one.codePointAt(0) ?? 0
    return code <= 0xffff ? `\\u${code.toString(16).padStart(4, '0')}` : `\\U${code.toString(16).padStart(8, '0')}`
  })
}

function showWhole(value: bigint, verb: Verb): string {
  const size = value < 0n ? -value : value
  switch (verb.letter) {
    case 'v':
    case 'd':
      return padNumber(value < 0n, digitsOf(value, size.toString(), verb), verb)
    case 'x':
      return padNumber(value < 0n, digitsOf(value, size.toString(16), verb), verb)
    case 'X':
      return padNumber(value < 0n, digitsOf(value, size.toString(16).toUpperCase(), verb), verb)
    case 'c':
      return pad(characterOf(value), verb)
    case 'q':
      return pad(quote(characterOf(value), "'"), verb)
    default:
      return bad(value, verb)
  }
}

/** A precision of 0 shows nothing of a zero. */
function digitsOf(value: bigint, digits: string, { precision }: Verb): string {
  if (precision === undefined) return digits
  return value === 0n && precision === 0 ? '' : digits.padStart(precision, '0')
}

function characterOf(value: bigint): string {
  const isCharacter = value >= 0n && value <= 0x10ffffn && !(value >= 0xd800n && value <= 0xdfffn)
  return isCharacter ? String.fromCodePoint(Number(value)) : '\uFFFD'
}

function showFraction(value: number, verb: Verb): string {
  const { letter, precision } = verb
  const isShortest = letter === 'v' || letter === 'g'
  if (!isShortest && letter !== 'f') {
    if ('xX'.includes(letter)) throw new Refusal(`%${letter} fits whole numbers and texts; write %f`)
    return bad(value, verb)
  }
  if (isShortest && precision !== undefined)
    throw new Refusal(`%.${precision}${letter} is not known; write %.${precision}f`)
  const isNegative = value < 0 || Object.is(value, -0)
  const text = floatText(Math.abs(value), isShortest ? undefined : (precision ?? 6))
  // Zeros before NaN or Inf would make a number of it.
  return padNumber(isNegative, text, Number.isFinite(value) ? verb : { ...verb, flags: verb.flags.replaceAll('0', '') })
}

function padNumber(isNegative: boolean, digits: string, verb: Verb): string {
  const { flags, width, precision, letter } = verb
  const sign = isNegative ? '-' : flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : ''
  const mayFill = flags.includes('0') && !flags.includes('-') && (precision === undefined || letter === 'f')
  return mayFill
    ? sign + digits.padStart(width - sign.length, '0')
    : pad(sign + digits, { ...verb, flags: flags.replaceAll('0', '') })
}

function pad(text: string, { width, flags }: Verb): string {
  const missing = Math.max(0, width - Array.from(text).length)
  if (flags.includes('-')) return text + ' '.repeat(missing)
  return (flags.includes('0') ? '0' : ' ').repeat(missing) + text
}
