import { describe, expect, test } from 'vitest'
import type { NodeCondition, NodeObject } from '../kube/index.ts'
import { clearLifecycleConditions, lifecycleConditions } from './lifecycle-conditions.ts'

const [before, now] = ['2026-03-01T10:00:00.000Z', '2026-03-01T11:00:00.000Z']
const identity = { resourceVersion: '7', uid: 'uid-of-node' }
const ready: NodeCondition = { type: 'Ready', status: 'True', reason: 'KubeletReady' }

function condition(type: string, message: string, more: Partial<NodeCondition> = {}): NodeCondition {
  return { type, status: 'True', reason: 'FettleMaintenance', message, lastTransitionTime: before, ...more }
}

function node(...conditions: NodeCondition[]): NodeObject {
  return { metadata: { name: 'node-1', ...identity }, status: { conditions: [ready, ...conditions] } }
}

const written = (type: string, message: string, since = now) => ({
  type,
  status: 'True',
  reason: 'FettleMaintenance',
  message,
  lastHeartbeatTime: now,
  lastTransitionTime: since,
})

describe('the patch of conditions', () => {
  test('says what became true, and holds only for the node that was seen', () => {
    expect(lifecycleConditions(node(), { MaintenancePlanned: 'soon' }, now)).toEqual({
      metadata: identity,
      status: { conditions: [written('MaintenancePlanned', 'soon')] },
    })
  })

  test('takes away what is no longer true, in the same write', () => {
    const seen = node(condition('MaintenancePlanned', 'soon'), condition('DrainInProgress', '3 pods'))
    expect(lifecycleConditions(seen, { Drained: 'empty' }, now)?.status.conditions).toEqual([
      { $patch: 'delete', type: 'MaintenancePlanned' },
      { $patch: 'delete', type: 'DrainInProgress' },
      written('Drained', 'empty'),
    ])
  })

  test('keeps the time since when it is true while only the words change', () => {
    const seen = node(condition('DrainInProgress', '3 pods'))
    expect(lifecycleConditions(seen, { DrainInProgress: '2 pods' }, now)?.status.conditions).toEqual([
      written('DrainInProgress', '2 pods', before),
    ])
  })

  test('is nothing when all is said', () => {
    expect(lifecycleConditions(node(condition('Drained', 'empty')), { Drained: 'empty' }, now)).toBeUndefined()
    expect(lifecycleConditions({ metadata: identity }, {}, now)).toBeUndefined()
  })

  test('leaves alone what somebody else says', () => {
    const others = { reason: 'AdminRequested' }
    const seen = node(condition('MaintenancePlanned', 'on Monday', others))
    expect(lifecycleConditions(seen, { MaintenancePlanned: 'soon' }, now)).toBeUndefined()
    expect(clearLifecycleConditions(seen)).toBeUndefined()
  })

  test('speaks up where somebody else said that it is not so', () => {
    const seen = node(condition('Drained', 'no', { reason: 'AdminRequested', status: 'False' }))
    expect(lifecycleConditions(seen, { Drained: 'empty' }, now)?.status.conditions).toEqual([
      written('Drained', 'empty'),
    ])
  })
})

test('clearing takes all of ours and nothing else', () => {
  const seen = node(condition('Drained', 'empty'), condition('MaintenanceInProgress', 'work'))
  expect(clearLifecycleConditions(seen)).toEqual({
    metadata: identity,
    status: {
      conditions: [
        { $patch: 'delete', type: 'Drained' },
        { $patch: 'delete', type: 'MaintenanceInProgress' },
      ],
    },
  })
})
