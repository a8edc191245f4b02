import { readCalendar } from './calendar.ts'
import { cronTimes } from './cron.ts'
import { betweenWalls, dailySource, type IntervalSource } from './daily-times.ts'
import { durationMs } from './duration.ts'
import { clip, type Interval, merge, subtract } from './interval.ts'
import { readRecurrence, recurrenceSource } from './recurrence.ts'
import { Unreadable } from './unreadable.ts'
import { dayMs, readDate, readDateTime, readTimeOfDay } from './wall-time.ts'
import { type Zone, zoneOf } from './zone.ts'

/** When something may happen, as a person writes it. The API server has not looked inside the texts. */
export interface WindowText {
  /** Default UTC. */
  readonly timeZone?: string | undefined
  /** Exactly one of them. */
  readonly schedule: {
    readonly cron?: string | undefined
    readonly rrule?: string | undefined
    readonly weekly?: { readonly days: readonly Weekday[]; readonly from: string; readonly to: string } | undefined
    readonly once?: { readonly from: string; readonly to: string } | undefined
    readonly always?: boolean | undefined
  }
  /** With cron and rrule. */
  readonly duration?: string | undefined
  readonly exclusions?: readonly ExclusionText[] | undefined
}

/** Dates, or cron with a duration, or a calendar. */
export interface ExclusionText {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly cron?: string | undefined
  readonly duration?: string | undefined
  /** The text of an iCalendar file, or why there is none. */
  readonly calendar?: { readonly text: string } | { readonly problem: string } | undefined
}

export const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const
export type Weekday = (typeof weekdays)[number]

/** A window that was read: pure, and cheap to ask. */
export interface Window {
  readonly timeZone: string
  readonly open: IntervalSource
  readonly closed: readonly IntervalSource[]
}

/** Why a window cannot be read, and which field is to blame. */
export interface WindowProblem {
  /** Below the spec: `schedule.cron`, `exclusions[1].ics`. */
  readonly path: string
  readonly message: string
  /** A calendar that is missing or broken can be mended without touching the window. */
  readonly isCalendar: boolean
}

export type ReadWindow =
  | { readonly window: Window; readonly problems: readonly [] }
  | { readonly window: undefined; readonly problems: readonly WindowProblem[] }

const longestWindowMs = 7 * dayMs
const longestExclusionMs = 31 * dayMs

/** All problems at once, so that a person mends them at once. */
export function readWindow(text: WindowText): ReadWindow {
  const problems: WindowProblem[] = []
  const attempt = <T>(path: string, read: () => T): T | undefined => {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      problems.push({ path, message: error.message, isCalendar: path.endsWith('.ics') })
      return undefined
    }
  }
  const { timeZone = 'UTC', exclusions = [] } = text
  const zone = attempt('timeZone', () => zoneOf(timeZone))
  // With another zone the rest is read all the same, to find its problems.
  const readIn = zone ?? zoneOf('UTC')
  const open = readSchedule(text, readIn, attempt)
  const closed = exclusions.map((exclusion, index) => readExclusion(exclusion, readIn, `exclusions[${index}]`, attempt))
  if (problems.length > 0 || !open || !zone) return { window: undefined, problems }
  return { window: { timeZone, open, closed: closed.flatMap((sources) => sources ?? []) }, problems: [] }
}

/** The instants between two at which the window is open: sorted, disjoint, the same whoever asks and when. */
export function intervals(window: Window, fromMs: number, toMs: number): Interval[] {
  return subtract(window.open(fromMs, toMs), excluded(window, fromMs, toMs))
}

/** The instants between two that its exclusions take, whatever its schedule says. */
export function excluded({ closed }: Window, fromMs: number, toMs: number): Interval[] {
  return merge(closed.flatMap((source) => source(fromMs, toMs)))
}

type Attempt = <T>(path: string, read: () => T) => T | undefined

function readSchedule(text: WindowText, zone: Zone, attempt: Attempt): IntervalSource | undefined {
  const { cron, rrule, weekly, once, always } = text.schedule
  const given = Object.entries({ cron, rrule, weekly, once, always }).filter(([, value]) => value !== undefined)
  return attempt('schedule', () => {
    if (given.length !== 1)
      throw new Unreadable(`it has ${given.length} of cron, rrule, weekly, once and always; write exactly one`)
    if (cron !== undefined || rrule !== undefined) {
      const lastsMs = attempt('duration', () => readLasting(text.duration, longestWindowMs))
      const source = attempt(cron === undefined ? 'schedule.rrule' : 'schedule.cron', () =>
        repeated(zone, { cron, rrule }, lastsMs ?? 60_000),
      )
      return source
    }
    if (text.duration !== undefined)
      attempt('duration', () => {
        throw new Unreadable('duration goes with cron and rrule; the others say themselves when they end')
      })
    if (weekly) return attempt('schedule.weekly', () => weeklySource(zone, weekly))
    if (once) return attempt('schedule.once', () => onceSource(zone, once))
    return attempt('schedule.always', () => {
      if (!always)
        throw new Unreadable(
          'always can only be true; to close the window for good, delete it or make a MaintenanceFreeze',
        )
      return alwaysSource
    })
  })
}

