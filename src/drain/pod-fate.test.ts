import { expect, test } from 'vitest'
import type { PodObject } from '../kube/index.ts'
import { critical, daemonSets, now, ofPriority, owner, pod, stopped, world } from './fixture-pods.ts'
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
const gone = { daemonSets: new Map() }
const foreign = { ownerReferences: [{ ...owner('DaemonSet')[0], apiVersion: 'apps.example.com/v1' }] }
const tolerating = { ...stopped, daemonSets: daemonSets({}) }

const elsewhere = 'ReplicaSet web starts it again elsewhere'
const here = 'DaemonSet web would start it again on this node'
const kubelets = "it is the kubelet's own (a static pod)"
const nobody = 'it has no controller: nothing would start it again elsewhere'
const keep =
  'annotation fettle.dev/keep-data says that its data must not be lost: save it, then delete the pod yourself or take the annotation away'
const last = 'DaemonSet web is to be stopped: it goes last, and starts again when the node is back'
const unstoppable =
  'DaemonSet shop/web cannot be stopped: it tolerates the taint drain.fettle.dev/stopped-daemonsets and would start its pod again; write keys into its tolerations, or take it off the list'
const stuck = 'it should have stopped 11 min ago and the node is not Ready to say so; nobody waits for it any more'

type Given = Parameters<typeof world>[1]
test.for<readonly [string, PodObject, Given, string, string]>([
  ['of a ReplicaSet', pod('a'), {}, 'evict', elsewhere],
  ['of a Job', pod('a', { ownerReferences: owner('Job') }), {}, 'evict', 'Job web starts it again elsewhere'],
  ['of a DaemonSet, of which nothing is known', pod('a', daemon), {}, 'stay', here],
  ['of a DaemonSet that exists', pod('a', daemon), { daemonSets: daemonSets() }, 'stay', here],
  ["of somebody else's kind of DaemonSet", pod('a', foreign), { daemonSets: daemonSets() }, 'stay', here],
  ['of a DaemonSet to stop', pod('a', daemon), stopped, 'evict', last],
  [
    'of a DaemonSet to stop, stopping',
    pod('a', { ...daemon, ...stopping }),
    stopped,
    'leaving',
    'it is stopping already',
  ],
  ['of a DaemonSet to stop, finished', pod('a', daemon, 'Failed'), stopped, 'evict', 'it has finished'],
  ['of a DaemonSet to stop, with data to keep', pod('a', { ...daemon, ...precious }), stopped, 'refuse', keep],
  ['of a DaemonSet to stop, of which nothing is known', pod('a', daemon), { settings: stopped.settings }, 'stay', here],
  [
    'of a DaemonSet with the name of one to stop in another namespace',
    pod('a', daemon),
    { ...stopped, settings: { stopDaemonSets: [{ namespace: 'bank', name: 'web' }] } },
    'stay',
    here,
  ],
  ['of a DaemonSet to stop that tolerates everything', pod('a', daemon), tolerating, 'stay', unstoppable],
  [
    'of a DaemonSet to stop that tolerates everything, stopping',
    pod('a', { ...daemon, ...stopping }),
    tolerating,
    'stay',
    unstoppable,
  ],
  [
    'of the agent of Fettle, whoever names it',
    pod('a', { ownerReferences: [{ ...owner('DaemonSet')[0], name: 'fettle-agent' }] }),
    {
      daemonSets: new Map([['o', { metadata: { namespace: 'fettle-system', name: 'fettle-agent' } }]]),
      settings: { stopDaemonSets: [{ namespace: 'fettle-system', name: 'fettle-agent' }] },
    },
    'stay',
    'DaemonSet fettle-system/fettle-agent cannot be stopped: it is Fettle itself and does the work on its node; take it off the list',
  ],
  ['static, and named like a DaemonSet to stop', pod('a', { ...mirror, ...daemon }), stopped, 'stay', kubelets],
  ['of a ReplicaSet with the name of a DaemonSet to stop', pod('a'), stopped, 'evict', elsewhere],
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

test('stages: ordinary, then system-critical, then our own, then DaemonSets to stop, whatever their priority', () => {
  const stage = (seen: PodObject, given: Given = {}) => fateOf(seen, world([], given)).stage
  expect([
    stage(pod('a')),
    stage(ofPriority('a', 1_000_000_000)),
    stage(ofPriority('a', critical)),
    stage(ofPriority('a', critical), isOwn),
    stage(pod('a'), isOwn),
    stage(ofPriority('a', critical, daemon)),
    stage(ofPriority('a', critical, daemon), stopped),
    stage(pod('a', daemon), tolerating),
  ]).toEqual(['ordinary', 'ordinary', 'critical', 'own', 'own', 'critical', 'daemonSet', 'daemonSet'])
})
