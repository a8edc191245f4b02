import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  askPods,
  clearLifecycleConditions,
  type DrainSettings,
  lifecycleConditions,
  offersEvictionRequest,
  type PodToAsk,
  planDrain,
  volumesOn,
  withdrawEvictionRequests,
} from '../../src/drain/index.ts'
import { type KubeClient, type KubeObject, type NodeObject, type PodObject, resources } from '../../src/kube/index.ts'
import { boundPod, eventually, type Test } from '../support/e2e-cluster.ts'
import { interceptWrites } from '../support/intercepted-client.ts'
import {
  createPdb,
  isReady,
  listOf,
  patient,
  prepareQueue,
  type QueueGround,
  useCrds,
} from '../support/queue-cluster.ts'

useCrds()

const evictionRequests = {
  group: 'lifecycle.k8s.io',
  version: 'v1alpha1',
  plural: 'evictionrequests',
  kind: 'EvictionRequest',
  namespaced: true,
}

/** Makes this server one that has EvictionRequests, for one test; nobody answers them. */
async function offerEvictionRequests(context: Test, { admin, signal }: QueueGround): Promise<void> {
  const { group, version, plural, kind } = evictionRequests
  const name = `${plural}.${group}`
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  await admin.create(resources.customResourceDefinitions, {
    metadata: { name, annotations: { 'api-approved.kubernetes.io': 'unapproved, only for tests' } },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: open } }],
    },
  } as KubeObject)
  context.onTestFinished(async () => {
    await admin.delete(resources.customResourceDefinitions, { name }, { uid: 'any' })
    await eventually(
      async () => expect(await offersEvictionRequest(admin, new AbortController().signal)).toBe(false),
      patient,
    )
  })
  await eventually(async () => expect(await offersEvictionRequest(admin, signal)).toBe(true), patient)
  await eventually(() => listOf(admin, evictionRequests), patient)
}

async function planOf(ground: QueueGround, node: string, settings: DrainSettings) {
  return planDrain({
    pods: await ground.podsOn(node),
    budgets: [],
    isNodeReady: true,
    settings,
    offersEvictionRequest: await offersEvictionRequest(ground.admin, ground.signal),
    nowMs: Date.now(),
  })
}

test('this server does not offer EvictionRequest: Auto evicts, and who insists is told and disturbs nobody', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'web', replicas: 2 })
  expect(await offersEvictionRequest(ground.admin, ground.signal)).toBe(false)
  const insisting = await planOf(ground, node, { backend: 'EvictionRequest', isForced: false })
  expect([insisting.askNow, insisting.askLater]).toEqual([[], []])
  expect(insisting.refusals[0]?.why).toContain('which this server does not offer (lifecycle.k8s.io)')
  const auto = await planOf(ground, node, { backend: 'Auto', isForced: false })
  expect(auto.askNow.map(({ how }) => how)).toEqual(['evict', 'evict'])
  const results = await askPods(ground.admin, auto.askNow, ground.signal)
  expect(results.map(({ result }) => result)).toEqual(['accepted', 'accepted'])
  const evicted = auto.left.map(({ metadata }) => metadata.uid)
  // Nobody has cordoned the node, so others of their kind come.
  await eventually(async () => {
    const there = (await ground.podsOn(node)).map(({ metadata }) => metadata.uid)
    expect(there.filter((uid) => evicted.includes(uid))).toEqual([])
  }, patient)
})

test('a server that offers EvictionRequest gets one for each pod, which is taken back when the drain is', async (context) => {
  const ground = await prepareQueue(context)
  const { admin, namespace } = ground
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'web', replicas: 2 })
  await offerEvictionRequests(context, ground)
  const plan = await planOf(ground, node, { backend: 'Auto', isForced: false })
  expect(plan.askNow.map(({ how }) => how)).toEqual(['request', 'request'])
  const found = () => listOf(admin, evictionRequests, { namespace })
  // The second time it was said before.
  for (let round = 0; round < 2; round++) {
    const results = await eventually(async () => {
      const answers = await askPods(admin, plan.askNow, ground.signal)
      expect(answers.map(({ result }) => result)).toEqual(['accepted', 'accepted'])
      return answers
    }, patient)
    expect(results).toHaveLength(2)
  }
  const [pod] = plan.left
  expect(await found()).toHaveLength(2)
  expect(await found()).toContainEqual(
    expect.objectContaining({
      spec: {
        target: { pod: { name: pod?.metadata.name, uid: pod?.metadata.uid } },
        requesterName: 'fettle.dev/controller',
        intent: 'Eviction',
      },
    }),
  )
  for (let round = 0; round < 2; round++) await withdrawEvictionRequests(admin, plan.left, ground.signal)
  expect(await found()).toEqual([])
})

