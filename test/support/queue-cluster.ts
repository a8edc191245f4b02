import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect } from 'vitest'
import {
  budgetName,
  customResourceDefinitions,
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceFreezes,
  maintenanceRequests,
  maintenanceWindows,
  type Phase,
  type RequestVerb,
  verbAnnotations,
} from '../../src/api/index.ts'
import { adminKubeconfig } from '../../src/dev/index.ts'
import {
  type ConnectedClient,
  connect,
  isNotFound,
  type KubeClient,
  type KubeObject,
  loadKubeconfig,
  type NodeObject,
  type PodDisruptionBudget,
  type PodObject,
  type Resource,
  resources,
} from '../../src/kube/index.ts'
import type { QueuePorts, QueueViews } from '../../src/queue/index.ts'
import type { Clock } from '../../src/time/index.ts'
import { ensureDefaultAccount, eventually, type Ground, prepareGround, sharedRecord, type Test } from './e2e-cluster.ts'
import { runInstance } from './queue-instance.ts'

/** Generous: the machine may be busy, and nothing here is about speed. */
export const patient = { withinMs: 60_000, everyMs: 50 } as const

/** Stores the CRDs as an installer does, and waits until objects of them are accepted. */
export async function installCrds(client: KubeClient): Promise<void> {
  for (const definition of customResourceDefinitions())
    await client.apply(resources.customResourceDefinitions, definition as KubeObject, {
      fieldManager: 'e2e',
      force: true,
    })
  for (const resource of [maintenanceRequests, maintenanceBudgets, maintenanceWindows, maintenanceFreezes])
    await eventually(() => listOf(client, resource), patient)
}

/** For all tests of a file. */
export function useCrds(): void {
  beforeAll(async () => {
    const client = connect(await loadKubeconfig({ path: adminKubeconfig(sharedRecord()) }), { component: 'e2e' })
    try {
      await installCrds(client)
    } finally {
      client.close()
    }
  })
}

export async function listOf<T extends KubeObject>(
  client: KubeClient,
  resource: Resource,
  options: { readonly labelSelector?: string; readonly fieldSelector?: string; readonly namespace?: string } = {},
): Promise<T[]> {
  const found: T[] = []
  for await (const page of client.list<T>(resource, options)) found.push(...page.items)
  return found
}

export interface RunningQueue {
  /** Ends it and waits until it has ended. */
  stop(): Promise<void>
  readonly ended: Promise<void>
}

export interface QueueOptions {
  readonly client?: KubeClient
  /** Ends everything of this instance at once. */
  readonly signal?: AbortSignal
  /** Shows the queue something else than what its caches hold. */
  readonly see?: (views: QueueViews) => QueueViews
  readonly log?: QueuePorts['log']
  /** What a controller finds out when it starts. */
  readonly offersEvictionRequest?: boolean
  readonly recorder?: QueuePorts['recorder']
  readonly clock?: Clock
}

export interface QueueGround extends Ground {
  /** A simulated node of this test alone, Ready. */
  addNode(more?: { readonly labels?: Record<string, string>; readonly isCordoned?: boolean }): Promise<string>
  /** Pods that run on this node or nowhere, kept by a ReplicaSet. Resolves when all of them run. */
  addWorkload(node: string, options: { readonly app: string; readonly replicas: number }): Promise<void>
  ask(node: string, spec?: object): Promise<MaintenanceRequest & { readonly metadata: { readonly name: string } }>
  want(request: string, want: 'Return'): Promise<void>
  /** A person's word on a request, as the command line writes it. */
  say(request: string, verb: RequestVerb, reason: string): Promise<void>
  /** What nobody but the controller should do: changes a status by hand. */
  editStatus(resource: Resource, name: string, status: object): Promise<void>
  setBudget(spec: object): Promise<void>
  request(name: string): Promise<MaintenanceRequest>
  node(name: string): Promise<NodeObject>
  budget(): Promise<MaintenanceBudget>
  podsOn(node: string): Promise<PodObject[]>
  /** Until the request is there; answers it. */
  untilPhase(request: string, phase: Phase): Promise<MaintenanceRequest>
  untilRunning(node: string, app: string, count: number): Promise<PodObject[]>
  /** The controller's queue, in this process, on caches of its own. */
  startQueue(options?: QueueOptions): Promise<RunningQueue>
}

