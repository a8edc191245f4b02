import { zoneOf } from '../../../time/index.ts'
import { optional, required } from '../../fields.ts'
import type { FieldProblem } from '../../plugin.ts'
import { answer, checkPlugin } from './check-plugin.ts'
import { monthDayOf, readMonthDay } from './month-day.ts'
import { dayMs, floorDay, readTimeOfDay, wallAt, zoneProblem } from './wall-clock.ts'
import { readWeekday, weekdayRemedy } from './week-day.ts'

const timeRemedy = 'write a time of day from 0:00 to 23:59, such as 9:30 or 22:00'

export const timeWindow = checkPlugin({
  type: 'timeWindow',
  about: 'It is one of these weekdays, later than start and earlier than end.',
  fields: {
    start: required('text', 'a time of day such as 10:30; the window opens right after it'),
    end: required('text', 'a time of day; at it the window is closed'),
    weekdays: required('texts', 'Monday or Mon, and so on; of an overnight window the days on which it begins'),
    exclude: optional('texts', 'days of the year on which the window is closed, such as Dec 24'),
    timezone: optional('text', 'an IANA name such as Europe/Berlin, by which start, end and days are meant', 'UTC'),
    overnight: optional('flag', 'end may be earlier than start, and is then meant of the next day'),
  },
  problems({ start, end, weekdays, exclude, timezone, overnight }) {
    const [startMs, endMs] = [readTimeOfDay(start), readTimeOfDay(end)]
    const problems: FieldProblem[] = []
    const add = (field: string, message: string) => problems.push({ field, message })
    if (startMs === undefined) add('start', `${JSON.stringify(start)} is no time of day; ${timeRemedy}`)
    if (endMs === undefined) add('end', `${JSON.stringify(end)} is no time of day; ${timeRemedy}`)
    if (startMs !== undefined && endMs !== undefined && endMs < startMs && !overnight)
      add('end', `${end} is earlier than start, ${start}; if it is meant of the next day, write overnight: true`)
    for (const day of weekdays)
      if (readWeekday(day) === undefined) add('weekdays', `${JSON.stringify(day)} is no weekday; ${weekdayRemedy}`)
    for (const date of exclude)
      if (readMonthDay(date) === undefined)
        add('exclude', `${JSON.stringify(date)} is no day of the year; write for example Dec 24`)
    const zoneFault = zoneProblem(timezone)
    if (zoneFault !== undefined) add('timezone', zoneFault)
    return problems
  },
  warnings: ({ start, end }) =>
    readTimeOfDay(start) === readTimeOfDay(end)
      ? [{ field: 'end', message: `start and end are both ${start}, so the window never opens` }]
      : [],
  create({ start, end, weekdays, exclude, timezone }) {
    const [startMs, endMs] = [readTimeOfDay(start) ?? 0, readTimeOfDay(end) ?? 0]
    const days = new Set(weekdays.map(readWeekday))
    const excluded = new Set(exclude.map(readMonthDay))
    const zone = zoneOf(timezone)
    return {
      check({ nowMs }) {
        const wallMs = wallAt(zone, nowMs)
        const today = floorDay(wallMs)
        const sinceMidnightMs = wallMs - today
        // Before the end of one that goes over midnight, it is the window of the day before.
        const begun = endMs < startMs && sinceMidnightMs < endMs ? today - dayMs : today
        const isWithin =
          endMs < startMs
            ? sinceMidnightMs > startMs || sinceMidnightMs < endMs
            : sinceMidnightMs > startMs && sinceMidnightMs < endMs
        const closed = [begun, today].find((day) => excluded.has(monthDayOf(day)))
        if (closed !== undefined) return answer(false, { reason: `${dateText(closed)} is excluded` })
        if (!days.has(new Date(begun).getUTCDay()))
          return answer(false, { reason: `${weekdayText(begun)} is none of ${weekdays.join(', ')}` })
        if (!isWithin)
          return answer(false, {
            reason: `${timeText(wallMs)} in ${timezone} is not between ${start} and ${end}`,
          })
        return answer(true)
      },
    }
  },
})

function dateText(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 10)
}

function timeText(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(11, 19)
}

function weekdayText(wallMs: number): string {
  return new Date(wallMs).toLocaleDateString('en-US', { weekday: 'long', timeZone: 'UTC' })
}
