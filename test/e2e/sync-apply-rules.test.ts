import { inspect } from 'node:util'
import { describe, expect, type TestContext, test } from 'vitest'
import { type KubeObject, type Resource, resources } from '../../src/kube/index.ts'
import { applyObject } from '../../src/sync/apply/apply-object.ts'
import { ApplyFault } from '../../src/sync/apply/fault.ts'
import type { JsonObject } from '../../src/sync/json.ts'
import { ensureDefaultAccount, eventually, type Ground, prepareGround } from '../support/e2e-cluster.ts'
import { type Manifest, manager, partOf, Thing } from '../support/sync-thing.ts'

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'
const autoscalers: Resource = {
  group: 'autoscaling',
  version: 'v2',
  plural: 'horizontalpodautoscalers',
  kind: 'HorizontalPodAutoscaler',
  namespaced: true,
}

const settings = (data: JsonObject, annotations: JsonObject = {}): Manifest => ({
  metadata: { name: 'settings', annotations },
  data,
})
const workload = (name: string, spec: JsonObject, annotations: JsonObject = {}): Manifest => ({
  metadata: { name, annotations },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'main', image: 'none.invalid/main:1' }] },
    },
    ...spec,
  },
})
const job = (image: string, more: JsonObject = {}): Manifest => ({
  metadata: { name: 'migrate' },
  spec: {
    suspend: true,
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image }], ...more } },
  },
})

async function faultOf(promise: Promise<unknown>): Promise<ApplyFault> {
  const error: unknown = await promise.then(
    () => new Error('it succeeded'),
    (caught: unknown) => caught,
  )
  if (!(error instanceof ApplyFault)) throw error
  return error
}

/** As a program would that is not told what to do with a field. */
const heldBy = (thing: Thing, fieldManager: string, data: JsonObject) =>
  thing.admin.apply(thing.resource, { metadata: thing.ref, data } as KubeObject, { fieldManager, force: true })

describe('adoption', () => {
  test('a field that kubectl once applied from its side goes when git drops it, and so does the copy in the annotation', async (context) => {
    const thing = new Thing(await prepareGround(context), resources.configMaps, settings({ kept: '1' }))
    const made = {
      metadata: { ...thing.ref, annotations: { [lastApplied]: '{"data":{"kept":"0","dropped":"1"}}', own: 'x' } },
      data: { kept: '0', dropped: '1' },
    }
    await thing.admin.create(thing.resource, made as KubeObject, { fieldManager: 'kubectl-client-side-apply' })
    await thing.patch({ data: { foreign: '1' } }, 'merge', 'some-controller')
    expect((await thing.update(true)).outcome).toBe('changed')
    const live = await thing.read()
    expect(live).toMatchObject({
      data: { kept: '1', foreign: '1' },
      metadata: { labels: { [partOf]: expect.any(String) as string } },
    })
    expect(live['data']).not.toHaveProperty('dropped')
    expect(JSON.stringify(live)).not.toContain('last-applied')
    expect(await thing.compare()).toEqual({ is: 'same' })
    thing.commit(settings({}))
    await thing.update()
    expect((await thing.read())['data']).toEqual({ foreign: '1' })
  })

  test('of what a person made by hand, the declared fields become ours and the rest stays', async (context) => {
    const thing = new Thing(await prepareGround(context), resources.configMaps, settings({ a: '1', b: '1' }))
    const made = { metadata: thing.ref, data: { a: '1', b: '1', c: '1' } }
    await thing.admin.create(thing.resource, made as KubeObject, { fieldManager: 'kubectl-create' })
    await thing.update(true)
    thing.commit(settings({ a: '1' }))
    await thing.update()
    expect((await thing.read())['data']).toEqual({ a: '1', c: '1' })
  })

  test('all that a named manager applied becomes ours', async (context) => {
    const thing = new Thing(await prepareGround(context), resources.configMaps, settings({ a: '2' }), {
      adoptFrom: ['other-gitops'],
    })
    await heldBy(thing, 'other-gitops', { a: '1', b: '1' })
    await thing.update(true)
    expect((await thing.read())['data']).toEqual({ a: '2' })
  })

  test('keys that a Secret got by way of stringData go as well', async (context) => {
    const thing = new Thing(
      await prepareGround(context),
      resources.secrets,
      { metadata: { name: 'token' }, data: { a: 'MQ==' } },
      { adoptFrom: ['other-gitops'] },
    )
    const made = { metadata: thing.ref, stringData: { a: '1', leftover: '1' } }
    await thing.admin.apply(thing.resource, made as KubeObject, { fieldManager: 'other-gitops' })
    await thing.update(true)
    expect((await thing.read())['data']).toEqual({ a: 'MQ==' })
  })
})

