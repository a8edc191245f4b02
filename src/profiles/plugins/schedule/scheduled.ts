import { required } from '../../fields.ts'
import type { FieldProblem, Plugin, Schedule } from '../../plugin.ts'
import { floorDay, readTimeOfDay } from '../check/wall-clock.ts'
import { readWeekday, weekdayRemedy } from '../check/week-day.ts'

const fields = {
  instant: required('text', 'time of the day in UTC, as 09:30'),
  weekdays: required('texts', 'days, as Monday or Mon'),
} as const

export const scheduled: Plugin<Schedule, typeof fields> = {
  type: 'scheduled',
  about: 'Once a day from a time of the day on, on some days of the week, in whatever state; UTC.',
  fields,
  problems: ({ instant, weekdays }) => [...instantProblems(instant), ...weekdays.flatMap(weekdayProblems)],
  create({ instant, weekdays }) {
    const atMs = readTimeOfDay(instant) ?? Number.NaN
    const on = new Set(weekdays.map(readWeekday))
    return {
      isDue({ nowMs, lastSentMs = Number.NEGATIVE_INFINITY }) {
        const today = floorDay(nowMs)
        // By the whole date: the same day of another month is another day.
        return on.has(new Date(nowMs).getUTCDay()) && nowMs >= today + atMs && lastSentMs < today
      },
    }
  },
}

function instantProblems(instant: string): FieldProblem[] {
  if (readTimeOfDay(instant) !== undefined) return []
  return [{ field: 'instant', message: `'${instant}' is no time of the day; write one such as 09:30` }]
}

function weekdayProblems(name: string): FieldProblem[] {
  if (readWeekday(name) !== undefined) return []
  return [{ field: 'weekdays', message: `'${name}' is no weekday; ${weekdayRemedy}` }]
}
