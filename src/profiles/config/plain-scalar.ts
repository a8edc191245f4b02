import { goFloat, goInteger } from './go-numbers.ts'

/** Whole numbers are bigints, so that they are told from fractions and lose no digits. */
export type ScalarValue = string | boolean | bigint | number | null

const words: ReadonlyMap<string, ScalarValue> = new Map<string, ScalarValue>([
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map((word) => [word, true] as const),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map((word) => [word, false] as const),
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['.nan', '.NaN', '.NAN'].map((word) => [word, Number.NaN] as const),
  ...['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'].map((word) => [word, Number.POSITIVE_INFINITY] as const),
  ...['-.inf', '-.Inf', '-.INF'].map((word) => [word, Number.NEGATIVE_INFINITY] as const),
])

/**
 * What text without quotes means in YAML 1.1 as the original's reader takes it: no base sixty, no dates, and
 * underscores anywhere in a number.
 */
export function plainScalar(text: string): ScalarValue {
  const word = words.get(text)
  if (word !== undefined) return word
  if (/^\./.test(text)) return goFloat(text) ?? text
  if (!/^[+-]?[\d.]/.test(text)) return text
  const number = text.replaceAll('_', '')
  return goInteger(number) ?? goFloat(number) ?? text
}
