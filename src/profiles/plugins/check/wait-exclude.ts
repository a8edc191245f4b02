import { type Zone, zoneOf } from '../../../time/index.ts'
import { optional, required } from '../../fields.ts'
import type { FieldProblem } from '../../plugin.ts'
import { answer, checkPlugin } from './check-plugin.ts'
import { wholeSeconds } from './wait.ts'
import { floorDay, zoneProblem } from './wall-clock.ts'
import { readWeekday, weekdayRemedy } from './week-day.ts'

export const waitExclude = checkPlugin({
  type: 'waitExclude',
  about: 'Like wait, but time on some weekdays does not count.',
  fields: {
    duration: required('durationText', 'for how long, with its unit: 10m'),
    exclude: required('texts', 'weekdays that do not count: Monday or Mon, and so on'),
    timezone: optional('text', 'an IANA name such as Europe/Berlin, by which days begin and end', 'UTC'),
  },
  problems({ exclude, timezone }) {
    const problems: FieldProblem[] = exclude
      .filter((day) => readWeekday(day) === undefined)
      .map((day) => ({ field: 'exclude', message: `${JSON.stringify(day)} is no weekday; ${weekdayRemedy}` }))
    const zoneFault = zoneProblem(timezone)
    return zoneFault === undefined ? problems : [...problems, { field: 'timezone', message: zoneFault }]
  },
  warnings: ({ exclude }) =>
    new Set(exclude.map(readWeekday)).size === 7
      ? [{ field: 'exclude', message: 'no day of the week is left, so the wait never ends' }]
      : [],
  create({ duration, exclude, timezone }) {
    const days: ReadonlySet<number | undefined> = new Set(exclude.map(readWeekday))
    const zone = zoneOf(timezone)
    return {
      check({ nowMs, transitionMs }) {
        const remainingMs = duration - countedMs(transitionMs, nowMs, days, zone, duration)
        return answer(remainingMs < 0, { remaining_seconds: wholeSeconds(remainingMs) })
      },
    }
  },
})

/**
 * The time between two instants that does not lie on the days. Goes back day by day and stops when it is more than
 * enough: the first instant may be two thousand years ago.
 */
export function countedMs(
  fromMs: number,
  toMs: number,
  days: ReadonlySet<number | undefined>,
  zone: Zone,
  enoughMs: number,
): number {
  if (toMs <= fromMs) return toMs - fromMs
  let counted = 0
  if (days.size === 7) return counted
  for (let endMs = toMs; endMs > fromMs && counted <= enoughMs; ) {
    const day = floorDay(zone.toWall(Math.ceil(endMs) - 1))
    const startMs = Math.max(fromMs, zone.toInstant(day, 'first'))
    if (!days.has(new Date(day).getUTCDay())) counted += endMs - startMs
    endMs = startMs
  }
  return counted
}
