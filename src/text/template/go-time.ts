import { Refusal } from './fault.ts'
import { Struct } from './struct.ts'
import type { Value } from './value.ts'

/** A time as Go shows it. Nanoseconds are apart, because they do not fit into a number beside the rest. */
interface Time {
  /** Whole seconds. */
  readonly ms: number
  readonly nanos: number
  readonly offsetMinutes: number
}

const rfc3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(?:Z|([+-])(\d\d):(\d\d))$/i

/** From a text as JSON and the API server write times; undefined if it is none. */
export function goTime(text: string): Struct | undefined {
  const [, wall, fraction = '', sign = '+', hours = '0', minutes = '0'] = rfc3339.exec(text) ?? []
  const wallMs = Date.parse(`${wall}Z`)
  if (Number.isNaN(wallMs)) return undefined
  const offsetMinutes = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1)
  return structOf({ ms: wallMs - offsetMinutes * 60_000, nanos: Number(fraction.padEnd(9, '0')), offsetMinutes })
}

const zeroMs = Date.parse('0001-01-01T00:00:00Z')

function structOf(time: Time): Struct {
  const wall = wallOf(time)
  const text = formatTime(time, '2006-01-02 15:04:05.999999999 -0700 MST')
  const number = (value: number) => ({ takes: 0, run: () => BigInt(value) })
  return new Struct({
    type: 'time.Time',
    shown: text,
    methods: {
      Format: { takes: 1, run: ([layout]) => formatTime(time, layoutOf(layout)) },
      String: { takes: 0, run: () => text },
      UTC: { takes: 0, run: () => structOf({ ...time, offsetMinutes: 0 }) },
      IsZero: { takes: 0, run: () => time.ms === zeroMs && time.nanos === 0 },
      Unix: number(time.ms / 1_000),
      Year: number(wall.getUTCFullYear()),
      Day: number(wall.getUTCDate()),
      YearDay: number(yearDay(wall)),
      Hour: number(wall.getUTCHours()),
      Minute: number(wall.getUTCMinutes()),
      Second: number(wall.getUTCSeconds()),
    },
  })
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
