// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what files say
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { errorsIn, intervals, load, warningsIn } from './fixture-registry.ts'

const instances = `instances:
  check:
  - {type: see, name: a, config: {}}
  - {type: see, name: b, config: {}}
  trigger:
  - {type: act, name: t, config: {}}
  - {type: act, name: u-1, config: {}}
  notify:
  - {type: tell, name: note, config: {}, schedule: {type: periodic, config: {}}}
`
const used = `- name: uses-all
  operational:
    enter: t && u-1
    notify: note
    transitions: [{check: a && b, next: maintenance-required}]
`

const profile = (text: string) => load(`${intervals}${instances}profiles:\n${used}- ${text}\n`)
const operational = (text: string) => profile(`{name: p, operational: ${text}}`)

test('a whole file becomes what the controller works with', () => {
  const { config, problems } = load(`${intervals}dashboard: {labelFilter: zone}
${instances}profiles:
- name: p
  operational:
    enter: t
    notify: note
    transitions:
    - check: a && !(b || a)
      next: in-maintenance
      trigger: u-1 && t && t
  in-maintenance:
    deadline: 4h
    overdue: note
  abort: u-1
`)
  expect(problems).toEqual([])
  const p = config?.profiles.get('p')
  const [transition] = p?.states.operational.transitions ?? []
  expect(config).toMatchObject({ requeueMs: 60_000, labelFilter: ['zone'] })
  expect([...(config?.profiles.keys() ?? [])]).toEqual(['p', 'default'])
  expect(p?.states.operational.enter.map(({ name, type }) => [name, type])).toEqual([['t', 'act']])
  expect(p?.states.operational.notify).toMatchObject([
    { name: 'note', type: 'tell', schedule: { isDue: expect.any(Function) } },
  ])
  expect(transition?.next).toBe('in-maintenance')
  expect(transition?.check.expression).toBe('a && !(b || a)')
  expect(transition?.check.checks.map(({ name }) => name)).toEqual(['a', 'b', 'a'])
  expect(transition?.check.evaluate([true, false, false])).toBe(true)
  expect(transition?.trigger.map(({ name }) => name)).toEqual(['u-1', 't', 't'])
  expect(p?.states['in-maintenance']).toMatchObject({
    deadlineMs: 14_400_000,
    overdue: [{ name: 'note' }],
    transitions: [],
  })
  expect(p?.states.operational.deadlineMs).toBeUndefined()
  expect(p?.abort.map(({ name }) => name)).toEqual(['u-1'])
})

test('the implicit profile is empty, and one of the same name takes its place', () => {
  expect(load(intervals).config?.profiles.get('default')?.states.operational.transitions).toEqual([])
  const own = load(`${intervals}${instances}profiles:\n- {name: default, operational: {enter: t}}\n`)
  expect(own.config?.profiles.size).toBe(1)
  expect(own.config?.profiles.get('default')?.states.operational.enter).toHaveLength(1)
})

test.for<[string, string, string]>([
  ['profiles as a mapping', 'profiles: {name: p}', 'it is a mapping; write a list: begin each entry with a dash'],
  ['profiles as a text', 'profiles: p', 'it is "p"; write a list: begin each entry with a dash'],
  ['a profile as a text', 'profiles: [p]', 'it is no profile; write at least name'],
  ['an empty profile', 'profiles: [null]', 'it is no profile; write at least name'],
  ['a profile without name', 'profiles: [{operational: null}]', 'the profile has no name; write name'],
  ['an empty name', "profiles: [{name: ''}]", 'the profile has no name; write name'],
  [
    'two profiles of one name',
    'profiles: [{name: p},\n {name: p}]',
    'p is taken on line 2 already; write a name that no other profile has',
  ],
  ['instances as a list', 'instances: [a]', 'it is a list; write a mapping: lines of key: value'],
  ['checks as a mapping', 'instances: {check: {a: b}}', 'it is a mapping; write a list: begin each entry with a dash'],
  ['an empty instance', 'instances: {check: [null]}', 'it is no instance; write type, name and config'],
  [
    'an instance without type',
    'instances: {check: [{name: a, config: {}}]}',
    'it has no type; write one of see, picky, needs',
  ],
  [
    'an old instance',
    'instances: {check: [{see: {name: a}}]}',
    'it has no type; write type: see and put the rest under config',
  ],
  [
    'a type of another kind',
    'instances: {check: [{type: act, name: a, config: {}}]}',
    'there is no type act; write one of see, picky, needs',
  ],
  ['a wrong case', 'instances: {check: [{type: See, name: a, config: {}}]}', 'there is no type See; did you mean see?'],
  [
    'no config',
    'instances: {check: [{type: needs, name: a}]}',
    'needs has no config; write config with text, flag, integer, duration, durationText, texts',
  ],
  [
    'a null config',
    'instances: {check: [{type: needs, name: a, config: null}]}',
    'needs has no config; write config with text, flag, integer, duration, durationText, texts',
  ],
  [
    'a config that is a text',
    'instances: {check: [{type: see, name: a, config: x}]}',
    'it is "x"; write a mapping: lines of key: value',
  ],
  [
    'what a plugin refuses',
    'instances: {check: [{type: picky, name: a, config: {text: bad one}}]}',
    '"bad one" is bad; write good',
  ],
  [
    'what a plugin fails over',
    'instances: {check: [{type: picky, name: a, config: {text: broken}}]}',
    'picky cannot be made of it: cannot make broken',
  ],
  [
    'two checks of one name',
    'instances: {check: [{type: see, name: a, config: {}},\n {type: see, name: a, config: {}}]}',
    'a is taken on line 2 already; write a name that no other check has',
  ],
  ['labelFilter as a mapping', 'dashboard: {labelFilter: {a: b}}', 'it is a mapping; write a list of texts'],
  [
    'intervals twice, the last one empty',
    'intervals: {}',
    'it is missing; write how often each node is looked at, such as 1m',
  ],
  [
    'a requeue below zero',
    'intervals: {requeue: -1s}',
    'it is below zero; write how often each node is looked at, such as 1m',
  ],
])('%s is an error', ([, text, message]) => {
  const loaded = load(`${intervals}${text}\n`)
  expect(errorsIn(loaded)).toEqual([message])
  expect(loaded.config).toBeUndefined()
})

