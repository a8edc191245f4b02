import { expect, test } from 'vitest'
import type { MaintenanceBudget } from '../api/index.ts'
import { eventOf, fileEventOf, notSentEventOf, remarkOf, sentInPartEventOf } from './events.ts'
import { nodeOf } from './fixture-pass.ts'
import type { PassEvent, PassResult } from './state/result.ts'

const node = nodeOf('n1')
const regarding = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'uid-n1' }
const failure = { stage: 'check', cause: 'dead: no answer' } as const

test.for<[PassEvent, string, string, string]>([
  [
    { is: 'Changed', profile: 'p', from: 'operational', to: 'in-maintenance' },
    'Normal',
    'ChangedMaintenanceState',
    'The node is now in-maintenance by profile p.',
  ],
  [
    { is: 'Failed', profile: 'p', state: 'operational', failure },
    'Warning',
    'ChangeMaintenanceStateFailed',
    'Profile p stays operational: a check failed: dead: no answer',
  ],
  [
    { is: 'Failed', profile: 'p', state: 'operational', failure: { stage: 'write', cause: 'Invalid (422)' } },
    'Warning',
    'ChangeMaintenanceStateFailed',
    'Profile p stays operational: the node could not be written: Invalid (422)',
  ],
  [
    { is: 'Aborted', profile: 'p', from: 'in-maintenance' },
    'Normal',
    'AbortedMaintenance',
    'Profile p was aborted in in-maintenance and is operational again.',
  ],
  [
    { is: 'Overdue', profile: 'p', state: 'in-maintenance', since: '2026-03-01T12:00:00Z' },
    'Warning',
    'MaintenanceOverdue',
    'Profile p has been in-maintenance since 2026-03-01T12:00:00Z, too long.',
  ],
  [
    { is: 'Dropped', profile: 'p', state: 'in-maintenance' },
    'Warning',
    'ProfileRemovedInMaintenance',
    'Profile p was taken off the node while it was in-maintenance; what it did to the node is not undone.',
  ],
  [
    { is: 'Lost', profile: 'p', next: 'in-maintenance', why: 'the file no longer has the profile' },
    'Warning',
    'TransitionGivenUp',
    'Profile p does not go on to in-maintenance: the file no longer has the profile',
  ],
])('$0.is', ([event, type, reason, note]) => {
  expect(eventOf(node, event)).toEqual({ regarding, type, reason, action: 'ChangeMaintenanceState', note })
})

test.for<[string, Partial<PassResult>, string | undefined]>([
  ['all is well', {}, undefined],
  ['somebody paused it', { problem: 'paused: x' }, undefined],
  ['the data cannot be read', { problem: 'x; repair it', isUnreadable: true }, 'Nothing is done: x; repair it'],
  [
    'the label has typing errors',
    { unknown: ['flatcer', 'b'] },
    'Label cloud.sap/maintenance-profile names what the file of profiles does not have: flatcer, b',
  ],
])('a person is told when %s', ([, result, note]) => {
  expect(remarkOf(node, { profiles: [], unknown: [], ...result })?.note).toBe(note)
})

test('a file that is refused is told at the budget, whether that is there or not', () => {
  const errors = ['maintenance.yaml:2:12: error: intervals.requeue: it is "soon"', 'and more']
  const note = fileEventOf({ metadata: { name: 'cluster', uid: 'u' } } as MaintenanceBudget, errors)
  expect(note).toEqual({
    regarding: { apiVersion: 'fettle.dev/v1alpha1', kind: 'MaintenanceBudget', name: 'cluster', uid: 'u' },
    type: 'Warning',
    reason: 'ProfilesFileRefused',
    action: 'ReadProfiles',
    note:
      'The file of profiles is not put in force, and what was in force stays so: ' +
      'maintenance.yaml:2:12: error: intervals.requeue: it is "soon"; and more',
  })
  expect(fileEventOf(undefined, errors).regarding).not.toHaveProperty('uid')
})

test.for([
  [false, 'tell of profile p was not sent, and is tried again: no answer'],
  [
    true,
    'tell of profile p was not sent, and is tried again once the file of profiles is changed, and every hour for a day: no answer',
  ],
] as const)('a message that was not sent, and whether a person has to help: %s', ([needsPerson, note]) => {
  const at = '2026-03-01T12:00:00Z'
  const about = { profile: 'p', instance: 'tell', state: 'operational', previous: 'operational', at } as const
  const told = notSentEventOf({ ...about, node, attempt: 1, cause: 'no answer', needsPerson })
  expect(told).toEqual({ regarding, type: 'Warning', reason: 'NotificationFailed', action: 'Notify', note })
  expect(sentInPartEventOf({ ...about, node, remark: 'one has moved' })).toEqual({
    ...told,
    note: 'tell of profile p did not reach everybody: one has moved',
  })
})
