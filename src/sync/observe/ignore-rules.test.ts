import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fitsPattern, ignoreRuleText } from './ignore-rules.ts'

test.for<[string, string, boolean]>([
  ['web', 'web', true],
  ['web', 'we', false],
  ['web', '*', true],
  ['', '*', true],
  ['web-1', 'web-*', true],
  ['web-1', '*-1', true],
  ['web-1', '*b-*', true],
  ['aa', 'a*a', true],
  ['a', 'a*a', false],
  ['abcabc', 'a*c*c', true],
  ['abc', 'a*c*c', false],
  ['a.b', 'a?b', false],
])('%s fits %s: %s', ([text, pattern, expected]) => {
  expect(fitsPattern(text, pattern)).toBe(expected)
})

test('a pattern fits as the expression that it stands for', () => {
  const short = (...letters: readonly string[]) => fc.string({ unit: fc.constantFrom(...letters), maxLength: 8 })
  fc.assert(
    fc.property(short('a', 'b'), short('a', 'b', '*'), (text, pattern) => {
      expect(fitsPattern(text, pattern)).toBe(new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(text))
    }),
  )
})

test('a rule is told in words', () => {
  expect(ignoreRuleText({ group: '', kind: 'ConfigMap', name: 'x-*', labels: { a: 'b' }, manager: 'm' })).toBe(
    'group "", kind ConfigMap, name x-*, label a=b, manager m',
  )
})