test.for<[string, string]>([
  ['profiles: {}', 'a mapping'],
  ['profiles: [{name: p, operational: []}]', 'a list'],
  ['profiles: [{name: p, operational: {transitions: {}}}]', 'a mapping'],
  ['instances: []', 'a list'],
  ['instances: {check: {}}', 'a mapping'],
  ['dashboard: []', 'a list'],
  ['dashboard: {labelFilter: {}}', 'a mapping'],
  ["nothing: {}\ndashboard: {labelFilter: '${nothing}'}", 'a mapping'],
])('%s is as good as not there, and worth a warning', ([text, shape]) => {
  const loaded = load(`${intervals}${text}\n`)
  expect(errorsIn(loaded)).toEqual([])
  expect(warningsIn(loaded)).toEqual([`it is ${shape} that is empty, which means nothing here; leave it out`])
  expect(loaded.config?.labelFilter).toEqual([])
  for (const { states } of loaded.config?.profiles.values() ?? []) expect(states.operational.transitions).toEqual([])
})

test('an empty list is as good as no config: enough for a plugin that needs none, and for no other', () => {
  expect(load(`${named('a').replace('config: {}', 'config: []')}${uses('a')}`).made).toHaveLength(1)
  expect(errorsIn(load(`${intervals}instances: {check: [{type: needs, name: a, config: []}]}\n`))).toEqual([
    expect.stringMatching(/^needs has no config; /),
  ])
})

test('the three kinds of instances have names of their own', () => {
  const all = [
    'check: [{type: see',
    'trigger: [{type: act',
    'notify: [{schedule: {type: oneshot, config: {}}, type: tell',
  ]
  const text = all.map((one) => `  ${one}, name: same, config: {}}]\n`).join('')
  expect(errorsIn(load(`${intervals}instances:\n${text}`))).toEqual([])
})

