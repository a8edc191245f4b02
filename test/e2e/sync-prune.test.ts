import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { type KubeClient, type KubeObject, type ObjectRef, type Resource, resources } from '../../src/kube/index.ts'
import { type WaitHealthyResult, waitHealthy } from '../../src/sync/health/wait-healthy.ts'
import { type Key, keyText } from '../../src/sync/key.ts'
import { type PruneOptions, type PruneOutcome, type PruneStep, pruneAll } from '../../src/sync/prune/prune.ts'
import { systemClock } from '../../src/time/index.ts'
import {
  createAccount,
  ensureDefaultAccount,
  eventually,
  type Ground,
  prepareGround,
  requestToken,
  type Test,
} from '../support/e2e-cluster.ts'
import { connectWith, writeKubeconfig } from '../support/e2e-identity.ts'

const resourceQuotas: Resource = {
  group: '',
  version: 'v1',
  plural: 'resourcequotas',
  kind: 'ResourceQuota',
  namespaced: true,
}

const setId = 'applyset-x-v1'

const keyOf = (resource: Resource, { metadata }: KubeObject): Key => ({
  group: resource.group,
  kind: resource.kind,
  namespace: metadata.namespace ?? '',
  name: metadata.name ?? '',
})

function targetOf(resource: Resource, object: KubeObject) {
  return { key: keyOf(resource, object), resource, uid: object.metadata.uid ?? '' }
}

function stepOf(resource: Resource, object: KubeObject, more: Partial<PruneStep> = {}): PruneStep {
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
  return {
    do: 'delete',
    ...targetOf(resource, object),
    apiVersion,
    isStranger: false,
    layer: 1,
    weight: 1,
    why: 'no file declares it',
    ...more,
  }
}

interface Pruned {
  readonly outcomes: readonly PruneOutcome[]
  readonly gone: readonly string[]
}

async function prune(
  { admin, signal }: Ground,
  steps: readonly PruneStep[],
  more: Partial<PruneOptions> = {},
): Promise<Pruned> {
  const gone: string[] = []
  const outcomes = await pruneAll(admin, steps, {
    clock: systemClock,
    setId,
    timeoutMs: 30_000,
    signal,
    mayGoOn: () => Promise.resolve(undefined),
    onGone: (key) => gone.push(keyText(key)),
    ...more,
  })
  return { outcomes, gone }
}

function wait({ admin, signal }: Ground, targets: readonly ReturnType<typeof targetOf>[], deadlineMs = 60_000) {
  const told: string[] = []
  const onProgress = (line: string) => told.push(line)
  const result: Promise<WaitHealthyResult> = waitHealthy(admin, targets, {
    clock: systemClock,
    deadlineMs,
    signal,
    onProgress,
  })
  return { told, result }
}

function deployment(
  namespace: string,
  name: string,
  more: Record<string, unknown> = {},
  pod: Record<string, unknown> = {},
): KubeObject {
  const labels = { app: name }
  return {
    metadata: { name, namespace },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'none.invalid/web:1' }], ...pod } },
      ...more,
    },
  } as KubeObject
}

async function groundForPods(test: Test): Promise<Ground> {
  const ground = await prepareGround(test)
  await ensureDefaultAccount(ground)
  return ground
}

const configMapOf = (namespace: string, name: string, more: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  metadata: { name, namespace, ...more },
})

const exists = async (client: KubeClient, resource: Resource, ref: ObjectRef): Promise<boolean> => {
  for await (const { items } of client.list(resource, {
    ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
  })) {
    if (items.some(({ metadata }) => metadata.name === ref.name)) return true
  }
  return false
}

const letGo = (client: KubeClient, ref: ObjectRef) =>
  client.patch(resources.configMaps, ref, { type: 'merge', body: { metadata: { finalizers: null } } })

