import { expect, test } from 'vitest'
import type { MaintenanceFreeze } from '../api/index.ts'
import { CliFault } from './context.ts'
import { chosen, readUntil } from './freeze.ts'

const nowMs = Date.parse('2026-12-01T12:00:00Z')
const freeze = (name: string): MaintenanceFreeze => ({ metadata: { name }, spec: { reason: `for ${name}` } })

test.for<[string, string]>([
  ['2h', '2026-12-01T14:00:00.000Z'],
  ['1h30m', '2026-12-01T13:30:00.000Z'],
  ['2026-12-24T18:00', '2026-12-24T17:00:00.000Z'],
  ['2026-12-24T18:00:30', '2026-12-24T17:00:30.000Z'],
  ['2026-12-24T18:00Z', '2026-12-24T18:00:00.000Z'],
  ['2026-12-24T18:00+05:45', '2026-12-24T12:15:00.000Z'],
])('--until %s', ([text, expected]) => {
  expect(new Date(readUntil(text, nowMs, 'Europe/Paris')).toISOString()).toBe(expected)
})

test.for(['tomorrow', '2026-12-24', '2026-02-30T10:00', '2026-12-24T25:00', '', '2 hours', '2026-12-24T18:00+99:99'])(
  '--until %j is refused, and it says what to write',
  (text) => {
    expect(() => readUntil(text, nowMs, 'Europe/Paris')).toThrow(
      `--until: '${text}' is not a time; write how long, such as 2h, or when, such as 2026-12-24T18:00 (in Europe/Paris)`,
    )
  },
)

test('an end that is over is refused', () => {
  expect(() => readUntil('2026-11-24T18:00', nowMs, 'UTC')).toThrow('is over already: it is 2026-12-01 12:00 UTC')
})

test('an end that cannot be written as a date is refused, and the last one that can is not', () => {
  for (const text of ['999999999999h', '99999999h', `${'9'.repeat(400)}h`, '9999-12-31T23:59-01:00'])
    expect(() => readUntil(text, nowMs, 'UTC')).toThrow(
      new CliFault(`--until: '${text}' ends after the year 9999; without --until it is frozen until \`fettle thaw\``),
    )
  expect(readUntil('9999-12-31T23:59Z', nowMs, 'UTC')).toBe(Date.parse('9999-12-31T23:59Z'))
})

test('thaw ends the one freeze there is, or the one that is named', () => {
  const [one, two] = [freeze('one'), freeze('two')]
  expect(chosen([one], undefined, nowMs)).toBe(one)
  expect(chosen([one, two], 'two', nowMs)).toBe(two)
  expect(chosen([], undefined, nowMs)).toBeUndefined()
  expect(() => chosen([one, two], undefined, nowMs)).toThrow('say which one ends: one (for one), two (for two)')
  expect(() => chosen([one], 'three', nowMs)).toThrow('there is no MaintenanceFreeze three')
})

test('thaw without a name leaves freezes alone that are planned, or over', () => {
  const planned: MaintenanceFreeze = { metadata: { name: 'sale' }, spec: { reason: 'x', from: '2026-12-24T00:00:00Z' } }
  const over: MaintenanceFreeze = { metadata: { name: 'old' }, spec: { reason: 'x', until: '2026-11-24T00:00:00Z' } }
  expect(chosen([planned, over], undefined, nowMs)).toBeUndefined()
  const one = freeze('one')
  expect(chosen([planned, one, over], undefined, nowMs)).toBe(one)
  expect(chosen([planned, one, over], 'sale', nowMs)).toBe(planned)
})
