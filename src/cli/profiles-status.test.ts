import { expect, test } from 'vitest'
import type { NodeObject } from '../kube/index.ts'
import { dataAnnotation, pauseAnnotation } from '../profiles/index.ts'
import { profilesStatus, profilesStatusText } from './profiles-status.ts'

function node(name: string, states: Readonly<Record<string, string>>, more: Readonly<Record<string, string>> = {}) {
  const entries = Object.entries(states).map(([profile, state]) => [
    profile,
    { Transition: '2026-03-01T12:00:00Z', Current: state, Previous: state },
  ])
  const data = JSON.stringify({ Profiles: Object.fromEntries(entries), Notifications: {} })
  return { metadata: { name, annotations: { [dataAnnotation]: data, ...more } } } satisfies NodeObject
}

test('nodes by profile and state, and those that need a person', () => {
  const status = profilesStatus([
    node('n2', { flatcar: 'in-maintenance', patch: 'operational' }),
    node('n1', { flatcar: 'in-maintenance' }, { [pauseAnnotation]: 'vendor' }),
    node('n3', { flatcar: 'operational' }),
    { metadata: { name: 'n4', annotations: { [dataAnnotation]: '[' } } },
    { metadata: { name: 'n5' } },
  ])
  expect(status).toEqual({
    profiles: [
      { profile: 'flatcar', nodes: { 'in-maintenance': ['n1', 'n2'], operational: ['n3'] } },
      { profile: 'patch', nodes: { operational: ['n2'] } },
    ],
    paused: [{ node: 'n1', reason: 'vendor' }],
    unreadable: ['n4'],
  })
  expect(profilesStatusText(status)).toMatchInlineSnapshot(`
    "PROFILE  operational           maintenance-required  in-maintenance
    flatcar  1                     0                     2
      in-maintenance: n1, n2
    patch    1                     0                     0
    paused: n1: vendor
    needs a person: the data of n4 cannot be read; \`fettle profiles explain n4\` tells why
    "
  `)
})

test('without profiles there is nothing to show', () => {
  expect(profilesStatusText(profilesStatus([]))).toBe('no node has a profile\n')
})
