import { Refusal } from './fault.ts'
import { type Method, Struct } from './struct.ts'
import { typeName, type Value } from './value.ts'

/** A time as Go shows it. Nanoseconds are apart, because they do not fit into a number beside the rest. */
interface Time {
  /** Whole seconds. */
  readonly ms: number
  readonly nanos: number
  readonly offsetMinutes: number
}

const rfc3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(?:Z|([+-])(\d\d):(\d\d))$/i

/**
 * From a text as JSON and the API server write times; undefined if it is none. With a name of a type, it is a struct of
 * that type around the time: it can do what the time can, and has it as `.Time`.
 */
export function goTime(text: string, wrapper?: string): Struct | undefined {
  const [, wall, fraction = '', sign = '+', hours = '0', minutes = '0'] = rfc3339.exec(text) ?? []
  const wallMs = Date.parse(`${wall}Z`)
  if (Number.isNaN(wallMs)) return undefined
  const offsetMinutes = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1)
  const nanos = Number(fraction.padEnd(9, '0'))
  return new TimeStruct({ ms: wallMs - offsetMinutes * 60_000, nanos, offsetMinutes }, wrapper)
}

const zeroMs = Date.parse('0001-01-01T00:00:00Z')

const bare = 'time.Time'

class TimeStruct extends Struct {
  readonly time: Time

  constructor(time: Time, type = bare) {
    const shown = formatTime(time, '2006-01-02 15:04:05.999999999 -0700 MST')
    const fields = type === bare ? {} : { Time: new TimeStruct(time) }
    super({ type, shown, fields, methods: { ...methodsOf(time, shown), ...comparisonsOf(time, type) } })
    this.time = time
  }
}

function methodsOf(time: Time, shown: string): Readonly<Record<string, Method>> {
  const wall = wallOf(time)
  const number = (value: number) => ({ takes: 0, run: () => BigInt(value) })
  const utc = { takes: 0, run: () => new TimeStruct({ ...time, offsetMinutes: 0 }) }
  return {
    Format: { takes: 1, run: ([layout]) => formatTime(time, layoutOf(layout)) },
    String: { takes: 0, run: () => shown },
    UTC: utc,
    // The original runs in a container that has no other zone.
    Local: utc,
    AddDate: { takes: 3, run: (args) => new TimeStruct(addDate(time, args)) },
    IsZero: { takes: 0, run: () => time.ms === zeroMs && time.nanos === 0 },
    Unix: number(time.ms / 1_000),
    UnixMilli: number(time.ms + Math.floor(time.nanos / 1_000_000)),
    Year: number(wall.getUTCFullYear()),
    Month: { takes: 0, run: () => named('time.Month', months[wall.getUTCMonth()], wall.getUTCMonth() + 1) },
    Weekday: { takes: 0, run: () => named('time.Weekday', days[wall.getUTCDay()], wall.getUTCDay()) },
    Day: number(wall.getUTCDate()),
    YearDay: number(yearDay(wall)),
    Hour: number(wall.getUTCHours()),
    Minute: number(wall.getUTCMinutes()),
    Second: number(wall.getUTCSeconds()),
  }
}

/** What is around a time has Before and Equal of its own, for its like or nothing; After is that of the time in it. */
function comparisonsOf(time: Time, type: string): Readonly<Record<string, Method>> {
  const compared = (name: string, wanted: string, isTrue: (order: number) => boolean): Method => ({
    takes: 1,
    run([other]) {
      if (other === null && wanted !== bare) return false
      if (!(other instanceof TimeStruct) || other.type !== wanted)
        throw new Refusal(`${name} takes a ${wanted}, and not ${typeName(other)}${remedyFor(other, wanted)}`)
      return isTrue(time.ms - other.time.ms || time.nanos - other.time.nanos)
    },
  })
  return {
    Before: compared('Before', type, (order) => order < 0),
    Equal: compared('Equal', type, (order) => order === 0),
    After: compared('After', bare, (order) => order > 0),
  }
}

function remedyFor(other: Value, wanted: string): string {
  return other instanceof TimeStruct && wanted === bare ? '; write .Time behind it' : ''
}

/** A number that shows as a name. */
function named(type: string, shown: string | undefined, number: number): Struct {
  return new Struct({ type, shown: shown ?? '', number: BigInt(number) })
}

