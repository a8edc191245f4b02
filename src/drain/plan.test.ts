import { describe, expect, test } from 'vitest'
import type { PodDisruptionBudget, PodObject } from '../kube/index.ts'
import { fateOf, planDrain } from './plan.ts'

const owner = (kind: string, controller = true) => [{ apiVersion: 'apps/v1', kind, name: 'web', uid: 'o', controller }]

function pod(name: string, metadata: object = {}, phase = 'Running'): PodObject {
  return {
    metadata: {
      namespace: 'shop',
      name,
      uid: name,
      labels: { app: 'web' },
      ownerReferences: owner('ReplicaSet'),
      ...metadata,
    },
    status: { phase, conditions: [{ type: 'Ready', status: 'True' }] },
  }
}

const budget = (disruptionsAllowed: number): PodDisruptionBudget => ({
  metadata: { namespace: 'shop', name: 'web', generation: 1 },
  spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  status: { observedGeneration: 1, disruptionsAllowed, currentHealthy: 5, desiredHealthy: 1, expectedPods: 6 },
})

describe('what becomes of a pod', () => {
  const stopping = { deletionTimestamp: '2026-03-01T10:00:00Z' }
  const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' }, ownerReferences: owner('Node') }
  const alone = { ownerReferences: [] }
  test.for<readonly [string, PodObject, string, string]>([
    ['of a ReplicaSet', pod('a'), 'evict', 'ReplicaSet web starts it again elsewhere'],
    [
      'of a StatefulSet',
      pod('a', { ownerReferences: owner('StatefulSet') }),
      'evict',
      'StatefulSet web starts it again elsewhere',
    ],
    ['of a Job', pod('a', { ownerReferences: owner('Job') }), 'evict', 'Job web starts it again elsewhere'],
    [
      'of a DaemonSet',
      pod('a', { ownerReferences: owner('DaemonSet') }),
      'stay',
      'DaemonSet web would start it again on this node',
    ],
    [
      'of a DaemonSet, stopping',
      pod('a', { ownerReferences: owner('DaemonSet'), ...stopping }),
      'stay',
      'DaemonSet web would start it again on this node',
    ],
    [
      'of a DaemonSet, finished',
      pod('a', { ownerReferences: owner('DaemonSet') }, 'Failed'),
      'evict',
      'it has finished',
    ],
    ['static', pod('a', mirror), 'stay', "it is the kubelet's own (a static pod)"],
    ['static, finished', pod('a', mirror, 'Failed'), 'stay', "it is the kubelet's own (a static pod)"],
    ['stopping', pod('a', stopping), 'leaving', 'it is stopping already'],
    ['alone and stopping', pod('a', { ...alone, ...stopping }), 'leaving', 'it is stopping already'],
    ['alone and finished', pod('a', alone, 'Succeeded'), 'evict', 'it has finished'],
    [
      'alone',
      pod('a', alone),
      'refuse',
      'it has no controller: nothing would start it again elsewhere; delete it yourself to go on',
    ],
    [
      'owned, but not controlled',
      pod('a', { ownerReferences: owner('ReplicaSet', false) }),
      'refuse',
      'it has no controller: nothing would start it again elsewhere; delete it yourself to go on',
    ],
  ])('%s', ([, seen, fate, why]) => {
    expect(fateOf(seen)).toEqual({ pod: seen, fate, why })
  })
})

describe('a plan', () => {
  test('asks as many pods as their budget has to give, and names the others', () => {
    const pods = ['a', 'b', 'c'].map((name) => pod(name))
    const plan = planDrain(pods, [budget(2)])
    expect(plan.evictNow.map(({ metadata }) => metadata.name)).toEqual(['a', 'b'])
    expect(plan.refusals.map(({ pod: { metadata }, neverPasses }) => [metadata.name, neverPasses])).toEqual([
      ['c', false],
    ])
    expect(plan.left).toEqual(pods)
  })

  test('does not let pods draw from a budget of another namespace', () => {
    const plan = planDrain([pod('a', { namespace: 'bank' }), pod('b')], [budget(0)])
    expect(plan.evictNow.map(({ metadata }) => metadata.name)).toEqual(['a'])
  })

  test('lets a pod that has finished go without drawing from its budget', () => {
    const plan = planDrain([pod('a', {}, 'Succeeded'), pod('b')], [budget(1)])
    expect(plan.evictNow.map(({ metadata }) => metadata.name)).toEqual(['a', 'b'])
    expect(plan.refusals).toEqual([])
  })

  test('waits for pods that are leaving, and not for those that stay', () => {
    const leaving = pod('a', { deletionTimestamp: '2026-03-01T10:00:00Z' })
    const plan = planDrain([leaving, pod('b', { ownerReferences: owner('DaemonSet') })], [])
    expect(plan).toMatchObject({ evictNow: [], left: [leaving], refusals: [] })
  })

  test('refuses a pod without a controller, and asks the others all the same', () => {
    const alone = pod('alone', { ownerReferences: [] })
    const plan = planDrain([alone, pod('b')], [])
    expect(plan.evictNow.map(({ metadata }) => metadata.name)).toEqual(['b'])
    expect(plan.refusals).toEqual([{ pod: alone, why: fateOf(alone).why, neverPasses: true }])
    expect(plan.left).toHaveLength(2)
  })

  test('of an empty node has nothing left', () => {
    expect(planDrain([], [budget(0)])).toEqual({ fates: [], evictNow: [], left: [], refusals: [] })
  })
})
