import { expect, test } from 'vitest'
import type { ObjectRef, OwnerReference, PodObject } from '../kube/index.ts'
import { shufflesOf, type WorkloadObject, type WorkloadViews } from './shuffles.ts'

const owner = (kind: string, name: string) => ({ kind, name }) as OwnerReference
const podOf = (...ownerReferences: OwnerReference[]): PodObject => ({
  metadata: { namespace: 'shop', ownerReferences },
})

const viewOf = (workloads: Readonly<Record<string, WorkloadObject>>) => ({
  get: ({ namespace, name }: ObjectRef) => workloads[`${namespace}/${name}`],
})
const views: WorkloadViews = {
  replicaSets: viewOf({
    'shop/web-1': { metadata: { ownerReferences: [owner('Deployment', 'web')] }, spec: { replicas: 9 } },
    'shop/alone': { metadata: {}, spec: { replicas: 2 } },
    'shop/rollout-1': { metadata: { ownerReferences: [owner('Rollout', 'rollout')] } },
    'shop/empty': { metadata: {} },
    'shop/zero': { metadata: {}, spec: { replicas: 0 } },
    'shop/off-1': { metadata: { ownerReferences: [owner('Deployment', 'off')] }, spec: { replicas: 0 } },
  }),
  deployments: viewOf({
    'shop/web': { metadata: {}, spec: { replicas: 4 } },
    'shop/off': { metadata: {}, spec: { replicas: 0 } },
  }),
  statefulSets: viewOf({
    'shop/db': { metadata: {}, spec: { replicas: 1 } },
    'shop/idle': { metadata: {}, spec: { replicas: 0 } },
  }),
  daemonSets: viewOf({
    'shop/each': { metadata: {}, status: { numberReady: 5 } },
    'shop/none': { metadata: {}, status: { numberReady: 0 } },
  }),
}

test.for<[string, PodObject, readonly [string, number] | undefined]>([
  ['of a Deployment', podOf(owner('ReplicaSet', 'web-1')), ['deployment_web', 0.25]],
  ['of a ReplicaSet alone', podOf(owner('ReplicaSet', 'alone')), ['replica_set_alone', 0.5]],
  ['of a ReplicaSet that does not say how many', podOf(owner('ReplicaSet', 'empty')), ['replica_set_empty', 1]],
  ['of a StatefulSet', podOf(owner('StatefulSet', 'db')), ['stateful_set_db', 1]],
  ['of a DaemonSet', podOf(owner('DaemonSet', 'each')), ['daemon_set_each', 0.2]],
  ['of a DaemonSet with none ready', podOf(owner('DaemonSet', 'none')), ['daemon_set_none', 1]],
  ['of a Deployment scaled to zero', podOf(owner('ReplicaSet', 'off-1')), ['deployment_off', 1]],
  ['of a ReplicaSet scaled to zero', podOf(owner('ReplicaSet', 'zero')), ['replica_set_zero', 1]],
  ['of a StatefulSet scaled to zero', podOf(owner('StatefulSet', 'idle')), ['stateful_set_idle', 1]],
  ['of a DaemonSet that is gone', podOf(owner('DaemonSet', 'gone')), ['daemon_set_gone', 1]],
  ['of a ReplicaSet of something else', podOf(owner('ReplicaSet', 'rollout-1')), undefined],
  ['of a ReplicaSet that is gone', podOf(owner('ReplicaSet', 'gone')), undefined],
  ['of a Job', podOf(owner('Job', 'once')), undefined],
  ['of nobody', podOf(), undefined],
])('a pod %s', ([, pod, expected]) => {
  const shuffles = expected ? [{ owner: expected[0], namespace: 'shop', perReplica: expected[1] }] : []
  expect(shufflesOf([pod], views)).toEqual(shuffles)
  // One that cannot be told does not spoil the others.
  expect(shufflesOf([pod, podOf(owner('StatefulSet', 'db'))], views)).toHaveLength(shuffles.length + 1)
})
