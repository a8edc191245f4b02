import { expect, test } from 'vitest'
import { type KubeObject, resources } from '../../src/kube/index.ts'
import { ensureDefaultAccount, eventually, prepareGround } from '../support/e2e-cluster.ts'
import { type ConfigMap, configMap } from '../support/e2e-config-maps.ts'

interface Deployment extends KubeObject {
  readonly spec: {
    readonly replicas?: number
    readonly template: {
      readonly spec: { readonly containers: readonly { readonly name: string; readonly image: string }[] }
    }
  }
  readonly status?: { readonly observedGeneration?: number }
}

function deployment(namespace: string): Deployment {
  const labels = { app: 'patched' }
  const containers = [
    { name: 'one', image: 'none.invalid/one' },
    { name: 'two', image: 'none.invalid/two' },
  ]
  const spec = {
    replicas: 0,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers } },
  }
  return { metadata: { name: 'patched', namespace }, spec }
}

test('a merge patch sets and removes single fields', async (context) => {
  const { admin, namespace } = await prepareGround(context)
  await admin.create(resources.configMaps, {
    ...configMap(namespace, 'x'),
    data: { kept: '1', removed: '1', changed: '1' },
  })
  const body = { data: { removed: null, changed: '2', added: '1' } }
  const patched = await admin.patch<ConfigMap>(resources.configMaps, { name: 'x', namespace }, { type: 'merge', body })
  expect(patched.data).toEqual({ kept: '1', changed: '2', added: '1' })
})

test('a patch whose answer nobody reads is answered with metadata alone', async (context) => {
  const { admin, namespace } = await prepareGround(context)
  const { metadata } = await admin.create(resources.configMaps, configMap(namespace, 'x'))
  const ref = { name: 'x', namespace }
  const body = { metadata: { labels: { seen: 'yes' } }, data: { value: '2' } }
  const answer = await admin.patch(resources.configMaps, ref, { type: 'merge', body }, { answer: 'metadata' })
  expect(answer).toMatchObject({
    kind: 'PartialObjectMetadata',
    metadata: { uid: metadata.uid, labels: { seen: 'yes' } },
  })
  expect(answer).not.toHaveProperty('data')
  const stored = await admin.get<ConfigMap>(resources.configMaps, ref)
  expect([stored.data, stored.metadata]).toEqual([{ value: '2' }, answer.metadata])
})

test('a merge patch with an outdated version is a Conflict', async (context) => {
  const { admin, namespace } = await prepareGround(context)
  const ref = { name: 'x', namespace }
  const { metadata } = await admin.create(resources.configMaps, configMap(namespace, 'x'))
  await admin.patch(resources.configMaps, ref, { type: 'merge', body: { data: { value: '2' } } })
  const body = { metadata: { resourceVersion: metadata.resourceVersion }, data: { value: '3' } }
  const stale = admin.patch(resources.configMaps, ref, { type: 'merge', body })
  await expect(stale).rejects.toMatchObject({ code: 'Conflict', status: 409, attempts: 1 })
})

test('a strategic patch merges lists by name, where a merge patch replaces them', async (context) => {
  const { admin, namespace } = await prepareGround(context)
  const ref = { name: 'patched', namespace }
  await admin.create(resources.deployments, deployment(namespace))
  const body = { spec: { template: { spec: { containers: [{ name: 'two', image: 'none.invalid/new' }] } } } }
  const images = (object: Deployment) =>
    object.spec.template.spec.containers.map(({ name, image }) => `${name} ${image}`).sort()
  const strategic = await admin.patch<Deployment>(resources.deployments, ref, { type: 'strategic', body })
  expect(images(strategic)).toEqual(['one none.invalid/one', 'two none.invalid/new'])
  const merged = await admin.patch<Deployment>(resources.deployments, ref, { type: 'merge', body })
  expect(images(merged)).toEqual(['two none.invalid/new'])
})

