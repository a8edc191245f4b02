// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what this is about
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { errorsIn, intervals, load, readAs, warningsIn } from './fixture-registry.ts'

const no = undefined

// Measured with the libraries of the original, but for what is marked as better.
test.for<[string, Record<string, string>, unknown]>([
  ['${A}', { A: 'x' }, 'x'],
  ['${A}', {}, no],
  ['${A}', { A: '' }, no],
  ['${A:text}', {}, 'text'],
  ['${A:text}', { A: '' }, 'text'],
  ['${A:text}', { A: 'x' }, 'x'],
  ['${A:}', {}, ''],
  ['${A:b:c}', {}, 'b:c'],
  ['${A:http://x:+y}', {}, 'http://x:+y'],
  ['${A:+text}', {}, ''],
  ['${A:+text}', { A: '' }, ''],
  ['${A:+text}', { A: '1' }, 'text'],
  ['${A:?message}', {}, no],
  ['${A:?message}', { A: 'x' }, 'x'],
  ['pre-${A}-post', { A: 'x' }, 'pre-x-post'],
  ['${A}${B}', { A: 'x', B: 'y' }, 'xy'],
  ['${${A}}', { A: 'B', B: 'c' }, 'c'],
  ['${A:${B:z}}', {}, 'z'],
  ['${A:${B:z}}', { B: 'b' }, 'b'],
  ['$${A}', {}, '${A}'],
  ['$$', {}, '$'],
  ['a$$b', {}, 'a$b'],
  ['$$$${A}', {}, '$${A}'],
  ['$$${A}', { A: 'x' }, '$x'],
  ['${A:$${B}}', {}, '${B}'],
  ['${A:$}}', {}, '}'],
  ['$A', { A: 'x' }, '$A'],
  ['a$', {}, 'a$'],
  ['${A}}', { A: 'x' }, 'x}'],
  ['}${A}', { A: 'x' }, '}x'],
  // Better: the original makes {{}} of the second part.
  ['{{ $x := 1 }}{{$}}', {}, '{{ $x := 1 }}{{$}}'],
  ['${constructor:none}', {}, 'none'],
])("'%s' with %j", ([written, env, text]) => {
  expect(readAs('text', `'${written}'`, env)).toBe(text)
})

test.for(['${', '${}', '${A', '${A:b', '${:x}', 'a ${ b', '${A:${}}'])(
  '%s is an error wherever it stands',
  (written) => {
    expect(errorsIn(load(`${intervals}nobody: {reads: [this, '${written}']}\n`))).toEqual([
      expect.stringMatching(/^a \$\{ in it has no name or no \}; write /),
    ])
  },
)

test('a variable that is not set is an error only where it is read, and once', () => {
  expect(errorsIn(load(`${intervals}nobody: '\${reads}'\n`))).toEqual([])
  const { problems } = load(
    `${intervals}dashboard:\n  labelFilter: [a, '\${KEY}']\ninstances:\n  notify:\n  - type: \${TYPE}\n    name: \${NAME:?set NAME, please}\n`,
  )
  expect(problems.map(({ line, column, path, message }) => `${line}:${column} ${path}: ${message}`)).toEqual([
    '3:20 dashboard.labelFilter[1]: KEY is not set; set it in the environment, or write what counts then as in ${NAME:this}',
    '6:5 instances.notify[0].schedule: it has no schedule; write schedule with a type of periodic, oneshot, and config',
    '6:11 instances.notify[0].type: TYPE is not set; set it in the environment, or write what counts then as in ${NAME:this}',
    '7:11 instances.notify[0].name: set NAME, please',
  ])
})

test('keys are never expanded', () => {
  const { problems } = load(`${intervals}'\${A}': 1\n`, { A: 'profiles' })
  expect(problems.map(({ path }) => path)).toEqual(['${A}'])
})

