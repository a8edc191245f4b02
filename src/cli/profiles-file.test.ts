// biome-ignore-all lint/suspicious/noTemplateCurlyInString: it is what the file says
import { expect, test } from 'vitest'
import { readProfiles } from './profiles-file.ts'

const file = (hook: string) => `intervals: {requeue: 30s}
instances:
  notify:
  - type: slack
    name: tell
    config: {hook: "${hook}", channel: x, message: y}
    schedule: {type: periodic, config: {}}
profiles:
- {name: p, operational: {notify: tell}}
`

test.for([
  ['nothing is missing', file('https://hooks.example'), {}, []],
  ['a variable is set', file('${HOOK}'), { HOOK: 'https://hooks.example' }, []],
  ['a variable falls back', file('${HOOK:https://hooks.example}'), {}, []],
] as const)('%s', ([, text, env, unset]) => {
  expect(readProfiles('f', text, env)).toMatchObject({ from: 'f', unset })
})

test('a stand-in takes the place of what only the controller knows, and is told', () => {
  const { config, unset } = readProfiles('f', file('${HOOK}').replace('channel: x', 'channel: "${CHANNEL:?say}"'), {})
  expect([[...config.profiles.keys()], unset]).toEqual([
    ['p', 'default'],
    ['CHANNEL', 'HOOK'],
  ])
})

test('a file with another fault is refused with its line', () => {
  expect(() => readProfiles('f', 'intervals: {requeue: 0}\n', {})).toThrow(/^f:1:\d+: error: .*\nf cannot be used/)
})