test('a rollout is awaited to its end, and what is healthy at once costs no request', async (context) => {
  const ground = await groundForPods(context)
  const { admin, namespace } = ground
  const config = await admin.create(resources.configMaps, configMapOf(namespace, 'settings'))
  const before = admin.counters()
  const atOnce = await wait(ground, [targetOf(resources.configMaps, config)]).result
  expect(atOnce.outcome).toBe('healthy')
  expect(admin.counters()).toEqual(before)

  // Not done before anybody looks.
  const web = await admin.create(resources.deployments, deployment(namespace, 'web', { minReadySeconds: 1 }))
  const { told, result } = wait(ground, [targetOf(resources.configMaps, config), targetOf(resources.deployments, web)])
  const { outcome, waited } = await result
  expect(outcome).toBe('healthy')
  expect(waited.map(({ health }) => health.message)).toEqual(['it exists', '2/2 updated, 2/2 ready, 2/2 available'])
  expect(told.at(-1)).toBe(`Deployment.apps ${namespace}/web: 2/2 updated, 2/2 ready, 2/2 available`)
  expect(waited[1]?.seconds).toBeGreaterThan(0)
})

test('a rollout that finds no node fails when its progress deadline passes, and says which pod is why', async (context) => {
  const ground = await groundForPods(context)
  const { admin, namespace } = ground
  const homeless = { nodeSelector: { 'example.com/nowhere': 'true' } }
  const web = await admin.create(
    resources.deployments,
    deployment(namespace, 'web', { progressDeadlineSeconds: 2 }, homeless),
  )
  const { outcome, waited } = await wait(ground, [targetOf(resources.deployments, web)]).result
  expect(outcome).toBe('failed')
  expect(waited[0]?.health).toMatchObject({ is: 'Failed', reason: 'ProgressDeadlineExceeded' })
  expect(waited[0]?.health.message).toMatch(
    /its progress deadline passed; pod web-\S+: Unschedulable \(0\/\d+ nodes are available/,
  )
  expect(waited[0]?.seconds).toBeLessThan(30)
})

test('what a quota refuses is told while it may still be freed, and at the deadline', async (context) => {
  const ground = await groundForPods(context)
  const { admin, namespace } = ground
  await admin.create(resourceQuotas, {
    metadata: { name: 'none', namespace },
    spec: { hard: { pods: '0' } },
  } as KubeObject)
  await eventually(
    async () => {
      const quota = await admin.get<KubeObject & { status?: { hard?: object } }>(resourceQuotas, {
        name: 'none',
        namespace,
      })
      expect(quota.status?.hard).toBeDefined()
    },
    { withinMs: 20_000 },
  )
  const web = await admin.create(resources.deployments, deployment(namespace, 'web'))
  const { outcome, waited } = await wait(ground, [targetOf(resources.deployments, web)], 5_000).result
  expect(outcome).toBe('deadline')
  expect(waited[0]?.health).toMatchObject({ is: 'InProgress', reason: 'ReplicaFailure' })
  expect(waited[0]?.health.message).toContain('exceeded quota: none')
})

test('an object that is deleted while its health is awaited ends the wait', async (context) => {
  const ground = await groundForPods(context)
  const { admin, namespace } = ground
  const homeless = { nodeSelector: { 'example.com/nowhere': 'true' } }
  const first = await admin.create(resources.deployments, deployment(namespace, 'web', {}, homeless))
  const target = targetOf(resources.deployments, first)
  const { told, result } = wait(ground, [target])
  await eventually(() => expect(told.length).toBeGreaterThan(0), { withinMs: 20_000 })
  await admin.delete(
    resources.deployments,
    { name: 'web', namespace },
    { uid: target.uid, propagationPolicy: 'Background' },
  )
  expect(await result).toMatchObject({ outcome: 'failed', waited: [{ health: { is: 'NotFound', reason: 'Deleted' } }] })

  await admin.create(resources.deployments, deployment(namespace, 'web', {}, homeless))
  expect(await wait(ground, [target]).result).toMatchObject({
    outcome: 'failed',
    waited: [{ health: { is: 'NotFound', reason: 'Replaced' } }],
  })
})

test('who may not read an object hears that its health cannot be known', async (context) => {
  const ground = await groundForPods(context)
  const { admin, namespace, signal } = ground
  const web = await admin.create(resources.deployments, deployment(namespace, 'web'))
  const token = await requestToken(admin, await createAccount(ground, 'nobody'))
  const nobody = await connectWith(context, writeKubeconfig(context, ground, { token }))
  const { outcome, waited } = await waitHealthy(nobody, [targetOf(resources.deployments, web)], {
    clock: systemClock,
    deadlineMs: 20_000,
    signal,
  })
  expect(outcome).toBe('failed')
  expect(waited[0]?.health).toMatchObject({ is: 'Unknown', reason: 'NotReadable' })
  expect(waited[0]?.health.message).toMatch(/^its health cannot be read: GET \S+deployments failed: Forbidden/)
})

test('a hundred config maps are deleted, and each is proven gone', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  const names = Array.from({ length: 100 }, (_, at) => `map-${at}`)
  const created = await Promise.all(
    names.map((name) => admin.create(resources.configMaps, configMapOf(namespace, name))),
  )
  await admin.create(resources.configMaps, configMapOf(namespace, 'bystander'))
  const startedAt = performance.now()
  const { outcomes, gone } = await prune(
    ground,
    created.map((object) => stepOf(resources.configMaps, object)),
  )
  const seconds = (performance.now() - startedAt) / 1_000
  expect(outcomes.every(({ is }) => is === 'Gone')).toBe(true)
  expect(new Set(gone).size).toBe(100)
  // The goal is 0.6 s on a quiet machine; tests do not have one.
  expect(seconds).toBeLessThan(10)
  for await (const { items } of admin.list(resources.configMaps, { namespace })) {
    expect(items.map(({ metadata }) => metadata.name).filter((name) => name !== 'kube-root-ca.crt')).toEqual([
      'bystander',
    ])
  }
})

