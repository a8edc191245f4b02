import { beforeAll, expect, test } from 'vitest'
import { controlPlaneProgram, places } from '../../src/dev/index.ts'
import { run } from '../../src/host/index.ts'
import { readYaml, type YamlValue } from '../../src/text/index.ts'

/** The server knows nothing of this kind, so kubectl keeps every value as it read it. */
const of = (data: string) => `apiVersion: example.invalid/v1\nkind: Awkward\nmetadata:\n  name: x\n${data}\n`
const values = (...texts: string[]) => of(`data:\n${texts.map((text, index) => `  k${index}: ${text}`).join('\n')}`)
const keys = (...texts: string[]) => of(`data:\n${texts.map((text) => `  ${text}: v`).join('\n')}`)
const two = (one: string, other: string) => `${of('data: 1')}${one}${of('data: 2')}${other}`
const head = '"apiVersion": "example.invalid/v1", "kind": "Awkward", "metadata": {"name": "x"}'
const json = (indent: string) =>
  JSON.stringify({ ...(JSON.parse(`{${head}}`) as object), data: { a: [1, { b: 'c' }] } }, null, indent)

type Case = readonly [name: string, text: string]

const readAlike: readonly Case[] = [
  [
    'words for true and false',
    values(...'y Y yes Yes YES true True TRUE on On ON n N no No NO false False FALSE off Off OFF'.split(' ')),
  ],
  ['words that look like them', values(...'yEs oN tRUE nO t f T F Yes! yes-no truefalse "yes" \'no\''.split(' '))],
  ['nothing', values('', '~', 'null', 'Null', 'NULL', 'nULL', '""', "''", '"~"', 'nil', 'None')],
  [
    'octal numbers',
    values('0777', '0644', '-0777', '+0777', '0o17', '0O17', '0o', '08', '0999', '00', '0', '-0', '007.5', '0_7'),
  ],
  [
    'hexadecimal and binary numbers',
    values(
      '0x1F',
      '0XfF',
      '-0x10',
      '0b11',
      '-0b11',
      '0B1',
      '0b12',
      '0xg',
      '0x',
      '0x_1',
      '0xFFFFFFFFFFFFFFFF',
      '0x7FFFFFFFFFFFFFFF',
    ),
  ],
  [
    'large numbers',
    values('9007199254740991', '9007199254740993', '-9007199254740993', '9223372036854775807', '-9223372036854775808'),
  ],
  [
    'larger numbers',
    values(
      '9223372036854775808',
      '18446744073709551615',
      '18446744073709551616',
      '123456789012345678901234567890',
      '-9223372036854775809',
      '+9223372036854775808',
    ),
  ],
  [
    'underscores',
    values(
      '1_000',
      '1__0',
      '1_',
      '_1',
      '-_1',
      '1_000.5',
      '1_e3',
      '.5_0',
      '0x1_F',
      '+_',
      '1_a',
      '9_007_199_254_740_993',
    ),
  ],
  ['underscores behind a point', values('.5_0', '.5__0', '.5_', '._5', '.5e1_0', '.5_e1', '.5e_1')],
  [
    'fractions',
    values(
      '1.0',
      '1.50',
      '.5',
      '-.5',
      '+.5',
      '5.',
      '1e3',
      '1E3',
      '1e+3',
      '1e-3',
      '1.5e300',
      '1e400',
      '-1e400',
      '1e-400',
      '0.1',
      '-0.0',
      '1e18',
      '1e21',
      '1e-7',
      '.e3',
      '.',
      '1.2.3',
      '1e',
      '123456789.123456789',
    ),
  ],
  ['base sixty', values('12:30', '1:2:3', '12:30:45', '-1:30', '190:20:30.15')],
  [
    'dates',
    values('2024-01-01', '2024-01-01T00:00:00Z', '2024-01-01 10:00:00', '2001-12-14t21:59:43.10-05:00', '2024-1-1'),
  ],
  ['signs', values('+', '-1', '+1', '--1', '+-1', '1-1', '1+1', '-a', '+a')],
  ['merge sign as a value', values('<<')],
  ['equals sign as a value', values('=', '==', '=a')],
  [
    'quoted',
    values(
      '"a\\tb\\n\\u00e9\\x41\\"\\\\"',
      "'it''s'",
      '"1"',
      "'1'",
      '"a # b"',
      "'a: b'",
      '"\\0\\a\\b\\e\\v\\r\\N\\_\\L\\P"',
    ),
  ],
  ['escaped wide character', values('"\\U0001F600"')],
  ['comments', values('a # b', 'a#b', '"a" # b', '# b', 'a  #', 'http://a/#b')],
  ['colons', values('a:b', 'http://a:80/b', 'a::b', ':a', '"a: b"')],
  ['indicators', values('a,b', 'a]b', 'a}b', 'a{b', '?a', 'a?', 'a!b', 'a&b', 'a*b', 'a|b', '<a', 'a@b', 'a%b')],
  [
    'texts over lines',
    of('data:\n  a: one\n    two\n\n    three\n  b: "one\n    two\\\n    three\n\n    four"\n  c: \'one\n\n    two\''),
  ],
  [
    'literal texts',
    of(
      'data:\n  a: |\n    one\n      two\n\n    three\n\n  b: |-\n    one\n  c: |+\n    one\n\n  d: |2\n      one\n  e: |\n\n    one\n  f: |-\n\n  g: |\n    # no comment\n  # comment\n  h: |  # comment\n    one',
    ),
  ],
  [
    'folded texts',
    of(
      'data:\n  a: >\n    one\n    two\n\n    three\n      four\n    five\n  b: >-\n    one\n  c: >+\n    one\n\n  d: x',
    ),
  ],
  ['literal text at the end without a line end', of('data:\n  a: |\n    one').trimEnd()],
  ['kept text at the end', of('data:\n  a: |+\n    one\n\n\n')],
  ['literal text with blanks at ends', of('data:\n  a: |\n    one  \n     \n      \n    two\n   \n  b: 1')],
  ['literal text in a list', of('data:\n- |\n  one\n- |-\n   two\n-\n  three\n- - |\n    four')],
  ['literal text with dashes', of('data:\n  a: |\n    ---\n    ...\n  b: 1')],
  [
    'lists',
    of(
      'data:\n  a:\n  - 1\n  -  two\n  -\n  - - 3\n    - 4\n  - b: 1\n    c: 2\n  -   d: 1\n      e: 2\n  f:\n    - 1',
    ),
  ],
  ['flow', of('data: {a: [1, two, "3", [4]], b: {c: d, e}, f: [], g: {}, "h":1, i: [a: 1, b], j: [x,],}')],
  ['flow over lines', of('data: {\n    a: [\n      1,\n      2\n    ],\n    b: c\n  }')],
  ['flow that ends at the margin', of('data: {\n  a: 1\n}')],
  ['flow without blanks', of('data: {a:1,b: 2,c:d}')],
  ['anchors and aliases', of('data:\n  a: &a {b: 1}\n  c: *a\n  d: &s text\n  e: [*s, *a]\n  f: &n\n  g: *n')],
  ['anchor defined twice', of('data:\n  a: &a 1\n  b: *a\n  c: &a 2\n  d: *a')],
  ['merge', of('data:\n  a: &a {x: 1, z: 2}\n  b: {<<: *a, z: 3}\n  c: {<<: *a}')],
  ['merge below', of('data:\n  a: &a {x: 1, z: 2}\n  b: {x: 3, <<: *a}')],
  ['merge of a list', of('data:\n  a: &a {x: 1}\n  b: &b {x: 2, z: 3}\n  c: {<<: [*a, *b]}')],
  ['merge of a mapping', of('data:\n  b:\n    <<: {x: 1}\n    z: 2')],
  ['two merges', of('data:\n  a: &a {x: 1}\n  b: &b {x: 2}\n  c:\n    <<: *a\n    <<: *b')],
  ['merge in quotes', of('data:\n  "<<": x')],
  ['number keys', keys('1', '0x10', '010', '-1', '1_000', '9007199254740993', '2.5', '12:30', '2024-01-01')],
  ['true and false as keys', keys('true', 'false', '"yes"', "'n'")],
  ['empty key in quotes', keys('""')],
  ['explicit keys', of('data:\n  ? a\n  : b\n  ? c')],
  ['keys with blanks and signs', keys('a b', 'a/b.c-d_e', '"a: b"', "'a # b'", 'a#b', 'a,b', '-a', 'ä', 'a"b')],
  ['key with a blank before its colon', of('data:\n  a : 1\n  "b" : 2')],
  ['tags', values('!!str 1', '!!str yes', '!!str')],
  ['collection tags', of('data: !!map {a: !!seq [1]}')],
  ['two documents', two('---\n', '')],
  ['documents with comments', `# one\n---\n# two\n${two('--- # three\n# four\n---\n', '---\n# five\n---\n')}`],
  ['document that is null', two('---\nnull\n---\n', '')],
  ['document end', `${of('data: 1')}...\n`],
  ['document end and start', two('...\n---\n', '')],
  ['byte order mark', `\ufeff${of('data: 1')}`],
  ['carriage returns', of('data:\n  a: |\n    one\n    two\n  b: x').replaceAll('\n', '\r\n')],
  ['tab before a value', of('data:\n  a:\tb\n  c: d\t\n  e: f\t# g\n  h: a\tb')],
  ['wide characters', of('data: 😀é\u00a0\n')],
  ['value twice', of('data: a "b"')],
  [
    'JSON',
    `{${head}, "data": {"a": 9007199254740993, "b": [1.0, -0, 1e3, true, null], "c": "\\u00e9\\/\\n", "on": "off"}}`,
  ],
  ['JSON indented', json('  ')],
  ['JSON with tabs', json('\t')],
  ['JSON with a pair of halves', `{${head}, "data": "\\ud83d\\ude00"}`],
  ['JSON at the margin', `{\n${head},\n"data": {\n"a": [\n1\n]\n}\n}\n`],
  ['JSON documents', `{${head}, "data": 1}\n---\n{${head}, "data": 2}\n`],
  ['JSON then YAML', `{${head}, "data": 1}\n---\n${of('data: yes')}`],
  ['YAML in braces', `{${head}, data: {a: yes, b: 0777}}`],
]

