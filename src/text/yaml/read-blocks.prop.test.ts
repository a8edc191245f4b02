import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readBlocks } from './read-blocks.ts'
import { readFull } from './read-full.ts'
import { readYaml, withPlainLines } from './read-yaml.ts'

/** What the full reader says, if it can read the text. */
function readSlowly(text: string) {
  const read = readFull(text)
  return 'problem' in read ? undefined : read.documents
}

const scalar = fc.oneof(
  fc.constantFrom(
    '',
    'yes',
    'n',
    '~',
    '0777',
    '1_0',
    '9007199254740993',
    '.5',
    '-',
    '-1',
    '- a',
    'a b',
    'a#b',
    'a #b',
    '#b',
    '"a"',
  ),
  fc.constantFrom(
    "'it''s'",
    '"a\\n\\"b"',
    '"a" # b',
    '"a"b',
    "'a' b",
    '{}',
    '[]',
    '[a]',
    '{a: 1}',
    'a: b',
    'a:',
    'http://a:1',
    '|',
    '|-',
    '|+',
  ),
  fc.constantFrom(
    '>',
    '&a x',
    '*a',
    '!x',
    '@a',
    '<<',
    '?',
    '? a',
    ': a',
    ':a',
    'a  ',
    'é',
    '\u00a0a\u00a0',
    '=',
    '%a',
    'a,b',
    ',a',
    ']',
    '.nan',
    '| # c',
  ),
)
const sign = fc.constantFrom(
  '[',
  ']',
  '{',
  '}',
  ',',
  ', ',
  ': ',
  ':',
  ' ',
  'a',
  '"b"',
  "'c'",
  'on',
  '1',
  'a b',
  '-',
  '#',
  ' #',
  '.inf',
  '"a": ',
)
const flow = fc.array(sign, { maxLength: 9 }).map((signs) => signs.join(''))

test('whatever is between brackets on one line is read as the full reader reads it', () => {
  fc.assert(
    fc.property(flow, fc.constantFrom(['[', ']'], ['{', '}'], ['{a: ', '}']), (inside, [open, close]) => {
      const text = `k: ${open}${inside}${close}\n`
      const fast = readBlocks(text)
      if (fast) expect(readSlowly(text)).toEqual(fast)
    }),
    { numRuns: 4000 },
  )
})

const name = fc.constantFrom(
  'a',
  'b',
  'c',
  'on',
  '"a"',
  "'b'",
  '"d e"',
  'a/b.c',
  '1',
  '<<',
  'a b',
  '-a',
  '__proto__',
  'y',
)
const line = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(name, scalar).map(([key, value]) => `${key}: ${value}`) },
  { weight: 3, arbitrary: name.map((key) => `${key}:`) },
  { weight: 3, arbitrary: scalar.map((value) => `- ${value}`) },
  { weight: 2, arbitrary: fc.tuple(name, scalar).map(([key, value]) => `- ${key}: ${value}`) },
  { weight: 1, arbitrary: fc.tuple(name, scalar).map(([key, value]) => `-   ${key}: ${value}`) },
  { weight: 1, arbitrary: fc.tuple(name, scalar).map(([key, value]) => `- - ${key}: ${value}`) },
  { weight: 2, arbitrary: scalar },
  { weight: 1, arbitrary: fc.constantFrom('', '', '# c', '-', '---', '--- # c', '...', ' ', '  ', '---a') },
)
const indented = fc
  .tuple(fc.constantFrom(0, 0, 0, 2, 2, 4, 1, 3, 6), line)
  .map(([width, text]) => `${' '.repeat(width)}${text}`)
const anyText = fc.array(indented, { maxLength: 7 }).map((lines) => withPlainLines(lines.join('\n')))

test('whatever lines follow each other, what the fast reader reads is what the full one reads', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const fast = readBlocks(text)
      if (fast) expect(readSlowly(text)).toEqual(fast)
    }),
    { numRuns: 4000 },
  )
})

const leaf = fc.oneof(
  fc.tuple(
    fc.constantFrom(
      'yes',
      '0777',
      '1',
      'a b',
      'é',
      '"q"',
      "'s'",
      '{}',
      '[]',
      '[a, "b", [1]]',
      '{a: 1, "b": {c: yes}} # c',
      'a#b',
      '-x',
      'x # c',
    ),
    fc.constant(''),
  ),
  fc.tuple(
    fc.constantFrom('|', '|-', '|+'),
    fc
      .array(fc.constantFrom('one', '  two', '', '# three', 'a: b', '- c'), { minLength: 1, maxLength: 4 })
      .map((lines) => ['first', ...lines].join('\n')),
  ),
)
const tree = fc.letrec<{ node: Written; map: Written; list: Written }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4 },
    leaf.map(([text, below]): Written => ({ text, below: below === '' ? [] : below.split('\n') })),
    tie('map'),
    tie('list'),
  ),
  map: fc
    .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c/d', '"e"', "'f g'"), tie('node')), {
      minLength: 1,
      maxLength: 3,
      selector: ([key]) => key,
    })
    .map(
      (entries): Written => ({
        text: '',
        below: entries.flatMap(([key, { text, below }]) => [`${key}: ${text}`.trimEnd(), ...shifted(below)]),
      }),
    ),
  list: fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map(
    (items): Written => ({
      text: '',
      below: items.flatMap(({ text, below }) => {
        if (text !== '') return [`- ${text}`, ...shifted(below)]
        const [first = '', ...rest] = shifted(below)
        return [`- ${first.trimStart()}`, ...rest]
      }),
    }),
  ),
}))

interface Written {
  readonly text: string
  readonly below: readonly string[]
}

const shifted = (lines: readonly string[]) => lines.map((text) => (text === '' ? '' : `  ${text}`))

test('what people write is read by the fast reader, and as the full one reads it', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(tree.map, tree.list), { maxLength: 3 }), (documents) => {
      const text = withPlainLines(documents.map(({ below }) => below.join('\n')).join('\n--- # next\n'))
      const fast = readBlocks(text)
      expect(fast).toBeDefined()
      expect(readSlowly(text)).toEqual(fast)
    }),
    { numRuns: 500 },
  )
})

test('no text makes it throw', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), anyText, fc.string({ unit: fc.constantFrom(...'a:-[]{},"\'|>&*!?#\n  \t'.split('')) })),
      (text) => {
        readYaml(text)
      },
    ),
    { numRuns: 2000 },
  )
})

test('a thousand small files are read in no time', () => {
  const file = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\ndata:\n  a: "1"\n  b: |\n    c\n    d\n'
  const milliseconds = [1, 2, 3].map(() => {
    const before = process.cpuUsage()
    for (let count = 0; count < 1000; count += 1) readYaml(file)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  expect(Math.min(...milliseconds)).toBeLessThan(150)
})