test.for<[string, string, string]>([
  ['a state as a text', 'here', 'it is "here"; write a mapping: lines of key: value'],
  ['transitions as a text', '{transitions: a}', 'it is "a"; write a list: begin each entry with a dash'],
  ['an empty transition', '{transitions: [null]}', 'it is no transition; write check and next'],
  [
    'no check',
    '{transitions: [{next: in-maintenance}]}',
    'the transition has no check; write the names of checks, such as a && !b',
  ],
  [
    'a null check',
    '{transitions: [{check: null, next: in-maintenance}]}',
    'the transition has no check; write the names of checks, such as a && !b',
  ],
  [
    'an empty check',
    "{transitions: [{check: '', next: in-maintenance}]}",
    'it is empty; write the names of checks, such as a && !b',
  ],
  [
    'no next',
    '{transitions: [{check: a}]}',
    'the transition leads nowhere; write next with one of operational, maintenance-required, in-maintenance',
  ],
  [
    'an unknown next',
    '{transitions: [{check: a, next: foo}]}',
    'there is no state foo; write one of operational, maintenance-required, in-maintenance',
  ],
  [
    'a next of the wrong case',
    '{transitions: [{check: a, next: In-Maintenance}]}',
    'there is no state In-Maintenance; did you mean in-maintenance?',
  ],
  [
    'an unknown check',
    '{transitions: [{check: a && nobody, next: in-maintenance}]}',
    'there is no check nobody; write it under instances.check',
  ],
  [
    'a trigger as check',
    '{transitions: [{check: u-1, next: in-maintenance}]}',
    'there is no check u-1; write it under instances.check',
  ],
  [
    'true that is no check',
    '{transitions: [{check: true, next: in-maintenance}]}',
    'there is no check true; write it under instances.check',
  ],
  ['an unknown trigger', '{enter: t && u_1}', 'there is no trigger u_1; did you mean u-1?'],
  ['an unknown notification', '{notify: t}', 'there is no notify t; write it under instances.notify'],
  ['a chain as a list', '{enter: [t]}', 'it is a list; write one text'],
  ['a chain that ends in &&', '{enter: t &&}', 'a name is missing before or behind &&; take the && out'],
  [
    'a deadline of nothing',
    '{deadline: 0, overdue: note}',
    'it is not above zero; write how long a node may stay, such as 4h',
  ],
])('in a state: %s is an error', ([, text, message]) => {
  expect(errorsIn(operational(text))).toEqual([message])
})

test('an unreadable instance is told of once, and not again wherever it is used', () => {
  const loaded = load(`${intervals}instances: {check: [{type: gone, name: a, config: {}}]}
profiles: [{name: p, operational: {transitions: [{check: a, next: in-maintenance}]}}]
`)
  expect(errorsIn(loaded)).toEqual(['there is no type gone; write one of see, picky, needs'])
})

test.for<[string, string, string[]]>([
  [
    'an unknown key in a profile',
    '{name: p, maintenance_required: {}}',
    ['there is no such key, and nothing reads it; did you mean maintenance-required?'],
  ],
  [
    'an unknown key in a state',
    '{name: p, operational: {transition: []}}',
    ['there is no such key, and nothing reads it; did you mean transitions?'],
  ],
  [
    'an unknown key in a transition',
    '{name: p, operational: {transitions: [{check: a, next: in-maintenance, triggers: t}]}}',
    ['there is no such key, and nothing reads it; did you mean trigger?'],
  ],
  [
    'a name that parts',
    '{name: a--b}',
    ['no node can have a--b: -- parts the names in the label; write a single dash'],
  ],
  [
    'a name that is no label',
    '{name: a b}',
    [expect.stringMatching(/^no node can have a b: the value of a label is /) as string],
  ],
  [
    'a name that is too long',
    `{name: ${'x'.repeat(64)}}`,
    [expect.stringMatching(/: the value of a label is /) as string],
  ],
  ['a name that just fits', `{name: ${'x'.repeat(63)}}`, []],
  [
    'a step to the same state',
    '{name: p, operational: {transitions: [{check: a, next: operational}]}}',
    ['the node is operational already, so that nothing happens; leave the transition out'],
  ],
  [
    'a single transition without dash',
    '{name: p, operational: {transitions: {check: a, next: in-maintenance}}}',
    ['it is a single transition without a dash, which the original drops; begin it with a dash'],
  ],
  [
    'overdue without deadline',
    '{name: p, operational: {overdue: note}}',
    ['nobody is told without a deadline; write deadline'],
  ],
  [
    'a check that comes twice',
    '{name: p, operational: {transitions: [{check: a, next: in-maintenance}, {check: a, next: maintenance-required}]}}',
    [expect.stringMatching(/^the transition on line \d+ has the same check and comes first/) as string],
  ],
  [
    'one target with two chains',
    '{name: p, operational: {transitions: [{check: a, next: in-maintenance}, {check: b, next: in-maintenance, trigger: t}]}}',
    [expect.stringMatching(/^the original would carry out the triggers of line \d+/) as string],
  ],
  [
    'one target with one chain',
    '{name: p, operational: {transitions: [{check: a, next: in-maintenance, trigger: t}, {check: b, next: in-maintenance, trigger: t}]}}',
    [],
  ],
  [
    'a chain without blanks',
    '{name: p, operational: {transitions: [{check: a&&b, next: in-maintenance}]}}',
    [expect.stringMatching(/^the original cannot read this; /) as string],
  ],
  [
    'a chain over lines',
    '{name: p, operational: {enter: "t\\n&& u-1"}}',
    [expect.stringMatching(/^the original cannot read this; /) as string],
  ],
])('%s is fine but worth a warning', ([, text, warnings]) => {
  const loaded = profile(text)
  expect(errorsIn(loaded)).toEqual([])
  expect(warningsIn(loaded)).toEqual(warnings)
})

