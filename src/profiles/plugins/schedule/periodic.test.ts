import { expect, test } from 'vitest'
import { createFor, noon } from '../../fixture-pass.ts'
import { periodic } from './periodic.ts'

const hour = 3_600_000
const steady = { nowMs: noon, transitionMs: noon - 10 * hour, lastSentMs: undefined }

test.for([
  [
    'operational as before, just sent',
    hour,
    { current: 'operational', previous: 'operational', lastSentMs: noon },
    false,
  ],
  ['back to operational', 30, { current: 'operational', previous: 'in-maintenance', lastSentMs: noon - 40 }, true],
  [
    'back to operational, just sent',
    hour,
    { current: 'operational', previous: 'in-maintenance', lastSentMs: noon },
    true,
  ],
  [
    'operational as before, long ago',
    30,
    { current: 'operational', previous: 'operational', lastSentMs: noon - 40 },
    false,
  ],
  ['operational as before, never sent', 30, { current: 'operational', previous: 'operational' }, false],
  ['in maintenance, never sent', hour, { current: 'in-maintenance', previous: 'in-maintenance' }, true],
  [
    'in maintenance, exactly an interval ago',
    hour,
    { current: 'in-maintenance', previous: 'in-maintenance', lastSentMs: noon - hour },
    true,
  ],
  [
    'in maintenance, not yet',
    hour,
    { current: 'in-maintenance', previous: 'in-maintenance', lastSentMs: noon - hour + 1 },
    false,
  ],
  [
    'required, after an interval',
    hour,
    { current: 'maintenance-required', previous: 'maintenance-required', lastSentMs: noon - hour },
    true,
  ],
] as const)('%s', ([, interval, context, isDue]) => {
  expect(createFor(periodic, { interval }).isDue({ ...steady, ...context })).toBe(isDue)
})

test('three that were sent in 2000 are due once each', () => {
  const schedule = createFor(periodic, {})
  const states = { current: 'in-maintenance', previous: 'in-maintenance' } as const
  for (const _ of [1, 2, 3]) {
    expect(schedule.isDue({ ...steady, ...states, lastSentMs: Date.parse('2000-01-01T00:00:00Z') })).toBe(true)
    expect(schedule.isDue({ ...steady, ...states, lastSentMs: noon })).toBe(false)
  }
})

test('an hour, unless said otherwise', () => {
  expect(periodic.fields.interval.fallback).toBe(hour)
})
