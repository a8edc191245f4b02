import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFor, passOf, problemsFor, warningsFor } from '../../fixture-pass.ts'
import { timeWindow } from './time-window.ts'

const daily = { start: '10:30', end: '15:20', weekdays: ['Monday', 'tue'] } as const

type Given = Parameters<typeof createFor<ReturnType<typeof timeWindow.create>, typeof timeWindow.fields>>[1]

function ask(config: Given, now: string | number) {
  const nowMs = typeof now === 'number' ? now : Date.parse(now)
  return createFor(timeWindow, config).check(passOf({ nowMs }))
}

test.for([
  ['2020-06-29T11:00:00Z', {}, true],
  ['2020-06-29T10:29:00Z', {}, false],
  ['2020-06-30T15:00:00Z', {}, true],
  ['2020-06-30T15:30:00Z', {}, false],
  ['2020-06-25T11:00:00Z', {}, false],
  ['2020-06-25T15:00:00Z', {}, false],
  ['2021-02-02T15:00:00Z', { exclude: ['Feb 2'] }, false],
  ['2021-02-02T15:00:00Z', { exclude: ['Feb 3'] }, true],
  ['2020-06-29T10:30:00.000Z', {}, false],
  ['2020-06-29T15:20:00Z', {}, false],
  ['2020-06-29T15:19:59.999Z', {}, true],
] as const)('Mon and Tue 10:30 to 15:20, at %s with %j: %s', ([now, more, isPassed]) => {
  expect(ask({ ...daily, ...more }, now)).toMatchObject({ isPassed })
})

test('the window opens right after its start, as finely as the time is known', () => {
  const start = Date.parse('2020-06-29T10:30:00Z')
  expect(ask(daily, start + 0.001)).toEqual({ isPassed: true, info: {} })
})

test.for([
  ['2020-06-29T09:00:00Z', '09:00:00 in UTC is not between 10:30 and 15:20'],
  ['2020-06-25T11:00:00Z', 'Thursday is none of Monday, tue'],
  ['2020-12-22T11:00:00Z', '2020-12-22 is excluded'],
] as const)('at %s the reason is: %s', ([now, reason]) => {
  expect(ask({ ...daily, exclude: ['Dec 22'] }, now)).toEqual({ isPassed: false, info: { reason } })
})

test('start and end at once never pass', () => {
  const config = { ...daily, start: '10:30', end: '10:30' }
  expect(problemsFor(timeWindow, config)).toEqual([])
  expect(warningsFor(timeWindow, config)).toEqual(['end: start and end are both 10:30, so the window never opens'])
  for (const now of ['2020-06-29T10:29:59Z', '2020-06-29T10:30:00Z', '2020-06-29T10:30:01Z'])
    expect(ask(config, now)).toMatchObject({ isPassed: false })
})

test.for([
  [{ start: '9:05', end: '9:06' }, []],
  [{ end: '24:00' }, ['end: "24:00" is no time of day; write a time of day from 0:00 to 23:59, such as 9:30 or 22:00']],
  [{ start: '9:5' }, [expect.stringMatching(/^start: "9:5" is no time of day/)]],
  [{ start: '10:00:00' }, [expect.stringMatching(/^start: "10:00:00" is no/)]],
  [
    { start: '22:00', end: '4:00' },
    ['end: 4:00 is earlier than start, 22:00; if it is meant of the next day, write overnight: true'],
  ],
  [{ start: '22:00', end: '4:00', overnight: true }, []],
  [{ weekdays: ['mo'] }, [expect.stringMatching(/^weekdays: "mo" is no weekday; write/)]],
  [{ exclude: ['Dec 24', 'dec 24', 'DEC 24', 'Dec 4', 'Dec 04', 'Dec  4', 'Feb 29'] }, []],
  [{ exclude: ['December 24'] }, ['exclude: "December 24" is no day of the year; write for example Dec 24']],
  [{ exclude: ['Feb 30'] }, [expect.stringMatching(/^exclude: "Feb 30" is no/)]],
  [{ exclude: ['24 Dec'] }, [expect.stringMatching(/^exclude: "24 Dec" is no/)]],
  [{ exclude: ['Dec 0'] }, [expect.stringMatching(/^exclude: "Dec 0" is no/)]],
  [{ timezone: 'Mars' }, [expect.stringMatching(/^timezone: "Mars" is not a time zone/)]],
] as const)('%j has the problems %j', ([more, problems]) => {
  expect(problemsFor(timeWindow, { ...daily, ...more })).toEqual(problems)
})