/** A namespace, an empty ledger, and everything that a test of the queue asks for. Nothing of it outlives the test. */
export async function prepareQueue(test: Test): Promise<QueueGround> {
  const ground = await prepareGround(test)
  const { admin, namespace, signal } = ground
  await ensureDefaultAccount(ground)
  const mark = { 'e2e.fettle.dev/queue': namespace }
  await emptyQueue(admin)
  test.onTestFinished(async () => {
    await emptyQueue(admin)
    for (const node of await listOf(admin, resources.nodes, { labelSelector: `e2e.fettle.dev/queue=${namespace}` }))
      await admin.delete(resources.nodes, { name: node.metadata.name ?? '' }, { uid: node.metadata.uid ?? 'any' })
  })

  const node = (name: string) => admin.get<NodeObject>(resources.nodes, { name })
  const request = (name: string) => admin.get<MaintenanceRequest>(maintenanceRequests, { name })
  const podsOn = (name: string) =>
    listOf<PodObject>(admin, resources.pods, { namespace, fieldSelector: `spec.nodeName=${name}` })
  const untilRunning = (name: string, app: string, count: number) =>
    eventually(async () => {
      const running = (await podsOn(name)).filter(
        ({ metadata, status }) =>
          metadata.labels?.['app'] === app && status?.phase === 'Running' && !metadata.deletionTimestamp,
      )
      expect(running.length, `running pods of ${app} on ${name}`).toBe(count)
      return running
    }, patient)

  return {
    ...ground,
    node,
    request,
    podsOn,
    untilRunning,
    budget: () => admin.get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName }),
    async addNode({ labels = {}, isCordoned = false } = {}) {
      const name = `q-${randomBytes(4).toString('hex')}`
      await admin.create(resources.nodes, simulatedNode(name, { ...labels, ...mark }, isCordoned))
      await eventually(async () => expect(isReady(await node(name)), `${name} is Ready`).toBe(true), patient)
      return name
    },
    async addWorkload(name, { app, replicas }) {
      await admin.create<KubeObject>(resources.replicaSets, {
        metadata: { name: app, namespace },
        spec: {
          replicas,
          selector: { matchLabels: { app } },
          template: { metadata: { labels: { app } }, spec: pinnedTo(name) },
        },
      } as KubeObject)
      await untilRunning(name, app, replicas)
    },
    async ask(name, spec = {}) {
      const { metadata } = await node(name)
      const created = await admin.create<KubeObject>(maintenanceRequests, {
        metadata: { name: `${name}-${randomBytes(3).toString('hex')}`, labels: mark },
        spec: {
          nodeName: name,
          nodeUID: metadata.uid,
          source: { kind: 'Person', key: `tester-${randomBytes(3).toString('hex')}` },
          reason: 'e2e',
          work: 'External',
          ...spec,
        },
      } as KubeObject)
      return created as MaintenanceRequest & { readonly metadata: { readonly name: string } }
    },
    async want(name, want) {
      await admin.patch(maintenanceRequests, { name }, { type: 'merge', body: { spec: { want } } })
    },
    async say(name, verb, reason) {
      const annotations = {
        [verbAnnotations.verb]: verb,
        [verbAnnotations.reason]: reason,
        [verbAnnotations.by]: 'jdoe-at-example',
      }
      await admin.patch(maintenanceRequests, { name }, { type: 'merge', body: { metadata: { annotations } } })
    },
    async editStatus(resource, name, status) {
      await admin.patch(resource, { name }, { type: 'merge', body: { status } }, { subresource: 'status' })
    },
    async setBudget(spec) {
      const budget = { metadata: { name: budgetName }, spec } as KubeObject
      await admin.apply(maintenanceBudgets, budget, { fieldManager: 'e2e', force: true })
    },
    untilPhase: (name, phase) =>
      eventually(async () => {
        const seen = await request(name)
        expect(seen.status?.phase, JSON.stringify(seen.status)).toBe(phase)
        return seen
      }, patient),
    startQueue: (options = {}) => startQueue(test, admin, signal, options),
  }
}

export interface LedgerRecord {
  /** The most slots that any stored version had. */
  readonly most: number
  /** In the order in which they came. */
  readonly tokens: readonly number[]
}

/** Sees every version of the ledger that is stored from now on, as a watch tells it. */
export function followLedger(test: Test, { admin }: Ground): LedgerRecord {
  const seen = { most: 0, tokens: [] as number[] }
  const stop = new AbortController()
  const follow = async () => {
    while (!stop.signal.aborted)
      try {
        for await (const event of admin.watch<MaintenanceBudget>(maintenanceBudgets, { signal: stop.signal })) {
          if (event.type === 'BOOKMARK') continue
          const slots = event.object.status?.slots ?? []
          seen.most = Math.max(seen.most, slots.length)
          for (const { token } of slots) if (!seen.tokens.includes(token)) seen.tokens.push(token)
        }
      } catch (error) {
        if (!stop.signal.aborted) throw error
      }
  }
  const following = follow()
  test.onTestFinished(async () => {
    stop.abort()
    await following
  })
  return seen
}