/** kubectl drops or renames something in silence, or the notation is not worth its code. */
const refusedHere: readonly Case[] = [
  ['escaped apostrophe', values('"\\\'"')],
  ['flow with lines at the margin', of('data: {\na: 1\n}')],
  ['alias as a key', of('data:\n  a: &a k\n  *a : v')],
  ['fraction keys', keys('3.14159265', '1e7', '1.0')],
  ['infinite key', keys('.inf')],
  ['prototype key', keys('__proto__', 'constructor')],
  ['key twice', of('data:\n  a: 1\n  a: 2')],
  ['key twice in two notations', of('data:\n  1: a\n  "1": b')],
  ['untyped tag', values('! 1')],
  ['number tag', values('!!int "1"', '!!float 1')],
  ['binary tag', values('!!binary aGk=')],
  ['unknown tag', values('!mine 1')],
  ['set tag', of('data: !!set {a, b}')],
  ['document after an end', two('...\n', '')],
  ['byte order mark within', of('data: a\ufeffb')],
  ['line separators', of('data: "a\u2028b"')],
  ['JSON, two of them', `{${head}, "data": 1}\n{${head}, "data": 2}\n`],
  ['JSON with a key twice', `{${head}, "data": {"a": 1, "a": 2}}`],
  ...['y', 'N', 'yes', 'No', 'on', 'OFF', 'True', 'FALSE'].map((word): Case => [`the key ${word}`, keys(word)]),
]

