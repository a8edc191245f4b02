import type { Timetable } from '../queue/index.ts'
import { durationText, type Zone, zoneOf } from '../time/index.ts'

/** One row of a timetable: both ends may be open. */
interface TimetableRow {
  readonly startMs?: number
  readonly endMs?: number
}

export function timesOf({ current, next }: Timetable): TimetableRow[] {
  return [...(current ? [current] : []), ...next]
}

/** The times in the window's own zone, and in UTC; where clocks change meanwhile, that is said. */
export function timetableText(timetable: Timetable, timeZone: string): string {
  const zone = zoneOf(timeZone)
  const rows = timesOf(timetable).map(({ startMs, endMs }) => [
    timeOr(startMs, (ms) => zone.toWall(ms)),
    timeOr(endMs, (ms) => zone.toWall(ms)),
    timeOr(startMs, (ms) => ms),
    timeOr(endMs, (ms) => ms),
    ...lengthOf(zone, startMs, endMs),
  ])
  if (rows.length === 0) return ''
  return table([[`OPENS (${timeZone})`, 'CLOSES', 'OPENS (UTC)', 'CLOSES', 'LASTS', ''], ...rows])
}

/** To the minute, or to the second where that says more. */
export function utcTime(ms: number): string {
  const text = new Date(ms).toISOString()
  return `${text.slice(0, 10)} ${text.slice(11, text.slice(17, 19) === '00' ? 16 : 19)}`
}

function timeOr(ms: number | undefined, shown: (ms: number) => number): string {
  return ms === undefined ? '-' : utcTime(shown(ms))
}

function lengthOf(zone: Zone, startMs: number | undefined, endMs: number | undefined): [string, string] {
  if (startMs === undefined || endMs === undefined) return ['', '']
  const onTheWall = zone.toWall(endMs) - zone.toWall(startMs)
  const isPlain = onTheWall === endMs - startMs
  return [durationText(endMs - startMs), isPlain ? '' : `the clocks change: ${durationText(onTheWall)} on the wall`]
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('')
}
