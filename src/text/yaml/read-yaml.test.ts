import { expect, test } from 'vitest'
import { readYaml } from './read-yaml.ts'
import type { YamlValue } from './yaml-value.ts'

function documentsOf(text: string) {
  const read = readYaml(text)
  if ('problem' in read) throw new Error(`${read.problem.line}:${read.problem.column} ${read.problem.message}`)
  return read.documents
}

function problemOf(text: string) {
  const read = readYaml(text)
  if (!('problem' in read)) throw new Error('it was read')
  return read.problem
}

const valueIn = (text: string) => documentsOf(text)[0]?.value

test.for<[string, YamlValue]>([
  ['yes', true],
  ['on', true],
  ['Off', false],
  ['n', false],
  ['~', null],
  ['0777', 511],
  ['0o17', 15],
  ['08', 8],
  ['12:30', '12:30'],
  ['1_000', 1000],
  ['-_1', -1],
  ['0b11', 3],
  ['0x1F', 31],
  ['0o', '0o'],
  ['9007199254740991', 9007199254740991],
  ['9007199254740993', 9007199254740993n],
  ['-9223372036854775808', -9223372036854775808n],
  ['9223372036854775808', 2 ** 63],
  ['0xFFFFFFFFFFFFFFFF', 2 ** 64],
  ['0x1FFFFFFFFFFFFFFFF', '0x1FFFFFFFFFFFFFFFF'],
  ['2024-01-01', '2024-01-01'],
  ['1.50', 1.5],
  ['-0.0', 0],
  ['.5_0', 0.5],
  ['.5_', '.5_'],
  ['1e400', '1e400'],
  ['1.2.3', '1.2.3'],
  ['"yes"', 'yes'],
  ["'it''s'", "it's"],
  ['!!str 1', '1'],
  ['a # b', 'a'],
  ['a#b', 'a#b'],
])('the value %s is %s, in blocks and in brackets', ([text, value]) => {
  expect(valueIn(`a: ${text}`)).toEqual({ a: value })
  expect(valueIn(`- ${text}`)).toEqual([value])
  expect(valueIn(`a: [${text}\n  ]`)).toEqual({ a: [value] })
})

test.for<[string, string]>([
  ['1', '1'],
  ['010', '8'],
  ['2.5', '2.5'],
  ['9007199254740993', '9007199254740993'],
  ['true', 'true'],
  ['"on"', 'on'],
  ['12:30', '12:30'],
  ['a b', 'a b'],
  ['constructor', 'constructor'],
])('the key %s is %s', ([text, key]) => {
  expect(valueIn(`${text}: v`)).toEqual({ [key]: 'v' })
})

test.for<[string, YamlValue]>([
  ['a: &a {x: 1, z: 2}\nb: {<<: *a, z: 3}', { a: { x: 1, z: 2 }, b: { x: 1, z: 3 } }],
  ['a: &a {x: 1}\nb: {x: 2, <<: *a}', { a: { x: 1 }, b: { x: 1 } }],
  ['a: &a {x: 1}\nb: &b {x: 2, z: 3}\nc: {<<: [*a, *b]}', { a: { x: 1 }, b: { x: 2, z: 3 }, c: { x: 1, z: 3 } }],
  ['"<<": x', { '<<': 'x' }],
])('a merge is carried out in the order of the text', ([text, value]) => {
  expect(valueIn(text)).toEqual(value)
})

test.for<[string, readonly { line: number; value: YamlValue }[]]>([
  ['', []],
  ['# nothing\n', []],
  ['---\n---\nnull\n---\n', []],
  ['a: 1', [{ line: 1, value: { a: 1 } }]],
  [
    '# one\n---\n\na: 1\n--- # two\n# three\nb: 2\n',
    [
      { line: 4, value: { a: 1 } },
      { line: 7, value: { b: 2 } },
    ],
  ],
  [
    'a: 1\n...\n---\n[b]\n',
    [
      { line: 1, value: { a: 1 } },
      { line: 4, value: ['b'] },
    ],
  ],
  ['\ufeffa: 1\r\nb: |\r\n  c\r\n  d\r\n', [{ line: 1, value: { a: 1, b: 'c\nd\n' } }]],
  ['{\n\t"a": [\n\t\t9007199254740993\n\t]\n}', [{ line: 1, value: { a: [9007199254740993n] } }]],
  ['a:\n  - |\n    x', [{ line: 1, value: { a: ['x\n'] } }]],
])('documents of %j', ([text, documents]) => {
  expect(documentsOf(text)).toEqual(documents)
})

