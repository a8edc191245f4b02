import { expect, test } from 'vitest'
import { ApplyPace } from './apply-pace.ts'

test('it halves with each word of the server, never below one, and comes back slowly', () => {
  let strain = 5
  const pace = new ApplyPace(8, () => strain)
  const widths = (count: number) => Array.from({ length: count }, () => pace.width())
  expect(widths(20)).toEqual(Array.from({ length: 20 }, () => 8))
  strain = 7
  expect(widths(5)).toEqual([4, 4, 4, 4, 5])
  for (let round = 0; round < 5; round++) {
    strain++
    pace.width()
  }
  expect(widths(2)).toEqual([2, 2])
  expect(widths(200).at(-1)).toBe(8)
})
