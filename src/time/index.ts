export { type Clock, systemClock } from './clock.ts'
export { durationMs, durationText } from './duration.ts'
export { goDurationMs, longestDurationMs } from './go-duration.ts'
export { type Interval, merge, subtract } from './interval.ts'
export { openSince, upcoming } from './upcoming.ts'
export {
  type ExclusionText,
  excluded,
  intervals,
  type ReadWindow,
  readWindow,
  type WindowProblem,
  weekdays,
} from './window.ts'
export { type Zone, zoneOf } from './zone.ts'
