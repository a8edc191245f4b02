import { expect, test } from 'vitest'
import { ReportPace } from './report-pace.ts'

const at = Date.parse('2026-03-01T12:00:00Z')

test('progress is told at most once a second for each request', () => {
  const pace = new ReportPace()
  expect([at, at + 1, at + 999, at + 1_000, at + 1_001].map((one) => pace.mayReport('r', one))).toEqual([
    true,
    false,
    false,
    true,
    false,
  ])
  expect(pace.mayReport('other', at)).toBe(true)
  pace.forgetOld(at + 1_500)
  expect(pace.mayReport('r', at + 1_500)).toBe(false)
})

test('the first progress is told at once, also in the first second of the program', () => {
  expect(new ReportPace().mayReport('r', 5)).toBe(true)
})
