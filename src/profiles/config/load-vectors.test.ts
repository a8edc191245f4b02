import { expect, test } from 'vitest'
import { plugins } from '../plugins/index.ts'
import { errorsIn, warningsIn } from './fixture-registry.ts'
import { type Loaded, loadConfig } from './load.ts'

const load = (text: string, env = {}): Loaded => loadConfig(text, { env, plugins })
const intervals = 'intervals: {requeue: 1s}\n'

const check = (type: string, config: string) =>
  load(`${intervals}instances: {check: [{type: ${type}, name: a, config: ${config}}]}\n`)
const trigger = (type: string, config: string) =>
  load(`${intervals}instances: {trigger: [{type: ${type}, name: a, config: ${config}}]}\n`)
const slack = "type: slack, name: a, config: {hook: 'https://hooks.example.com/x', channel: c, message: m}"
const notify = (rest: string) => load(`${intervals}instances: {notify: [{${slack}${rest}}]}\n`)
const schedule = (text: string) => notify(`, schedule: ${text}`)
const transition = (rest: string) =>
  load(`${intervals}instances: {check: [{type: hasLabel, name: a, config: {key: a}}]}
profiles: [{name: p, operational: {transitions: [{check: a${rest}}]}}]\n`)

/** What is expected: it loads, or the start of the one error. */
type Row = readonly [string, Loaded, true | RegExp]

const file: readonly Row[] = [
  ['an empty file', load(''), /^it is missing; write how often/],
  ['only requeue', load('intervals: {requeue: 1s}'), true],
  ['requeue: 0', load('intervals: {requeue: 0}'), /^it is zero; /],
  ['requeue: 30', load('intervals: {requeue: 30}'), true],
  ['unknown keys at the top', load(`${intervals}keys: {a: b}\nother: 1`), true],
  ['instances: null, profiles: null', load(`${intervals}instances: null\nprofiles: null`), true],
  ['a check of the wrong case', check('HasLabel', '{key: a}'), /^there is no type HasLabel; did you mean hasLabel\?$/],
  ['an instance without name', load(`${intervals}instances: {check: [{type: hasLabel, config: {key: a}}]}`), true],
  [
    'old style',
    load(`${intervals}instances: {check: [{hasLabel: {name: a}}]}`),
    /^it has no type; write type: hasLabel /,
  ],
  ['a transition without next', transition(''), /^the transition leads nowhere; /],
  ['next: foo', transition(', next: foo'), /^there is no state foo; /],
  [
    'next: Operational',
    transition(', next: Operational'),
    /^there is no state Operational; did you mean operational\?$/,
  ],
  ['next is its own state', transition(', next: operational'), true],
  ['a profile without name', load(`${intervals}profiles: [{operational: null}]`), /^the profile has no name; /],
]

const schedules: readonly Row[] = [
  ['no schedule', notify(''), /^it has no schedule; /],
  ['schedule: null', schedule('null'), /^it has no schedule; /],
  [
    'a schedule without config',
    schedule('{type: periodic}'),
    /^the schedule has no config; write at least config: \{\}$/,
  ],
  ['a schedule with config: null', schedule('{type: periodic, config: null}'), /^the schedule has no config; /],
  ['a schedule without type', schedule('{config: {}}'), /^it has no type; write one of /],
  ['PERIODIC', schedule('{type: PERIODIC, config: {interval: 5m}}'), true],
  ['oneshot without delay', schedule('{type: oneshot, config: {}}'), true],
  ['periodic without interval', schedule('{type: periodic, config: {}}'), true],
  ['cron', schedule('{type: cron, config: {}}'), /^there is no type cron; write one of /],
  [
    'scheduled without weekdays',
    schedule('{type: scheduled, config: {instant: "9:05"}}'),
    /^it is missing; write weekdays: /,
  ],
  ['instant 9:05', schedule('{type: scheduled, config: {instant: "9:05", weekdays: [mon]}}'), true],
  ['instant 9:5', schedule('{type: scheduled, config: {instant: "9:5", weekdays: [mon]}}'), /9:5/],
  ['instant 24:00', schedule('{type: scheduled, config: {instant: "24:00", weekdays: [mon]}}'), /24:00/],
  ['instant 10:00:00', schedule('{type: scheduled, config: {instant: "10:00:00", weekdays: [mon]}}'), /10:00:00/],
  ['instant 11:00 without quotes', schedule('{type: scheduled, config: {instant: 11:00, weekdays: [mon]}}'), true],
  ['weekdays: Monday', schedule('{type: scheduled, config: {instant: 11:00, weekdays: Monday}}'), true],
  ['weekdays: [mo]', schedule('{type: scheduled, config: {instant: 11:00, weekdays: [mo]}}'), /mo/],
]

const timeWindow = (rest: string) => check('timeWindow', `{weekdays: [mon], ${rest}}`)
const excluding = (date: string) => timeWindow(`start: "1:00", end: "2:00", exclude: ["${date}"]`)

