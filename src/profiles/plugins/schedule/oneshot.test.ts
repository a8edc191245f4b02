import { expect, test } from 'vitest'
import { createFor, noon } from '../../fixture-pass.ts'
import { oneshot } from './oneshot.ts'

const minute = 60_000
const states = { current: 'in-maintenance', previous: 'in-maintenance' } as const

test.for([
  ['the change is now', 5 * minute, noon, undefined, false],
  ['a negative delay, sent before the change', -5 * minute, noon, noon - minute, true],
  ['a negative delay, sent after the change', -5 * minute, noon - 2 * minute, noon - minute, false],
  ['there never was a change', 0, 0, undefined, false],
  ['there never was a change, as Go writes it', 0, Date.parse('0001-01-01T00:00:00Z'), undefined, false],
  ['the delay is just over', 5 * minute, noon - 5 * minute, undefined, true],
  ['the delay is not quite over', 5 * minute, noon - 5 * minute + 1, undefined, false],
  ['sent at the very moment of the change', minute, noon - minute, noon - minute, true],
  ['sent once', minute, noon - 10 * minute, noon - 9 * minute, false],
] as const)('%s', ([, delay, transitionMs, lastSentMs, isDue]) => {
  expect(createFor(oneshot, { delay }).isDue({ ...states, nowMs: noon, transitionMs, lastSentMs })).toBe(isDue)
})

test('a minute, unless said otherwise, as the original does and its manual does not say', () => {
  expect(oneshot.fields.delay.fallback).toBe(minute)
})