test.for(['Dec 4', 'Dec 04', 'Dec  4', 'dec 4'])('%s excludes the 4th of December', (date) => {
  const config = { ...daily, weekdays: ['Fri'], exclude: [date] }
  expect(ask(config, '2020-12-04T11:00:00Z')).toMatchObject({ isPassed: false })
  expect(ask(config, '2020-12-11T11:00:00Z')).toMatchObject({ isPassed: true })
})

test.for([
  ['2020-06-26T21:59:00Z', false],
  ['2020-06-26T22:00:00Z', false],
  ['2020-06-26T23:00:00Z', true],
  // Saturday is not listed, but this is still the window of Friday.
  ['2020-06-27T03:59:00Z', true],
  ['2020-06-27T04:00:00Z', false],
  ['2020-06-27T23:00:00Z', false],
  // Friday is listed, but this would be the window of Thursday.
  ['2020-06-26T03:00:00Z', false],
  ['2020-12-25T23:00:00Z', false],
  // Begun on a day that is excluded.
  ['2020-12-26T01:00:00Z', false],
  // Begun before a day that is excluded, and that day has come.
  ['2021-01-01T23:00:00Z', true],
  ['2021-01-02T01:00:00Z', false],
] as const)('Friday 22:00 to 4:00 overnight, at %s: %s', ([now, isPassed]) => {
  const config = { start: '22:00', end: '4:00', weekdays: ['Fri'], overnight: true, exclude: ['Dec 25', 'Jan 2'] }
  expect(ask(config, now)).toMatchObject({ isPassed })
})

// In winter Berlin is an hour ahead of UTC, in summer two.
test.for([
  ['2026-01-05T08:45:00Z', true],
  ['2026-01-05T07:45:00Z', false],
  ['2026-07-06T07:45:00Z', true],
  ['2026-07-06T08:45:00Z', false],
] as const)('Monday 9:30 to 10:00 by the clocks of Berlin, at %s: %s', ([now, isPassed]) => {
  const config = { start: '9:30', end: '10:00', weekdays: ['Mon'], timezone: 'Europe/Berlin' }
  expect(ask(config, now)).toMatchObject({ isPassed })
})

test('the day of the zone counts', () => {
  const config = { start: '0:15', end: '1:00', weekdays: ['Mon'], exclude: ['Jan 12'], timezone: 'Europe/Berlin' }
  expect(ask(config, '2026-01-04T23:30:00Z')).toEqual({ isPassed: true, info: {} })
  expect(ask(config, '2026-01-11T23:30:00Z')).toEqual({ isPassed: false, info: { reason: '2026-01-12 is excluded' } })
})

test('an overnight window is open exactly where its two halves are', () => {
  const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_438 }),
      fc.nat(1_437),
      fc.uniqueArray(fc.nat(6), { minLength: 1 }),
      fc.nat(14 * 1_440),
      (end, gap, on, minute) => {
        const start = end + 1 + (gap % (1_439 - end))
        const text = (minutes: number) => `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`
        const weekdays = on.map((day) => days[day] ?? '')
        const nowMs = Date.parse('2026-01-04T00:00:00Z') + minute * 60_000
        const [day, ofDay] = [Math.floor(minute / 1_440) % 7, minute % 1_440]
        const isOpen = (ofDay > start && on.includes(day)) || (ofDay < end && on.includes((day + 6) % 7))
        const config = { start: text(start), end: text(end), weekdays, overnight: true }
        expect(ask(config, nowMs)).toMatchObject({ isPassed: isOpen })
      },
    ),
  )
})