describe('what happened after the plan was made', () => {
  test('an object that somebody else made is not taken, though not one field is contested', async (context) => {
    const thing = new Thing(await prepareGround(context), resources.configMaps, settings({ ours: '1' }))
    await thing.admin.create(thing.resource, { metadata: thing.ref, data: { theirs: '1' } } as KubeObject)
    const before = await thing.read()
    expect(await faultOf(thing.create())).toMatchObject({ code: 'Stale', isPermanent: false })
    expect(await thing.read()).toEqual(before)
  })

  test('nor one that bears a copy of our label; but one that an earlier try of ours made is', async (context) => {
    const thing = new Thing(await prepareGround(context), resources.configMaps, settings({ ours: '1' }))
    const labels = { [partOf]: thing.options.setId }
    const copy = { metadata: { ...thing.ref, labels }, data: { theirs: '1' } } as KubeObject
    const { metadata } = await thing.admin.create(thing.resource, copy, { fieldManager: 'some-controller' })
    expect(await faultOf(thing.create())).toMatchObject({ code: 'Stale' })
    await thing.admin.delete(thing.resource, thing.ref, { uid: metadata.uid ?? '' })
    const before = thing.requests()
    const { uid } = await thing.create()
    expect(thing.requests() - before).toBe(1)
    // Its answer was lost: whoever tries again knows of nothing.
    expect(await thing.create()).toMatchObject({ outcome: 'created', uid })
    expect(await thing.compare()).toEqual({ is: 'same' })
  })

  test.for([
    ['updated', false],
    ['adopted', true],
  ] as const)('another object under the name is not %s', async ([, isAdopted], context) => {
    const thing = new Thing(await prepareGround(context), resources.configMaps, settings({ ours: '2' }))
    const made = { metadata: thing.ref, data: { ours: '1' } } as KubeObject
    const first = await thing.admin.create(thing.resource, made, { fieldManager: 'kubectl-create' })
    const live = await thing.observed()
    await thing.admin.delete(thing.resource, thing.ref, { uid: first.metadata.uid ?? '' })
    await thing.admin.create(thing.resource, made, { fieldManager: 'kubectl-create' })
    const before = await thing.read()
    const step = { declared: thing.declared, live, isAdopted }
    expect(await faultOf(applyObject(thing.admin, thing.resource, step, thing.options))).toMatchObject({
      code: 'Stale',
    })
    expect(await thing.read()).toEqual(before)
  })

  test('one that is gone is made anew', async (context) => {
    const thing = new Thing(await prepareGround(context), resources.configMaps, settings({ ours: '1' }))
    const { uid } = await thing.create()
    const live = await thing.observed()
    await thing.admin.delete(thing.resource, thing.ref, { uid })
    thing.commit(settings({ ours: '2' }))
    const step = { declared: thing.declared, live, isAdopted: false }
    const again = await applyObject(thing.admin, thing.resource, step, thing.options)
    expect([again.outcome, again.uid === uid]).toEqual(['created', false])
  })
})

