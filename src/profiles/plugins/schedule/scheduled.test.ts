import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createFor, problemsFor } from '../../fixture-pass.ts'
import { scheduled } from './scheduled.ts'

const hour = 3_600_000
const day = 24 * hour
const steady = { current: 'operational', previous: 'operational', transitionMs: 0 } as const

test.for([
  ['2022-02-22T11:00:00Z', 25 * hour, false],
  ['2022-02-22T13:00:00Z', 25 * hour, false],
  ['2022-02-21T11:00:00Z', 25 * hour, false],
  ['2022-02-21T13:00:00Z', 25 * hour, true],
  ['2022-02-21T13:00:00Z', undefined, true],
  ['2022-02-21T14:00:00Z', hour, false],
  ['2022-02-21T12:00:00Z', 25 * hour, true],
  ['2022-02-21T11:59:59.999Z', 25 * hour, false],
  // Sent early the same day, before the instant was changed: today is today.
  ['2022-02-21T13:00:00Z', 13 * hour, false],
] as const)('12:00 on Mondays: %s, last %d ms ago: %s', ([now, agoMs, isDue]) => {
  const nowMs = Date.parse(now)
  const schedule = createFor(scheduled, { instant: '12:00', weekdays: ['Mon'] })
  expect(schedule.isDue({ ...steady, nowMs, lastSentMs: agoMs === undefined ? undefined : nowMs - agoMs })).toBe(isDue)
})

describe('where the original looks at the day of the month alone', () => {
  const schedule = createFor(scheduled, { instant: '12:00', weekdays: ['monday', 'TUESDAY'] })

  test('the same day of another month is another day', () => {
    const nowMs = Date.parse('2022-03-21T13:00:00Z')
    expect(schedule.isDue({ ...steady, nowMs, lastSentMs: Date.parse('2022-02-21T13:00:00Z') })).toBe(true)
  })

  test('what was never sent is sent on the first of a month', () => {
    const nowMs = Date.parse('2022-02-01T13:00:00Z')
    expect(schedule.isDue({ ...steady, nowMs, lastSentMs: undefined })).toBe(true)
    expect(schedule.isDue({ ...steady, nowMs, lastSentMs: Date.parse('0001-01-01T00:00:00Z') })).toBe(true)
  })
})

test('asked every few minutes for weeks, it is due exactly once on each of its days', () => {
  const names = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
  const minute = fc.integer({ min: 0, max: 1_439 })
  fc.assert(
    fc.property(
      minute,
      fc.subarray(names, { minLength: 1 }),
      fc.integer({ min: 1, max: 400 }),
      (at, weekdays, first) => {
        const instant = `${Math.floor(at / 60)}:${String(at % 60).padStart(2, '0')}`
        const schedule = createFor(scheduled, { instant, weekdays })
        const sent: number[] = []
        for (let nowMs = first * day; nowMs < (first + 21) * day; nowMs += 7 * 60_000)
          if (schedule.isDue({ ...steady, nowMs, lastSentMs: sent.at(-1) })) sent.push(nowMs)
        const wanted = Array.from({ length: 21 }, (_, index) => first + index).filter(
          // Seven minutes between two looks: an instant in the last ones of a day may be missed.
          (date) => weekdays.includes(names[new Date(date * day).getUTCDay()] ?? ''),
        )
        const missed = wanted.filter((date) => !sent.some((ms) => Math.floor(ms / day) === date))
        expect(new Set(sent.map((ms) => Math.floor(ms / day))).size).toBe(sent.length)
        for (const ms of sent) expect(ms % day).toBeGreaterThanOrEqual(at * 60_000)
        expect(at >= 1_433 ? [] : missed).toEqual([])
      },
    ),
    { numRuns: 50 },
  )
})

test.for([
  ['9:05', ['Monday'], []],
  ['09:05', ['mon', 'TUE', 'Saturday'], []],
  ['11:00', ['Monday'], []],
  ['9:5', ['Monday'], ['instant']],
  ['24:00', ['Monday'], ['instant']],
  ['10:00:00', ['Monday'], ['instant']],
  ['', ['Monday'], ['instant']],
  ['10:60', ['Monday'], ['instant']],
  ['10:00', ['mo'], ['weekdays']],
  ['10:00', ['Monday', 'x', ''], ['weekdays', 'weekdays']],
] as const)('%s on %j', ([instant, weekdays, fields]) => {
  expect(problemsFor(scheduled, { instant, weekdays }).map((text) => text.split(':')[0])).toEqual(fields)
})

test('weekdays and an instant must be said', () => {
  expect([scheduled.fields.weekdays.isRequired, scheduled.fields.instant.isRequired]).toEqual([true, true])
})
