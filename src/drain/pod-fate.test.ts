import { expect, test } from 'vitest'
import type { PodObject } from '../kube/index.ts'
import { critical, now, ofPriority, owner, pod, world } from './fixture-pods.ts'
import type { DrainWorld } from './plan.ts'
import { fateOf } from './pod-fate.ts'

const stopping = { deletionTimestamp: '2026-03-01T11:59:00Z' }
const overdue = { deletionTimestamp: '2026-03-01T11:49:00Z' }
const mirror = { annotations: { 'kubernetes.io/config.mirror': 'x' }, ownerReferences: owner('Node') }
const alone = { ownerReferences: [] }
const precious = { annotations: { 'fettle.dev/keep-data': 'true' } }
const daemon = { ownerReferences: owner('DaemonSet') }
const notReady = { isNodeReady: false }
const isOwn = { ownPods: () => true }
const gone = { daemonSets: new Set<string>() }

const elsewhere = 'ReplicaSet web starts it again elsewhere'
const here = 'DaemonSet web would start it again on this node'
const kubelets = "it is the kubelet's own (a static pod)"
const nobody = 'it has no controller: nothing would start it again elsewhere'
const keep =
  'annotation fettle.dev/keep-data says that its data must not be lost: save it, then delete the pod yourself or take the annotation away'
const stuck = 'it should have stopped 11 min ago and the node is not Ready to say so; nobody waits for it any more'

type Given = Parameters<typeof world>[1]
test.for<readonly [string, PodObject, Given, string, string]>([
  ['of a ReplicaSet', pod('a'), {}, 'evict', elsewhere],
  ['of a Job', pod('a', { ownerReferences: owner('Job') }), {}, 'evict', 'Job web starts it again elsewhere'],
  ['of a DaemonSet, of which nothing is known', pod('a', daemon), {}, 'stay', here],
  ['of a DaemonSet that exists', pod('a', daemon), { daemonSets: new Set(['o']) }, 'stay', here],
  ['of a DaemonSet that is gone', pod('a', daemon), gone, 'evict', 'DaemonSet web does not exist any more'],
  [
    'of a DaemonSet that is gone, stopping',
    pod('a', { ...daemon, ...stopping }),
    gone,
    'leaving',
    'it is stopping already',
  ],
  ['of a DaemonSet, stopping', pod('a', { ...daemon, ...stopping }), {}, 'stay', here],
  ['of a DaemonSet, finished', pod('a', daemon, 'Failed'), {}, 'evict', 'it has finished'],
  ['static', pod('a', mirror), {}, 'stay', kubelets],
  ['static, finished', pod('a', mirror, 'Failed'), {}, 'stay', kubelets],
  ['static, in a forced drain', pod('a', mirror), { settings: { isForced: true } }, 'stay', kubelets],
  ['stopping', pod('a', stopping), {}, 'leaving', 'it is stopping already'],
  ['stopping on a node that is not Ready', pod('a', stopping), notReady, 'leaving', 'it is stopping already'],
  ['stopping for long on a node that is Ready', pod('a', overdue), {}, 'leaving', 'it is stopping already'],
  ['stopping for long on a node that is not Ready', pod('a', overdue), notReady, 'stuck', stuck],
  [
    'stopping since a time that nobody can read',
    pod('a', { deletionTimestamp: '?' }),
    notReady,
    'leaving',
    'it is stopping already',
  ],
  ['alone and stopping', pod('a', { ...alone, ...stopping }), {}, 'leaving', 'it is stopping already'],
  ['alone and finished', pod('a', alone, 'Succeeded'), {}, 'evict', 'it has finished'],
  ['alone', pod('a', alone), {}, 'refuse', `${nobody}; delete it yourself to go on`],
  [
    'owned, but not controlled',
    pod('a', { ownerReferences: owner('ReplicaSet', false) }),
    {},
    'refuse',
    `${nobody}; delete it yourself to go on`,
  ],
  [
    'alone, and that is allowed',
    pod('a', alone),
    { settings: { unmanaged: 'Evict' } },
    'evict',
    `${nobody}, and the settings of the drain allow it`,
  ],
  [
    'alone, in a forced drain',
    pod('a', alone),
    { settings: { isForced: true } },
    'evict',
    `${nobody}, but the drain is forced`,
  ],
  ['with data to keep', pod('a', precious), {}, 'refuse', keep],
  ['with data to keep, in a forced drain', pod('a', precious), { settings: { isForced: true } }, 'refuse', keep],
  ['with data to keep, finished', pod('a', precious, 'Succeeded'), {}, 'evict', 'it has finished'],
  [
    'with data that need not be kept',
    pod('a', { annotations: { 'fettle.dev/keep-data': 'false' } }),
    {},
    'evict',
    elsewhere,
  ],
  ['of Fettle, with a place to go', pod('a'), { ...isOwn, hasOtherNodes: true }, 'evict', elsewhere],
  [
    'of Fettle, with no place to go',
    pod('a'),
    { ...isOwn, hasOtherNodes: false },
    'stay',
    'it is Fettle itself, and no other node is known to be able to run it',
  ],
  [
    'of Fettle, in doubt',
    pod('a'),
    isOwn,
    'stay',
    'it is Fettle itself, and no other node is known to be able to run it',
  ],
  ['of Fettle, finished', pod('a', {}, 'Failed'), isOwn, 'evict', 'it has finished'],
])('a pod: %s', ([, seen, given, fate, why]) => {
  const { pods: _, budgets: __, ...around }: DrainWorld = world([], given)
  expect(fateOf(seen, around)).toMatchObject({ pod: seen, fate, why })
})

test('a pod is waited for until ten minutes after its grace period, to the second', () => {
  const at = (ms: number) =>
    fateOf(pod('a', { deletionTimestamp: new Date(now - ms).toISOString() }), world([], notReady)).fate
  expect([at(0), at(600_000), at(601_000)]).toEqual(['leaving', 'leaving', 'stuck'])
})

test('stages: ordinary, then system-critical, then our own, whatever its priority', () => {
  const stage = (seen: PodObject, given: Given = {}) => fateOf(seen, world([], given)).stage
  expect([
    stage(pod('a')),
    stage(ofPriority('a', 1_000_000_000)),
    stage(ofPriority('a', critical)),
    stage(ofPriority('a', critical), isOwn),
    stage(pod('a'), isOwn),
  ]).toEqual(['ordinary', 'ordinary', 'critical', 'own', 'own'])
})