describe('fields that others hold', () => {
  test('a stranger that nobody decided about is a permanent fault with field and manager, and nothing changes', async (context) => {
    const thing = new Thing(await prepareGround(context), resources.configMaps, settings({ level: 'ours' }))
    await heldBy(thing, 'some-controller', { level: 'theirs' })
    const fault = await faultOf(thing.update())
    expect(fault).toMatchObject({ code: 'Conflict', isPermanent: true, fields: ['data.level'] })
    expect(fault.message).toMatch(
      /^ConfigMap e2e-\w+\/settings \(shop\.yaml:3\): data\.level is held by "some-controller"/,
    )
    expect((await thing.read())['data']).toEqual({ level: 'theirs' })
    // Whoever did not know of the object leaves it to the next plan.
    expect(await faultOf(thing.create())).toMatchObject({ code: 'Stale', isPermanent: false })
  })

  test.for([
    ['override', 'ours', ['data.level was taken from some-controller']],
    ['merge', 'theirs', ['data.level is left to some-controller']],
    ['ifNotPresent', 'theirs', ['it is left as it is: fettle.dev/apply: ifNotPresent']],
    ['ignore', 'theirs', ['it is left as it is: fettle.dev/apply: ignore']],
  ] as const)('fettle.dev/apply: %s', async ([mode, level, remarks], context) => {
    const manifest = settings({ level: 'ours' }, { 'fettle.dev/apply': mode })
    const thing = new Thing(await prepareGround(context), resources.configMaps, manifest)
    await heldBy(thing, 'some-controller', { level: 'theirs' })
    expect((await thing.update()).remarks).toEqual(remarks)
    expect((await thing.read())['data']).toEqual({ level })
    expect(await thing.compare()).toEqual({ is: 'same' })
  })

  test('fettle.dev/apply: ifNotPresent makes what is not there, and leaves what came meanwhile', async (context) => {
    const manifest = settings({ level: 'ours' }, { 'fettle.dev/apply': 'ifNotPresent' })
    const thing = new Thing(await prepareGround(context), resources.configMaps, manifest)
    expect((await thing.create()).outcome).toBe('created')
    await thing.patch({ data: { level: 'theirs' } })
    expect(await thing.create()).toMatchObject({ outcome: 'unchanged', uid: expect.stringMatching(/-/) as string })
    expect((await thing.read())['data']).toEqual({ level: 'theirs' })
  })

  test('force takes only what was decided: what changed hands since is looked at again', async (context) => {
    const thing = new Thing(await prepareGround(context), resources.configMaps, settings({ a: '1', b: '1' }))
    await thing.create()
    await thing.patch({ data: { a: '2' } })
    const seen = await thing.observed()
    await heldBy(thing, 'some-controller', { b: '2' })
    thing.observed = async () => seen
    expect(await faultOf(thing.update())).toMatchObject({ code: 'Conflict', fields: ['data.b'] })
    expect(await thing.admin.get(thing.resource, thing.ref)).toMatchObject({ data: { a: '2', b: '2' } })
  })

  test('replicas are left to an autoscaler, also if git says a number', async (context) => {
    const ground = await prepareGround(context)
    const scaled = workload('web', { replicas: 1 })
    const thing = new Thing(ground, resources.deployments, scaled)
    await thing.create()
    const scaler = new Thing(ground, autoscalers, {
      metadata: { name: 'web' },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        minReplicas: 3,
        maxReplicas: 5,
      },
    })
    await scaler.create()
    await eventually(async () => expect(await thing.read()).toMatchObject({ spec: { replicas: 3 } }), {
      withinMs: 60_000,
    })
    expect(await thing.compare()).toMatchObject({ is: 'drifted' })
    expect((await thing.update()).remarks).toEqual(['spec.replicas is left to kube-controller-manager (scale)'])
    expect(await thing.read()).toMatchObject({ spec: { replicas: 3 } })
    expect(await thing.compare()).toEqual({ is: 'same' })
    thing.commit(workload('web', { replicas: 1, minReadySeconds: 1 }))
    expect((await thing.update()).outcome).toBe('changed')
    expect(await thing.read()).toMatchObject({ spec: { replicas: 3, minReadySeconds: 1 } })
    // The autoscaler goes, and its entry in managedFields stays.
    await ground.admin.delete(autoscalers, scaler.ref, { uid: 'any' })
    thing.isAutoscaled = false
    expect((await thing.update()).remarks).toEqual(['spec.replicas was taken from kube-controller-manager (scale)'])
    expect(await thing.read()).toMatchObject({ spec: { replicas: 1 } })
  })

  test('an ignored field is neither compared nor reset', async (context) => {
    const annotations = { 'fettle.dev/ignore-fields': '/spec/replicas' }
    const thing = new Thing(
      await prepareGround(context),
      resources.deployments,
      workload('web', { replicas: 2 }, annotations),
    )
    await thing.create()
    await thing.update()
    expect(await thing.read()).toMatchObject({ spec: { replicas: 2 } })
    await thing.patch({ spec: { replicas: 4 } }, 'merge', 'some-controller')
    expect(await thing.compare()).toEqual({ is: 'same' })
    thing.commit(workload('web', { replicas: 7, minReadySeconds: 1 }, annotations))
    expect(await thing.compare()).toEqual({ is: 'changed', fields: ['spec.minReadySeconds'] })
    await thing.update()
    expect(await thing.read()).toMatchObject({ spec: { replicas: 4, minReadySeconds: 1 } })
    thing.commit(workload('web', { replicas: 9, minReadySeconds: 1 }, annotations))
    expect(await thing.compare()).toEqual({ is: 'same' })
  })
})