const refusedByBoth: readonly Case[] = [
  ['not a number', values('.nan')],
  ['not finite', values('-.inf')],
  ['escaped half', values('"\\ud83d"')],
  ['unknown escape', values('"\\q"')],
  ['colon and blank', values('a: b')],
  ['at sign first', values('@a')],
  ['backtick first', values('`a`')],
  ['percent first', values('%a')],
  ['alias of itself', of('data:\n  a: &a [*a]')],
  ['alias of what it is in', of('data:\n  a: &a 1\n  b: &a [*a]')],
  ['alias without anchor', of('data:\n  a: *b')],
  ['merge of a text', of('data:\n  <<: x')],
  ['merge of nothing', of('data:\n  a: {<<: null}')],
  ['large number key', keys('18446744073709551615')],
  ['nothing as key', keys('~')],
  ['empty key', of('data:\n  : v')],
  ['list as key', of('data:\n  ? [a]\n  : v')],
  ['content behind the start', `${of('data: 1')}--- {${head}, data: 2}\n`],
  ['content behind the first start', `--- {${head}, data: 2}\n`],
  ['directive', `%YAML 1.1\n---\n${of('data: 1')}`],
  ['tab as indent', of('data:\n\ta: 1')],
  ['next line', of('data: a\u0085b')],
  ['control character', of('data: a\u0007b')],
  ['wrong indent', of('data:\n  a: 1\n b: 2')],
  ['open quote', of('data: "a')],
  ['open bracket', of('data: [a')],
  ['text and a mapping', of('data: a\n  b: 1')],
  ['text behind quotes', of('data: "a" b')],
  ['list where a mapping is', of('data:\n  a: 1\n  - b')],
]

