import { expect, test } from 'vitest'
import { errorsIn, intervals, load, readAs, warningsIn } from './fixture-registry.ts'
import { readTree } from './yaml-tree.ts'

const list = (text: string) => load(`${intervals}${text}\n`).config?.labelFilter

test('of keys that are there twice, the last one counts', () => {
  const loaded = load(`${intervals}dashboard: {labelFilter: [a]}\ndashboard: {labelFilter: [b]}\n`)
  expect(loaded.config?.labelFilter).toEqual(['b'])
  expect(warningsIn(loaded)).toEqual(['the key is there twice, and the last one counts; leave the other out'])
})

test('only the first document counts, whatever comes behind it', () => {
  const loaded = load(`${intervals}---\n\t: {\n`)
  expect(loaded.config?.requeueMs).toBe(60_000)
  expect(warningsIn(loaded)).toEqual(['a second document begins here, and only the first one counts; leave it out'])
  expect(errorsIn(load(`---\n---\n${intervals}`))).toEqual([expect.stringMatching(/^it is missing; /)])
  expect(load(`--- # one\n${intervals}...\n`).problems).toEqual([])
})

test.for<[string, string, readonly string[]]>([
  ['an alias', 'a: &x [k, l]\ndashboard: {labelFilter: *x}', ['k', 'l']],
  ['a merge', 'a: &x {labelFilter: [k]}\ndashboard: {<<: *x}', ['k']],
  ['a merge below', 'a: &x {labelFilter: [k]}\ndashboard: {labelFilter: [l], <<: *x}', ['k']],
  ['a merge above', 'a: &x {labelFilter: [k]}\ndashboard: {<<: *x, labelFilter: [l]}', ['l']],
  ['two merges', 'a: &x {labelFilter: [k]}\nb: &y {labelFilter: [l]}\ndashboard: {<<: [*x, *y]}', ['k']],
])('%s is followed', ([, text, keys]) => {
  expect(list(text)).toEqual(keys)
})

test.for<[string, string, RegExp]>([
  ['a number as key', '1: x', /^the key here is not text: it means 1 in YAML 1\.1; put the key in quotes$/],
  ['a word that is a boolean as key', 'on: x', /^the key here is not text: it means true /],
  ['nothing as key', '~: x', /^the key here is not text: it means null /],
  ['a list as key', '? [a]\n: x', /^the key here is not text: it is a list/],
  ['a tab', 'a:\n\tb: 1', /^it is not YAML: /],
  ['a bracket without end', 'a: [', /^it is not YAML: /],
  ['an unknown alias', 'a: *nobody', /^no anchor of this name stands before the alias/],
  ['an alias of itself', 'a: &a [*a]', /^no anchor of this name stands before the alias/],
  ['a merge of a text', '<<: x', /^<< takes a mapping or a list of mappings/],
])('%s is a mistake', ([, text, message]) => {
  const loaded = load(`${intervals}${text}\n`)
  expect(loaded.config).toBeUndefined()
  expect(errorsIn(loaded)[0]).toMatch(message)
})

test('a key in quotes may be any text', () => {
  expect(errorsIn(load(`${intervals}'1': x\n"on": y\n`))).toEqual([])
})

test.for<[string, RegExp]>([
  ['abc', /^the file is a single value; write a mapping with intervals, /],
  ['5', /^the file is a single value; /],
  ['[a]', /^the file is a list; /],
  ['', /^it is missing; /],
  ['# nothing', /^it is missing; /],
  ['null', /^it is missing; /],
])('a file that is %j', ([text, message]) => {
  const loaded = load(text)
  expect(loaded.config).toBeUndefined()
  expect(errorsIn(loaded)).toEqual([expect.stringMatching(message)])
})

test('what is no YAML is told without the words around it', () => {
  const loaded = load('password: "s3cret\nother: }')
  expect(loaded.problems.length).toBeGreaterThan(0)
  expect(JSON.stringify(loaded.problems)).not.toContain('s3cret')
})

