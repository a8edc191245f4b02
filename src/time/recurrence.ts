import { RRuleTemporal } from 'rrule-temporal'
import type { IntervalSource } from './daily-times.ts'
import { clip, type Interval, merge } from './interval.ts'
import { Unreadable } from './unreadable.ts'
import { dayMs, wallOf } from './wall-time.ts'
import type { Zone } from './zone.ts'

/** A date or time as calendars write it: `20270105`, `20270105T020000`, or with a Z for UTC. */
export interface CalendarTime {
  readonly ms: number
  readonly kind: 'date' | 'wall' | 'utc'
}

export function readCalendarTime(text: string): CalendarTime {
  const [, year, month, day, , hour, minute, second, utc] =
    /^(\d{4})(\d{2})(\d{2})(T(\d{2})(\d{2})(\d{2})(Z?))?$/i.exec(text) ?? []
  const ms = wallOf(`"${text}"`, 'write for example 20270105T020000', year, month, day, hour, minute, second)
  return { ms, kind: hour === undefined ? 'date' : utc === '' ? 'wall' : 'utc' }
}

export interface RecurrenceOptions {
  readonly startWallMs: number
  /** Such as `FREQ=MONTHLY;BYDAY=2TU`. */
  readonly rule: string
  readonly exceptWallMs: readonly number[]
  readonly alsoWallMs: readonly number[]
  /** Whether the first date counts even if the rule does not say so, as in calendars. */
  readonly includesStart: boolean
  readonly zone: Zone
}

/** The wall-clock times of a rule between two others, both included. */
export type Recurrence = (fromWallMs: number, toWallMs: number) => number[]

/** The package is asked in UTC, as a calendar without zone: in one it would leave out times that do not exist. */
export function recurrence({
  startWallMs,
  rule,
  exceptWallMs,
  alsoWallMs,
  includesStart,
  zone,
}: RecurrenceOptions): Recurrence {
  const except = new Set(exceptWallMs)
  const rrule = orUnreadable(rule, () => {
    const rruleString = `DTSTART:${calendarText(startWallMs)}\nRRULE:${checkedRule(rule, zone)}`
    return new RRuleTemporal({ rruleString, includeDtstart: includesStart, maxIterations: 200_000 })
  })
  return (fromWallMs, toWallMs) => {
    const byRule = orUnreadable(rule, () => rrule.between(new Date(fromWallMs), new Date(toWallMs), true))
    const also = alsoWallMs.filter((ms) => fromWallMs <= ms && ms <= toWallMs)
    return [...byRule.map(({ epochMilliseconds }) => epochMilliseconds), ...also].filter((ms) => !except.has(ms))
  }
}

/** What starts by a rule and lasts a while. */
export function recurrenceSource(
  zone: Zone,
  startsBetween: Recurrence,
  reachMs: number,
  resolve: (startWallMs: number) => Interval,
): IntervalSource {
  return (fromMs, toMs) => {
    if (fromMs >= toMs) return []
    const starts = startsBetween(zone.toWall(fromMs) - reachMs - dayMs, zone.toWall(toMs) + dayMs)
    return clip(merge(starts.map(resolve)), fromMs, toMs)
  }
}

/** The form of a window's schedule: a DTSTART line and an RRULE line, perhaps EXDATE and RDATE, all in the window's zone. */
export function readRecurrence(text: string, zone: Zone): Recurrence {
  const found = new Map<string, string[]>()
  for (const line of text.split(/\r?\n/).map((one) => one.trim())) {
    if (line === '') continue
    const [, name = '', parameters = '', value = ''] = /^([A-Z]+)((?:;[^:]*)?):(.*)$/.exec(line) ?? []
    if (!['DTSTART', 'RRULE', 'EXDATE', 'RDATE'].includes(name))
      throw new Unreadable(`"${line}" is not understood; write lines with DTSTART:, RRULE:, EXDATE: or RDATE:`)
    if (parameters !== '' && parameters !== `;TZID=${zone.name}`)
      throw new Unreadable(`"${line}": the zone of a window is its timeZone; write ${name}: without ${parameters}`)
    found.set(name, [...(found.get(name) ?? []), ...(name === 'RRULE' ? [value] : value.split(','))])
  }
  const [start, secondStart] = found.get('DTSTART') ?? []
  const [rule, secondRule] = found.get('RRULE') ?? []
  if (start === undefined || secondStart !== undefined)
    throw new Unreadable(
      'it needs one line such as DTSTART:20270105T020000, which says the time of day and the first day',
    )
  if (rule === undefined || secondRule !== undefined)
    throw new Unreadable('it needs one line such as RRULE:FREQ=MONTHLY;BYDAY=2TU')
  const walls = (name: string) => (found.get(name) ?? []).map((one) => wallIn(zone, one))
  return recurrence({
    startWallMs: wallIn(zone, start),
    rule,
    exceptWallMs: walls('EXDATE'),
    alsoWallMs: walls('RDATE'),
    includesStart: false,
    zone,
  })
}