describe('refusals', () => {
  test.for([
    ['an unknown field', resources.deployments, workload('web', { replicaz: 1 }), 'Unknown field', ['spec.replicaz']],
    ['a wrong type', resources.deployments, workload('web', { replicas: 'many' }), 'Wrong type', ['spec.replicas']],
    ['a bad value', resources.deployments, workload('web', { replicas: -1 }), 'Invalid', ['spec.replicas']],
    [
      'an item that is there twice',
      resources.services,
      { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }, { port: 80 }] } },
      'Duplicate key',
      ['spec.ports'],
    ],
    ['a bad annotation of ours', resources.configMaps, settings({}, { 'fettle.dev/apply': 'always' }), 'Invalid', []],
  ] as const)('%s is permanent, and has its path', async ([, resource, manifest, code, fields], context) => {
    const thing = new Thing(await prepareGround(context), resource, manifest as Manifest)
    expect(await faultOf(thing.create())).toMatchObject({ code, isPermanent: true, fields })
  })

  test('a namespace that is not there can come later', async (context) => {
    const thing = new Thing(
      { ...(await prepareGround(context)), namespace: 'e2e-nowhere' },
      resources.configMaps,
      settings({}),
    )
    expect(await faultOf(thing.create())).toMatchObject({ code: 'Refused', isPermanent: false, kubeCode: 'NotFound' })
  })

  test.for([
    ['a wrong type', { data: { password: { deep: 'CANARY' } } }],
    ['something that is not base64', { data: { password: 'CANARY!' } }],
    ['a wrong type as a whole', { data: 'CANARY' }],
    ['a list', { data: ['CANARY'] }],
    ['an unknown field', { date: { password: 'CANARY' } }],
    ['a bad key', { data: { 'a b': Buffer.from('CANARY').toString('base64') } }],
    ['a changed type', { type: 'example.com/CANARY', data: {} }],
  ] as const)('no value of a Secret is in a fault: %s', async ([, more], context) => {
    const thing = new Thing(await prepareGround(context), resources.secrets, { metadata: { name: 'token' }, data: {} })
    await thing.create()
    thing.commit({ metadata: { name: 'token' }, ...more } as Manifest)
    const fault = await faultOf(thing.update())
    expect(fault.isPermanent).toBe(true)
    const all = `${inspect(fault, { depth: 10, showHidden: true })} ${JSON.stringify(fault)} ${fault.stack}`
    expect(all).not.toMatch(/CANARY|Q0FOQVJZ/)
  })
})