async function startQueue(
  test: Test,
  admin: KubeClient,
  testSignal: AbortSignal,
  options: QueueOptions,
): Promise<RunningQueue> {
  const client = options.client ?? admin
  const stop = new AbortController()
  const signal = AbortSignal.any([stop.signal, testSignal, ...(options.signal ? [options.signal] : [])])
  const ended = runInstance({ ...options, client, signal })
  const running = {
    ended,
    async stop() {
      stop.abort(new Error('stopped by the test'))
      await ended
    },
  }
  test.onTestFinished(() => running.stop())
  return running
}

/** No request and no ledger: each test of a file begins as a new installation does. */
export async function emptyQueue(admin: ConnectedClient): Promise<void> {
  await eventually(async () => {
    for (const { metadata } of await listOf(admin, maintenanceRequests)) {
      const ref = { name: metadata.name ?? '' }
      await ignoreAbsence(admin.delete(maintenanceRequests, ref, { uid: metadata.uid ?? 'any' }))
      await ignoreAbsence(
        admin.patch(maintenanceRequests, ref, { type: 'merge', body: { metadata: { finalizers: [] } } }),
      )
    }
    for (const { metadata } of await listOf(admin, maintenanceBudgets)) {
      const ref = { name: metadata.name ?? '' }
      await ignoreAbsence(admin.delete(maintenanceBudgets, ref, { uid: metadata.uid ?? 'any' }))
      await ignoreAbsence(
        admin.patch(maintenanceBudgets, ref, { type: 'merge', body: { metadata: { finalizers: [] } } }),
      )
    }
    expect(await listOf(admin, maintenanceRequests)).toEqual([])
    expect(await listOf(admin, maintenanceBudgets)).toEqual([])
  }, patient)
}

async function ignoreAbsence(call: Promise<unknown>): Promise<void> {
  await call.catch((error: unknown) => {
    if (!isNotFound(error)) throw error
  })
}

export function isReady(node: NodeObject): boolean {
  return node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

/** Only there or nowhere: what is evicted waits until the node is back. */
export function pinnedTo(node: string): object {
  return {
    nodeSelector: { 'kubernetes.io/hostname': node },
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image: 'none.invalid/nothing' }],
  }
}

function simulatedNode(name: string, labels: Record<string, string>, isCordoned: boolean): KubeObject {
  const size = { cpu: '32', memory: '256Gi', pods: '250' }
  return {
    metadata: {
      name,
      annotations: { 'kwok.x-k8s.io/node': 'fake' },
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...labels },
    },
    ...(isCordoned ? { spec: { unschedulable: true } } : {}),
    status: { allocatable: size, capacity: size },
  } as KubeObject
}

/** Allows nothing, or only so much, of the pods of an app. */
export async function createPdb(
  { admin, namespace }: Ground,
  name: string,
  app: string,
  spec: NonNullable<PodDisruptionBudget['spec']>,
): Promise<void> {
  await admin.create<PodDisruptionBudget>(resources.podDisruptionBudgets, {
    metadata: { name, namespace },
    spec: { ...spec, selector: { matchLabels: { app } } },
  })
  await eventually(async () => {
    const pdb = await admin.get<PodDisruptionBudget>(resources.podDisruptionBudgets, { name, namespace })
    expect(pdb.status?.observedGeneration).toBe(pdb.metadata.generation)
    expect(pdb.status?.expectedPods).toBeGreaterThan(0)
  }, patient)
}

/** Everything about the cordon, as anybody can read it on the node. */
export async function cordonOf(ground: QueueGround, name: string) {
  const { metadata, spec } = await ground.node(name)
  const owner = metadata.annotations?.['cordon.fettle.dev/queue']
  return {
    isUnschedulable: spec?.unschedulable ?? false,
    owner: owner === undefined ? undefined : (JSON.parse(owner) as unknown),
    prior: metadata.annotations?.['fettle.dev/cordon-prior'],
  }
}

export const inService = { isUnschedulable: false, owner: undefined, prior: undefined } as const

export async function slotsOf(ground: QueueGround) {
  return (await ground.budget()).status?.slots ?? []
}

/** Holds the whole time, not only at its end. */
export async function stays(check: () => Promise<void>, forMs: number): Promise<void> {
  for (const endAt = Date.now() + forMs; Date.now() < endAt; await sleep(100)) await check()
}
