import { describe, expect, type TestContext, test } from 'vitest'
import { type KubeObject, type Resource, resources } from '../../src/kube/index.ts'
import type { JsonObject } from '../../src/sync/json.ts'
import { prepareGround } from '../support/e2e-cluster.ts'
import { type Manifest, manager, partOf, Thing } from '../support/sync-thing.ts'

const template = (labels: JsonObject, containers: readonly JsonObject[]): JsonObject => ({
  metadata: { labels },
  spec: { containers },
})
const web: JsonObject = {
  name: 'web',
  image: 'none.invalid/web:1',
  args: ['serve', '--fast'],
  env: [
    { name: 'A', value: '1' },
    { name: 'B', value: '$(A)2' },
    { name: 'EMPTY', value: '' },
  ],
  ports: [{ containerPort: 80 }],
  resources: { requests: { cpu: '1000m', memory: '1024Mi' } },
}
const deployment = (more: JsonObject = {}, container: JsonObject = web): Manifest => ({
  metadata: { name: 'web', labels: { app: 'web' }, annotations: { 'example.com/team': 'shop' } },
  spec: {
    replicas: 2,
    strategy: {},
    selector: { matchLabels: { app: 'web' } },
    template: template({ app: 'web' }, [container]),
    ...more,
  },
})
const configMap: Manifest = {
  metadata: { name: 'settings', labels: { app: 'web' } },
  data: { 'app.properties': 'a=1', other: 'x' },
}
const service: Manifest = {
  metadata: { name: 'web' },
  spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80 }] },
}
const secret: Manifest = {
  metadata: { name: 'token' },
  data: { password: Buffer.from('open sesame').toString('base64'), user: Buffer.from('shop').toString('base64') },
}

async function plant(context: TestContext, resource: Resource, manifest: Manifest): Promise<Thing> {
  const thing = new Thing(await prepareGround(context), resource, manifest)
  expect((await thing.create()).outcome).toBe('created')
  expect(await thing.compare()).toEqual({ is: 'same' })
  return thing
}

const first = '/spec/template/spec/containers/0'

interface Change {
  readonly what: string
  readonly resource: Resource
  readonly manifest: Manifest
  readonly make: (thing: Thing) => Promise<unknown>
  /** Requests that mend it. Default one. */
  readonly writes?: number
  /** Nothing: nobody may notice it. */
  readonly drift?: { readonly fields: readonly string[]; readonly by?: string }
}