function wallIn(zone: Zone, text: string): number {
  const { ms, kind } = readCalendarTime(text)
  if (kind === 'date') throw new Unreadable(`"${text}" has no time of day; write for example ${text}T020000`)
  if (kind === 'wall' || zone.name === 'UTC') return ms
  throw new Unreadable(`"${text}" is in UTC, but the window in ${zone.name}; write local time without Z`)
}

const mostPerDay = 4
const frequencies = ['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY']

/** The package leaves out what it does not understand, and a rule with less in it opens more often. */
const parts: Readonly<Record<string, { readonly values: RegExp; readonly most?: number; readonly with?: RegExp }>> = {
  INTERVAL: { values: /^[1-9]\d{0,3}$/ },
  COUNT: { values: /^[1-9]\d{0,4}$/ },
  WKST: { values: /^(MO|TU|WE|TH|FR|SA|SU)$/ },
  BYMONTH: { values: /^[1-9]\d?$/, most: 12 },
  BYWEEKNO: { values: /^[+-]?[1-9]\d?$/, most: 53, with: /^YEARLY$/ },
  BYYEARDAY: { values: /^[+-]?[1-9]\d{0,2}$/, most: 366, with: /^YEARLY$/ },
  BYMONTHDAY: { values: /^[+-]?[1-9]\d?$/, most: 31, with: /^(YEARLY|MONTHLY|DAILY)$/ },
  BYDAY: { values: /^([+-]?[1-5])?(MO|TU|WE|TH|FR|SA|SU)$/ },
  BYHOUR: { values: /^\d{1,2}$/, most: 23 },
  BYMINUTE: { values: /^\d{1,2}$/, most: 59 },
  BYSECOND: { values: /^\d{1,2}$/, most: 59 },
  BYSETPOS: { values: /^[+-]?[1-9]\d{0,2}$/, most: 366 },
}

/** With UNTIL as wall-clock time, because that is what it is compared with. */
function checkedRule(rule: string, zone: Zone): string {
  const given = rule.split(';').map((part) => part.split('=') as [string, string | undefined])
  const names = given.map(([name]) => name)
  const frequency = given.find(([name]) => name === 'FREQ')?.[1] ?? ''
  const refuse = (why: string) => new Unreadable(`"${rule}": ${why}; write for example FREQ=MONTHLY;BYDAY=2TU`)
  if (!frequencies.includes(frequency))
    throw refuse(`FREQ can be ${frequencies.join(', ')}, and for shorter steps there is cron`)
  if (names.includes('COUNT') && names.includes('UNTIL')) throw refuse('it has both COUNT and UNTIL')
  // A rule that opens all the time would keep whoever looks five years ahead busy for long.
  const perDay = given.reduce(
    (count, [name, value = '']) => (/^BY(HOUR|MINUTE|SECOND)$/.test(name) ? count * value.split(',').length : count),
    1,
  )
  if (perDay > mostPerDay)
    throw refuse(`it starts ${perDay} times a day, and for more than ${mostPerDay} there is cron`)
  return given
    .map(([name, value = '']) => {
      if (names.indexOf(name) !== names.lastIndexOf(name)) throw refuse(`${name} is there twice`)
      if (name === 'UNTIL') return `UNTIL=${calendarText(untilWall(value, zone))}`
      if (name !== 'FREQ' && !isPart(name, value, frequency)) throw refuse(`${name}=${value} is not understood here`)
      return `${name}=${value}`
    })
    .join(';')
}

function isPart(name: string, value: string, frequency: string): boolean {
  const part = Object.hasOwn(parts, name) ? parts[name] : undefined
  if (!part || (part.with && !part.with.test(frequency))) return false
  // "The second Tuesday" needs something that has several.
  if (name === 'BYDAY' && /\d/.test(value) && !/^(YEARLY|MONTHLY)$/.test(frequency)) return false
  const { most = Number.POSITIVE_INFINITY } = part
  return value.split(',').every((one) => part.values.test(one) && !(Math.abs(Number(one)) > most))
}

function untilWall(text: string, zone: Zone): number {
  const { ms, kind } = readCalendarTime(text)
  if (kind === 'utc') return zone.toWall(ms)
  return kind === 'date' ? ms + dayMs - 1_000 : ms
}

function calendarText(wallMs: number): string {
  return `${new Date(wallMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
}

function orUnreadable<T>(rule: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof Unreadable) throw error
    const why = error instanceof Error ? error.message : String(error)
    throw new Unreadable(`"${rule}" is not a recurrence rule: ${why}; write for example FREQ=MONTHLY;BYDAY=2TU`)
  }
}
