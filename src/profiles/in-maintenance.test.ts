import { expect, test } from 'vitest'
import { type NodeParts, nodeOf, noon } from './fixture-pass.ts'
import { isInMaintenance } from './in-maintenance.ts'
import { dataAnnotation, profileLabel, stateLabel } from './names.ts'
import { progressAnnotation } from './state/progress.ts'

const inside = { state: 'in-maintenance' } as const
const outside = { state: 'operational' } as const

function onTheWay(profile: string, next: string): NodeParts {
  const since = new Date(noon).toISOString()
  const inFlight = { [profile]: { from: 'maintenance-required', next, check: 'go', triggers: [], trigger: 0, since } }
  return { annotations: { [progressAnnotation]: JSON.stringify({ inFlight }) } }
}

const labelled = (label: string, parts: NodeParts = {}): NodeParts => ({ ...parts, labels: { [profileLabel]: label } })

test.for<[string, NodeParts, boolean]>([
  ['whose label says so', { labels: { [stateLabel]: 'in-maintenance' } }, true],
  ['whose label was edited', labelled('p', { profiles: { p: inside } }), true],
  ['of two profiles, one of which has it', labelled('p--q', { profiles: { p: outside, q: inside } }), true],
  ['without a label of profiles, which default has', { profiles: { default: inside } }, true],
  ['whose profile the file no longer has', labelled('old--p', { profiles: { old: inside, p: outside } }), false],
  ['whose label no longer names the profile', labelled('p', { profiles: { q: inside } }), false],
  ['that is on its way there', labelled('p', onTheWay('p', 'in-maintenance')), true],
  ['that is on its way out', labelled('p', onTheWay('p', 'operational')), false],
  ['on the way of a profile that the file no longer has', labelled('old', onTheWay('old', 'in-maintenance')), false],
  ['on the way of a profile that its label does not name', labelled('p', onTheWay('q', 'in-maintenance')), false],
  ['whose data nobody can read', labelled('p', { annotations: { [dataAnnotation]: '{{ in-maintenance' } }), false],
])('a node %s counts: %s', ([, parts, expected]) => {
  expect(isInMaintenance(nodeOf('n', parts), new Set(['default', 'p', 'q']))).toBe(expected)
})
