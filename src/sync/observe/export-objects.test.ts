import { expect, test } from 'vitest'
import type { JsonObject } from '../json.ts'
import { exportManifest } from './export-objects.ts'

const meta = (more: JsonObject = {}): JsonObject => ({ name: 'web', namespace: 'shop', ...more })

test('what the server writes is left out, and what people wrote stays in its order', () => {
  const live = {
    apiVersion: 'example.com/v1',
    kind: 'Thing',
    metadata: {
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': '{}',
        'meta.helm.sh/release-name': 'web',
        'argocd.argoproj.io/tracking-id': 'x',
        note: 'mine',
      },
      creationTimestamp: '2026-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 0,
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['example.com/guard'],
      generateName: 'we',
      generation: 3,
      labels: { app: 'web', 'applyset.kubernetes.io/part-of': 'x', 'kapp.k14s.io/app': '1' },
      managedFields: [],
      name: 'web',
      namespace: 'shop',
      ownerReferences: [],
      resourceVersion: '7',
      selfLink: '/x',
      uid: 'u',
    },
    spec: { size: 9007199254740993n, status: { kept: true }, creationTimestamp: null },
    status: { phase: 'Ready' },
  }
  const manifest = exportManifest(live)
  expect(manifest).toEqual({
    apiVersion: 'example.com/v1',
    kind: 'Thing',
    metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' }, annotations: { note: 'mine' } },
    spec: { size: 9007199254740993n, status: { kept: true }, creationTimestamp: null },
  })
  expect(Object.keys(manifest)).toEqual(['apiVersion', 'kind', 'metadata', 'spec'])
  expect(Object.keys(manifest['metadata'] ?? {})).toEqual(['name', 'namespace', 'labels', 'annotations'])
})

test('labels and annotations of machines alone leave nothing behind', () => {
  const metadata = meta({
    labels: { 'kubernetes.io/metadata.name': 'x' },
    annotations: { 'deployment.kubernetes.io/revision': '4' },
  })
  expect(exportManifest({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: 'b' } })).toEqual({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'web', namespace: 'shop' },
    data: { a: 'b' },
  })
})

const nullTime = { creationTimestamp: null }
const template = (metadata: JsonObject | undefined): JsonObject => ({
  ...(metadata ? { metadata } : {}),
  spec: { containers: [{ name: 'main' }] },
})

