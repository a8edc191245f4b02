import { expect, test } from 'vitest'
import { Lexer } from 'yaml'
import { errorsIn, intervals, load, readAs, warningsIn } from './fixture-registry.ts'
import { readTree } from './yaml-tree.ts'

/** The key of a field stands at column 6 of the file. */
const columns = [0, 1, 3, 4, 5, 6, 7, 10].map((column) => ' '.repeat(column))

test('the package still has the parts that are made lenient', () => {
  for (const name of ['parseQuotedScalar', 'parseFlowCollection']) expect(Lexer.prototype).toHaveProperty(name)
  expect(new Lexer()).toHaveProperty('indentNext', 0)
})

test.for(columns)('a quoted text goes on after %j, and may end there', (left) => {
  expect(readAs('text', `"a &&\n${left}b"`)).toBe('a && b')
  expect(readAs('text', `'it''s\n${left}b'`)).toBe("it's b")
  expect(readAs('text', `"\n        Node {{ .Node.Name }} needs you.\n${left}"`)).toBe(
    ' Node {{ .Node.Name }} needs you. ',
  )
})

test.for(columns)('a list or a mapping in brackets goes on after %j, and may end there', (left) => {
  expect(readAs('texts', `[\n${left}monday, "tue\n${left}sday",\n${left}wed\n${left}nesday\n${left}]`)).toEqual([
    'monday',
    'tue sday',
    'wed nesday',
  ])
  expect(load(`${left}intervals: {\n${left}requeue: 1m\n}\n`).config?.requeueMs).toBe(60_000)
})

test('what a text holds is no key, even where a key could stand', () => {
  const text = `${intervals}instances:
  check:
  - type: see
    name: a
    config:
      text: "is \\"in maintenance\\"
    until: tomorrow"
      flag: true
`
  const loaded = load(text)
  expect(loaded.made).toMatchObject([{ text: 'is "in maintenance" until: tomorrow', flag: true }])
  expect(warningsIn(loaded)).toEqual(['no profile uses a; leave it out, or name it in a chain'])
})

test('keys behind such a text and such a list are those of the same mapping, and know their lines', () => {
  const { root } = readTree('a:\n  b: "x\ny"\n  c: [\nz\n]\n  d: 1\ne: 2\n')
  const a = root?.kind === 'map' ? root.entries.get('a') : undefined
  const below = a?.value.kind === 'map' ? [...a.value.entries] : []
  expect(below.map(([key, { at, value }]) => [key, at.line, at.column, value.at.column])).toEqual([
    ['b', 2, 3, 6],
    ['c', 4, 3, 6],
    ['d', 7, 3, 6],
  ])
  expect(root?.kind === 'map' ? root.entries.get('e')?.at : undefined).toEqual({ line: 8, column: 1 })
})

test('a new document ends neither a quote nor a bracket unnoticed', () => {
  expect(errorsIn(load(`${intervals}a: "x\n--- \ny"\n`))[0]).toMatch(/^it is not YAML: /)
  expect(errorsIn(load(`${intervals}a: [x,\n---\ny]\n`))[0]).toMatch(/^it is not YAML: /)
})

test.for<[string, number]>([
  ['a: "x\nb: 1\nc: 2\nd: "y"\n', 2],
  ['a:\n  b: [x\nc: 1\nd: [y]\n', 4],
])(
  'a quote or bracket that is not closed in %j is told where its line ends, and not where the next one stands',
  ([text, line]) => {
    const [problem] = load(`${intervals}${text}`).problems
    expect(problem).toMatchObject({ severity: 'error', line })
  },
)