const changes: readonly Change[] = [
  {
    what: 'a label that git does not know',
    resource: resources.configMaps,
    manifest: configMap,
    make: (thing) => thing.patch({ metadata: { labels: { extra: '1' } } }),
  },
  {
    what: 'the same value written by another',
    resource: resources.configMaps,
    manifest: configMap,
    make: (thing) => thing.patch({ data: { other: 'x' } }),
  },
  {
    what: 'a value of a ConfigMap',
    resource: resources.configMaps,
    manifest: configMap,
    make: (thing) => thing.patch({ data: { 'app.properties': 'a=2' } }),
    drift: { fields: ['data[app.properties]'], by: 'kubectl-edit' },
  },
  {
    what: 'a key of a ConfigMap that is removed',
    resource: resources.configMaps,
    manifest: configMap,
    make: (thing) => thing.patch({ data: { other: null } }),
    drift: { fields: ['data.other'] },
  },
  {
    what: 'all data of a ConfigMap removed',
    resource: resources.configMaps,
    manifest: configMap,
    make: (thing) => thing.json([{ op: 'remove', path: '/data' }]),
    drift: { fields: ['data.other', 'data[app.properties]'] },
  },
  {
    what: 'a value changed and changed back',
    resource: resources.configMaps,
    manifest: configMap,
    make: async (thing) => {
      await thing.patch({ data: { other: 'y' } })
      await thing.patch({ data: { other: 'x' } })
    },
    drift: { fields: ['data.other'], by: 'kubectl-edit' },
  },
  {
    what: 'a label of ours removed',
    resource: resources.configMaps,
    manifest: configMap,
    make: (thing) => thing.patch({ metadata: { labels: { app: null } } }),
    drift: { fields: ['metadata.labels.app'] },
  },
  {
    what: 'the label of the set removed',
    resource: resources.configMaps,
    manifest: configMap,
    make: (thing) => thing.patch({ metadata: { labels: { [partOf]: null } } }),
    drift: { fields: [`metadata.labels[${partOf}]`] },
  },
  {
    what: 'managedFields wiped',
    resource: resources.configMaps,
    manifest: configMap,
    make: (thing) => thing.patch({ metadata: { managedFields: [{}] } }),
    // The server then gives all fields to nobody in particular, ours as well, and ours are taken back.
    writes: 2,
    drift: {
      fields: ['data.other', 'data[app.properties]', 'metadata.labels.app', `metadata.labels[${partOf}]`],
    },
  },
  {
    what: 'our name used by another process',
    resource: resources.configMaps,
    manifest: configMap,
    make: async (thing) => {
      const body = thing.declared.body
      const metadata = { ...(body['metadata'] as JsonObject), labels: { app: 'web', [partOf]: 'applyset-x-v1' } }
      const imitated = { ...body, metadata, data: { 'app.properties': 'a=9', other: 'x' } } as unknown as KubeObject
      await thing.admin.apply(thing.resource, imitated, { fieldManager: manager })
    },
    drift: { fields: ['data[app.properties]'] },
  },
  {
    what: 'a forced apply by another with another value',
    resource: resources.configMaps,
    manifest: configMap,
    make: (thing) => {
      const theirs = { metadata: thing.ref, data: { other: 'theirs' } }
      return thing.admin.apply(thing.resource, theirs, { fieldManager: 'kubectl', force: true })
    },
    drift: { fields: ['data.other'], by: 'kubectl' },
  },
  {
    what: 'a forced apply by another with the same value',
    resource: resources.configMaps,
    manifest: configMap,
    make: (thing) => {
      const theirs = { metadata: thing.ref, data: { other: 'x' } }
      return thing.admin.apply(thing.resource, theirs, { fieldManager: 'kubectl', force: true })
    },
  },
  {
    what: 'the image of a container',
    resource: resources.deployments,
    manifest: deployment(),
    make: (thing) => thing.json([{ op: 'replace', path: `${first}/image`, value: 'none.invalid/web:2' }]),
    drift: { fields: ['spec.template.spec.containers[name=web].image'], by: 'kubectl-patch' },
  },
  {
    what: 'arguments, a list with one owner',
    resource: resources.deployments,
    manifest: deployment(),
    make: (thing) => thing.json([{ op: 'add', path: `${first}/args/-`, value: '--slow' }]),
    drift: { fields: ['spec.template.spec.containers[name=web].args'], by: 'kubectl-patch' },
  },
  {
    what: 'a sidecar and a variable that git does not know',
    resource: resources.deployments,
    manifest: deployment(),
    make: (thing) =>
      thing.json([
        { op: 'add', path: '/spec/template/spec/containers/-', value: { name: 'side', image: 'none.invalid/side' } },
        { op: 'add', path: `${first}/env/-`, value: { name: 'C', value: '3' } },
      ]),
  },
  {
    what: 'a field that git does not speak of',
    resource: resources.deployments,
    manifest: deployment(),
    make: (thing) => thing.patch({ spec: { revisionHistoryLimit: 3, paused: true } }),
  },
  {
    what: 'the same quantity written another way',
    resource: resources.deployments,
    manifest: deployment(),
    make: (thing) => thing.json([{ op: 'replace', path: `${first}/resources/requests/cpu`, value: '1' }]),
  },
  {
    what: 'variables in another order',
    resource: resources.deployments,
    manifest: deployment(),
    make: async (thing) => {
      const [a, b, empty] = [{ name: 'A', value: '1' }, { name: 'B', value: '$(A)2' }, { name: 'EMPTY' }]
      await thing.json([{ op: 'replace', path: `${first}/env`, value: [b, a, empty] }])
    },
    drift: { fields: ['spec.template.spec.containers[name=web].env'] },
  },
  {
    what: 'a variable removed',
    resource: resources.deployments,
    manifest: deployment(),
    make: (thing) => thing.json([{ op: 'remove', path: `${first}/env/1` }]),
    drift: { fields: ['spec.template.spec.containers[name=web].env[name=B]'] },
  },
  {
    what: 'replicas by way of scale',
    resource: resources.deployments,
    manifest: deployment(),
    make: (thing) =>
      thing.admin.patch(
        thing.resource,
        thing.ref,
        { type: 'merge', body: { spec: { replicas: 5 } } },
        {
          subresource: 'scale',
          fieldManager: 'kubectl',
        },
      ),
    drift: { fields: ['spec.replicas'], by: 'kubectl (scale)' },
  },
  {
    what: 'the status',
    resource: resources.deployments,
    manifest: deployment(),
    make: (thing) =>
      thing.admin.patch(
        thing.resource,
        thing.ref,
        { type: 'merge', body: { status: { collisionCount: 1 } } },
        {
          subresource: 'status',
          fieldManager: 'somebody',
        },
      ),
  },
  {
    what: 'the selector of a Service, a map with one owner',
    resource: resources.services,
    manifest: service,
    make: (thing) => thing.patch({ spec: { selector: { app: 'else' } } }),
    drift: { fields: ['spec.selector'], by: 'kubectl-edit' },
  },
  {
    what: 'a second port of a Service, and its type',
    resource: resources.services,
    manifest: service,
    make: (thing) =>
      thing.json([
        { op: 'add', path: '/spec/ports/-', value: { name: 'more', port: 81 } },
        { op: 'replace', path: '/spec/type', value: 'NodePort' },
      ]),
  },
  {
    what: 'a value of a Secret, written as stringData',
    resource: resources.secrets,
    manifest: secret,
    make: (thing) => thing.patch({ stringData: { password: 'other' } }),
    drift: { fields: ['data.password'], by: 'kubectl-edit' },
  },
  {
    what: 'a key of a Secret that git does not know',
    resource: resources.secrets,
    manifest: secret,
    make: (thing) => thing.patch({ stringData: { more: 'x' } }),
  },
]

