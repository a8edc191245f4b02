import { describe, expect, test } from 'vitest'
import { isEstablished, isRolledOut } from './install-apply.ts'

const metadata = { name: 'x', generation: 2 }

describe('a rollout', () => {
  test.each([
    ['of nothing is not over', undefined, 'it does not exist'],
    ['has not begun', { metadata, status: { observedGeneration: 1 } }, 'its controller has not looked at it yet'],
    ['waits for pods', { metadata, spec: { replicas: 2 }, status: { observedGeneration: 2 } }, '0 of 2 pods are ready'],
    [
      'does not count pods of the version before',
      {
        metadata,
        spec: { replicas: 2 },
        status: { observedGeneration: 2, replicas: 2, updatedReplicas: 1, availableReplicas: 2 },
      },
      '1 of 2 pods are ready',
    ],
    [
      'waits until the version before is gone',
      {
        metadata,
        spec: { replicas: 2 },
        status: { observedGeneration: 2, replicas: 3, updatedReplicas: 2, availableReplicas: 3 },
      },
      '1 pods of the version before are still there',
    ],
    [
      'is over',
      {
        metadata,
        spec: { replicas: 2 },
        status: { observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
      },
      true,
    ],
    [
      'over nodes waits for each',
      {
        metadata,
        status: { observedGeneration: 2, desiredNumberScheduled: 3, updatedNumberScheduled: 3, numberAvailable: 2 },
      },
      '2 of 3 pods are ready',
    ],
    [
      'over no node is over',
      { metadata, status: { observedGeneration: 2, desiredNumberScheduled: 0, updatedNumberScheduled: 0 } },
      true,
    ],
  ])('%s', (_what, workload, verdict) => {
    expect(isRolledOut(workload)).toBe(verdict)
  })
})

test('a custom resource counts when the API server serves it', () => {
  expect(isEstablished(undefined)).toBe('the API server does not serve it yet')
  const conditions = [{ type: 'Established', status: 'True' }]
  expect(isEstablished({ metadata, status: { conditions } })).toBe(true)
})