test('what a finalizer holds is stuck, with its name, who set it and the command that ends it; lower layers are not begun', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  const holder = 'example.com/hold'
  const held = await admin.create(resources.configMaps, configMapOf(namespace, 'held', { finalizers: [holder] }), {
    fieldManager: 'the-operator',
  })
  context.onTestFinished(async () => void (await letGo(admin, { namespace, name: 'held' })))
  const below = await admin.create(resources.configMaps, configMapOf(namespace, 'below'))
  const told: string[] = []
  const { outcomes, gone } = await prune(
    ground,
    [stepOf(resources.configMaps, below, { layer: 1 }), stepOf(resources.configMaps, held, { layer: 2 })],
    { timeoutMs: 500, onProgress: (line) => told.push(line) },
  )
  expect(gone).toEqual([])
  expect(outcomes).toMatchObject([
    { key: { name: 'held' }, is: 'Stuck', finalizers: [holder] },
    {
      key: { name: 'below' },
      is: 'Refused',
      why: `not begun: ConfigMap ${namespace}/held is still there and may need it`,
    },
  ])
  expect(outcomes[0]?.why).toMatch(/finalizers hold it: example\.com\/hold \(set by the-operator\)\./)
  expect(outcomes[0]?.why).toContain(`kubectl -n ${namespace} patch configmaps held --type=json`)
  expect(told).toEqual([`ConfigMap ${namespace}/held waits for ${holder}`])
  const { metadata } = await admin.get(resources.configMaps, { namespace, name: 'held' })
  expect(metadata.finalizers).toEqual([holder])
  expect(await exists(admin, resources.configMaps, { namespace, name: 'below' })).toBe(true)
})

test('an object that was created anew under the name is not touched, and counts as gone', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  const ref = { namespace, name: 'reborn' }
  const first = await admin.create(resources.configMaps, configMapOf(namespace, 'reborn'))
  await admin.delete(resources.configMaps, ref, { uid: first.metadata.uid ?? '' })
  const second = await admin.create(resources.configMaps, configMapOf(namespace, 'reborn'))
  expect((await prune(ground, [stepOf(resources.configMaps, first)])).outcomes).toMatchObject([{ is: 'Gone' }])
  expect((await admin.get(resources.configMaps, ref)).metadata.uid).toBe(second.metadata.uid)

  const held = await admin.create(
    resources.configMaps,
    configMapOf(namespace, 'held', { finalizers: ['example.com/hold'] }),
  )
  const heldRef = { namespace, name: 'held' }
  const pruning = prune(ground, [stepOf(resources.configMaps, held)])
  await eventually(
    async () => expect((await admin.get(resources.configMaps, heldRef)).metadata.deletionTimestamp).toBeDefined(),
    { withinMs: 10_000 },
  )
  await letGo(admin, heldRef)
  const third = await eventually(() => admin.create(resources.configMaps, configMapOf(namespace, 'held')), {
    withinMs: 5_000,
    everyMs: 1,
  })
  expect((await pruning).outcomes).toMatchObject([{ is: 'Gone' }])
  expect((await admin.get(resources.configMaps, heldRef)).metadata.uid).toBe(third.metadata.uid)
})

