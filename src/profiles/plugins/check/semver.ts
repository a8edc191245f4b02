/** A version as SemVer 2 defines it, without build metadata, which does not count. */
export interface SemVer {
  readonly text: string
  readonly numbers: readonly bigint[]
  /** Empty for a release. */
  readonly preRelease: readonly string[]
}

const number = '(0|[1-9]\\d*)'
const word = '(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)'
const shape = new RegExp(
  `^${number}\\.${number}\\.${number}(?:-(${word}(?:\\.${word})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
)

/** Nothing if it is none; strictly, so `v1.2.3` and `1.2` are none. */
export function readSemVer(text: string): SemVer | undefined {
  const parts = shape.exec(text)
  if (!parts) return undefined
  const [, major = '', minor = '', patch = '', preRelease] = parts
  return { text, numbers: [major, minor, patch].map(BigInt), preRelease: preRelease?.split('.') ?? [] }
}

export function compareSemVer(one: SemVer, other: SemVer): number {
  for (const [index, part] of one.numbers.entries()) {
    const difference = order(part, other.numbers[index] ?? 0n)
    if (difference !== 0) return difference
  }
  // What leads up to a release comes before it.
  const [first, second] = [one.preRelease, other.preRelease]
  if (first.length === 0 || second.length === 0) return order(second.length, first.length)
  for (const [index, part] of first.entries()) {
    const counterpart = second[index]
    if (counterpart === undefined) return 1
    const difference = compareWords(part, counterpart)
    if (difference !== 0) return difference
  }
  return order(first.length, second.length)
}

/** Numbers come before words, and count as numbers. */
function compareWords(one: string, other: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(one), /^\d+$/.test(other)]
  if (isNumber && isOtherNumber) return order(BigInt(one), BigInt(other))
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  return order(one, other)
}

function order<T extends bigint | number | string>(one: T, other: T): number {
  return one < other ? -1 : one > other ? 1 : 0
}
