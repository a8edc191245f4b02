import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readTemplate, renderTemplate } from './template.ts'

/** Pieces that fit together often enough to get behind the parser. */
const piece = fc.constantFrom(
  ...['{{', '}}', '{{- ', ' -}}', ' ', '\n', '|', '(', ')', '.', '.a', '.b.c', '$', '$x', ':=', '=', ',', '/*', '*/'],
  ...['if ', 'else', 'end', 'with ', 'range ', 'break', 'define ', 'template ', 'block ', '{{end}}', '{{else}}'],
  ...[
    'printf ',
    'print ',
    'index ',
    'slice ',
    'eq ',
    'lt ',
    'and ',
    'or ',
    'not ',
    'len ',
    'html ',
    'urlquery ',
    'js ',
  ],
  ...[
    '"%s %d %q %x %5.2f"',
    '"a"',
    '"%999v"',
    '`x`',
    "'y'",
    '1',
    '-2',
    '3.5',
    '1e9',
    '0x1f',
    'nil',
    'true',
    'text',
    'ä😀',
  ],
)
const action = fc.array(piece, { maxLength: 8 }).map((pieces) => `{{${pieces.join('')}}}`)
const template = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.array(fc.oneof(piece, action), { maxLength: 25 }).map((pieces) => pieces.join('')),
  fc.tuple(action, action).map(([one, other]) => `{{range .}}${one}{{end}}{{with .a}}${other}{{else}}${one}{{end}}`),
)
const data = fc.oneof(
  fc.jsonValue(),
  fc.record({ a: fc.jsonValue(), b: fc.record({ c: fc.string({ unit: 'binary' }) }) }),
)

test('whatever the template and the data, there is a bounded text or a problem with its place, twice the same', () => {
  let rendered = 0
  fc.assert(
    fc.property(template, data, (text, facts) => {
      const read = readTemplate(text)
      if (!read.template) return isPlaced(read.problem.line, text)
      const first = renderTemplate(read.template, facts)
      expect(renderTemplate(read.template, facts)).toEqual(first)
      if (first.problem) return isPlaced(first.problem.line, text)
      rendered++
      return first.text.length <= 16_384 && Buffer.from(first.text).toString() === first.text
    }),
    { numRuns: 5_000 },
  )
  expect(rendered).toBeGreaterThan(500)
})

const isPlaced = (line: number, text: string) => line >= 1 && line <= text.split('\n').length

test('a text without braces is rendered as it is', () => {
  const plain = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('{{'))
  fc.assert(
    fc.property(plain, (text) => {
      const { template } = readTemplate(text)
      return template !== undefined && renderTemplate(template, {}).text === text
    }),
  )
})

test('a text in quotes is rendered as it was before it was quoted', () => {
  const quoted = (text: string) => `{{printf "%q" .}}|{{${JSON.stringify(text)}}}`
  // JSON and Go quote these alike.
  const plain = fc.string({ unit: 'grapheme-ascii' }).filter((text) => !text.includes('\x7f'))
  fc.assert(
    fc.property(plain, (text) => {
      const { template } = readTemplate(quoted(text))
      return template !== undefined && renderTemplate(template, text).text === `${JSON.stringify(text)}|${text}`
    }),
  )
})

test('maps are shown and walked through in the order of their keys, however they were made', () => {
  const { template } = readTemplate('{{range $k, $v := .}}{{$k}}={{$v}} {{end}}{{.}}')
  fc.assert(
    fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.nat()), fc.nat(), (map, turn) => {
      if (!template) return false
      const entries = Object.entries(map)
      const turned = Object.fromEntries([...entries.slice(turn % 7), ...entries.slice(0, turn % 7)])
      return renderTemplate(template, map).text === renderTemplate(template, turned).text
    }),
  )
})