describe('what others do to a member', () => {
  test.for(changes)('$what', async ({ resource, manifest, make, drift, writes = 1 }, context) => {
    const thing = await plant(context, resource, manifest)
    const before = await thing.observed()
    await make(thing)
    expect(await thing.compare()).toEqual(drift ? { is: 'drifted', ...drift } : { is: 'same' })
    const [requests, original] = [thing.requests(), thing.last?.reference]
    const { outcome, reference } = await thing.update()
    // One read by the test, and one write; both once more each time that the controller of a Deployment wrote between them.
    expect(resource === resources.deployments ? [2, 4, 6, 8, 10] : [writes + 1]).toContain(thing.requests() - requests)
    expect(outcome).toBe(drift ? 'changed' : 'unchanged')
    expect(reference).toEqual(original)
    expect(await thing.compare()).toEqual({ is: 'same' })
    const after = await thing.observed()
    expect(after.uid).toBe(before.uid)
    if (drift) {
      expect(after.body?.['data']).toEqual(before.body?.['data'])
      expect(after.body?.['spec']).toEqual(before.body?.['spec'])
    }
  })
})

test('an unchanged manifest is one request that changes nothing', async (context) => {
  const thing = await plant(context, resources.deployments, deployment())
  const { outcome, remarks } = await thing.update()
  expect({ outcome, remarks }).toEqual({ outcome: 'unchanged', remarks: [] })
})

test('a changed manifest names what changes, and the label of the set is on the object alone', async (context) => {
  const thing = await plant(context, resources.deployments, deployment())
  thing.commit(
    deployment({ replicas: 3, strategy: {}, minReadySeconds: 5 }, { ...web, env: [{ name: 'A', value: '7' }] }),
  )
  expect(await thing.compare()).toEqual({
    is: 'changed',
    fields: [
      'spec.minReadySeconds',
      'spec.replicas',
      'spec.template.spec.containers[name=web].env[name=A].value',
      'spec.template.spec.containers[name=web].env[name=B].name',
      'spec.template.spec.containers[name=web].env[name=B].value',
      'spec.template.spec.containers[name=web].env[name=EMPTY].name',
      'spec.template.spec.containers[name=web].env[name=EMPTY].value',
    ],
  })
  expect((await thing.update()).outcome).toBe('changed')
  expect(await thing.compare()).toEqual({ is: 'same' })
  const live = await thing.read()
  expect(live).toMatchObject({ metadata: { labels: { [partOf]: 'applyset-x-v1' } }, spec: { replicas: 3 } })
  expect(JSON.stringify(live['spec'])).not.toContain(partOf)
})
