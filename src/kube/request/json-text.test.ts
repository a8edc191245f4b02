import { expect, test } from 'vitest'
import { jsonText } from './json-text.ts'

test.for([
  ['an object as JSON.stringify writes it', { a: [1, 'x', null, true], b: undefined }, '{"a":[1,"x",null,true]}'],
  ['a bigint with all its digits', { big: 9007199254740993n }, '{"big":9007199254740993}'],
  ['a negative bigint in a list', [-123456789012345678901n], '[-123456789012345678901]'],
  ['a text of digits as a text, beside a bigint', { a: '12', b: 12n }, '{"a":"12","b":12}'],
  ['a text that speaks of bigints as a text', { a: 'bigint 12', b: 1n }, '{"a":"bigint 12","b":1}'],
] as const)('writes %s', ([, value, text]) => {
  expect(jsonText(value)).toBe(text)
})

test('a circle is an error, not an endless text', () => {
  const circle: Record<string, unknown> = { big: 1n }
  circle['self'] = circle
  expect(() => jsonText(circle)).toThrow(TypeError)
})
