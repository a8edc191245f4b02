import { clip, type Interval, merge } from './interval.ts'
import { dayMs, floorDay } from './wall-time.ts'
import type { Zone } from './zone.ts'

/** Answers the part of a set that lies between two instants: sorted, disjoint, clipped. */
export type IntervalSource = (fromMs: number, toMs: number) => Interval[]

/** Something that happens on some days of the wall's calendar, on each of them at the same times. */
export interface DailyTimes {
  readonly isOn: (dayWallMs: number) => boolean
  /** Since midnight, in wall-clock time, where no clock is changed. */
  readonly shape: readonly Interval[]
  /** The same on a day on which, or near which, the clocks change. */
  readonly resolve: (dayWallMs: number) => readonly Interval[]
}

export function dailySource(zone: Zone, times: DailyTimes): IntervalSource {
  const shape = merge(times.shape)
  const reachMs = Math.max(0, ...shape.map(({ endMs }) => endMs))
  return (fromMs, toMs) => {
    if (fromMs >= toMs) return []
    // A day more at both ends: a changed clock can move a start by up to a day (Samoa left out a whole one).
    const firstDay = floorDay(zone.toWall(fromMs) - reachMs - dayMs)
    const lastDay = zone.toWall(toMs) + dayMs
    const found: Interval[] = []
    for (let day = firstDay; day <= lastDay; day += dayMs) {
      if (!times.isOn(day)) continue
      if (zone.isSteady(day - 2 * dayMs, day + reachMs + 2 * dayMs)) {
        const midnight = zone.toInstant(day, 'first')
        for (const { startMs, endMs } of shape) found.push({ startMs: midnight + startMs, endMs: midnight + endMs })
      } else found.push(...times.resolve(day))
    }
    return clip(merge(found), fromMs, toMs)
  }
}

/**
 * From one sign on the wall to another. Clocks that jump over both must not lose the window: it keeps its length on the
 * wall, after the gap.
 */
export function betweenWalls(zone: Zone, fromWallMs: number, toWallMs: number): Interval {
  const startMs = zone.toInstant(fromWallMs, 'first')
  const endMs = zone.toInstant(toWallMs, 'last')
  return { startMs, endMs: endMs > startMs ? endMs : startMs + (toWallMs - fromWallMs) }
}