test.for<[string, number, number, RegExp]>([
  ['a: 1\nb: 2\na: 3', 3, 1, /^the key stands on line 1 already; leave one of the two out$/],
  ['a: {b: 1,\n  b: 2}', 2, 3, /^the key stands on line 1 already/],
  ['1: a\n"1": b', 2, 1, /^the key stands on line 1 already/],
  ['{"a": 1, "a": 2}', 1, 10, /^the key stands on line 1 already/],
  ...['y', 'Y', 'n', 'N', 'yes', 'No', 'on', 'OFF', 'True', 'FALSE'].map((word): [string, number, number, RegExp] => [
    `a: 1\n${word}: 2`,
    2,
    1,
    /^the key here is no text: without quotes it means (true|false) in YAML 1\.1; put it in quotes$/,
  ]),
  ['~: a', 1, 1, /it means nothing in YAML 1\.1; put it in quotes$/],
  ['1e7: a', 1, 1, /it means a number in YAML 1\.1; put it in quotes$/],
  ['18446744073709551615: a', 1, 1, /it means a number/],
  ['? [a]\n: b', 1, 3, /^the key here is no text; /],
  ['a: &a b\n*a : c', 2, 1, /^the key here is no text; /],
  ['__proto__: {a: 1}', 1, 1, /^no field has this name/],
  ['"__proto__": {a: 1}', 1, 1, /^no field has this name/],
  ['a: .nan', 1, 4, /^JSON has no such number; /],
  ['a: [-.Inf]', 1, 5, /^JSON has no such number; /],
  ['a: !!int "1"', 1, 10, /^this tag is not known here; /],
  ['a: "\\ud83d"', 1, 4, /^half of a character is escaped here; /],
  ['a: *b', 1, 4, /^no anchor of this name is complete before the alias; /],
  ['a: &a [*a]', 1, 8, /^no anchor of this name is complete/],
  ['a: &a 1\n---\nb: *a', 3, 4, /^no anchor of this name is complete/],
  ['<<: x', 1, 1, /^<< takes a mapping or a list of mappings/],
  ['a:\n\tb: 1', 2, 1, /^it is not YAML: Tabs are not allowed as indentation; mend it/],
  ['a: 1\n b: 2', 1, 4, /^it is not YAML: /],
  ['a: [', 2, 1, /^it is not YAML: /],
  ['a: 1\n--- {b: 2}', 2, 1, /^something stands behind ---/],
  ['a: 1\n...\nb: 2', 3, 1, /^the document ended with \.\.\. above, and kubectl drops what follows/],
  ['%YAML 1.1\n---\na: 1', 1, 1, /^directives are not read here/],
  ['a: 1\nb: x\u0007', 2, 5, /^the character U\+0007 may not stand here as it is/],
  ['a: "\u2028"', 1, 5, /^the character U\+2028 /],
])('%j is refused at %i:%i', ([text, line, column, message]) => {
  expect(problemOf(text)).toEqual({ line, column, message: expect.stringMatching(message) })
})

test.for([
  'password: "s3cret\nother: }',
  'password: "\\s3cret"',
  'password: s3cret: s3cret',
  'password: |s3cret\n  a',
  'password: !s3cret a',
  'password: *s3cret',
  'password: @s3cret',
  's3cret: 1\ns3cret: 2',
])('what is wrong is told without the words around it: %s', (text) => {
  expect(problemOf(text).message).not.toContain('s3cret')
})

test.for<[string, string]>([
  ['of nodes', ['a0: &a0 [x]', ...levels(30, (n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}, *a${n}]`)].join('\n')],
  ['of text', [`a0: &a0 ${'x'.repeat(100_000)}`, `b: [${'*a0, '.repeat(1000)}]`].join('\n')],
  [
    'by merges',
    ['a0: &a0 {k: v}', ...levels(30, (n) => `a${n + 1}: &a${n + 1} {p: *a${n}, q: *a${n}, <<: *a${n}}`)].join('\n'),
  ],
  ['over documents', levels(40, () => `a: &a ${'x'.repeat(10_000)}\nb: [${'*a, '.repeat(10)}]\n---\n`).join('')],
])('aliases do not unfold without end: %s', ([, text]) => {
  const before = performance.now()
  expect(problemOf(text).message).toMatch(/^aliases unfold it beyond all measure; /)
  expect(performance.now() - before).toBeLessThan(5_000)
})

test.for<[string, string]>([
  ['brackets', `a: ${'['.repeat(100_000)}`],
  ['closed brackets', `${'['.repeat(400)}${']'.repeat(400)}`],
  ['dashes', `${'- '.repeat(100_000)}x`],
  ['blocks', levels(300, (n) => `${' '.repeat(n)}a:`).join('\n')],
])('nesting is bounded: %s', ([, text]) => {
  const before = performance.now()
  expect(problemOf(text).message).toMatch(/^it is nested beyond all measure; /)
  expect(performance.now() - before).toBeLessThan(5_000)
})

function levels(count: number, line: (level: number) => string): readonly string[] {
  return Array.from({ length: count }, (_, level) => line(level))
}
