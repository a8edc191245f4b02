/** What an expression is made of. */
export type Value = number | string | boolean | readonly Value[]

type Operator = (left: Value, right: Value) => Value

/** Texts that read as numbers count as numbers, as they always did. */
function toNumber(value: Value): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string' || !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value)) return undefined
  return Number(value)
}

function truthOf(value: Value): boolean | undefined {
  if (typeof value === 'boolean') return value
  if (value === 'true' || value === 'TRUE') return true
  if (value === 'false' || value === 'FALSE') return false
  const number = toNumber(value)
  return number === undefined ? undefined : number !== 0
}

export function toTruth(value: Value): boolean {
  const truth = truthOf(value)
  if (truth === undefined) throw new Error(`${shown(value)} is neither true nor false nor a number`)
  return truth
}

function shown(value: Value): string {
  return JSON.stringify(value)
}

function numeric(sign: string, run: (left: number, right: number) => number): Operator {
  return (left, right) => {
    const [first, second] = [toNumber(left), toNumber(right)]
    if (first === undefined || second === undefined)
      throw new Error(`${sign} needs numbers on both sides, not ${shown(left)} and ${shown(right)}`)
    return run(first, second)
  }
}

/** On whole numbers of 64 bits; what is behind the point is cut off. */
function bitwise(sign: string, run: (left: bigint, right: bigint) => bigint): Operator {
  return numeric(sign, (left, right) => Number(BigInt.asIntN(64, run(bits(sign, left), bits(sign, right)))))
}

function bits(sign: string, value: number): bigint {
  if (!Number.isFinite(value)) throw new Error(`${sign} needs whole numbers, not ${value}`)
  return BigInt.asIntN(64, BigInt(Math.trunc(value)))
}

/** More than 64 places move everything out; less than none counts as very many. */
function places(by: bigint): bigint {
  return by < 0n || by > 64n ? 64n : by
}

/** Two numbers by size. Whatever else by its text, which is hardly ever meant. */
function ordered(test: (order: number) => boolean): Operator {
  return (left, right) => {
    const areTexts = typeof left === 'string' && typeof right === 'string'
    const [one, other] = areTexts ? [undefined, undefined] : [toNumber(left), toNumber(right)]
    const areNumbers = one !== undefined && other !== undefined
    const [first, second] = areNumbers ? [one, other] : [textOf(left), textOf(right)]
    // Nothing is above, below or equal to what is no number.
    return test(first < second ? -1 : first > second ? 1 : first === second ? 0 : Number.NaN)
  }
}

function textOf(value: Value): string {
  return typeof value === 'object' ? `[${value.map(textOf).join(' ')}]` : String(value)
}

function isEqual(left: Value, right: Value): boolean {
  const [first, second] = [toNumber(left), toNumber(right)]
  if (first !== undefined && second !== undefined) return first === second
  const [one, other] = [truthOf(left), truthOf(right)]
  if (one !== undefined && other !== undefined) return one === other
  return isSame(left, right)
}

/** Of the same kind, too: 1 is not "1". */
function isSame(left: Value, right: Value): boolean {
  if (typeof left !== 'object' || typeof right !== 'object') return left === right
  return left.length === right.length && left.every((item, index) => isSame(item, right[index] ?? ''))
}

/** Go writes into the pattern what JavaScript writes beside it; these letters mean the same in both. */
const leadingFlags = /^\(\?([ims]+)\)/

function matches(left: Value, right: Value): boolean {
  if (typeof right !== 'string') throw new Error(`=~ and !~ need a regular expression in quotes, not ${shown(right)}`)
  let pattern: RegExp
  try {
    const [written = '', letters = ''] = leadingFlags.exec(right) ?? []
    pattern = new RegExp(right.slice(written.length), [...new Set(`u${letters}`)].join(''))
  } catch {
    throw new Error(`${shown(right)} is no regular expression`)
  }
  return pattern.test(textOf(left))
}

function isIn(left: Value, right: Value): boolean {
  if (typeof right !== 'object') throw new Error(`in needs a list such as [1, 2] on its right, not ${shown(right)}`)
  return right.some((item) => isSame(left, item))
}

/** Numbers are added, whatever else is joined. */
function plus(left: Value, right: Value): Value {
  const areTexts = typeof left === 'string' && typeof right === 'string'
  const [first, second] = [toNumber(left), toNumber(right)]
  return areTexts || first === undefined || second === undefined ? textOf(left) + textOf(right) : first + second
}

/** What `??` and `?` take for nothing. */
export function isEmpty(value: Value): boolean {
  return value === 0 || value === '' || value === false
}

export const operators = {
  '??': (left, right) => (isEmpty(left) ? right : left),
  '||': (left, right) => toTruth(left) || toTruth(right),
  '&&': (left, right) => toTruth(left) && toTruth(right),
  '==': isEqual,
  '!=': (left, right) => !isEqual(left, right),
  '>': ordered((order) => order > 0),
  '>=': ordered((order) => order >= 0),
  '<': ordered((order) => order < 0),
  '<=': ordered((order) => order <= 0),
  '=~': matches,
  '!~': (left, right) => !matches(left, right),
  in: isIn,
  '^': bitwise('^', (left, right) => left ^ right),
  '&': bitwise('&', (left, right) => left & right),
  '|': bitwise('|', (left, right) => left | right),
  '<<': bitwise('<<', (left, right) => left << places(right)),
  '>>': bitwise('>>', (left, right) => left >> places(right)),
  '+': plus,
  '-': numeric('-', (left, right) => left - right),
  '*': numeric('*', (left, right) => left * right),
  '/': numeric('/', (left, right) => left / right),
  '%': numeric('%', (left, right) => left % right),
  '**': numeric('**', (left, right) => left ** right),
} as const satisfies Record<string, Operator>

export type OperatorSign = keyof typeof operators

/** The loosest first. Those of one line are taken from left to right. */
export const precedence: readonly (readonly OperatorSign[])[] = [
  ['??'],
  ['||'],
  ['&&'],
  ['==', '!=', '>', '>=', '<', '<=', '=~', '!~', 'in'],
  ['^', '&', '|'],
  ['<<', '>>'],
  ['+', '-'],
  ['*', '/', '%'],
  ['**'],
]

export const unaryOperators = {
  '!': (value: Value): Value => !toTruth(value),
  '-': (value: Value): Value => {
    const number = toNumber(value)
    if (number === undefined) throw new Error(`- needs a number, not ${shown(value)}`)
    return -number
  },
} as const

export type UnarySign = keyof typeof unaryOperators
