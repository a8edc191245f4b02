import fc from 'fast-check'
import { expect, test } from 'vitest'
import { goDurationMs } from './go-duration.ts'

test.for([
  ['0', 0],
  ['-0', 0],
  ['+0', 0],
  ['0s', 0],
  ['1h15m30s', 4_530_000],
  ['0h12m', 720_000],
  ['1.5h', 5_400_000],
  ['.5h', 1_800_000],
  ['1.h', 3_600_000],
  ['-10m', -600_000],
  ['+5m', 300_000],
  ['532ms', 532],
  ['1us', 0.001],
  ['1µs', 0.001],
  ['1μs', 0.001],
  ['1ns', 0.000001],
  ['1m1m', 120_000],
] as const)('%s is %d ms', ([text, ms]) => {
  expect(goDurationMs(text)).toBe(ms)
})

test.for(['', '42', '-5', '1d', '2w', '1H', 'm', '.h', '1h 5m', ' 1h', '1h-5m', '1,5h', '0x10', '10000000h', '٣h'])(
  '%j is no duration',
  (text) => {
    expect(goDurationMs(text)).toBeUndefined()
  },
)

test('hours, minutes and seconds add up, in any order and number', () => {
  const group = fc.tuple(
    fc.integer({ min: 0, max: 1_000 }),
    fc.constantFrom(['h', 3_600_000], ['m', 60_000], ['s', 1_000]),
  )
  fc.assert(
    fc.property(fc.array(group, { minLength: 1, maxLength: 6 }), fc.constantFrom('', '+', '-'), (groups, sign) => {
      const text = sign + groups.map(([count, [unit]]) => `${count}${unit}`).join('')
      const ms = groups.reduce((sum, [count, [, each]]) => sum + count * Number(each), 0)
      expect(goDurationMs(text)).toBe(sign === '-' && ms > 0 ? -ms : ms)
    }),
  )
})
