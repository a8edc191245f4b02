import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { zoneOf } from '../../../time/index.ts'
import { createFor, passOf, problemsFor, warningsFor } from '../../fixture-pass.ts'
import { countedMs, waitExclude } from './wait-exclude.ts'

const second = 1_000
const hour = 3_600_000
const ofMonAndWed = ['Mon', 'wednesday'] as const

function ask(duration: number, exclude: readonly string[], from: string, to: string, timezone = 'UTC') {
  const pass = passOf({ transitionMs: Date.parse(from), nowMs: Date.parse(to) })
  return createFor(waitExclude, { duration, exclude, timezone }).check(pass)
}

test.for([
  [1 * hour, [], '2022-03-15T10:00:00Z', '2022-03-15T10:30:00Z', false, 1_800],
  [1 * hour, [], '2022-03-15T10:00:00Z', '2022-03-15T11:30:00Z', true, 0],
  [30 * hour, ofMonAndWed, '2022-03-06T12:00:00Z', '2022-03-08T17:00:00Z', false, 3_600],
  [30 * hour, ofMonAndWed, '2022-03-06T12:00:00Z', '2022-03-08T18:10:00Z', true, 0],
  [30 * hour, ofMonAndWed, '2022-03-07T12:00:00Z', '2022-03-10T05:00:00Z', false, 3_600],
  [30 * hour, ofMonAndWed, '2022-03-07T12:00:00Z', '2022-03-10T06:10:00Z', true, 0],
  [30 * hour, ofMonAndWed, '2022-03-05T22:00:00Z', '2022-03-07T17:00:00Z', false, 4 * 3_600],
  [1 * second, ofMonAndWed, '2022-03-06T12:00:00Z', '2022-03-06T12:00:02Z', true, 0],
] as const)('%d ms without %j from %s to %s: %s', ([duration, exclude, from, to, isPassed, remaining]) => {
  expect(ask(duration, exclude, from, to)).toEqual({ isPassed, info: { remaining_seconds: remaining } })
})

test.for(['2022-03-06T23:00:00Z', '2022-03-07T11:00:00Z', '2022-03-07T13:00:00Z', '2022-03-08T01:00:00Z'])(
  '10 h without Monday, begun on Sunday at noon, have passed at %s, and stay so',
  (now) => {
    expect(ask(10 * hour, ['Mon'], '2022-03-06T12:00:00Z', now)).toMatchObject({ isPassed: true })
  },
)

test('days begin and end by the clocks of the zone', () => {
  // It is Monday in Auckland already, and still Sunday in UTC.
  const [from, to] = ['2022-03-06T11:30:00Z', '2022-03-06T13:00:00Z']
  expect(ask(hour, ['Mon'], from, to)).toMatchObject({ isPassed: true })
  expect(ask(hour, ['Mon'], from, to, 'Pacific/Auckland')).toEqual({
    isPassed: false,
    info: { remaining_seconds: 3_600 },
  })
})

test('a state since the year 1 costs no more than a short one', () => {
  const before = performance.now()
  expect(ask(30 * hour, ['Mon'], '0001-01-01T00:00:00Z', '2022-03-08T17:00:00Z')).toMatchObject({ isPassed: true })
  expect(performance.now() - before).toBeLessThan(5_000)
})

test('fractions of milliseconds count', () => {
  const transitionMs = Date.parse('2022-03-06T12:00:00Z')
  const check = (nowMs: number) =>
    createFor(waitExclude, { duration: second, exclude: ['Mon'] }).check(passOf({ transitionMs, nowMs }))
  expect(check(transitionMs + 1_000)).toMatchObject({ isPassed: false })
  expect(check(transitionMs + 1_000.25)).toMatchObject({ isPassed: true })
})

test('what cannot be read is a problem, what never ends a warning', () => {
  expect(problemsFor(waitExclude, { duration: hour, exclude: ['Mon', 'mo'], timezone: '+02:00' })).toEqual([
    'exclude: "mo" is no weekday; write a day in English, whole or its first three letters: Monday or Mon',
    'timezone: "+02:00" is not a time zone; write an IANA name such as Europe/Paris or UTC, not an offset',
  ])
  expect(problemsFor(waitExclude, { duration: hour, exclude: ['MON'] })).toEqual([])
  const all = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
  expect(warningsFor(waitExclude, { exclude: all })).toHaveLength(1)
  expect(warningsFor(waitExclude, { exclude: all.slice(1) })).toEqual([])
  expect(ask(hour, all, '0001-01-01T00:00:00Z', '2022-03-08T17:00:00Z')).toMatchObject({ isPassed: false })
})

describe('against a count of every quarter of an hour', () => {
  const quarter = 15 * 60_000
  const spanOfQuarters = 20 * 96
  // The clocks change within: by an hour, by half an hour, at midnight.
  test.for([
    ['UTC', '2026-03-20T00:00:00Z'],
    ['Europe/Berlin', '2026-03-20T00:00:00Z'],
    ['Europe/Berlin', '2026-10-15T00:00:00Z'],
    ['Australia/Lord_Howe', '2026-03-28T00:00:00Z'],
    ['Asia/Beirut', '2026-03-20T00:00:00Z'],
  ] as const)('%s from %s', ([name, firstDay]) => {
    const zone = zoneOf(name)
    const weekdayOf = new Intl.DateTimeFormat('en-US', { timeZone: name, weekday: 'short' })
    const names = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
    const first = Date.parse(firstDay)
    const weekdays = Array.from({ length: spanOfQuarters }, (_, index) =>
      names.indexOf(weekdayOf.format(first + index * quarter)),
    )
    fc.assert(
      fc.property(
        fc.nat(spanOfQuarters),
        fc.nat(spanOfQuarters),
        fc.uniqueArray(fc.nat(6), { maxLength: 6 }),
        (one, other, excluded) => {
          const [from, to] = [Math.min(one, other), Math.max(one, other)]
          const days = new Set(excluded)
          const expected = weekdays.slice(from, to).filter((day) => !days.has(day)).length * quarter
          expect(countedMs(first + from * quarter, first + to * quarter, days, zone, Number.POSITIVE_INFINITY)).toBe(
            expected,
          )
        },
      ),
    )
  })
})