test.for<[string, string, string, JsonObject, JsonObject]>([
  [
    'a Service without the addresses that it was given',
    'v1',
    'Service',
    {
      spec: {
        clusterIP: '10.0.0.7',
        clusterIPs: ['10.0.0.7'],
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        internalTrafficPolicy: 'Cluster',
        sessionAffinity: 'None',
        healthCheckNodePort: 31000,
        type: 'NodePort',
        selector: { app: 'web' },
        ports: [{ port: 80, nodePort: 30080, protocol: 'TCP' }],
      },
    },
    { spec: { type: 'NodePort', selector: { app: 'web' }, ports: [{ port: 80, protocol: 'TCP' }] } },
  ],
  [
    'a headless Service stays headless, and choices stay',
    'v1',
    'Service',
    {
      spec: { clusterIP: 'None', clusterIPs: ['None'], sessionAffinity: 'ClientIP', ipFamilyPolicy: 'PreferDualStack' },
    },
    { spec: { clusterIP: 'None', sessionAffinity: 'ClientIP', ipFamilyPolicy: 'PreferDualStack' } },
  ],
  [
    'a Deployment without the time that its pods do not have',
    'apps/v1',
    'Deployment',
    { spec: { replicas: 2, template: template({ ...nullTime, labels: { app: 'web' } }) } },
    { spec: { replicas: 2, template: template({ labels: { app: 'web' } }) } },
  ],
  [
    'a DaemonSet',
    'apps/v1',
    'DaemonSet',
    { spec: { template: template(nullTime) } },
    { spec: { template: template(undefined) } },
  ],
  [
    'a StatefulSet with clean claims',
    'apps/v1',
    'StatefulSet',
    {
      spec: {
        template: template(nullTime),
        volumeClaimTemplates: [{ metadata: { ...nullTime, name: 'data' }, spec: {}, status: { phase: 'Pending' } }],
      },
    },
    { spec: { template: template(undefined), volumeClaimTemplates: [{ metadata: { name: 'data' }, spec: {} }] } },
  ],
  [
    'a CronJob',
    'batch/v1',
    'CronJob',
    { spec: { schedule: '@daily', jobTemplate: { metadata: nullTime, spec: { template: template(nullTime) } } } },
    { spec: { schedule: '@daily', jobTemplate: { spec: { template: template(undefined) } } } },
  ],
  [
    'a Job without the selector that was made up for it',
    'batch/v1',
    'Job',
    {
      spec: {
        selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u' } },
        manualSelector: false,
        template: template({
          ...nullTime,
          labels: { 'batch.kubernetes.io/controller-uid': 'u', 'controller-uid': 'u', 'job-name': 'web', app: 'web' },
        }),
      },
    },
    { spec: { template: template({ labels: { app: 'web' } }) } },
  ],
  [
    'a Job with a selector that somebody insists on',
    'batch/v1',
    'Job',
    {
      spec: {
        manualSelector: true,
        selector: { matchLabels: { app: 'web' } },
        template: template({ labels: { app: 'web' } }),
      },
    },
    {
      spec: {
        manualSelector: true,
        selector: { matchLabels: { app: 'web' } },
        template: template({ labels: { app: 'web' } }),
      },
    },
  ],
  [
    'an account without the Secrets that were made for it',
    'v1',
    'ServiceAccount',
    { secrets: [{ name: 'web-token-x1' }, { name: 'mine' }], imagePullSecrets: [{ name: 'web-dockercfg-y' }] },
    { secrets: [{ name: 'mine' }] },
  ],
  ['a Namespace', 'v1', 'Namespace', { spec: { finalizers: ['kubernetes'] } }, {}],
  [
    'a Pod before admission and the scheduler wrote into it',
    'v1',
    'Pod',
    {
      spec: {
        nodeName: 'n1',
        priority: 0,
        preemptionPolicy: 'PreemptLowerPriority',
        serviceAccount: 'default',
        serviceAccountName: 'default',
        initContainers: [{ name: 'first', volumeMounts: [{ name: 'kube-api-access-x', mountPath: '/a' }] }],
        containers: [{ name: 'main', volumeMounts: [{ name: 'kube-api-access-x' }, { name: 'data' }] }],
        volumes: [{ name: 'data' }, { name: 'kube-api-access-x' }],
        tolerations: [
          { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
          { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 },
        ],
      },
    },
    {
      spec: {
        serviceAccountName: 'default',
        initContainers: [{ name: 'first' }],
        containers: [{ name: 'main', volumeMounts: [{ name: 'data' }] }],
        volumes: [{ name: 'data' }],
        tolerations: [
          { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 },
        ],
      },
    },
  ],
  [
    'a Secret with its values',
    'v1',
    'Secret',
    { type: 'Opaque', data: { a: 'Yg==' } },
    { type: 'Opaque', data: { a: 'Yg==' } },
  ],
])('%s', ([, apiVersion, kind, rest, expected]) => {
  expect(exportManifest({ apiVersion, kind, metadata: meta(), ...rest })).toEqual({
    apiVersion,
    kind,
    metadata: meta(),
    ...expected,
  })
})

test.for([
  ['yes', { accessModes: ['ReadWriteOnce'] }],
  [undefined, { accessModes: ['ReadWriteOnce'], volumeName: 'pv-1' }],
] as const)('a claim names its volume only if a person chose it (bound by the cluster: %s)', ([bound, spec]) => {
  const annotations = bound === undefined ? {} : { 'pv.kubernetes.io/bound-by-controller': bound }
  const live = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: meta({ annotations: { ...annotations, 'pv.kubernetes.io/bind-completed': 'yes' } }),
    spec: { accessModes: ['ReadWriteOnce'], volumeName: 'pv-1' },
  }
  expect(exportManifest(live)).toEqual({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: meta(),
    spec,
  })
})

test('what was exported once is not changed by another time', () => {
  const live = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: meta({ uid: 'u' }),
    spec: { clusterIP: '10.0.0.7', ports: [{ port: 80, nodePort: 30080 }] },
  }
  expect(exportManifest(exportManifest(live))).toEqual(exportManifest(live))
})