test('a stranger that changed since the plan stays', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  const stranger = { isStranger: true }
  const [still, moved] = await Promise.all(
    ['still', 'moved'].map((name) => admin.create(resources.configMaps, configMapOf(namespace, name))),
  )
  if (!still || !moved) throw new Error('both were created')
  const ref = { namespace, name: 'moved' }
  await admin.patch(resources.configMaps, ref, { type: 'merge', body: { data: { somebody: 'cares' } } })
  const version = ({ metadata }: KubeObject) => ({ resourceVersion: metadata.resourceVersion ?? '' })
  const { outcomes } = await prune(ground, [
    stepOf(resources.configMaps, still, { ...stranger, ...version(still) }),
    stepOf(resources.configMaps, moved, { ...stranger, ...version(moved) }),
  ])
  expect(outcomes.map(({ is }) => is)).toEqual(['Gone', 'Changed'])
  expect(await exists(admin, resources.configMaps, ref)).toBe(true)
})

test('a member is looked at once more if it changed since the plan: marks keep it, a new status does not', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  const labels = { 'applyset.kubernetes.io/part-of': setId }
  const names = ['kept', 'taken', 'moved']
  const made = await Promise.all(
    names.map((name) => admin.create(resources.configMaps, configMapOf(namespace, name, { labels }))),
  )
  const steps = made.map((object) =>
    stepOf(resources.configMaps, object, { resourceVersion: object.metadata.resourceVersion ?? '' }),
  )
  const change = (name: string, metadata: object) =>
    admin.patch(resources.configMaps, { namespace, name }, { type: 'merge', body: { metadata } })
  await change('kept', { annotations: { 'fettle.dev/keep': 'an audit' } })
  await change('taken', { labels: { 'applyset.kubernetes.io/part-of': 'applyset-theirs-v1' } })
  await change('moved', { annotations: { 'example.org/note': 'x' } })
  const { outcomes } = await prune(ground, steps)
  expect(outcomes.map(({ is }) => is)).toEqual(['Changed', 'Changed', 'Gone'])
  expect(outcomes.map(({ why }) => why)).toEqual([
    'it is marked to stay now: fettle.dev/keep: an audit',
    'it belongs to the set applyset-theirs-v1 now',
    'no file declares it',
  ])
})

test('a workload above others goes with its pods before they go', async (context) => {
  const ground = await groundForPods(context)
  const { admin, namespace } = ground
  const config = await admin.create(resources.configMaps, configMapOf(namespace, 'settings'))
  const web = await admin.create(resources.deployments, deployment(namespace, 'web'))
  expect((await wait(ground, [targetOf(resources.deployments, web)]).result).outcome).toBe('healthy')
  const podsAtLayer: number[] = []
  const { outcomes, gone } = await prune(
    ground,
    [stepOf(resources.configMaps, config, { layer: 3 }), stepOf(resources.deployments, web, { layer: 6 })],
    {
      mayGoOn: async () => {
        for await (const { items } of admin.list(resources.pods, { namespace })) podsAtLayer.push(items.length)
        return undefined
      },
    },
  )
  expect(outcomes.map(({ is }) => is)).toEqual(['Gone', 'Gone'])
  expect(gone).toEqual([`Deployment.apps ${namespace}/web`, `ConfigMap ${namespace}/settings`])
  expect(podsAtLayer).toEqual([2, 0])
})

