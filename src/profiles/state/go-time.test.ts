import fc from 'fast-check'
import { expect, test } from 'vitest'
import { goTimeOf, isZero, readGoTime, zeroTime } from './go-time.ts'

test.for([
  ['2024-01-02T03:04:05Z', '2024-01-02T03:04:05Z', Date.UTC(2024, 0, 2, 3, 4, 5)],
  ['2024-01-02T03:04:05.5Z', '2024-01-02T03:04:05.5Z', Date.UTC(2024, 0, 2, 3, 4, 5, 500)],
  ['2024-01-02T03:04:05.123456789Z', '2024-01-02T03:04:05.123456789Z', Date.UTC(2024, 0, 2, 3, 4, 5, 123) + 0.456789],
  ['2024-01-02T03:04:05.120000Z', '2024-01-02T03:04:05.12Z', Date.UTC(2024, 0, 2, 3, 4, 5, 120)],
  ['2024-01-02T03:04:05+02:00', '2024-01-02T03:04:05+02:00', Date.UTC(2024, 0, 2, 1, 4, 5)],
  ['2024-01-02T03:04:05+00:00', '2024-01-02T03:04:05Z', Date.UTC(2024, 0, 2, 3, 4, 5)],
  [zeroTime.text, zeroTime.text, zeroTime.ms],
] as const)('%s is a time, and is written as %s', ([text, written, ms]) => {
  const read = readGoTime(text)
  expect(read?.text).toBe(written)
  expect(read?.ms).toBeCloseTo(ms, 3)
})

test.for(['', 'yesterday', '2024-01-02', '2024-01-02 03:04:05Z', '2024-02-30T00:00:00Z', '2024-13-01T00:00:00Z'])(
  '%s is none',
  (text) => {
    expect(readGoTime(text)).toBeUndefined()
  },
)

test('never is never, in whatever zone it is written', () => {
  expect(isZero(zeroTime)).toBe(true)
  expect(isZero(goTimeOf(0))).toBe(false)
})

test('every moment is read as it was written', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) }), (ms) => {
      const written = goTimeOf(ms)
      expect(readGoTime(written.text)).toEqual(written)
      expect(written).toMatchObject({ ms })
      expect(written.text).not.toMatch(/\.\d*0Z$/)
    }),
  )
})
