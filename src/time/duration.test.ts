import fc from 'fast-check'
import { expect, test } from 'vitest'
import { durationMs, durationText } from './duration.ts'

test.for([
  ['0s', 0],
  ['250ms', 250],
  ['30m', 1_800_000],
  ['1h30m', 5_400_000],
  ['2h0m1s5ms', 7_201_005],
] as const)('%s is %d ms', ([text, ms]) => {
  expect(durationMs(text)).toBe(ms)
})

test.for(['', '5', 'm', '1d', '-1m', '1h 30m', '1.5h'])('%j is no duration', (text) => {
  expect(() => durationMs(text)).toThrow(/is not a duration; write for example 30m/)
})

test('what is said of whole seconds reads back as the same', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 400_000 }), (seconds) => {
      expect(durationMs(durationText(seconds * 1_000))).toBe(seconds * 1_000)
    }),
  )
})
