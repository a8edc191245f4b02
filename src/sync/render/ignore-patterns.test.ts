import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ignorePatterns } from './ignore-patterns.ts'

test.for<[patterns: string[], out: string[], kept: string[]]>([
  [[], [], ['a.yaml']],
  [['', '# a.yaml', '   '], [], ['a.yaml', '# a.yaml']],
  [['a.yaml'], ['a.yaml', 'x/a.yaml', 'a.yaml/b'], ['ba.yaml', 'a.yamlx', 'a-yaml']],
  [['/a.yaml'], ['a.yaml'], ['x/a.yaml']],
  [['x/a.yaml'], ['x/a.yaml'], ['y/x/a.yaml']],
  [['x/'], ['x/a.yaml', 'y/x/a.yaml'], ['x', 'xy/a.yaml']],
  [['*.json'], ['a.json', 'x/.json'], ['a.json5', 'ajson']],
  [['x/*'], ['x/a', 'x/y/b'], ['y/x/a', 'x']],
  [['x/*.yaml'], ['x/a.yaml'], ['x/y/a.yaml']],
  [['**/a'], ['a', 'x/a', 'x/y/a'], ['xa']],
  [['x/**'], ['x/a', 'x/y/b'], ['x', 'y/x/a']],
  [['x/**/a'], ['x/a', 'x/y/a', 'x/y/z/a'], ['x/ya', 'a']],
  [['a?b'], ['axb'], ['a/b', 'ab', 'axxb']],
  [['[ab]c'], ['ac', 'bc'], ['cc', '[ab]c']],
  [['[!ab]c'], ['cc'], ['ac', 'bc']],
  [['[0-9].yaml'], ['1.yaml'], ['a.yaml', '-.yaml']],
  [['[.yaml'], ['[.yaml'], ['a.yaml']],
  [
    ['\\#a', '\\!b', 'c\\ ', 'd  '],
    ['#a', '!b', 'c ', 'd'],
    ['c', 'd  '],
  ],
  [['*.yaml', '!b.yaml'], ['a.yaml'], ['b.yaml', 'x/b.yaml']],
  [['!b.yaml', '*.yaml'], ['a.yaml', 'b.yaml'], []],
  [['x/', '!x/b.yaml'], ['x/a.yaml', 'x/b.yaml'], []],
  [['x/*', '!x/b.yaml'], ['x/a.yaml'], ['x/b.yaml']],
  [['a.(b)+c$'], ['a.(b)+c$'], ['abbc']],
  [['[z-a].yaml', 'b.yaml'], ['b.yaml'], ['a.yaml', 'z.yaml']],
  [['*a*a*a*a*a*a*a*b', '*a*a*a*a*b'], ['aaaab'], ['a'.repeat(200), 'aaab']],
  [['a.yaml\r'], ['a.yaml'], []],
])('%j', ([patterns, out, kept]) => {
  const isIgnored = ignorePatterns(patterns)
  expect([...out, ...kept].filter((path) => isIgnored(path))).toEqual(out)
})

test('no pattern makes it throw, and a file is ignored by its own path', () => {
  const sign = fc.constantFrom(...'ab/*?[]!^-\\# .(+|{$'.split(''))
  fc.assert(
    fc.property(fc.array(fc.string({ unit: sign }), { maxLength: 3 }), fc.string({ unit: sign }), (patterns, path) => {
      ignorePatterns(patterns)(path)
    }),
  )
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z0-9._()+-]{1,8}(?:\/[a-z0-9._()+-]{1,8}){0,3}$/), (path) => {
      expect(ignorePatterns([`/${path}`])(path)).toBe(true)
    }),
  )
})