const checks: readonly Row[] = [
  ['maxMaintenance max: 0', check('maxMaintenance', '{max: 0}'), /^it is empty or zero, which is as good as missing; /],
  ['nodeCount count: 0', check('nodeCount', '{count: 0}'), /^it is empty or zero, /],
  ['maxMaintenance max: -1', check('maxMaintenance', '{max: -1}'), true],
  ["maxMaintenance max: '3'", check('maxMaintenance', "{max: '3'}"), true],
  ['maxMaintenance groupBy: zone', check('maxMaintenance', '{max: 1, groupBy: zone}'), true],
  ['maxMaintenance skipAfter: 60', check('maxMaintenance', '{max: 1, skipAfter: 60}'), true],
  ['wait 10', check('wait', '{duration: 10}'), /^it is 10; write a duration with its unit/],
  ['wait 10m', check('wait', '{duration: 10m}'), true],
  ['wait -10m', check('wait', '{duration: -10m}'), true],
  ['wait 1d', check('wait', '{duration: 1d}'), /^it is "1d"; write a duration with its unit/],
  ['waitExclude without exclude', check('waitExclude', '{duration: 1h}'), /^it is missing; write exclude: /],
  ['waitExclude with nothing', check('waitExclude', '{duration: 1h, exclude: []}'), /^it is empty or zero, /],
  ['waitExclude MON', check('waitExclude', '{duration: 1h, exclude: MON}'), true],
  ['stagger 10', check('stagger', '{duration: 10, leaseName: l, leaseNamespace: n1}'), true],
  ['stagger parallel: 0', check('stagger', '{duration: 10, leaseName: l, leaseNamespace: n1, parallel: 0}'), true],
  ['timeWindow without quotes', timeWindow('start: 10:00, end: 11:00'), true],
  ['timeWindow start = end', timeWindow('start: 10:00, end: 10:00'), true],
  ['timeWindow without end', timeWindow('start: 10:00'), /^it is missing; write end: /],
  ['timeWindow 24:00', timeWindow('start: 10:00, end: 24:00'), /24:00/],
  ['timeWindow end before start', timeWindow('start: 11:00, end: 10:00'), /10:00 is earlier than start/],
  [
    'timeWindow without weekdays',
    check('timeWindow', '{start: 10:00, end: 11:00}'),
    /^it is missing; write weekdays: /,
  ],
  ...['Dec 24', 'dec 24', 'DEC 24', 'Dec 4', 'Dec 04', 'Dec  4', 'Feb 29'].map(
    (date) => [`timeWindow exclude ${date}`, excluding(date), true] as const,
  ),
  ...['December 24', 'Feb 30', '24 Dec'].map(
    (date) => [`timeWindow exclude ${date}`, excluding(date), new RegExp(date)] as const,
  ),
  ['hasLabel value: true', check('hasLabel', '{key: a, value: true}'), true],
  ['condition status: True', check('condition', '{type: Ready, status: True}'), true],
  [
    'prometheusInstant bad expr',
    check('prometheusInstant', '{url: "http://x", query: up, expr: "value >"}'),
    /expression|expr|value/,
  ],
  ['prometheusInstant url: x', check('prometheusInstant', '{url: x, query: up, expr: value}'), /no address/],
  ['affinity null', check('affinity', 'null'), true],
  ['affinity without config', load(`${intervals}instances: {check: [{type: affinity, name: a}]}`), true],
  ...plugins.check
    .filter(({ type }) => type !== 'affinity')
    .map(
      ({ type }) =>
        [
          `${type} without config`,
          check(type, 'null'),
          new RegExp(`^${type} has no config; write config with `),
        ] as const,
    ),
]

const triggers: readonly Row[] = [
  ['eviction action: Drain', trigger('eviction', '{action: Drain}'), /Drain/],
  [
    "alterLabel remove: 'yes'",
    trigger('alterLabel', "{key: a, remove: 'yes'}"),
    /^it is "yes"; write true or false without quotes$/,
  ],
  ['alterLabel remove: yes', trigger('alterLabel', '{key: a, remove: yes}'), true],
  ['alterFinalizer without key', trigger('alterFinalizer', '{remove: true}'), /^it is missing; write key: /],
  ...plugins.trigger.map(
    ({ type }) =>
      [
        `${type} without config`,
        trigger(type, 'null'),
        new RegExp(`^${type} has no config; write config with `),
      ] as const,
  ),
]

test.for([...file, ...schedules, ...checks, ...triggers])('%s', ([, loaded, expected]) => {
  expect(errorsIn(loaded)).toEqual(expected === true ? [] : [expect.stringMatching(expected)])
  expect(loaded.config !== undefined).toBe(expected === true)
})

test('30 without a unit are seconds', () => {
  expect(load('intervals: {requeue: 30}').config?.requeueMs).toBe(30_000)
})

test('True without quotes is text that no condition has: it loads with a warning', () => {
  expect(warningsIn(check('condition', '{type: Ready, status: True}'))).toContainEqual(
    expect.stringMatching(/no condition ever has the status true/),
  )
})

test.for([
  ['oneshot', 'delay', 60_000],
  ['periodic', 'interval', 3_600_000],
] as const)('%s: without %s it is %d ms', ([type, field, ms]) => {
  expect(plugins.schedule.find((plugin) => plugin.type === type)?.fields[field]?.fallback).toBe(ms)
})

test('a password with a comma, a bracket and a quote is no obstacle, and a list may come from one variable', () => {
  const text = `${intervals}instances: {notify: [{type: mail, name: a, schedule: {type: oneshot, config: {}}, config: {
    auth: true, address: "mail.example.com:587", from: a@example.com, to: "\${TO}", subject: s, message: m, user: u,
    password: "\${PASSWORD}"}}]}\n`
  const env = { PASSWORD: "a,[b'", TO: 'b@example.com,c@example.com' }
  expect(errorsIn(load(text, env))).toEqual([])
})