describe('what cannot be changed', () => {
  test('a Job is deleted and made anew', async (context) => {
    const thing = new Thing(await prepareGround(context), resources.jobs, job('none.invalid/migrate:1'))
    const { uid } = await thing.create()
    thing.commit(job('none.invalid/migrate:2'))
    expect(await faultOf(thing.update())).toMatchObject({
      code: 'Immutable',
      isPermanent: true,
      fields: [expect.stringMatching(/^spec\.template/)],
    })
    const replaced = await thing.replace()
    expect(replaced.outcome).toBe('created')
    expect(replaced.uid).not.toBe(uid)
    expect(await thing.compare()).toEqual({ is: 'same' })
  })

  test('a Job that cannot be made anew is made again as it was, and the fault says so', async (context) => {
    const ground = await prepareGround(context)
    const thing = new Thing(ground, resources.jobs, job('none.invalid/migrate:1'))
    const { uid } = await thing.create()
    thing.commit(job('none.invalid/migrate:2', { nonsense: true }))
    const fault = await faultOf(thing.replace())
    expect(fault).toMatchObject({ code: 'Unknown field', fields: ['spec.template.spec.nonsense'] })
    expect(fault.message).toContain('The old one was made again from a copy')
    const live = await thing.observed()
    expect(live.uid).not.toBe(uid)
    expect(JSON.stringify(live.body)).toContain('none.invalid/migrate:1')
    // And it can be mended.
    thing.commit(job('none.invalid/migrate:3'))
    await thing.replace()
    expect(JSON.stringify(await thing.read())).toContain('none.invalid/migrate:3')
  })

  test('a StatefulSet is made anew around its pods', async (context) => {
    const ground = await prepareGround(context)
    await ensureDefaultAccount(ground)
    const thing = new Thing(ground, resources.statefulSets, workload('db', { serviceName: 'db', replicas: 1 }))
    await thing.create()
    const pod = { name: 'db-0', namespace: ground.namespace }
    const before = await eventually(() => ground.admin.get(resources.pods, pod), { withinMs: 30_000 })
    thing.commit(workload('db', { serviceName: 'other', replicas: 1 }))
    expect(await faultOf(thing.update())).toMatchObject({ code: 'Immutable', fields: ['spec'] })
    const { uid } = await thing.replace()
    await eventually(
      async () => {
        const { metadata } = await ground.admin.get(resources.pods, pod)
        expect(metadata).toMatchObject({ uid: before.metadata.uid, ownerReferences: [{ uid }] })
      },
      { withinMs: 30_000 },
    )
  })

  test('a Deployment only if its manifest says so', async (context) => {
    const thing = new Thing(await prepareGround(context), resources.deployments, workload('web', {}))
    await thing.create()
    const other = { selector: { matchLabels: { app: 'web', tier: 'a' } } }
    const labelled = (annotations: JsonObject) =>
      workload(
        'web',
        {
          ...other,
          template: {
            metadata: { labels: { app: 'web', tier: 'a' } },
            spec: { containers: [{ name: 'main', image: 'none.invalid/main:1' }] },
          },
        },
        annotations,
      )
    thing.commit(labelled({}))
    expect(await faultOf(thing.update())).toMatchObject({ code: 'Immutable', fields: ['spec.selector'] })
    expect(await faultOf(thing.replace())).toMatchObject({ code: 'Immutable' })
    thing.commit(labelled({ 'fettle.dev/replace': 'auto' }))
    expect((await thing.replace()).outcome).toBe('created')
  })

  test('a Service keeps its address', async (context) => {
    const manifest = (more: JsonObject): Manifest => ({
      metadata: { name: 'web', annotations: { 'fettle.dev/replace': 'auto' } },
      spec: { ports: [{ port: 80 }], ...more },
    })
    const thing = new Thing(await prepareGround(context), resources.services, manifest({}))
    await thing.create()
    const address = (await thing.read())['spec']
    thing.commit(manifest({ sessionAffinity: 'ClientIP' }))
    await thing.replace()
    expect(await thing.compare()).toEqual({ is: 'same' })
    const { clusterIP } = address as { readonly clusterIP: string }
    expect(await thing.read()).toMatchObject({ spec: { clusterIP } })
    await thing.update()
    expect(await thing.read()).toMatchObject({ spec: { clusterIP } })
  })
})

test('a big integer arrives with all its digits', async (context) => {
  const ground = await prepareGround(context)
  const thing = new Thing(ground, resources.pods, {
    metadata: { name: 'big' },
    spec: {
      containers: [{ name: 'main', image: 'none.invalid/main' }],
      securityContext: { runAsUser: 9007199254740993n },
    },
  })
  // Larger than any user may be: the refusal repeats what arrived.
  const fault = await faultOf(thing.create())
  expect(fault.message).toContain('9007199254740993')
})

test('manager names are kept apart: an update under our own name is somebody else', async (context) => {
  const thing = new Thing(await prepareGround(context), resources.configMaps, settings({ a: '1' }))
  await thing.create()
  await thing.patch({ data: { a: '2' } }, 'merge', manager)
  expect(await thing.compare()).toEqual({ is: 'drifted', fields: ['data.a'], by: manager })
  await thing.update()
  expect((await thing.read())['data']).toEqual({ a: '1' })
})