test('a JSON patch runs all of its steps or none: a failing test leaves the object alone', async (context) => {
  const { admin, namespace } = await prepareGround(context)
  const ref = { name: 'x', namespace }
  const { metadata } = await admin.create(resources.configMaps, configMap(namespace, 'x', 'first'))
  const refused = admin.patch(resources.configMaps, ref, {
    type: 'json',
    body: [
      { op: 'replace', path: '/data/value', value: 'second' },
      { op: 'test', path: '/metadata/uid', value: 'of another object' },
    ],
  })
  await expect(refused).rejects.toMatchObject({ code: 'Invalid', status: 422, attempts: 1 })
  expect((await admin.get<ConfigMap>(resources.configMaps, ref)).data).toEqual({ value: 'first' })
  const patched = await admin.patch<ConfigMap>(resources.configMaps, ref, {
    type: 'json',
    body: [
      { op: 'test', path: '/metadata/uid', value: metadata.uid },
      { op: 'test', path: '/data/value', value: 'first' },
      { op: 'add', path: '/metadata/annotations', value: { 'example.com/note': 'yes' } },
      { op: 'replace', path: '/metadata/annotations/example.com~1note', value: 'no' },
      { op: 'remove', path: '/data/value' },
    ],
  })
  expect(patched.data ?? {}).toEqual({})
  expect(patched.metadata.annotations).toEqual({ 'example.com/note': 'no' })
})

test('status and spec are separate doors: each write changes its own part only', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  await ensureDefaultAccount(ground)
  const ref = { name: 'untouched-by-controllers', namespace }
  interface Pod extends KubeObject {
    readonly spec: object
    readonly status?: { readonly message?: string; readonly phase?: string }
  }
  const containers = [{ name: 'main', image: 'none.invalid/nothing' }]
  await admin.create<Pod>(resources.pods, { metadata: ref, spec: { schedulerName: 'nobody', containers } })
  const body = { metadata: { labels: { e2e: 'ignored' } }, status: { message: 'by the status door' } }
  const through = { subresource: 'status' }
  await admin.patch(resources.pods, ref, { type: 'merge', body }, through)
  await admin.patch(resources.pods, ref, { type: 'merge', body: { status: { message: 'by the main door' } } })
  const pod = await admin.get<Pod>(resources.pods, ref)
  expect(pod.status).toMatchObject({ message: 'by the status door', phase: 'Pending' })
  const replaced = await admin.replace<Pod>(
    resources.pods,
    { ...pod, status: { ...pod.status, message: 'put' } },
    through,
  )
  expect(replaced.status?.message).toBe('put')
  const applied = await admin.apply<Pod>(resources.pods, { metadata: ref, status: { message: 'applied' } } as Pod, {
    fieldManager: 'fettle',
    force: true,
    ...through,
  })
  expect(applied.status?.message).toBe('applied')
  expect((await admin.get<Pod>(resources.pods, ref, through)).status?.message).toBe('applied')
})

test('scale is read, patched and replaced through its own subresource', async (context) => {
  const { admin, namespace } = await prepareGround(context)
  const ref = { name: 'patched', namespace }
  await admin.create(resources.deployments, deployment(namespace))
  interface Scale extends KubeObject {
    readonly spec?: { readonly replicas?: number }
  }
  const through = { subresource: 'scale' }
  const scale = await admin.get<Scale>(resources.deployments, ref, through)
  expect(scale).toMatchObject({ kind: 'Scale', apiVersion: 'autoscaling/v1' })
  expect(scale.spec?.replicas ?? 0).toBe(0)
  // The deployment's controller writes at the same time; then the version is outdated and has to be read again.
  const replaced = await eventually(
    async () => {
      const current = await admin.get<Scale>(resources.deployments, ref, through)
      return admin.replace<Scale>(resources.deployments, { ...current, spec: { replicas: 2 } }, through)
    },
    { withinMs: 5_000 },
  )
  expect(replaced.spec?.replicas).toBe(2)
  await admin.patch(resources.deployments, ref, { type: 'merge', body: { spec: { replicas: 1 } } }, through)
  expect((await admin.get<Deployment>(resources.deployments, ref)).spec.replicas).toBe(1)
  const stale = admin.replace<Scale>(resources.deployments, { ...scale, spec: { replicas: 5 } }, through)
  await expect(stale).rejects.toMatchObject({ code: 'Conflict' })
})
