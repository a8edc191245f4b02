import { expect, test } from 'vitest'
import type { NodeObject } from '../kube/index.ts'
import { dataAnnotation, profileLabel, progressAnnotation } from '../profiles/index.ts'
import { abortable } from './profiles-verbs.ts'

function nodeWith(states: Readonly<Record<string, string>>): NodeObject {
  const entries = Object.entries(states).map(([name, state]) => [
    name,
    { Transition: '2026-03-01T12:00:00Z', Current: state, Previous: state },
  ])
  const data = JSON.stringify({ Profiles: Object.fromEntries(entries), Notifications: {} })
  return { metadata: { name: 'node-7', annotations: { [dataAnnotation]: data } } }
}

const several = nodeWith({ a: 'operational', b: 'maintenance-required', c: 'in-maintenance' })

test.for([
  [
    'all that are under way',
    undefined,
    { names: ['b', 'c'], warning: expect.stringContaining('node-7 is in maintenance') as string },
  ],
  ['the one that is named', 'b', { names: ['b'] }],
  ['also one that is operational, if it is named', 'a', { names: ['a'] }],
] as const)('an abort is about %s', ([, profile, expected]) => {
  expect(abortable(several, profile)).toEqual(expected)
})

test('a profile that is operational still, and drains the node already, is under way', () => {
  const { metadata } = nodeWith({ a: 'operational', b: 'operational' })
  const since = '2026-03-01T12:00:00Z'
  const inFlight = { b: { from: 'operational', next: 'in-maintenance', check: 'go', triggers: [], trigger: 0, since } }
  const annotations = { ...metadata.annotations, [progressAnnotation]: JSON.stringify({ inFlight }) }
  const node = { metadata: { ...metadata, annotations } }
  expect(abortable(node, undefined)).toEqual({ names: ['b'] })
})

test.for([
  ['a profile that the node does not have', several, 'd', 'node-7 has no profile d; it has: a, b, c'],
  ['nothing that is under way', nodeWith({ a: 'operational' }), undefined, 'there is nothing to abort'],
  [
    'one profile of data that cannot be read',
    { metadata: { name: 'node-7', annotations: { [dataAnnotation]: 'x' } } },
    'a',
    'without --profile all of its profiles begin anew',
  ],
] as const)('an abort of %s is refused', ([, node, profile, sentence]) => {
  expect(() => abortable(node, profile)).toThrow(sentence)
})

test.for([
  ['a--b', ['a', 'b']],
  [undefined, ['default']],
] as const)('data that cannot be read are shown and removed, and all of %s begins anew', ([label, names]) => {
  const labels = label === undefined ? {} : { [profileLabel]: label }
  const node: NodeObject = { metadata: { name: 'node-7', labels, annotations: { [dataAnnotation]: '{"Profiles":3}' } } }
  const abort = abortable(node, undefined)
  expect(abort).toMatchObject({ names, fresh: { [dataAnnotation]: null, [progressAnnotation]: null } })
  expect(abort.warning).toContain('cannot be read')
  expect(abort.warning).toContain('{"Profiles":3}')
})
