import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PodObject } from '../../kube/index.ts'
import type { Json, JsonObject } from '../json.ts'
import { type Health, healthOf, isHealthyAtOnce } from './health.ts'

const nowMs = Date.parse('2026-05-01T12:00:00Z')
const ago = (seconds: number) => new Date(nowMs - seconds * 1_000).toISOString()

type Fields = Record<string, Json>
const kind = (apiVersion: string, name: string) => (parts: Fields) => ({
  apiVersion,
  kind: name,
  ...parts,
  metadata: { name: 'web', namespace: 'shop', uid: 'u', generation: 2, ...(parts['metadata'] as Fields | undefined) },
})
const deployment = kind('apps/v1', 'Deployment')
const statefulSet = kind('apps/v1', 'StatefulSet')
const daemonSet = kind('apps/v1', 'DaemonSet')
const replicaSet = kind('apps/v1', 'ReplicaSet')
const pod = kind('v1', 'Pod')
const job = kind('batch/v1', 'Job')
const cronJob = kind('batch/v1', 'CronJob')
const claim = kind('v1', 'PersistentVolumeClaim')
const service = kind('v1', 'Service')
const ingress = kind('networking.k8s.io/v1', 'Ingress')
const route = kind('gateway.networking.k8s.io/v1', 'HTTPRoute')
const gateway = kind('gateway.networking.k8s.io/v1', 'Gateway')
const autoscaler = kind('autoscaling/v2', 'HorizontalPodAutoscaler')
const budget = kind('policy/v1', 'PodDisruptionBudget')
const definition = kind('apiextensions.k8s.io/v1', 'CustomResourceDefinition')
const apiService = kind('apiregistration.k8s.io/v1', 'APIService')
const namespace = kind('v1', 'Namespace')
const custom = kind('example.com/v1', 'Widget')

const condition = (type: string, status: string, more: Fields = {}): JsonObject => ({ type, status, ...more })
const conditions = (...all: JsonObject[]) => ({ status: { conditions: all } })
const seen = { observedGeneration: 2 }
const all = (count: number) => ({
  replicas: count,
  updatedReplicas: count,
  readyReplicas: count,
  availableReplicas: count,
})
const available = { conditions: [condition('Available', 'True')] }
const nodes = (count: number) => ({
  desiredNumberScheduled: count,
  currentNumberScheduled: count,
  updatedNumberScheduled: count,
  numberReady: count,
  numberAvailable: count,
})
const waiting = (reason: string, more: Fields = {}): JsonObject => ({
  name: 'main',
  restartCount: 0,
  state: { waiting: { reason } },
  ...more,
})
const podStatus = (container: JsonObject, notReadyFor = 5) => ({
  status: {
    phase: 'Pending',
    conditions: [condition('Ready', 'False', { lastTransitionTime: ago(notReadyFor) })],
    containerStatuses: [container],
  },
})
const unschedulable = (seconds: number) => ({
  status: {
    phase: 'Pending',
    conditions: [
      condition('PodScheduled', 'False', {
        reason: 'Unschedulable',
        message: '0/5 nodes are available',
        lastTransitionTime: ago(seconds),
      }),
    ],
  },
})
const oneRevision = { currentRevision: 'a', updateRevision: 'a' }
const twoRevisions = { currentRevision: 'a', updateRevision: 'b' }

/** A pod of whoever has the UID `u`. */
function ownedPod(name: string, container: JsonObject, labels: Record<string, string> = {}): PodObject {
  return {
    metadata: {
      name,
      namespace: 'shop',
      labels,
      creationTimestamp: ago(60),
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'u', controller: true }],
    },
    ...podStatus(container, 600),
  } as unknown as PodObject
}
const crashing = waiting('CrashLoopBackOff', { restartCount: 4, lastState: { terminated: { exitCode: 1 } } })
const consumer = {
  metadata: { name: 'p', namespace: 'shop' },
  spec: { volumes: [{ name: 'd', persistentVolumeClaim: { claimName: 'web' } }] },
} as PodObject

