import { escapeHtml, escapeJs, escapeUrl } from './escape.ts'
import { Refusal } from './fault.ts'
import { sprint, sprintf, sprintln } from './format.ts'
import { plainOf, Struct } from './struct.ts'
import { compareText, isList, isMap, isTrue, TextMap, typeName, type Value } from './value.ts'

/** What a function makes of its arguments. Throws a Refusal when they do not fit. */
interface TemplateFunction {
  readonly least: number
  readonly most: number
  readonly run: (args: readonly Value[]) => Value
}

const any = Number.POSITIVE_INFINITY

const functions: ReadonlyMap<string, TemplateFunction> = new Map<string, TemplateFunction>([
  // What decides earlier is not even looked at: see `render.ts`.
  ['and', { least: 1, most: any, run: (args) => args.at(-1) }],
  ['or', { least: 1, most: any, run: (args) => args.at(-1) }],
  ['not', { least: 1, most: 1, run: ([arg]) => !isTrue(arg) }],
  ['eq', { least: 2, most: any, run: ([first, ...others]) => others.some((other) => isEqual(first, other)) }],
  ['ne', { least: 2, most: 2, run: ([one, other]) => !isEqual(one, other) }],
  ['lt', { least: 2, most: 2, run: ([one, other]) => compare(one, other) < 0 }],
  ['le', { least: 2, most: 2, run: ([one, other]) => compare(one, other) <= 0 }],
  ['gt', { least: 2, most: 2, run: ([one, other]) => !(compare(one, other) <= 0) }],
  ['ge', { least: 2, most: 2, run: ([one, other]) => !(compare(one, other) < 0) }],
  ['len', { least: 1, most: 1, run: ([item]) => length(item) }],
  ['index', { least: 1, most: any, run: ([item, ...keys]) => keys.reduce(indexed, present(item)) }],
  ['slice', { least: 1, most: 4, run: ([item, ...bounds]) => sliced(item, bounds) }],
  ['print', { least: 0, most: any, run: sprint }],
  ['println', { least: 0, most: any, run: sprintln }],
  ['printf', { least: 1, most: any, run: ([format, ...args]) => formatted(format, args) }],
  ['html', { least: 0, most: any, run: (args) => escapeHtml(shown(args)) }],
  ['js', { least: 0, most: any, run: (args) => escapeJs(shown(args)) }],
  ['urlquery', { least: 0, most: any, run: (args) => escapeUrl(shown(args)) }],
])

export const functionNames: readonly string[] = [...functions.keys()]

export function call(name: string, args: readonly Value[]): Value {
  const known = functions.get(name)
  if (!known) throw new Refusal(`there is no function ${name}`)
  const { least, most, run } = known
  if (args.length < least || args.length > most) {
    const wanted =
      least === most
        ? `${least}`
        : `${args.length < least ? 'at least' : 'at most'} ${args.length < least ? least : most}`
    throw new Refusal(`${name} takes ${wanted} arguments and got ${args.length}`)
  }
  return run(args.map(plainOf))
}

function isNothing(value: Value): value is null | undefined {
  return value === null || value === undefined
}

function present(item: Value): Value {
  if (isNothing(item)) throw new Refusal('the value is missing; ask for it with if before')
  return item
}

function isEqual(first: Value, second: Value): boolean {
  const [one, other] = [numberOf(first), numberOf(second)]
  if (isNothing(one) || isNothing(other)) return isNothing(one) && isNothing(other)
  if (typeName(one) !== typeName(other) || isList(one) || isMap(one) || one instanceof Struct)
    throw incomparable(one, other)
  return one === other
}

function numberOf(value: Value): Value {
  return value instanceof Struct ? (value.number ?? value) : value
}

/** NaN is neither less nor equal. */
function compare(first: Value, second: Value): number {
  const [one, other] = [numberOf(first), numberOf(second)]
  if (typeof one === 'string' && typeof other === 'string') return compareText(one, other)
  if (typeof one === 'bigint' && typeof other === 'bigint') return one < other ? -1 : one > other ? 1 : 0
  if (typeof one === 'number' && typeof other === 'number')
    return one < other ? -1 : one === other ? 0 : one > other ? 1 : Number.NaN
  throw incomparable(one, other)
}

function incomparable(one: Value, other: Value): Refusal {
  return new Refusal(
    `${typeName(one)} and ${typeName(other)} cannot be compared; 1 is an int, 1.0 a float64, "1" a string`,
  )
}

/** Of text in bytes, as in Go. */
function length(item: Value): bigint {
  if (typeof item === 'string') return BigInt(Buffer.byteLength(item))
  if (isList(item)) return BigInt(item.length)
  if (isMap(item)) return BigInt(item.size)
  throw new Refusal(`len of ${typeName(item)}; only texts, lists and maps have a length`)
}

function indexed(item: Value, key: Value): Value {
  if (isMap(item)) {
    if (typeof key !== 'string') throw new Refusal(`a map has no key of type ${typeName(key)}; write it in quotes`)
    return item.get(key) ?? (item instanceof TextMap ? '' : null)
  }
  const from = typeof item === 'string' ? [...Buffer.from(item)].map(BigInt) : item
  if (!isList(from)) throw new Refusal(`${typeName(item)} has no index; only texts, lists and maps have`)
  return from[position(key, from.length - 1)]
}

function position(key: Value, last: number): number {
  if (typeof key !== 'bigint') throw new Refusal(`${typeName(key)} is no place in a list; write a whole number`)
  if (key < 0n || key > BigInt(last)) throw new Refusal(`there is no place ${key}; the last one is ${last}`)
  return Number(key)
}

function sliced(item: Value, bounds: readonly Value[]): Value {
  const from = typeof item === 'string' ? Buffer.from(item) : item
  if (!Buffer.isBuffer(from) && !isList(from))
    throw new Refusal(`${typeName(item)} has no parts; only texts and lists have`)
  if (Buffer.isBuffer(from) && bounds.length > 2) throw new Refusal('a text is cut at two places at most')
  const [begin = 0, end = from.length, room = from.length] = bounds.map((bound) => position(bound, from.length))
  if (begin > end || end > room) throw new Refusal(`the part begins at ${begin} and ends at ${end}`)
  return Buffer.isBuffer(from) ? from.subarray(begin, end).toString() : from.slice(begin, end)
}

function formatted(format: Value, args: readonly Value[]): string {
  if (typeof format !== 'string') throw new Refusal(`printf begins with a text, and not with ${typeName(format)}`)
  return sprintf(format, args)
}

/** What is to be escaped. A missing value shows as it does outside of functions. */
function shown(args: readonly Value[]): string {
  return sprint(args.map((arg) => (isNothing(arg) ? '<no value>' : arg)))
}
