import { canonicalText, isObject, type Json } from '../json.ts'
import { isList, plainText } from './field-path.ts'

/**
 * Whether what the server has is what was declared, as far as one can tell without its schema: it fills in defaults,
 * writes quantities its own way, and leaves out what is empty. Only for names of fields and for what is told to people.
 */
export function isSameMeaning(declared: Json, live: Json | undefined): boolean {
  if (isEmpty(declared))
    return live === undefined || declared === null || isContainer(declared) || isEqual(declared, live)
  if (live === undefined) return false
  if (isList(declared)) {
    return (
      isList(live) && live.length === declared.length && declared.every((item, at) => isSameMeaning(item, live[at]))
    )
  }
  if (isObject(declared)) {
    return isObject(live) && Object.entries(declared).every(([name, value]) => isSameMeaning(value, live[name]))
  }
  return isEqual(declared, live)
}

/** The server leaves such values out, and may put something of its own into an empty container. */
export function isEmpty(value: Json): boolean {
  if (isList(value)) return value.length === 0
  if (isObject(value)) return Object.keys(value).length === 0
  return value === null || value === '' || value === 0 || value === false
}

function isContainer(value: Json): boolean {
  return isList(value) || isObject(value)
}

function isEqual(declared: Json, live: Json): boolean {
  if (canonicalText(declared) === canonicalText(live)) return true
  if (isContainer(declared) || isContainer(live)) return false
  if (plainText(declared) === plainText(live)) return true
  // Answers are read as doubles, so that a bigint comes back rounded.
  if (typeof declared === 'bigint' && typeof live === 'number') return Number(declared) === live
  const [one, other] = [quantityOf(declared), quantityOf(live)]
  return one !== undefined && one === other
}

const factors: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

/** In billionths, rounded as the server rounds. */
function quantityOf(value: Json): number | undefined {
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([a-zA-Z]{0,2})$/.exec(plainText(value))
  const factor = factors[match?.[2] ?? '']
  return match === null || factor === undefined ? undefined : Math.round(Number(match[1]) * factor * 1e9)
}