test.for<[string, string, unknown, unknown, unknown, unknown]>([
  // written, the environment, text, texts, integer, duration
  ['${A}', 'a,b', 'a,b', ['a', 'b'], no, no],
  ['x-${A}', 'a,b', 'x-a,b', ['x-a', 'b'], no, no],
  ['${A}', '[a, b]', '[a, b]', ['a', 'b'], no, no],
  ['${A}', "'q'", 'q', ['q'], no, no],
  ['${A}', '"q\\n"', 'q\n', ['q\n'], no, no],
  ['${A}', 'x: y', 'x: y', ['x: y'], no, no],
  ['${A}', '{a: 1}', '{a: 1}', ['{a: 1}'], no, no],
  ['${A}', '5m', '5m', ['5m'], no, 300_000],
  ['${A}', 'hook\n', 'hook', ['hook'], no, no],
  ['${A}', 'a,', 'a,', ['a', ''], no, no],
  ['${A}', ']x', ']x', [']x'], no, no],
  ['${A}', 'true', 'true', ['true'], no, no],
  ['${A}', '-3', '-3', ['-3'], -3, -3_000],
  // Better: the original refuses a number without a unit here, and changes what is text.
  ['${A}', '42', '42', ['42'], 42, 42_000],
  ['${A}', '1.5', '1.5', ['1.5'], 1, 1_500],
  ['${A}', '010', '010', ['8'], 8, 8_000],
  ['${A}', 'T', 'T', ['true'], no, no],
  // Better: the original refuses all of these as text.
  ['${A}', '[a', '[a', no, no, no],
  ['${A}', "'q", "'q", no, no, no],
  ['${A}', 'a,,b', 'a,,b', no, no, no],
  ['${A}', "'a','b'", "'a','b'", ['a', 'b'], no, no],
])('%s, and A is %j', ([written, A, text, texts, integer, duration]) => {
  const quoted = `'${written}'`
  expect(readAs('text', quoted, { A })).toBe(text)
  expect(readAs('texts', quoted, { A })).toEqual(texts)
  expect(readAs('integer', quoted, { A })).toBe(integer)
  expect(readAs('duration', quoted, { A })).toBe(duration)
})

test.for<[string, unknown]>([
  ['true', true],
  ['on', true],
  ['T', true],
  ['off', false],
  ['yes', no],
  ['1', no],
  ['', no],
])('a flag from the environment: %s', ([A, flag]) => {
  expect(readAs('flag', '${A}', { A })).toBe(flag)
})

test('an element of a list is one text', () => {
  expect(readAs('texts', "[x, '${A}']", { A: 'a,b' })).toEqual(['x', 'a,b'])
})

test.for<[string, string, Record<string, string>, unknown, unknown]>([
  // a key at the top, written, the environment, text, texts
  ['w: 30', '${w}', { w: 'env' }, '30', ['30']],
  ['w: a,b', '${w}', {}, 'a,b', ['a,b']],
  ['w: a,b', 'x${w}', {}, 'xa,b', ['xa', 'b']],
  ['w: [a, b]', '${w}', {}, no, ['a', 'b']],
  ['w: [a, b]', 'x${w}', {}, no, no],
  ['w: {a: 1}', '${w:d}', {}, 'd', ['d']],
  ['w: {a: 5}', '${w.a}', {}, no, no],
  ["w: ''", '${w}', { w: 'env' }, '', ['']],
  ['w: null', '${w}', { w: 'env' }, 'env', ['env']],
  ['w: ${x}\nx: 5', '${w}', {}, '5', ['5']],
  ['w: ${w}', '${w}', { w: 'env' }, 'env', ['env']],
  ['w: ${x}\nx: ${w}', '${w}', {}, no, no],
  ["w: '$${B}'", '${w}', { B: 'x' }, '${B}', ['${B}']],
  ['w: ${X}', '${w:d}', {}, 'd', ['d']],
])('%s at the top, then %s', ([more, written, env, text, texts]) => {
  expect(readAs('text', `'${written}'`, env, more)).toBe(text)
  expect(readAs('texts', `'${written}'`, env, more)).toEqual(texts)
})

