import { describe, expect, test } from 'vitest'
import type { NotifyContext } from '../../plugin.ts'
import { messageOf, templateProblems, templateWarnings } from './message-template.ts'
import goldens from './template-goldens.json' with { type: 'json' }

const contexts = goldens.contexts as unknown as Readonly<Record<string, NotifyContext>>

function contextOf(name: string, more: Partial<NotifyContext> = {}): NotifyContext {
  const context = contexts[name]
  if (!context) throw new Error(`there is no context ${name}`)
  return { ...context, ...more }
}

function outcome(text: string, context: NotifyContext): { readonly text?: string; readonly fault?: string } {
  try {
    return { text: messageOf('message', text)(context) }
  } catch (error) {
    return { fault: (error as Error).message }
  }
}

describe('what Go makes of the same template about the same node', () => {
  test('is there for a few hundred of them', () => {
    expect(goldens.cases.length).toBeGreaterThan(250)
    expect(goldens.cases.filter(([, , text]) => text === null).length).toBeGreaterThan(40)
  })

  test.for(goldens.cases)('%j', ([template, name, text]) => {
    const { fault, ...rendered } = outcome(template ?? '', contextOf(name ?? ''))
    expect(rendered, fault).toEqual(text === null ? {} : { text })
  })
})

describe('the profile is a text that has fields as well', () => {
  test.for([
    ['{{.Profile}} {{.Profile.Current}} {{.Profile.Last}}', 'flatcar flatcar other'],
    ['{{with .Profile}}{{.}} after {{.Last}}{{end}}', 'flatcar after other'],
    ['{{$p := .Profile}}{{if eq $p "flatcar"}}{{$p.Last | printf "%q"}}{{end}}', '"other"'],
  ] as const)('%s', ([template, text]) => {
    expect(outcome(template, contextOf('full'))).toEqual({ text })
  })

  test('and no others', () => {
    expect(outcome('{{.Profile.Next}}', contextOf('full')).fault).toContain('.Next in Profile; it has Current, Last')
  })

  test('an empty name is not true', () => {
    expect(outcome('{{if .Profile}}a{{else}}b{{end}}', contextOf('full', { profile: '' })).text).toBe('b')
  })
})

test.for([
  [1_704_164_645_000, '2024-01-02 03:04:05 +0000 UTC'],
  [1_704_164_645_123.456, '2024-01-02 03:04:05.123456 +0000 UTC'],
  [-62_135_596_800_000, '0001-01-01 00:00:00 +0000 UTC'],
  [Number.NaN, '0001-01-01 00:00:00 +0000 UTC'],
] as const)('without its stored text a time is as exact as its number: %d', ([lastTransitionMs, text]) => {
  const { lastTransitionText: _, ...context } = contextOf('full')
  expect(outcome('{{.LastTransition}}', { ...context, lastTransitionMs }).text).toBe(text)
})

test.for([
  ['{{.Node.Name', 'line 1, column 1: these braces are not closed'],
  ['{{if .State}}', 'this if does not end'],
  ['{{upper .State}}', 'there is no function upper'],
  ['{{template "x"}}', "there is no template 'x'"],
] as const)('%s is refused when the file is read', ([message, why]) => {
  expect(templateProblems({ title: 'fine', message })).toEqual([
    { field: 'message', message: expect.stringContaining(why) as string },
  ])
  expect(() => messageOf('message', message)).toThrow(why)
})

test.for([
  ['{{.Nodes}}', 'there is no .Nodes in the data of a message; it has State, Profile, Node,'],
  ['{{if .InMaintenance}}{{.Node.Nam}}{{end}}', 'there is no .Nam in v1.Node; it has Name,'],
  ['{{range .Node.Status.Conditions}}{{.Kind}}{{end}}', 'there is no .Kind in v1.NodeCondition; it has Type,'],
  ['{{with .Node}}{{else}}{{$.Foo}}{{end}}', 'there is no .Foo'],
  ['{{printf "%s" (index .Foo "a")}}', 'there is no .Foo'],
  ['{{.State.Foo}}', '.Foo is asked of string, which has no fields'],
  ['{{.LastTransition.Format}}', '.Format takes 1 arguments and got 0'],
  ['{{.Profile.Foo}}', 'there is no .Foo in Profile; it has Current, Last'],
] as const)('%s is warned of when the file is read', ([message, why]) => {
  expect(templateProblems({ message })).toEqual([])
  expect(templateWarnings({ title: '{{.State}}', message })).toEqual([
    { field: 'message', message: expect.stringContaining(why) as string },
  ])
})

test('nothing is warned of that renders', () => {
  const rendered = goldens.cases.filter(([template, , text]) => text !== null && !template?.includes('.Foo'))
  expect(rendered.flatMap(([message = '']) => templateWarnings({ message: message ?? '' }))).toEqual([])
})