describe('custom resources', () => {
  const widget = (spec: JsonObject): Manifest => ({ metadata: { name: 'one' }, spec })
  const texts = (more: JsonObject = {}) => ({ type: 'array', items: { type: 'string' }, ...more })
  const named = {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
    items: {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string' }, size: { type: 'integer' }, mode: { type: 'string', default: 'plain' } },
    },
  }
  const schema = (more: JsonObject = {}) => ({
    openAPIV3Schema: {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: {
            size: { type: 'integer' },
            whole: texts(),
            tags: texts({ 'x-kubernetes-list-type': 'set' }),
            parts: named,
            ...more,
          },
        },
      },
    },
  })

  async function widgets(context: TestContext, ground: Ground) {
    const group = `${ground.namespace}.example.com`
    const name = `widgets.${group}`
    const definition = (versions: readonly object[]) => ({
      metadata: { name },
      spec: { group, scope: 'Namespaced', names: { plural: 'widgets', singular: 'widget', kind: 'Widget' }, versions },
    })
    const old = { name: 'v1', served: true, storage: true, schema: schema() }
    await ground.admin.create(resources.customResourceDefinitions, definition([old]) as KubeObject)
    context.onTestFinished(() => ground.admin.delete(resources.customResourceDefinitions, { name }, { uid: 'any' }))
    const resource = (version: string): Resource => ({
      group,
      version,
      plural: 'widgets',
      kind: 'Widget',
      namespaced: true,
    })
    const isServed = (version: string) =>
      eventually(
        () => ground.admin.list(resource(version), { namespace: ground.namespace })[Symbol.asyncIterator]().next(),
        {
          withinMs: 30_000,
        },
      )
    await isServed('v1')
    const upgrade = async () => {
      const next = {
        name: 'v2',
        served: true,
        storage: true,
        schema: schema({ color: { type: 'string', default: 'red' } }),
      }
      const body = definition([{ ...old, storage: false }, next])
      await ground.admin.patch(
        resources.customResourceDefinitions,
        { name },
        { type: 'merge', body: { spec: body.spec } },
      )
      await isServed('v2')
    }
    return { resource, upgrade }
  }

  test('lists with one owner, sets and lists of named items are followed each in its way', async (context) => {
    const ground = await prepareGround(context)
    const { resource } = await widgets(context, ground)
    const spec = { whole: ['a', 'b'], tags: ['x', 'y'], parts: [{ name: 'p', size: 1 }, { name: 'q' }] }
    const thing = new Thing(ground, resource('v1'), widget(spec))
    await thing.create()
    await thing.json([
      { op: 'add', path: '/spec/tags/-', value: 'z' },
      { op: 'add', path: '/spec/parts/-', value: { name: 'r' } },
      { op: 'replace', path: '/spec/parts/0/mode', value: 'fancy' },
    ])
    expect(await thing.compare()).toEqual({ is: 'same' })
    await thing.json([
      { op: 'remove', path: '/spec/tags/0' },
      { op: 'add', path: '/spec/whole/-', value: 'c' },
      { op: 'replace', path: '/spec/parts/0/size', value: 2 },
    ])
    const fields = ['spec.parts[name=p].size', 'spec.tags[=x]', 'spec.whole']
    expect(await thing.compare()).toEqual({ is: 'drifted', fields, by: 'kubectl-patch' })
    await thing.update()
    expect(await thing.compare()).toEqual({ is: 'same' })
    expect(await thing.read()).toMatchObject({
      spec: {
        whole: ['a', 'b'],
        tags: expect.arrayContaining(['x', 'y', 'z']) as string[],
        parts: [{ name: 'p', size: 1, mode: 'fancy' }, { name: 'q' }, { name: 'r' }],
      },
    })
    thing.commit(widget({ ...spec, huge: 1 }))
    expect(await faultOf(thing.update())).toMatchObject({ code: 'Unknown field', fields: ['spec.huge'] })
  })

  const theirs = (thing: Thing) =>
    thing.admin.apply(
      thing.resource,
      { metadata: { ...thing.ref, labels: { touched: 'yes' } } },
      { fieldManager: 'somebody' },
    )

  test.for<[string, (thing: Thing) => Promise<unknown>, number]>([
    ['nobody wrote since', async () => undefined, 1],
    // It stored a default that the old version does not know. The first write fails, one looks, and carries them over.
    ['another applied in the new version', theirs, 4],
  ])('fields that were applied in a version of before are carried over: %s', async ([, write, count], context) => {
    const ground = await prepareGround(context)
    const { resource, upgrade } = await widgets(context, ground)
    const before = new Thing(ground, resource('v1'), widget({ size: 1, tags: ['x'] }))
    await before.create()
    await upgrade()
    const after = new Thing(ground, resource('v2'), widget({ size: 2 }))
    await write(after)
    const requests = after.requests()
    await after.update()
    // One read is the test's.
    expect(after.requests() - requests - 1).toBe(count)
    const live = await after.read()
    expect(live).toMatchObject({ spec: { size: 2, color: 'red' } })
    expect(live['spec']).not.toHaveProperty('tags')
    expect(await after.compare()).toEqual({ is: 'same' })
  })
})

test('a field that git drops goes, also after managedFields were wiped', async (context) => {
  const thing = new Thing(await prepareGround(context), resources.configMaps, settings({ a: '1', b: '1' }))
  await thing.create()
  await thing.patch({ metadata: { managedFields: [{}] } })
  await thing.update()
  thing.commit(settings({ a: '1' }))
  await thing.update()
  expect((await thing.read())['data']).toEqual({ a: '1' })
})