test('a drain by EvictionRequests says it once to each pod; taken back, it is unsaid before the node is given back', async (context) => {
  const ground = await prepareQueue(context)
  const { admin, namespace } = ground
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'web', replicas: 2 })
  await offerEvictionRequests(context, ground)
  const writes: string[] = []
  const unsaid = () => writes.filter((write) => write.startsWith('delete evictionrequests')).length
  const noted = interceptWrites(admin, (write, send) => {
    // The first time it is unsaid, that is not written down: the next turn has to begin there again.
    const isCut = unsaid() === 2 && write === `replace maintenancerequests/${metadata.name}/status`
    writes.push(write)
    return isCut ? Promise.reject(new Error('the answer is lost')) : send()
  })
  const { metadata } = await ground.ask(node)
  await ground.startQueue({ client: noted, offersEvictionRequest: true })
  await eventually(async () => expect(await listOf(admin, evictionRequests, { namespace })).toHaveLength(2), patient)
  await sleep(6_000)
  expect(writes.filter((write) => write.startsWith('create evictionrequests'))).toHaveLength(2)

  await ground.want(metadata.name, 'Return')
  const { status } = await ground.untilPhase(metadata.name, 'Done')
  expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'Drained', reason: 'Withdrawn' }))
  expect(await listOf(admin, evictionRequests, { namespace })).toEqual([])
  expect(unsaid()).toBe(4)
  await ground.untilRunning(node, 'web', 2)
  const last = writes.findLastIndex((write) => write.startsWith('delete evictionrequests'))
  expect(writes.slice(0, last).filter((write) => write === `patch nodes/${node}`)).toHaveLength(1)
})

test('a deletion names the pod with its UID: another of the same name is not touched', async (context) => {
  const ground = await prepareQueue(context)
  const { admin, namespace } = ground
  const node = await ground.addNode()
  const pod = await admin.create<PodObject>(resources.pods, boundPod(namespace, 'db-0', node))
  const old = { ...pod, metadata: { ...pod.metadata, uid: '00000000-0000-0000-0000-000000000000' } }
  for (const how of ['evict', 'delete'] as const)
    expect(await askPods(admin, [{ pod: old, how }], ground.signal)).toMatchObject([{ result: 'gone' }])
  expect((await ground.podsOn(node)).map(({ metadata }) => metadata)).toMatchObject([{ uid: pod.metadata.uid }])
  expect((await ground.podsOn(node))[0]?.metadata).not.toHaveProperty('deletionTimestamp')
})

test('a forced drain deletes what no budget would let go, with no more grace than is allowed', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  const { admin, namespace } = ground
  const app = 'never'
  const slow = boundPod(namespace, 'slow', node, {
    metadata: { labels: { app }, annotations: { 'simulate.fettle.dev/stop': 'never' } },
  })
  await admin.create<PodObject>(resources.pods, slow)
  await createPdb(ground, 'never', app, { minAvailable: 1 })
  const plan = await planOf(ground, node, { backend: 'Auto', isForced: true, gracePeriodMaxMs: 5_000 })
  await askPods(admin, plan.askNow, ground.signal)
  const [pod] = await ground.podsOn(node)
  expect(pod?.metadata).toMatchObject({ deletionGracePeriodSeconds: 5 })
  await admin.delete(resources.pods, { name: 'slow', namespace }, { uid: 'any', gracePeriodSeconds: 0 })
})