test('a single transition without dash counts', () => {
  const { config } = operational('{transitions: {check: a, next: in-maintenance}}')
  expect(config?.profiles.get('p')?.states.operational.transitions).toMatchObject([{ next: 'in-maintenance' }])
})

const named = (name: string) => `${intervals}instances: {check: [{type: see, name: ${name}, config: {}}]}\n`
const uses = (name: string) =>
  `profiles: [{name: p, operational: {transitions: [{check: ${name}, next: in-maintenance}]}}]\n`

test.for<[string, RegExp | undefined]>([
  ['safe_1', undefined],
  ['prüfung', undefined],
  ['"true"', /^the original takes true for a word of its own/],
  ['"null"', /^the original takes null for a word of its own/],
  ['date', /^the original takes date for a word of its own/],
  ['with-dash', /^the original cannot read with-dash in a chain/],
  ['a.b', /^the original cannot read a\.b in a chain/],
  ['1st', /^the original cannot read 1st in a chain/],
])('a check called %s', ([name, warning]) => {
  const loaded = load(named(name) + uses(name))
  expect(loaded.config).toBeDefined()
  expect(warningsIn(loaded)).toEqual(warning ? [expect.stringMatching(warning)] : [])
})

test('what cannot be named, has no name or is not named is worth a warning', () => {
  expect(warningsIn(load(named('a b')))[0]).toBe('no chain can name a b; write a name of letters, digits and _')
  expect(warningsIn(load(named('null')))).toEqual(['it has no name, so that no chain can use it; write name'])
  expect(warningsIn(load(named('a')))).toEqual(['no profile uses a; leave it out, or name it in a chain'])
})

test('unknown keys are allowed, but for those at the top that a variable names', () => {
  const loaded = load(
    `${intervals}keys: {a: b}\nzone: z\ndashboard: {labelFilter: '\${zone}', filter: 1}\ninstances: {checks: []}\n`,
  )
  expect(loaded.config?.labelFilter).toEqual(['z'])
  expect(loaded.problems.map(({ line, column, path, severity }) => [severity, line, column, path])).toEqual([
    ['warning', 2, 1, 'keys'],
    ['warning', 4, 37, 'dashboard.filter'],
    ['warning', 5, 13, 'instances.checks'],
  ])
})

test('what a plugin warns of is shown at its field', () => {
  const text = `${intervals}instances:\n  check:\n  - type: picky\n    config:\n      text: odd\n    name: a\n${uses('a')}`
  expect(load(text).problems).toEqual([
    {
      severity: 'warning',
      line: 6,
      column: 13,
      path: 'instances.check[0].config.text',
      message: 'it is odd; write even',
    },
  ])
})

test.for<[string, number, number]>([
  ['check: a && nobody', 5, 20],
  ['check: "a && nobody"', 5, 21],
  ["check: 'nobody'", 5, 16],
  // Not letter by letter in the file: then it is where the text begins.
  ['check: |\n        a &&\n        nobody', 5, 15],
  ['check: "a \\u0026& nobody"', 5, 15],
])('a problem in the chain %j has its column', ([check, line, column]) => {
  const text = `${intervals}profiles:\n- operational:\n    transitions:\n     - ${check}\n       next: in-maintenance\n  name: p\ninstances: {check: [{type: see, name: a, config: {}}]}\n`
  const [problem] = load(text).problems.filter(({ severity }) => severity === 'error')
  expect(problem).toMatchObject({ line, column, message: 'there is no check nobody; write it under instances.check' })
})

test('problems come in the order of the file, whatever is in it, and nothing makes it throw', () => {
  const words = [
    'intervals',
    'instances',
    'check',
    'profiles',
    'name',
    'type',
    'config',
    'see',
    'picky',
    'a && b',
    '${A}',
    '${',
    'operational',
    'transitions',
    '1m',
    '0',
    'true',
    '*x',
    '&x',
    '<<',
    '-',
    ':',
    '[',
    ']',
    '{',
    '}',
    '\n',
    '\n  ',
    ': ',
    ', ',
    '"',
    "'",
    '|',
    '\t',
    '---',
    '!!int',
    '#',
  ]
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...words), { maxLength: 40 }), (parts) => {
      const { problems, config } = load(parts.join(''), { A: 'x' })
      const places = problems.map(({ line, column }) => line * 10_000 + column)
      expect(places).toEqual(places.toSorted((a, b) => a - b))
      expect(config === undefined).toBe(problems.some(({ severity }) => severity === 'error'))
    }),
    { numRuns: 500 },
  )
})
