import { expect, test } from 'vitest'
import type { MaintenanceFreeze, MaintenanceWindow, MaintenanceWindowSpec } from '../../api/index.ts'
import { type CalendarOf, readWindowObject } from './decide-window.ts'
import { freezeStatusOf, windowStatusOf } from './window-status.ts'

const noCalendars: CalendarOf = ({ name }) => ({ problem: `ConfigMap fettle-system/${name} does not exist` })
const nowMs = Date.parse('2026-11-17T03:00:00Z')

function statusOf(spec: Partial<MaintenanceWindowSpec>, status?: MaintenanceWindow['status'], ms = nowMs) {
  const window: MaintenanceWindow = {
    metadata: { name: 'night', generation: 3 },
    spec: { timeZone: 'UTC', schedule: { always: true }, ...spec },
    ...(status ? { status } : {}),
  }
  return windowStatusOf(window, readWindowObject(window, noCalendars), ms)
}

const conditionsOf = ({ status }: ReturnType<typeof statusOf>) =>
  Object.fromEntries(status.conditions?.map(({ type, status }) => [type, status]) ?? [])

test('a window that is open tells since when, until when, and what comes next', () => {
  const { status, wakeAtMs } = statusOf({ schedule: { cron: '0 2 * * *' }, duration: '4h' })
  expect(status).toMatchObject({
    observedGeneration: 3,
    open: true,
    currentStart: '2026-11-17T02:00:00.000Z',
    currentEnd: '2026-11-17T06:00:00.000Z',
  })
  expect(status.next).toHaveLength(5)
  expect(status.next?.[0]).toEqual({ start: '2026-11-18T02:00:00.000Z', end: '2026-11-18T06:00:00.000Z' })
  expect(wakeAtMs).toBe(Date.parse('2026-11-17T06:00:00Z'))
})

test('a status that is true stays as it is until time changes it', () => {
  const spec = { schedule: { cron: '0 2 * * *' }, duration: '4h' }
  const first = statusOf(spec).status
  expect(statusOf(spec, first, nowMs + 3_600_000).status).toEqual(first)
  const later = statusOf(spec, first, Date.parse('2026-11-17T06:00:00Z'))
  expect(later.status).toMatchObject({ open: false, conditions: first.conditions })
  expect(later.wakeAtMs).toBe(Date.parse('2026-11-18T02:00:00Z'))
})

test('one that is always open has neither beginning nor end', () => {
  const decision = statusOf({})
  expect(decision.status).toEqual({ observedGeneration: 3, open: true, conditions: expect.anything() })
  expect(decision).not.toHaveProperty('wakeAtMs')
})

test.for([
  ['readable', {}, { Valid: 'True', NeverOpens: 'False', ExclusionSourceReady: 'True' }],
  [
    'February 30',
    { schedule: { cron: '0 2 30 2 *' }, duration: '1h' },
    { Valid: 'True', NeverOpens: 'True', ExclusionSourceReady: 'True' },
  ],
  [
    'over',
    { schedule: { once: { from: '2026-01-01T00:00', to: '2026-01-02T00:00' } } },
    { Valid: 'True', NeverOpens: 'True', ExclusionSourceReady: 'True' },
  ],
  [
    'a zone that does not exist',
    { timeZone: 'Europe/Pari' },
    { Valid: 'False', NeverOpens: 'Unknown', ExclusionSourceReady: 'True' },
  ],
  [
    'a calendar that does not exist',
    { exclusions: [{ ics: { configMapRef: { name: 'holidays', key: 'cal.ics' } } }] },
    { Valid: 'True', NeverOpens: 'Unknown', ExclusionSourceReady: 'False' },
  ],
] as const)('conditions: %s', ([, spec, expected]) => {
  expect(conditionsOf(statusOf(spec as Partial<MaintenanceWindowSpec>))).toEqual(expected)
})

test.for([
  ['in force', {}, true, 'InForce', undefined],
  ['not yet', { from: '2026-11-18T00:00:00Z' }, false, 'NotYet', Date.parse('2026-11-18T00:00:00Z')],
  ['over', { until: '2026-11-16T00:00:00Z' }, false, 'Over', undefined],
] as const)('a freeze that is %s', ([, spec, active, reason, wakeAtMs]) => {
  const freeze: MaintenanceFreeze = { metadata: { name: 'f', generation: 1 }, spec: { reason: 'sale', ...spec } }
  const decision = freezeStatusOf(freeze, nowMs)
  expect(decision.status).toMatchObject({ active, conditions: [{ type: 'Active', reason }] })
  expect(decision.wakeAtMs).toBe(wakeAtMs)
})
