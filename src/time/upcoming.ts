import type { Interval } from './interval.ts'
import { dayMs } from './wall-time.ts'
import { intervals, type Window } from './window.ts'

/** Whoever does not open in this time never does: a typo such as February 30. */
const foreverMs = 5 * 366 * dayMs

/**
 * The next intervals that end after `fromMs`, at most `count` of them, within five years. The first begins at `fromMs` if
 * the window is open then. One that is open all that time ends at infinity.
 */
export function upcoming(window: Window, fromMs: number, count: number): Interval[] {
  const lastMs = fromMs + foreverMs
  for (let spanMs = 8 * dayMs; ; spanMs *= 4) {
    const toMs = Math.min(fromMs + spanMs, lastMs)
    const found = intervals(window, fromMs, toMs)
    const whole = found.filter(({ endMs }) => endMs < toMs)
    if (whole.length >= count) return whole.slice(0, count)
    if (toMs === lastMs)
      return found
        .slice(0, count)
        .map(({ startMs, endMs }) => ({ startMs, endMs: endMs < toMs ? endMs : Number.POSITIVE_INFINITY }))
  }
}

/** When the interval began that is open at `atMs`; nothing if it always was, as far as anybody looks back. */
export function openSince(window: Window, atMs: number): number | undefined {
  for (let spanMs = 8 * dayMs; spanMs <= 8 * 64 * dayMs; spanMs *= 4) {
    const last = intervals(window, atMs - spanMs, atMs + 1).at(-1)
    if (!last || last.endMs <= atMs) return undefined
    if (last.startMs > atMs - spanMs) return last.startMs
  }
  return undefined
}