test('texts over several lines are joined, kept or folded as YAML says', () => {
  expect(readAs('text', 'a\n        b')).toBe('a b')
  expect(readAs('text', '|\n        a\n        b')).toBe('a\nb\n')
  expect(readAs('text', '>-\n        a\n        b')).toBe('a b')
})

test('aliases of aliases do not unfold without end', () => {
  const bomb = [
    'a0: &a0 [x]',
    ...Array.from({ length: 30 }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}, *a${n}]`),
  ]
  expect(errorsIn(load(`${intervals}${bomb.join('\n')}\n`))).toEqual([
    'aliases unfold it beyond all measure; write it without them',
  ])
})

test('every value knows its line and column', () => {
  const { root } = readTree('a:\n  - b: "x y"\n    c: |\n      z\n')
  expect(root).toMatchInlineSnapshot(`
    {
      "at": {
        "column": 1,
        "line": 1,
      },
      "entries": Map {
        "a" => {
          "at": {
            "column": 1,
            "line": 1,
          },
          "value": {
            "at": {
              "column": 3,
              "line": 2,
            },
            "items": [
              {
                "at": {
                  "column": 5,
                  "line": 2,
                },
                "entries": Map {
                  "b" => {
                    "at": {
                      "column": 5,
                      "line": 2,
                    },
                    "value": {
                      "at": {
                        "column": 8,
                        "line": 2,
                      },
                      "kind": "scalar",
                      "textAt": {
                        "column": 9,
                        "line": 2,
                      },
                      "value": "x y",
                    },
                  },
                  "c" => {
                    "at": {
                      "column": 5,
                      "line": 3,
                    },
                    "value": {
                      "at": {
                        "column": 8,
                        "line": 3,
                      },
                      "kind": "scalar",
                      "value": "z
    ",
                    },
                  },
                },
                "kind": "map",
              },
            ],
            "kind": "list",
          },
        },
      },
      "kind": "map",
    }
  `)
})

test.for<[string, string]>([
  [`"Don\\'t panic"`, "Don't panic"],
  [`"\\'\\\\'\\\\\\' \\x41"`, `'\\'\\' A`],
  [`"Don\\'t\n  panic"`, "Don't panic"],
])('a single quote may be escaped: %s', ([written, value]) => {
  expect(readAs('text', written)).toBe(value)
})

test('a single quote may be escaped in a key, and nothing else that is no escape may be', () => {
  expect(warningsIn(load(`${intervals}"a\\'b": 1\n`))).toHaveLength(1)
  expect(load(`${intervals}"a\\'b": 1\n`).problems[0]?.path).toBe("a'b")
  expect(load(`${intervals}a: "Don\\'t"\nb: "\\d"\n`).problems).toMatchObject([{ line: 3, severity: 'error' }])
})

test('a comment may stand right behind a quote, a bracket or a comma', () => {
  expect(readAs('text', '"k"#why')).toBe('k')
  expect(readAs('texts', '[a,#c\n  b]#d')).toEqual(['a', 'b'])
  expect(errorsIn(load(`intervals: {requeue: 1m}#c\ndashboard: {labelFilter: "a"#c\n}\n`))).toEqual([])
})

test('a CR alone ends a line', () => {
  expect(load('intervals:\r\n  requeue: 1m\r').config?.requeueMs).toBe(60_000)
  expect(load('intervals:\r\r\n  requeue: 1m\r\r\n').config?.requeueMs).toBe(60_000)
  expect(load('intervals: {requeue: 1m}\rmore: 1\r').problems).toMatchObject([{ line: 2, column: 1, path: 'more' }])
})

test.for<[string, BufferEncoding, boolean]>([
  ['little', 'utf16le', false],
  ['big', 'utf16le', true],
])('a file in UTF-16 of %s end is told what it is', ([, encoding, isSwapped]) => {
  const bytes = Buffer.from(`\uFEFF${intervals}`, encoding)
  const text = (isSwapped ? bytes.swap16() : bytes).toString('utf8')
  expect(load(text).problems).toEqual([
    { severity: 'error', line: 1, column: 1, path: '', message: 'it is stored as UTF-16; store it as UTF-8' },
  ])
})
