import { describe, expect, test } from 'vitest'
import { goTime } from './go-time.ts'
import { Struct } from './struct.ts'
import { checkTemplate, readTemplate, renderTemplate } from './template.ts'
import { TextMap } from './value.ts'

/** Compared with Go itself, with many templates: `src/profiles/plugins/notify/message-template.test.ts`. */

const person = new Struct({
  type: 'Person',
  fields: {
    Name: 'Ada',
    Tags: new TextMap({ b: '2', a: '1' }),
    Friends: [new Struct({ type: 'Friend', fields: { Age: 3 } })],
  },
  methods: { Greet: { takes: 1, run: ([word]) => (typeof word === 'string' ? `${word}, Ada` : null) } },
})
const data = new Struct({
  type: 'Data',
  fields: { Person: person, Named: new Struct({ type: 'Named', plain: 'x&y', fields: { Long: 'X' } }) },
})

function outcome(text: string): string {
  const { template, problem } = readTemplate(text)
  if (!template) return problem.message
  const rendered = renderTemplate(template, data)
  return rendered.problem?.message ?? rendered.text ?? ''
}

describe('a struct', () => {
  test.for([
    ['{{.Person.Name}} {{.Person.Tags}} {{len .Person.Friends}}', 'Ada map[a:1 b:2] 1'],
    ['{{.Person.Greet "Hello"}}', 'Hello, Ada'],
    ['{{"Hello" | .Person.Greet | printf "%q"}}', '"Hello, Ada"'],
    ['{{.Person.Greet .Named}}', 'x&y, Ada'],
    ['{{index .Person.Tags "c"}}|{{.Person.Tags.c}}', '|<no value>'],
    ['{{.Named}} {{.Named.Long}} {{html .Named}} {{len .Named}} {{eq .Named "x&y"}}', 'x&y X x&amp;y 3 true'],
    ['{{range .Named}}{{end}}', 'line 1, column 3: range over string; only lists, maps and whole numbers have items'],
    ['{{.Person}}', 'line 1, column 3: Person cannot be shown; ask for one of its fields'],
    ['{{print .Person}}', 'line 1, column 3: Person cannot be shown; ask for one of its fields'],
    ['{{.Person.Friends}}', 'line 1, column 3: Friend cannot be shown; ask for one of its fields'],
    ['{{eq .Person .Person}}', 'line 1, column 3: Person and Person cannot be compared'],
    ['{{.Person.Age}}', 'line 1, column 3: there is no .Age in Person; it has Name, Tags, Friends, Greet'],
    ['{{.Person.toString}}', 'line 1, column 3: there is no .toString in Person'],
    ['{{.Person.Greet}}', 'line 1, column 3: .Greet takes 1 arguments and got 0'],
    ['{{.Person.Name 1}}', 'line 1, column 3: .Name is no function and takes no arguments'],
    ['{{printf "%d" .Person}}', 'line 1, column 3: Person cannot be shown'],
    [
      `{{$x := "aaaa"}}{{range 11}}{{$x = print $x $x}}{{end}}{{range 9999}}{{$y := $.Person.Greet $x}}{{end}}`,
      'this takes too long',
    ],
  ] as const)('%s', ([template, text]) => {
    expect(outcome(template)).toContain(text)
  })
})

describe('what is found out by an example', () => {
  test.for([
    ['{{if false}}{{.Foo}}{{end}}', 'line 1, column 15: there is no .Foo in Data; it has Person, Named'],
    ['{{range .Person.Friends}}{{.Foo}}{{end}}', 'there is no .Foo in Friend'],
    ['{{with .Person}}{{.Name}}{{.Foo}}{{end}}', 'there is no .Foo in Person'],
    ['{{define "a"}}{{end}}{{template "a" .Foo}}', 'there is no .Foo in Data'],
    ['{{.Person.Tags.any}} {{with .Person.Tags.any}}{{.Foo}}{{end}}', undefined],
    ['{{define "a"}}{{.Foo}}{{$.Foo}}{{end}}{{template "a"}}', undefined],
    ['{{$p := .Person}}{{$p.Foo}}', undefined],
    ['{{.Person.Greet .Foo}}', 'there is no .Foo in Data'],
    ['{{.Person.Greet "a"}}', undefined],
  ] as const)('%s', ([text, problem]) => {
    const { template } = readTemplate(text)
    if (!template) throw new Error(`${text} cannot be read`)
    expect(checkTemplate(template, data)?.message).toEqual(
      problem === undefined ? undefined : expect.stringContaining(problem),
    )
  })
})

test.for([
  ['{{.AddDate 0 0 "1"}}', 'AddDate takes three whole numbers: years, months and days'],
  ['{{.AddDate 99999 0 0}}', 'AddDate leads out of the years 0 to 9999'],
  ['{{.AddDate 9223372036854775807 0 0}}', 'AddDate leads out of the years 0 to 9999'],
  ['{{.After 3}}', 'After takes a time.Time, and not int'],
  ['{{.After .}}', 'After takes a time.Time, and not v1.Time; write .Time behind it'],
  ['{{.Before .Time}}', 'Before takes a v1.Time, and not time.Time'],
  ['{{.Before .AddDate}}', '.AddDate takes 3 arguments and got 0'],
  ['{{printf "%t" .Month}}', 'time.Month cannot be shown by %t; write %v'],
] as const)('of a time in a v1.Time, %s is a fault', ([text, problem]) => {
  const { template } = readTemplate(text)
  if (!template) throw new Error(`${text} cannot be read`)
  expect(renderTemplate(template, goTime('2024-01-02T03:04:05Z', 'v1.Time')).problem?.message).toContain(problem)
})

test.for(['', 'yesterday', '2024-01-02', '2024-01-02T03:04:05', '2024-13-02T03:04:05Z', '2024-01-02 03:04:05Z'])(
  '%j is no time',
  (text) => expect(goTime(text)).toBeUndefined(),
)
