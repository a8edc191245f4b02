import { describe, expect, it } from 'vitest'
import { wholeNumber } from './options.ts'

describe('a whole number of a flag', () => {
  it.each([
    ['0', 0],
    ['7', 7],
    ['007', 7],
    ['10', 10],
  ])('is read: %j', (text, value) => {
    expect(wholeNumber(0, 10)(text)).toBe(value)
  })

  it.each(['', ' ', '-1', '11', '1.5', '1e1', '0x5', 'many', '5 ', '٣', '99999999999999999999'])(
    'is refused: %j',
    (text) => {
      expect(() => wholeNumber(0, 10)(text)).toThrow('Write a whole number from 0 to 10.')
    },
  )
})
