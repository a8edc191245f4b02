import { expect, test } from 'vitest'
import type { PodObject } from '../../kube/index.ts'
import { rolloutOf, rolloutText } from './rollout.ts'

const nowMs = Date.parse('2026-05-01T12:00:00Z')

const web = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', uid: 'u', annotations: { 'deployment.kubernetes.io/revision': '4' } },
  spec: { replicas: 3, template: { spec: { containers: [{ name: 'main', image: 'web:2' }, { image: 'proxy:1' }] } } },
  status: {
    replicas: 4,
    updatedReplicas: 1,
    readyReplicas: 2,
    availableReplicas: 2,
    conditions: [{ type: 'Progressing', status: 'True', lastUpdateTime: '2026-05-01T11:58:48Z' }],
  },
}

function podOf(name: string, createdAt: string, container: object): PodObject {
  return {
    metadata: {
      name,
      namespace: 'shop',
      creationTimestamp: createdAt,
      labels: { 'pod-template-hash': '7f' },
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-7f', uid: 'r', controller: true }],
    },
    status: { phase: 'Pending', containerStatuses: [container] },
  } as unknown as PodObject
}

test('one line says how far it is and what is most telling about its pods', () => {
  const pulling = { name: 'main', state: { waiting: { reason: 'ErrImagePull' } } }
  const crashing = {
    name: 'main',
    restartCount: 2,
    state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } },
    lastState: { terminated: { exitCode: 137 } },
  }
  const pods = [
    podOf('web-7f-new', '2026-05-01T11:59:59Z', pulling),
    podOf('web-7f-old', '2026-05-01T11:50:00Z', crashing),
    podOf('web-7f-starting', '2026-05-01T11:59:59Z', {
      name: 'main',
      state: { waiting: { reason: 'ContainerCreating' } },
    }),
  ]
  const rollout = rolloutOf(web, pods, nowMs)
  expect(rollout && rolloutText(rollout, nowMs)).toBe(
    '1/3 updated, 2/3 ready, 2/3 available, 1 surplus; revision 4; image web:2, proxy:1; last progress 1m12s ago; ' +
      'pod web-7f-old, container main: CrashLoopBackOff, exit code 137, 2 restarts',
  )
})

test('what is not known is left out', () => {
  const rollout = rolloutOf({ apiVersion: 'apps/v1', kind: 'DaemonSet', metadata: { name: 'a' } }, [], nowMs)
  expect(rollout && rolloutText(rollout, nowMs)).toBe('0/0 updated, 0/0 ready, 0/0 available')
})

test('kinds that do not roll out have no such line', () => {
  expect(rolloutOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }, [], nowMs)).toBeUndefined()
})