test('a workload whose pods do not stop is stuck, and says what has to go first', async (context) => {
  const ground = await groundForPods(context)
  const { admin, namespace } = ground
  const config = await admin.create(resources.configMaps, configMapOf(namespace, 'settings'))
  const stubborn = deployment(namespace, 'web', {
    template: {
      metadata: { labels: { app: 'web' }, annotations: { 'simulate.fettle.dev/stop': 'never' } },
      spec: { containers: [{ name: 'main', image: 'none.invalid/web:1' }] },
    },
  })
  const web = await admin.create(resources.deployments, stubborn)
  expect((await wait(ground, [targetOf(resources.deployments, web)]).result).outcome).toBe('healthy')
  const { outcomes } = await prune(
    ground,
    [stepOf(resources.configMaps, config, { layer: 3 }), stepOf(resources.deployments, web, { layer: 6 })],
    { timeoutMs: 3_000 },
  )
  context.onTestFinished(async () => {
    for await (const { items } of admin.list(resources.pods, { namespace }))
      for (const { metadata } of items)
        await admin.delete(
          resources.pods,
          { namespace, name: metadata.name ?? '' },
          { uid: 'any', gracePeriodSeconds: 0 },
        )
  })
  expect(outcomes.map(({ is }) => is)).toEqual(['Stuck', 'Refused'])
  expect(outcomes[0]?.finalizers).toEqual(['foregroundDeletion'])
  expect(outcomes[0]?.why).toMatch(/these have to go first: ReplicaSet web-\w+\./)
})

test('the fence stops what has not begun', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  const map = await admin.create(resources.configMaps, configMapOf(namespace, 'kept'))
  const { outcomes } = await prune(ground, [stepOf(resources.configMaps, map)], {
    mayGoOn: () => Promise.resolve('another writer took over'),
  })
  expect(outcomes).toMatchObject([{ is: 'Refused', why: 'another writer took over' }])
  expect(await exists(admin, resources.configMaps, { namespace, name: 'kept' })).toBe(true)
})

test('a definition is refused while objects of its kind exist anywhere, and its own health is whether it is served', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  const group = `e2e-${randomBytes(4).toString('hex')}.example.com`
  const widgets: Resource = { group, version: 'v1', plural: 'widgets', kind: 'Widget', namespaced: true }
  const definition = await admin.create(resources.customResourceDefinitions, {
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  } as KubeObject)
  const target = targetOf(resources.customResourceDefinitions, definition)
  expect((await wait(ground, [target]).result).waited).toMatchObject([
    { health: { is: 'Current', message: 'its kind is served' } },
  ])
  const widget = await eventually(() => admin.create<KubeObject>(widgets, { metadata: { name: 'one', namespace } }), {
    withinMs: 10_000,
  })
  const step = stepOf(resources.customResourceDefinitions, definition)
  expect((await prune(ground, [step])).outcomes).toMatchObject([
    { is: 'Refused', why: `deleting it would delete an object of its kind: ${namespace}/one; delete that first` },
  ])
  const both = await prune(ground, [step, stepOf(widgets, widget, { layer: 8 })])
  expect(both.outcomes.map(({ key, is }) => [key.kind, is])).toEqual([
    ['Widget', 'Gone'],
    ['CustomResourceDefinition', 'Gone'],
  ])
})

test('a namespace is refused until nothing but what every namespace has is left in it', async (context) => {
  const ground = await prepareGround(context)
  const { admin } = ground
  const name = `e2e-${randomBytes(5).toString('hex')}`
  const namespace = await admin.create<KubeObject>(resources.namespaces, { metadata: { name } })
  const step = stepOf(resources.namespaces, namespace, { layer: 0 })
  const map = await admin.create(resources.configMaps, configMapOf(name, 'left'))
  expect((await prune(ground, [step])).outcomes).toMatchObject([
    { is: 'Refused', why: `it is not empty: ConfigMap ${name}/left; delete that first, or declare it` },
  ])
  const both = await prune(ground, [step, stepOf(resources.configMaps, map)])
  expect(both.outcomes.map(({ key, is, why }) => [key.kind, is, why])).toEqual([
    ['ConfigMap', 'Gone', 'no file declares it'],
    ['Namespace', 'Gone', 'no file declares it'],
  ])
})
