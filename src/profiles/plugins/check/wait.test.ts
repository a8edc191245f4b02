import { expect, test } from 'vitest'
import { createFor, noon, passOf } from '../../fixture-pass.ts'
import { wait } from './wait.ts'

const minute = 60_000

test.for([
  ['10m', 10 * minute, 12 * minute, true, 0],
  ['15m', 15 * minute, 12 * minute, false, 180],
  ['as long as it took, to the millisecond', 12 * minute, 12 * minute, false, 0],
  ['a fraction of a millisecond less', 12 * minute - 0.25, 12 * minute, true, 0],
  ['a second and a bit more', 12 * minute + 1_001, 12 * minute, false, 2],
  ['less than nothing', -10 * minute, 0, true, 0],
  ['1s, and the transition is in the future', 1_000, -5_000, false, 6],
] as const)('%s', ([, duration, sinceMs, isPassed, remaining]) => {
  const pass = passOf({ nowMs: noon, transitionMs: noon - sinceMs })
  expect(createFor(wait, { duration }).check(pass)).toEqual({ isPassed, info: { remaining_seconds: remaining } })
})