type Row = readonly [says: string, object: JsonObject, is: Health['is'], message: string, pods?: readonly PodObject[]]

const rows: Readonly<Record<string, readonly Row[]>> = {
  'any kind': [
    [
      'a deletion timestamp comes first',
      deployment({ metadata: { deletionTimestamp: ago(3) }, status: { ...seen, ...all(1), ...available } }),
      'Terminating',
      'it is being deleted since 2026-05-01T11:59:57.000Z',
    ],
    [
      'a generation that nobody has seen',
      custom({ status: { observedGeneration: 1, conditions: [condition('Ready', 'True')] } }),
      'InProgress',
      'its controller has seen generation 1 of 2',
    ],
    [
      'Stalled',
      custom(conditions(condition('Stalled', 'True', { reason: 'NoQuota' }), condition('Ready', 'True'))),
      'Failed',
      'Stalled is True: NoQuota',
    ],
    ['not Stalled', custom(conditions(condition('Stalled', 'False'))), 'Current', 'it exists'],
    [
      'Reconciling',
      custom(conditions(condition('Reconciling', 'True'), condition('Ready', 'True'))),
      'InProgress',
      'Reconciling is True',
    ],
  ],
  Deployment: [
    [
      'all are there',
      deployment({ spec: { replicas: 3 }, status: { ...seen, ...all(3), ...available } }),
      'Current',
      '3/3 updated, 3/3 ready, 3/3 available',
    ],
    [
      'one replica if none is said',
      deployment({ spec: {}, status: { ...seen, ...all(1), ...available } }),
      'Current',
      '1/1 updated, 1/1 ready, 1/1 available',
    ],
    [
      'scaled to nothing',
      deployment({ spec: { replicas: 0 }, status: { ...seen, ...available } }),
      'Current',
      '0/0 updated, 0/0 ready, 0/0 available',
    ],
    [
      'nobody has looked',
      deployment({ spec: { replicas: 0 } }),
      'InProgress',
      'its controller has not looked at it yet',
    ],
    [
      'not all updated',
      deployment({ spec: { replicas: 3 }, status: { ...seen, ...all(3), updatedReplicas: 1, ...available } }),
      'InProgress',
      '1/3 updated, 3/3 ready, 3/3 available',
    ],
    [
      'not all ready',
      deployment({ spec: { replicas: 3 }, status: { ...seen, ...all(3), readyReplicas: 2, ...available } }),
      'InProgress',
      '3/3 updated, 2/3 ready, 3/3 available',
    ],
    [
      'not all available',
      deployment({ spec: { replicas: 3 }, status: { ...seen, ...all(3), availableReplicas: 2, ...available } }),
      'InProgress',
      '3/3 updated, 3/3 ready, 2/3 available',
    ],
    [
      'a surplus',
      deployment({ spec: { replicas: 3 }, status: { ...seen, ...all(3), replicas: 4, ...available } }),
      'InProgress',
      '3/3 updated, 3/3 ready, 3/3 available, 1 surplus',
    ],
    [
      'not Available',
      deployment({
        spec: { replicas: 1 },
        status: { ...seen, ...all(1), conditions: [condition('Available', 'False')] },
      }),
      'InProgress',
      '1/1 updated, 1/1 ready, 1/1 available',
    ],
    [
      'paused',
      deployment({ spec: { replicas: 2, paused: true }, status: { ...seen, ...all(1) } }),
      'InProgress',
      '1/2 updated, 1/2 ready, 1/2 available; it is paused',
    ],
    [
      'its progress deadline passed',
      deployment({
        spec: { replicas: 1 },
        status: { ...seen, conditions: [condition('Progressing', 'False', { reason: 'ProgressDeadlineExceeded' })] },
      }),
      'Failed',
      '0/1 updated, 0/1 ready, 0/1 available; its progress deadline passed',
    ],
    [
      'a quota refuses its pods for a moment',
      deployment({
        spec: { replicas: 1 },
        status: {
          ...seen,
          conditions: [
            condition('ReplicaFailure', 'True', {
              reason: 'FailedCreate',
              message: 'pods "a" is forbidden: exceeded quota',
              lastTransitionTime: ago(30),
            }),
          ],
        },
      }),
      'InProgress',
      'ReplicaFailure is True: FailedCreate: pods "a" is forbidden: exceeded quota',
    ],
    [
      'a quota refuses its pods for more than 30 s',
      deployment({
        spec: { replicas: 1 },
        status: {
          ...seen,
          conditions: [
            condition('ReplicaFailure', 'True', {
              reason: 'FailedCreate',
              message: 'exceeded quota',
              lastTransitionTime: ago(31),
            }),
          ],
        },
      }),
      'Failed',
      'ReplicaFailure is True: FailedCreate: exceeded quota',
    ],
    [
      'another reason to have no replicas may pass',
      deployment({
        spec: { replicas: 1 },
        status: {
          ...seen,
          conditions: [
            condition('ReplicaFailure', 'True', {
              reason: 'FailedCreate',
              message: 'connection refused',
              lastTransitionTime: ago(99),
            }),
          ],
        },
      }),
      'InProgress',
      'ReplicaFailure is True: FailedCreate: connection refused',
    ],
    [
      'the problem of its pods is told, and that of others is not',
      deployment({ spec: { replicas: 1 }, status: { ...seen } }),
      'InProgress',
      '0/1 updated, 0/1 ready, 0/1 available; pod web-7f-x, container main: CrashLoopBackOff, exit code 1, 4 restarts',
      [replicaSetPod('web-shop-7f', '7f', 'web-shop-7f-x'), replicaSetPod('web-7f', '7f', 'web-7f-x')],
    ],
  ],
  StatefulSet: [
    [
      'all are there',
      statefulSet({ spec: { replicas: 2 }, status: { ...seen, ...all(2), ...oneRevision } }),
      'Current',
      '2/2 updated, 2/2 ready, 2/2 available',
    ],
    [
      'not all ready',
      statefulSet({ spec: { replicas: 2 }, status: { ...seen, ...all(2), readyReplicas: 1, ...oneRevision } }),
      'InProgress',
      '2/2 updated, 1/2 ready, 2/2 available',
    ],
    [
      'two revisions',
      statefulSet({ spec: { replicas: 2 }, status: { ...seen, ...all(2), updatedReplicas: 1, ...twoRevisions } }),
      'InProgress',
      '1/2 updated, 2/2 ready, 2/2 available',
    ],
    [
      'the partition is reached',
      statefulSet({
        spec: { replicas: 3, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 2 } } },
        status: { ...seen, ...all(3), updatedReplicas: 1, ...twoRevisions },
      }),
      'Current',
      '1/3 updated, 3/3 ready, 3/3 available; the partition of 2 is reached',
    ],
    [
      'the partition is not reached',
      statefulSet({
        spec: { replicas: 3, updateStrategy: { rollingUpdate: { partition: 1 } } },
        status: { ...seen, ...all(3), updatedReplicas: 1, ...twoRevisions },
      }),
      'InProgress',
      '1/3 updated, 3/3 ready, 3/3 available',
    ],
    [
      'OnDelete: somebody else decides when',
      statefulSet({
        spec: { replicas: 2, updateStrategy: { type: 'OnDelete' } },
        status: { ...seen, ...all(2), updatedReplicas: 0, ...twoRevisions },
      }),
      'Current',
      '0/2 updated, 2/2 ready, 2/2 available; pods take the new revision when somebody deletes them (OnDelete)',
    ],
    [
      'the pod of the blocked ordinal failed',
      statefulSet({ spec: { replicas: 2 }, status: { ...seen, ...all(2), readyReplicas: 1, ...twoRevisions } }),
      'Failed',
      '2/2 updated, 1/2 ready, 2/2 available; pod web-1, container main: CrashLoopBackOff, exit code 1, 4 restarts',
      [ownedPod('web-1', crashing, { 'controller-revision-hash': 'b' })],
    ],
    [
      'a broken pod of the old revision is what the new one mends',
      statefulSet({ spec: { replicas: 2 }, status: { ...seen, ...all(2), readyReplicas: 1, ...twoRevisions } }),
      'InProgress',
      '2/2 updated, 1/2 ready, 2/2 available; pod web-1, container main: CrashLoopBackOff, exit code 1, 4 restarts',
      [ownedPod('web-1', crashing, { 'controller-revision-hash': 'a' })],
    ],
  ],
  DaemonSet: [
    [
      'on all nodes',
      daemonSet({ status: { ...seen, ...nodes(5) } }),
      'Current',
      '5/5 updated, 5/5 ready, 5/5 available',
    ],
    ...(['currentNumberScheduled', 'updatedNumberScheduled', 'numberReady', 'numberAvailable'] as const).map(
      (field): Row => [
        `${field} is behind`,
        daemonSet({ status: { ...seen, ...nodes(5), [field]: 4 } }),
        'InProgress',
        `${field === 'updatedNumberScheduled' ? 4 : 5}/5 updated, ${field === 'numberReady' ? 4 : 5}/5 ready, ${field === 'numberAvailable' ? 4 : 5}/5 available`,
      ],
    ),
    ['nobody has looked', daemonSet({ status: nodes(0) }), 'InProgress', 'its controller has not looked at it yet'],
    [
      'OnDelete: somebody else decides when',
      daemonSet({
        spec: { updateStrategy: { type: 'OnDelete' } },
        status: { ...seen, ...nodes(5), updatedNumberScheduled: 0 },
      }),
      'Current',
      '0/5 updated, 5/5 ready, 5/5 available; pods take the new version when somebody deletes them (OnDelete)',
    ],
  ],
  ReplicaSet: [
    [
      'all are there',
      replicaSet({ spec: { replicas: 2 }, status: { ...seen, ...all(2), fullyLabeledReplicas: 2 } }),
      'Current',
      '2/2 updated, 2/2 ready, 2/2 available',
    ],
    [
      'not all labelled',
      replicaSet({ spec: { replicas: 2 }, status: { ...seen, ...all(2), fullyLabeledReplicas: 1 } }),
      'InProgress',
      '1/2 updated, 2/2 ready, 2/2 available',
    ],
    [
      'its pods are refused',
      replicaSet({
        spec: { replicas: 2 },
        status: { ...seen, conditions: [condition('ReplicaFailure', 'True', { message: 'no' })] },
      }),
      'Failed',
      'ReplicaFailure is True: no',
    ],
  ],
  Pod: [
    ['Ready', pod(conditions(condition('Ready', 'True'))), 'Current', 'it is ready'],
    ['Succeeded', pod({ status: { phase: 'Succeeded' } }), 'Current', 'it ran to its end'],
    ['runs, not ready', pod({ status: { phase: 'Running' } }), 'InProgress', 'it runs and is not ready'],
    ['starts', pod(podStatus(waiting('ContainerCreating'))), 'InProgress', 'it has not started'],
    [
      'Failed',
      pod({ status: { phase: 'Failed', reason: 'Evicted', message: 'low on memory' } }),
      'Failed',
      'pod web: Evicted (low on memory)',
    ],
    [
      'Failed by its container',
      pod({
        status: {
          phase: 'Failed',
          containerStatuses: [{ name: 'main', state: { terminated: { exitCode: 3, reason: 'Error' } } }],
        },
      }),
      'Failed',
      'pod web, container main: Error, exit code 3',
    ],
    [
      'CrashLoopBackOff',
      pod(podStatus(crashing)),
      'Failed',
      'pod web, container main: CrashLoopBackOff, exit code 1, 4 restarts',
    ],
    [
      'one crash is no loop',
      pod(podStatus({ name: 'main', restartCount: 1, state: { terminated: { exitCode: 2, reason: 'Error' } } })),
      'InProgress',
      'pod web, container main: Error, exit code 2, 1 restart',
    ],
    [
      'CreateContainerConfigError',
      pod(
        podStatus({
          name: 'main',
          state: { waiting: { reason: 'CreateContainerConfigError', message: 'secret "a" not found' } },
        }),
      ),
      'Failed',
      'pod web, container main: CreateContainerConfigError (secret "a" not found)',
    ],
    [
      'ErrImagePull for a minute',
      pod(podStatus(waiting('ErrImagePull'), 60)),
      'InProgress',
      'pod web, container main: ErrImagePull',
    ],
    [
      'ErrImagePull for longer',
      pod(podStatus(waiting('ErrImagePull'), 61)),
      'Failed',
      'pod web, container main: ErrImagePull',
    ],
    [
      'ImagePullBackOff for longer',
      pod(podStatus(waiting('ImagePullBackOff'), 61)),
      'Failed',
      'pod web, container main: ImagePullBackOff',
    ],
    [
      'an init container crashes',
      pod({ status: { phase: 'Pending', initContainerStatuses: [crashing] } }),
      'Failed',
      'pod web, container main: CrashLoopBackOff, exit code 1, 4 restarts',
    ],
    [
      'Unschedulable for 15 s',
      pod(unschedulable(15)),
      'InProgress',
      'pod web: Unschedulable (0/5 nodes are available)',
    ],
    ['Unschedulable for longer', pod(unschedulable(16)), 'Failed', 'pod web: Unschedulable (0/5 nodes are available)'],
  ],
  Job: [
    ['complete', job(conditions(condition('Complete', 'True'))), 'Current', 'it is complete'],
    [
      'running is not done',
      job({ spec: { completions: 3 }, status: { active: 2, succeeded: 1 } }),
      'InProgress',
      '1/3 complete, 2 active',
    ],
    ['not begun', job({}), 'InProgress', '0/1 complete, 0 active'],
    ['suspended', job({ spec: { suspend: true } }), 'Current', 'it is suspended'],
    [
      'failed',
      job(conditions(condition('Failed', 'True', { reason: 'BackoffLimitExceeded', message: 'too often' }))),
      'Failed',
      'it failed: too often',
    ],
  ],
  CronJob: [
    ['never ran', cronJob({}), 'Current', 'it has not run yet'],
    [
      'last run succeeded',
      cronJob({ status: { lastScheduleTime: ago(60), lastSuccessfulTime: ago(30) } }),
      'Current',
      'its last run succeeded',
    ],
    [
      'last run failed: only a word',
      cronJob({ status: { lastScheduleTime: ago(60), lastSuccessfulTime: ago(90) } }),
      'Current',
      'its last run did not succeed',
    ],
    ['runs', cronJob({ status: { lastScheduleTime: ago(60), active: [{}] } }), 'Current', 'it runs now'],
  ],
  PersistentVolumeClaim: [
    ['bound', claim({ status: { phase: 'Bound' } }), 'Current', 'it is bound'],
    ['lost', claim({ status: { phase: 'Lost' } }), 'Failed', 'its volume is lost'],
    [
      'waits for its first consumer',
      claim({ spec: { storageClassName: 'late' }, status: { phase: 'Pending' } }),
      'Current',
      'it is bound when the first pod wants it',
    ],
    [
      'has a consumer',
      claim({ spec: { storageClassName: 'late' }, status: { phase: 'Pending' } }),
      'InProgress',
      'it is not bound to a volume',
      [consumer],
    ],
    [
      'is being provisioned',
      claim({
        metadata: { annotations: { 'volume.kubernetes.io/storage-provisioner': 'x' } },
        spec: { storageClassName: 'now' },
        status: { phase: 'Pending' },
      }),
      'InProgress',
      'it is not bound to a volume',
    ],
    ['has no class', claim({ status: { phase: 'Pending' } }), 'InProgress', 'it is not bound to a volume'],
  ],
  Service: [
    ['inside the cluster', service({ spec: { type: 'ClusterIP' } }), 'Current', 'it exists'],
    [
      'a load balancer without an address',
      service({ spec: { type: 'LoadBalancer', clusterIP: '10.0.0.1' } }),
      'InProgress',
      'it has no address yet',
    ],
    [
      'a load balancer with one',
      service({ spec: { type: 'LoadBalancer' }, status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } }),
      'Current',
      'its address is 192.0.2.1',
    ],
  ],
  'Ingress, Gateway, routes': [
    [
      'an Ingress with an address',
      ingress({ status: { loadBalancer: { ingress: [{ hostname: 'a.example' }] } } }),
      'Current',
      'its address is a.example',
    ],
    ['an Ingress without', ingress({ status: { loadBalancer: {} } }), 'InProgress', 'it has no address yet'],
    [
      'a Gateway that is programmed',
      gateway(conditions(condition('Accepted', 'True'), condition('Programmed', 'True'))),
      'Current',
      'it is programmed',
    ],
    [
      'a Gateway that waits',
      gateway(conditions(condition('Accepted', 'True'), condition('Programmed', 'False', { reason: 'Pending' }))),
      'InProgress',
      'Programmed is False: Pending',
    ],
    ['a Gateway that nobody has taken', gateway({}), 'InProgress', 'no controller has taken it'],
    [
      'a Gateway that is refused',
      gateway(conditions(condition('Accepted', 'False', { reason: 'InvalidParameters' }))),
      'Failed',
      'Accepted is False: InvalidParameters',
    ],
    [
      'a refusal of an earlier generation says nothing',
      gateway(conditions(condition('Accepted', 'False', { observedGeneration: 1 }))),
      'InProgress',
      'no controller has taken it',
    ],
    [
      'a route that all parents accepted',
      route(routed(['one', 'True'], ['two', 'True'])),
      'Current',
      'accepted by 2 of 2 parents',
    ],
    [
      'a route that one parent has not seen',
      route(routed(['one', 'True'], ['two', undefined])),
      'InProgress',
      'not accepted yet by two',
    ],
    [
      'a route that one parent refused',
      route(routed(['one', 'True'], ['two', 'False'])),
      'Failed',
      'parent two: Accepted is False: NoMatchingParent',
    ],
  ],
  'autoscaler and budget': [
    [
      'able to scale',
      autoscaler(conditions(condition('AbleToScale', 'True'), condition('ScalingActive', 'False'))),
      'Current',
      'it is able to scale',
    ],
    [
      'not able',
      autoscaler(conditions(condition('AbleToScale', 'False', { reason: 'FailedGetScale' }))),
      'InProgress',
      'AbleToScale is False: FailedGetScale',
    ],
    ['an autoscaler that nobody looked at', autoscaler({}), 'InProgress', 'its controller has not looked at it yet'],
    ['a budget that was counted', budget({ status: seen }), 'Current', 'its controller has counted the pods'],
    ['a budget that nobody looked at', budget({}), 'InProgress', 'its controller has not looked at it yet'],
  ],
  'kinds of the cluster': [
    [
      'a definition that is served',
      definition(conditions(condition('NamesAccepted', 'True'), condition('Established', 'True'))),
      'Current',
      'its kind is served',
    ],
    ['a definition that is new', definition({}), 'InProgress', 'its kind is not served yet'],
    [
      'a definition whose names are taken',
      definition(conditions(condition('NamesAccepted', 'False', { reason: 'ListKindConflict' }))),
      'Failed',
      'NamesAccepted is False: ListKindConflict',
    ],
    [
      'an APIService that answers',
      apiService(conditions(condition('Available', 'True'))),
      'Current',
      'it is available',
    ],
    [
      'an APIService that does not',
      apiService(conditions(condition('Available', 'False', { reason: 'MissingEndpoints' }))),
      'InProgress',
      'Available is False: MissingEndpoints',
    ],
    ['an active Namespace', namespace({ status: { phase: 'Active' } }), 'Current', 'it is active'],
    ['a Namespace without a phase', namespace({}), 'InProgress', 'its phase is not set yet'],
  ],
  'other kinds': [
    ['Ready', custom(conditions(condition('Synced', 'False'), condition('Ready', 'True'))), 'Current', 'Ready is True'],
    [
      'not Ready',
      custom(conditions(condition('Ready', 'False', { reason: 'Waiting' }))),
      'InProgress',
      'Ready is False: Waiting',
    ],
    [
      'nobody knows whether it is Ready',
      custom(conditions(condition('Ready', 'Unknown'))),
      'InProgress',
      'Ready is Unknown',
    ],
    ['Available', custom(conditions(condition('Available', 'True'))), 'Current', 'Available is True'],
    ['not Synced', custom(conditions(condition('Synced', 'False'))), 'InProgress', 'Synced is False'],
    ['without conditions', custom({ spec: {} }), 'Current', 'it exists'],
    [
      'a condition of another generation',
      custom(conditions(condition('Ready', 'False', { observedGeneration: 1 }))),
      'Current',
      'it exists',
    ],
    [
      'a kind of the same name in another group',
      { ...deployment({ spec: { replicas: 3 } }), apiVersion: 'example.com/v1' },
      'Current',
      'it exists',
    ],
  ],
}