function repeated(
  zone: Zone,
  { cron, rrule }: Pick<WindowText['schedule'], 'cron' | 'rrule'>,
  lastsMs: number,
): IntervalSource {
  if (cron !== undefined) return dailySource(zone, cronTimes(cron, lastsMs, zone))
  return recurrenceSource(zone, readRecurrence(rrule ?? '', zone), lastsMs, (wallMs) => {
    const startMs = zone.toInstant(wallMs, 'first')
    return { startMs, endMs: startMs + lastsMs }
  })
}

/** The weekday is that of the start: Fri 22:00 to 04:00 is open on Saturday at 03:00. */
function weeklySource(zone: Zone, { days, from, to }: NonNullable<WindowText['schedule']['weekly']>): IntervalSource {
  const fromMs = readTimeOfDay(from)
  const untilMs = readTimeOfDay(to)
  if (fromMs === untilMs || fromMs === dayMs)
    throw new Unreadable(`from ${from} to ${to} is nothing, or everything; for a whole day write 00:00 to 24:00`)
  if (days.length === 0) throw new Unreadable('days is empty; write for example [Mon, Tue]')
  const on = new Set(days.map((day) => weekdays.indexOf(day)))
  if (on.has(-1)) throw new Unreadable(`days can be ${weekdays.join(', ')}, not ${days.join(', ')}`)
  const endMs = untilMs > fromMs ? untilMs : untilMs + dayMs
  return dailySource(zone, {
    isOn: (dayWallMs) => on.has(new Date(dayWallMs).getUTCDay()),
    shape: [{ startMs: fromMs, endMs }],
    resolve: (dayWallMs) => [betweenWalls(zone, dayWallMs + fromMs, dayWallMs + endMs)],
  })
}

function onceSource(zone: Zone, { from, to }: NonNullable<WindowText['schedule']['once']>): IntervalSource {
  const [fromWallMs, toWallMs] = [readDateTime(from), readDateTime(to)]
  if (fromWallMs >= toWallMs) throw new Unreadable(`it ends at ${to}, which is not after ${from}`)
  const all = [betweenWalls(zone, fromWallMs, toWallMs)]
  return (fromMs, toMs) => clip(all, fromMs, toMs)
}

const alwaysSource: IntervalSource = (startMs, endMs) => (startMs < endMs ? [{ startMs, endMs }] : [])

function readExclusion(
  { from, to, cron, duration, calendar }: ExclusionText,
  zone: Zone,
  path: string,
  attempt: Attempt,
): readonly IntervalSource[] | undefined {
  const given = [from ?? to, cron, calendar].filter((one) => one !== undefined)
  // Whoever wrote two meant both, and only one would be looked at.
  if (given.length > 1)
    return attempt(path, () => {
      throw new Unreadable(`it has ${given.length} of from and to, cron, and ics; write exactly one`)
    })
  if (duration !== undefined && cron === undefined)
    attempt(`${path}.duration`, () => {
      throw new Unreadable('duration goes with cron, and only with it')
    })
  if (calendar)
    return attempt(`${path}.ics`, () => {
      if ('problem' in calendar) throw new Unreadable(calendar.problem)
      return readCalendar(calendar.text, zone)
    })
  if (cron !== undefined) {
    const lastsMs = attempt(`${path}.duration`, () => readLasting(duration, longestExclusionMs))
    return attempt(`${path}.cron`, () => [dailySource(zone, cronTimes(cron, lastsMs ?? 60_000, zone))])
  }
  return attempt(path, () => {
    if (from === undefined || to === undefined)
      throw new Unreadable('write from and to (dates), or cron and duration, or ics')
    const [first, last] = [readDate(from), readDate(to)]
    if (first > last) throw new Unreadable(`it ends on ${to}, before it begins on ${from}`)
    // A day that a zone left out excludes nothing, so here the length may come to nothing.
    const all = [{ startMs: zone.toInstant(first, 'first'), endMs: zone.toInstant(last + dayMs, 'last') }]
    return [(fromMs: number, toMs: number) => clip(all, fromMs, toMs)]
  })
}

function readLasting(text: string | undefined, longestMs: number): number {
  if (text === undefined) throw new Unreadable('duration is missing; write how long it lasts, such as 4h')
  let ms: number
  try {
    ms = durationMs(text)
  } catch (error) {
    throw new Unreadable(error instanceof Error ? error.message : String(error))
  }
  if (ms < 60_000 || ms > longestMs)
    throw new Unreadable(`${text} is shorter than 1m or longer than ${longestMs / 3_600_000}h`)
  return ms
}