/** They have one meaning only, by the newer YAML or by JSON. */
const refusedByKubectl: readonly Case[] = [
  ['escaped slash', values('"\\/"')],
  ['escaped pair of halves', values('"\\ud83d\\ude00"')],
  ['literal text with tabs', of('data:\n  a: |\n    \tone\n    two\t\n')],
  ['tab on an empty line', of('data:\n  a: 1\n\t\n  b: 2')],
  ['tab behind a dash', of('data:\n-\ta\n-\tb')],
]

let program = ''

beforeAll(async () => {
  program = await controlPlaneProgram({ working: () => undefined, finished: () => undefined }, places())
})

/** What kubectl read, without asking a server; undefined if it refused. */
async function readByKubectl(text: string): Promise<readonly unknown[] | undefined> {
  const argv = [program, 'kubectl', '--kubeconfig', '/dev/null', 'label', '--local', '--filename=-', '--output=json']
  const { code, stdout } = await run([...argv, 'seen=yes'], { input: text })
  if (code !== 0) return undefined
  const objects = stdout.split(/^(?=\{)/m).map((one) => exactJson(one) as { readonly data?: unknown })
  return objects.map(({ data }) => data)
}

/** Large whole numbers as texts, so that no digit is lost. */
function exactJson(text: string): unknown {
  return JSON.parse(text.replace(/^(\s*(?:"[^"]*": )?)(-?\d{16,})(,?)$/gm, '$1"number $2"$3'))
}

function exact(value: YamlValue): unknown {
  if (typeof value === 'bigint') return `number ${value}`
  if (typeof value === 'number' && /^-?\d{16,}$/.test(JSON.stringify(value))) return `number ${JSON.stringify(value)}`
  if (Array.isArray(value)) return value.map((item: YamlValue) => exact(item))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, below]) => [name, exact(below)]))
}

function readHere(text: string): readonly unknown[] | undefined {
  const read = readYaml(text)
  if ('problem' in read) return undefined
  return read.documents.map(({ value }) => (exact(value) as { readonly data?: unknown }).data)
}

test.for(readAlike)('kubectl reads the same: %s', async ([, text]) => {
  const seen = await readByKubectl(text)
  expect(seen).toBeDefined()
  expect(readHere(text)).toEqual(seen)
})

test.for(refusedHere)('kubectl reads it, and here it is refused: %s', async ([, text]) => {
  expect(await readByKubectl(text)).toBeDefined()
  expect(readHere(text)).toBeUndefined()
})

test.for(refusedByBoth)('both refuse: %s', async ([, text]) => {
  expect(await readByKubectl(text)).toBeUndefined()
  expect(readHere(text)).toBeUndefined()
})

test.for(refusedByKubectl)('only kubectl refuses: %s', async ([, text]) => {
  expect(await readByKubectl(text)).toBeUndefined()
  expect(readHere(text)).toBeDefined()
})