test('a namespace that is being deleted refuses evictions: its pods are waited for, not failed', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  const { admin } = ground
  const name = `${ground.namespace}-going`
  const stays = { finalizers: ['e2e.fettle.dev/stay'], annotations: { 'simulate.fettle.dev/stop': 'never' } }
  const { metadata } = await admin.create<KubeObject>(resources.namespaces, { metadata: { name } })
  await eventually(
    () =>
      admin
        .create(resources.serviceAccounts, { metadata: { name: 'default', namespace: name } } as KubeObject)
        .catch(() => undefined),
    patient,
  )
  const pod = await admin.create<PodObject>(resources.pods, boundPod(name, 'one', node, { metadata: stays }))
  await admin.delete(resources.namespaces, { name }, { uid: metadata.uid ?? '' })
  try {
    const asked: PodToAsk = { pod, how: 'evict' }
    const [answer] = await eventually(async () => {
      const results = await askPods(admin, [asked], ground.signal)
      expect(results).toMatchObject([{ result: 'refused' }])
      return results
    }, patient)
    expect(answer).toMatchObject({ why: 'its namespace is being deleted, and the pod with it' })
  } finally {
    await admin.patch(
      resources.pods,
      { name: 'one', namespace: name },
      { type: 'merge', body: { metadata: { finalizers: [] } } },
    )
    await admin
      .delete(resources.pods, { name: 'one', namespace: name }, { uid: 'any', gracePeriodSeconds: 0 })
      .catch(() => undefined)
  }
})

test('the conditions of the lifecycle stay while the kubelet reports, and go without a trace', async (context) => {
  const ground = await prepareQueue(context)
  const { admin } = ground
  const name = await ground.addNode()
  const now = new Date().toISOString()
  // Whoever simulates the kubelet may write in between; then the patch is made anew, as the controller does it.
  const say = (patchFor: (node: NodeObject) => ReturnType<typeof lifecycleConditions>) =>
    eventually(async () => patchStatus(admin, name, patchFor(await ground.node(name))), patient)
  await say((node) => lifecycleConditions(node, { MaintenancePlanned: 'a new disk' }, now))
  // As the kubelet does it: its own conditions, by a strategic merge of the status.
  const heartbeat = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: '', lastHeartbeatTime: now }
  await patchStatus(admin, name, { status: { conditions: [heartbeat] } })
  const seen = await ground.node(name)
  expect(conditionsOf(seen)).toMatchObject({ MaintenancePlanned: { status: 'True', message: 'a new disk' } })
  expect(isReady(seen)).toBe(true)

  const next = { DrainInProgress: '3 pods' } as const
  await say((node) => lifecycleConditions(node, next, now))
  const draining = await ground.node(name)
  expect(conditionsOf(draining)).toMatchObject({ DrainInProgress: { status: 'True' } })
  expect(conditionsOf(draining)).not.toHaveProperty('MaintenancePlanned')
  expect(lifecycleConditions(draining, next, now)).toBeUndefined()

  // Of a node that has changed since, nothing is written.
  await expect(patchStatus(admin, name, clearLifecycleConditions(seen))).rejects.toMatchObject({ code: 'Conflict' })
  await say(clearLifecycleConditions)
  expect(Object.keys(conditionsOf(await ground.node(name)))).toEqual(
    expect.not.arrayContaining(['MaintenancePlanned', 'DrainInProgress']),
  )
  expect(isReady(await ground.node(name))).toBe(true)
})

test('volumes that are attached to the node are found, those of others are not', async (context) => {
  const ground = await prepareQueue(context)
  const { admin } = ground
  const [here, there] = [await ground.addNode(), await ground.addNode()]
  for (const node of [here, there]) {
    const spec = { attacher: 'none.invalid', nodeName: node, source: { persistentVolumeName: `pv-${node}` } }
    await admin.create(resources.volumeAttachments, { metadata: { name: `e2e-${node}` }, spec } as KubeObject)
    context.onTestFinished(() => admin.delete(resources.volumeAttachments, { name: `e2e-${node}` }, { uid: 'any' }))
    const ref = { name: `e2e-${node}` }
    await admin.patch(
      resources.volumeAttachments,
      ref,
      { type: 'merge', body: { status: { attached: true } } },
      { subresource: 'status' },
    )
  }
  expect(await volumesOn(admin, here, ground.signal)).toEqual([`pv-${here}`])
})

async function patchStatus(client: KubeClient, name: string, body: object | undefined): Promise<void> {
  if (!body) throw new Error('there is nothing to write')
  await client.patch(resources.nodes, { name }, { type: 'strategic', body }, { subresource: 'status' })
}

function conditionsOf(node: NodeObject): Record<string, object> {
  return Object.fromEntries((node.status?.conditions ?? []).map((one) => [one.type, one]))
}
