type Scalar = string | boolean | bigint | number | null

const words: ReadonlyMap<string, Scalar> = new Map<string, Scalar>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word) => [word, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word) => [word, false] as const),
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['.nan', '.NaN', '.NAN'].map((word) => [word, Number.NaN] as const),
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map((word) => [word, Number.POSITIVE_INFINITY] as const),
  ...['-.inf', '-.Inf', '-.INF'].map((word) => [word, Number.NEGATIVE_INFINITY] as const),
])

const integer = /^[+-]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9]\d*)$/
const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const lowest = -(2n ** 63n)
const highest = 2n ** 63n - 1n

/**
 * What text without quotes means to kubectl: YAML 1.1 without base sixty and dates, and with underscores anywhere in a
 * number. Whole numbers of more than 64 bits are rounded there too, because JSON is read so behind it.
 */
export function plainScalar(text: string): Scalar {
  const word = words.get(text)
  if (word !== undefined) return word
  // Here the underscores have to be between digits.
  if (text.startsWith('.')) return (/_(?!\d)|\D_/.test(text) ? undefined : fraction(text.replaceAll('_', ''))) ?? text
  if (!/^[+\-\d]/.test(text)) return text
  const number = text.replaceAll('_', '')
  return whole(number) ?? fraction(number) ?? text
}

/** The text that kubectl makes of a key without quotes; undefined if it is none, or not the one that was meant. */
export function plainKey(text: string): string | undefined {
  const value = plainScalar(text)
  if (typeof value === 'string') return value
  // The other spellings of these two, and yes, no, on and off, would be renamed.
  if (typeof value === 'boolean') return text === 'true' || text === 'false' ? text : undefined
  if (value === null) return undefined
  const number = whole(text.replaceAll('_', ''))
  if (number !== undefined)
    return typeof number === 'bigint' || Number.isSafeInteger(number) ? String(number) : undefined
  // Fractions are written anew with the digits of a short float: only those that stay as they are.
  return /^(?:0|[1-9]\d{0,3})\.\d?[1-9]$/.test(text) ? text : undefined
}

function whole(text: string): bigint | number | undefined {
  if (!integer.test(text)) return undefined
  const digits = text.replace(/^[+-]/, '')
  const magnitude = BigInt(/^0[0-7]/.test(digits) ? `0o${digits.slice(1)}` : digits)
  const value = text.startsWith('-') ? -magnitude : magnitude
  const rounded = Number(value)
  if (Number.isSafeInteger(rounded)) return rounded
  if (value >= lowest && value <= highest) return value
  return text === digits && magnitude < 2n ** 64n ? rounded : undefined
}

/** Beyond the range of a double it is text. */
function fraction(text: string): number | undefined {
  if (!decimal.test(text)) return undefined
  const value = Number(text)
  // There is no negative zero behind JSON.
  return Number.isFinite(value) ? value + 0 : undefined
}