test('what the environment gives is put in once: a ${…} in it is text', () => {
  expect(readAs('text', '${A}', { A: '${B} $$', B: 'x' })).toBe('${B} $$')
  expect(readAs('texts', '[x, "${A}"]', { A: '${B}', B: 'x' })).toEqual(['x', '${B}'])
})

test('a key at the top that hides a variable is worth a warning', () => {
  expect(warningsIn(load(`${intervals}w: 1\ndashboard: {labelFilter: ['\${w}']}\n`, { w: 'x' }))).toEqual([
    '${w} means the key w at the top of the file, and not the environment variable of that name; rename one of them',
  ])
})

const places = [
  'intervals: {requeue: ${SECRET}}',
  'intervals: {requeue: x${SECRET}}',
  'intervals: ${SECRET}',
  'dashboard: {labelFilter: {a: ${SECRET}}}',
  'instances: {check: ["${SECRET}"]}',
  'instances: {check: [{type: "${SECRET}", name: a, config: {}}]}',
  'instances: {check: [{type: see, name: "${SECRET}", config: {}}, {type: see, name: "${SECRET}", config: {}}]}',
  'instances: {trigger: [{type: act, name: " ${SECRET}&&", config: {}}]}',
  'instances: {check: [{type: see, name: a, config: {flag: "${SECRET}", integer: "${SECRET}", duration: "${SECRET}", durationText: "${SECRET}"}}]}',
  'instances: {check: [{type: see, name: a, config: {texts: "[${SECRET}"}}]}',
  'instances: {check: [{type: picky, name: a, config: {text: "bad ${SECRET}"}}]}',
  'instances: {check: [{type: picky, name: a, config: {text: "${SECRET}", integer: -1}}]}',
  'instances: {check: [{type: picky, name: a, config: {text: "broken ${SECRET}"}}]}',
  'instances: {notify: [{type: tell, name: a, config: {}, schedule: {type: "${SECRET}", config: {}}}]}',
  'profiles: [{name: "${SECRET}"}, {name: "${SECRET}"}]',
  'profiles: [{name: "--${SECRET}"}]',
  'profiles: [{name: "/${SECRET}"}]',
  'profiles: [{name: p, abort: "${SECRET} && ", operational: {enter: "${SECRET}", deadline: "${SECRET}", transitions: [{check: "${SECRET}", next: "${SECRET}"}, {check: "a ${SECRET}", next: operational}]}}]',
  'a: ${${SECRET}}\ndashboard: {labelFilter: "${a}"}',
  'a: ${SECRET}\nprofiles: [{name: p, operational: "${a}"}]',
]

test('no problem ever shows what the environment holds', () => {
  const secret = fc.stringMatching(/^[a-z]{2}[!-~ ]{0,8}[0-9]{4}[a-z]$/)
  fc.assert(
    fc.property(fc.constantFrom(...places), secret, (place, SECRET) => {
      const { problems } = load(place, { SECRET })
      expect(problems.length).toBeGreaterThan(0)
      for (const { message, path } of problems) {
        expect(message).not.toContain(SECRET)
        expect(message).not.toContain(SECRET.slice(-5))
        expect(path).not.toContain(SECRET)
      }
    }),
    { numRuns: 400 },
  )
})

test('without the environment, what it would give is not looked at', () => {
  const text = `${intervals}instances:
  check: [{type: picky, name: a, config: {text: '\${URL}'}}, {type: see, name: b, config: {integer: x}}]
profiles:
- name: p
  operational:
    transitions: [{check: a && b, next: in-maintenance}]
`
  const loaded = load(text, {}, true)
  expect(loaded.config).toBeUndefined()
  expect(loaded.profileNames).toEqual(['p', 'default'])
  expect(warningsIn(loaded)).toEqual([expect.stringMatching(/^it is not looked at: URL is not set; /)])
  expect(errorsIn(loaded)).toEqual(['it is "x"; write a whole number'])
})
