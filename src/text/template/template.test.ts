import { describe, expect, test } from 'vitest'
import goldens from './goldens.json' with { type: 'json' }
import { readTemplate, renderTemplate } from './template.ts'

/** The text, or the problem, of a template that is read and rendered. */
function outcome(text: string, data: unknown): { readonly text?: string; readonly problem?: string } {
  const { template, problem } = readTemplate(text)
  if (!template) return { problem: problem.message }
  const rendered = renderTemplate(template, data)
  return rendered.problem ? { problem: rendered.problem.message } : { text: rendered.text }
}

describe('what Go makes of the same template and data', () => {
  const data: Readonly<Record<string, unknown>> = goldens.data

  test('is there for several hundred of them', () => {
    expect(goldens.cases.length).toBeGreaterThan(500)
    expect(goldens.cases.filter(([, , text]) => text === null).length).toBeGreaterThan(100)
  })

  test.each(goldens.cases)('%j with %s', (template, name, text) => {
    const { problem, ...rendered } = outcome(template ?? '', data[name ?? ''])
    // Go's own words for a fault are not ours, but what is a fault for it is one for us.
    expect(rendered, problem).toEqual(text === null ? {} : { text })
    if (text === null) expect(problem).toMatch(/^line \d+, column \d+: /)
  })
})

describe('a fault is told with its place and what to write instead', () => {
  test.each([
    [
      'a\n  {{ upper .Node }}',
      'line 2, column 6: there is no function upper; a field has a point before it, as .upper',
    ],
    ['{{ Node }}', 'line 1, column 4: there is no function Node; a field has a point before it, as .Node'],
    ['{{ call .Node }}', 'line 1, column 4: there is no function call;'],
    ['ä {{ .Node', 'line 1, column 3: these braces are not closed; write }} behind the action'],
    ['{{ (print 1 }}', 'line 1, column 4: this ( is not closed; write ) before }}'],
    ['{{ print 1) }}', 'line 1, column 11: this ) closes nothing; take it away'],
    ['{{ "a }}', 'line 1, column 4: this text in quotes does not end on its line; close it'],
    ['{{ "\\q" }}', 'line 1, column 4: \\q is no escape; write \\\\ for a backslash'],
    ['{{ 08 }}', "line 1, column 4: '08' is no number; write one such as 3, -1.5 or 0x1f"],
    ['{{ .Node+1 }}', "line 1, column 9: '.Node' is followed by '+'; put a space between them"],
    ['{{ & }}', "line 1, column 4: '&' means nothing here"],
    ['{{/* a', 'line 1, column 1: this comment does not end; write */}} behind it'],
    ['{{/* a */ .Node }}', 'line 1, column 1: a comment fills its braces alone; write {{/* like this */}}'],
    ['{{ if .Node }}\nyes', 'line 1, column 4: this if does not end; write {{end}} behind it'],
    ['yes\n{{ end }}', 'line 2, column 4: end closes nothing; take it away, or open an if before it'],
    ['{{ if 1 }}{{ else }}{{ else }}{{ end }}', 'line 1, column 24: this is a second else; one stands before {{end}}'],
    ['{{ range .L }}{{ else if 1 }}{{ end }}', 'line 1, column 23: else if does not fit range; write {{else}}{{if …}}'],
    ['{{ if }}{{ end }}', 'line 1, column 7: if has no value; write one'],
    ['{{ .Node | }}', 'line 1, column 12: nothing follows |; write a function'],
    ['{{ $x }}', 'line 1, column 4: there is no variable $x here; make it with {{$x := …}}'],
    ['{{ $x = 1 }}', 'line 1, column 4: there is no variable $x here; make it with {{$x := …}}'],
    ['{{ break }}', 'line 1, column 4: break stands outside of a range; take it away'],
    ['{{ template "a" }}', 'line 1, column 4: there is no template \'a\'; write {{define "a"}} … {{end}}'],
    ['{{ template a }}', 'line 1, column 13: template has no name; write it in quotes, as {{template "footer" .}}'],
    ['{{ end x }}', "line 1, column 8: 'x' is too much; write {{end}} alone"],
    ['{{ printf "%T" 1 }}', "line 1, column 4: printf does not know '%T'; it knows v, s, q, d, t, f, g, x, X and c"],
    ['{{ printf "%*d" 1 }}', "line 1, column 4: printf does not know '%*d'; write the number itself"],
    ['{{ eq 1 "1" }}', 'line 1, column 4: int and string cannot be compared;'],
    ['{{ len 3 }}', 'line 1, column 4: len of int; only texts, lists and maps have a length'],
    ['{{ not 1 2 }}', 'line 1, column 4: not takes 1 arguments and got 2'],
    ['\n{{ .Node.First }}', 'line 2, column 4: .First is asked of string, which has no fields'],
    ['{{ index .Missing 0 }}', 'line 1, column 4: the value is missing; ask for it with if before'],
  ])('%j', (template, message) => {
    expect(outcome(template, { Node: 'node-7' }).problem).toContain(message)
  })
})

describe('a template cannot take for ever or more than its share', () => {
  test.each([
    ['a long loop', '{{range 1000000}}{{end}}', 'this takes too long; range over less'],
    ['loops in loops', '{{range 1000}}{{range 1000}}{{$x := .}}{{end}}{{end}}', 'this takes too long'],
    ['a long text', '{{range 9000}}aaaaa{{end}}', 'longer than 16384 characters; say less'],
    ['a text that doubles', '{{$x := "aaaa"}}{{range 99}}{{$x = print $x $x}}{{end}}', 'longer than 16384 characters'],
    ['much text that is thrown away', '{{range 9999}}{{$x := printf "%999d" 1}}{{end}}', 'this takes too long'],
    ['a wide column', '{{printf "%999999999d" 1}}', 'is wider than 1000 characters'],
    [
      'a part that calls itself',
      '{{define "a"}}{{template "a"}}{{end}}{{template "a"}}',
      'calls itself without an end',
    ],
    ['deep nesting', '{{if 1}}'.repeat(200) + '{{end}}'.repeat(200), 'more than 100 levels deep; make it flatter'],
    ['many parentheses', `{{${'('.repeat(200)}1${')'.repeat(200)}}}`, 'more than 100 levels deep'],
    ['long chains of else if', `{{if 0}}${'{{else if 0}}'.repeat(200)}{{end}}`, 'more than 100 levels deep'],
  ])('%s', (_name, template, message) => {
    expect(outcome(template, {}).problem).toContain(message)
  })
})

test('keys that every JavaScript object has are missing like others', () => {
  expect(outcome('{{.constructor}} {{.__proto__}} {{index . "toString"}}', {}).text).toBe(
    '<no value> <no value> <no value>',
  )
})