/** Days that a month does not have run over into the next one. */
function addDate(time: Time, args: readonly Value[]): Time {
  const [years = 0, months = 0, days = 0] = args.map((arg) => {
    if (typeof arg !== 'bigint') throw new Refusal('AddDate takes three whole numbers: years, months and days')
    return Number(arg)
  })
  const wall = wallOf(time)
  wall.setUTCFullYear(wall.getUTCFullYear() + years, wall.getUTCMonth() + months, wall.getUTCDate() + days)
  const year = wall.getUTCFullYear()
  if (!(year >= 0 && year <= 9_999)) throw new Refusal('AddDate leads out of the years 0 to 9999')
  return { ...time, ms: wall.getTime() - time.offsetMinutes * 60_000 }
}

function layoutOf(value: Value): string {
  if (typeof value !== 'string') throw new Refusal('Format takes a text; write it in quotes, as "2006-01-02 15:04"')
  return value
}

/** Whose UTC parts are the parts that a clock in its zone shows. */
function wallOf({ ms, offsetMinutes }: Time): Date {
  return new Date(ms + offsetMinutes * 60_000)
}

function yearDay(wall: Date): number {
  const first = new Date(wall)
  first.setUTCMonth(0, 1)
  return Math.round((wall.getTime() - first.getTime()) / 86_400_000) + 1
}

/** The parts of Go's time of reference. At each place the first that fits, in the order in which Go looks. */
const part =
  /January|Jan(?![a-z])|Monday|Mon(?![a-z])|MST|002|0[1-6]|15|1|2006|2|__2|_2(?!006)|[345]|PM|pm|[-Z]07(?:0000|:00:00|00|:00)?|[.,](?:0+|9+)(?!\d)/g

const months = 'January February March April May June July August September October November December'.split(' ')
const days = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ')

function formatTime(time: Time, layout: string): string {
  const wall = wallOf(time)
  const hour = wall.getUTCHours()
  const year = wall.getUTCFullYear()
  const month = months[wall.getUTCMonth()] ?? ''
  const day = days[wall.getUTCDay()] ?? ''
  const shown: Readonly<Record<string, () => string>> = {
    January: () => month,
    Jan: () => month.slice(0, 3),
    Monday: () => day,
    Mon: () => day.slice(0, 3),
    MST: () => (time.offsetMinutes === 0 ? 'UTC' : offsetText(time, '-0700')),
    '2006': () => padded(year, 4),
    '06': () => padded(year % 100, 2),
    '1': () => String(wall.getUTCMonth() + 1),
    '01': () => padded(wall.getUTCMonth() + 1, 2),
    '2': () => String(wall.getUTCDate()),
    _2: () => padded(wall.getUTCDate(), 2, ' '),
    '02': () => padded(wall.getUTCDate(), 2),
    '002': () => padded(yearDay(wall), 3),
    __2: () => padded(yearDay(wall), 3, ' '),
    '15': () => padded(hour, 2),
    '3': () => String(hour % 12 || 12),
    '03': () => padded(hour % 12 || 12, 2),
    '4': () => String(wall.getUTCMinutes()),
    '04': () => padded(wall.getUTCMinutes(), 2),
    '5': () => String(wall.getUTCSeconds()),
    '05': () => padded(wall.getUTCSeconds(), 2),
    PM: () => (hour < 12 ? 'AM' : 'PM'),
    pm: () => (hour < 12 ? 'am' : 'pm'),
  }
  return layout.replaceAll(part, (one) => {
    if (/^[.,]/.test(one)) return fractionText(time.nanos, one)
    return shown[one]?.() ?? offsetText(time, one)
  })
}

function padded(value: number, width: number, fill = '0'): string {
  return String(value).padStart(width, fill)
}

/** Nines are cut where only zeros follow, zeros are not. */
function fractionText(nanos: number, layout: string): string {
  const digits = padded(nanos, 9)
    .slice(0, layout.length - 1)
    .padEnd(layout.length - 1, '0')
  const kept = layout[1] === '9' ? digits.replace(/0+$/, '') : digits
  return kept === '' ? '' : `${layout[0]}${kept}`
}

function offsetText({ offsetMinutes }: Time, layout: string): string {
  if (layout.startsWith('Z') && offsetMinutes === 0) return 'Z'
  const size = Math.abs(offsetMinutes)
  const mark = layout.includes(':') ? ':' : ''
  const parts = [padded(Math.floor(size / 60), 2), padded(size % 60, 2), '00']
  // Hours, minutes or seconds: as many as the layout has.
  const count = layout.replaceAll(':', '').length === 7 ? 3 : layout.length > 3 ? 2 : 1
  return `${offsetMinutes < 0 ? '-' : '+'}${parts.slice(0, count).join(mark)}`
}