function routed(...parents: readonly (readonly [string, string | undefined])[]): Fields {
  return {
    spec: { parentRefs: parents.map(([name]) => ({ name })) },
    status: {
      parents: parents.flatMap(([name, status]) =>
        status === undefined
          ? []
          : [
              {
                parentRef: { name },
                conditions: [condition('Accepted', status, status === 'False' ? { reason: 'NoMatchingParent' } : {})],
              },
            ],
      ),
    },
  }
}

function replicaSetPod(owner: string, hash: string, name: string): PodObject {
  const { metadata, ...rest } = ownedPod(name, crashing, { 'pod-template-hash': hash })
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: owner, uid: 'r', controller: true }]
  return { ...rest, metadata: { ...metadata, ownerReferences } }
}

describe.each(Object.entries(rows))('%s', (_, cases) => {
  test.for(cases)('%s', ([, object, is, message, pods = []]) => {
    const health = healthOf(object, { pods }, nowMs)
    expect({ is: health.is, message: health.message }).toEqual({ is, message })
  })
})

test('how long a pod may look for a node can be said', () => {
  expect(healthOf(pod(unschedulable(16)), { pods: [], unschedulableMs: 60_000 }, nowMs).is).toBe('InProgress')
})

test.for([
  [{ group: '', kind: 'ConfigMap' }, true],
  [{ group: '', kind: 'Secret' }, true],
  [{ group: 'rbac.authorization.k8s.io', kind: 'RoleBinding' }, true],
  [{ group: 'networking.k8s.io', kind: 'NetworkPolicy' }, true],
  [{ group: '', kind: 'Service' }, false],
  [{ group: 'apps', kind: 'Deployment' }, false],
  [{ group: 'example.com', kind: 'ConfigMap' }, false],
] as const)('%o is healthy as soon as it exists: %s', ([key, isAtOnce]) => {
  expect(isHealthyAtOnce(key)).toBe(isAtOnce)
})

test('nothing that a server may send breaks a rule, and what is being deleted is never healthy', () => {
  const kinds = Object.values(rows).flatMap((cases) => cases.map(([, { apiVersion, kind }]) => ({ apiVersion, kind })))
  const status = fc.dictionary(
    fc.constantFrom('conditions', 'phase', 'replicas', 'observedGeneration', 'containerStatuses', 'parents', 'active'),
    fc.jsonValue(),
  )
  fc.assert(
    fc.property(fc.constantFrom(...kinds), status, fc.jsonValue(), fc.boolean(), (of, status, spec, isDeleted) => {
      const metadata = { name: 'a', ...(isDeleted ? { deletionTimestamp: ago(1) } : {}) }
      const { is, message } = healthOf({ ...of, metadata, spec, status } as unknown as JsonObject, { pods: [] }, nowMs)
      expect(message).not.toBe('')
      if (isDeleted) expect(is).toBe('Terminating')
    }),
  )
})
