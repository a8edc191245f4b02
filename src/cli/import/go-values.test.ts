import { describe, expect, test } from 'vitest'
import { readGoBoolean, readGoDuration, readGoInteger, readGoList, readTimeOfDay, readWeekday } from './go-values.ts'

test.each([
  ['0', 0],
  ['90s', 90_000],
  ['1h30m', 5_400_000],
  ['1.5h', 5_400_000],
  ['.5s', 1_000],
  ['1us', 1_000],
  ['-5m', 0],
  ['300', undefined],
  ['', undefined],
  ['1d', undefined],
  ['5 m', undefined],
  ['99999999h', undefined],
])('the duration %j', (text, ms) => {
  expect(readGoDuration(text)).toBe(ms)
})

describe('times of day', () => {
  test.each([
    ['22:05', 22 * 3600 + 300],
    ['0:00', 0],
    ['23:59:59', 86_399],
    ['03:04pm', 15 * 3600 + 240],
    ['12:00am', 0],
    ['12:30pm', 12 * 3600 + 1800],
    ['7', 7 * 3600],
    ['07', 7 * 3600],
    ['3pm', 15 * 3600],
    ['03pm', 15 * 3600],
    ['12am', 0],
  ])('%s is understood', (text, seconds) => {
    expect(readTimeOfDay(text)).toBe(seconds)
  })

  test.each(['24:00', '22:60', '3:04pm', '13pm', '03:04 pm', '03:04PM', '22:0', 'noon', ''])(
    '%j is refused, as kured refuses it',
    (text) => {
      expect(readTimeOfDay(text)).toBeUndefined()
    },
  )
})

test.each([
  ['0', 0],
  ['6', 6],
  ['su', 0],
  ['Mon', 1],
  ['TUESDAY', 2],
  ['7', undefined],
  ['thurs', undefined],
  ['', undefined],
])('the weekday %j', (text, day) => {
  expect(readWeekday(text)).toBe(day)
})

test('lists are split at commas, but not within quotes', () => {
  expect(readGoList('a=1,"b=2,3",')).toEqual(['a=1', 'b=2,3', ''])
  expect(readGoList('')).toEqual([])
  expect(readGoList('a"b')).toBeUndefined()
})

test('switches and numbers are read as Go reads them', () => {
  expect(['1', 'T', 'true', 'False', '0', 'yes', ''].map(readGoBoolean)).toEqual([
    ...[true, true, true, false, false],
    ...[undefined, undefined],
  ])
  expect(['-1', '39', '1.5', ''].map(readGoInteger)).toEqual([-1, 39, undefined, undefined])
})
