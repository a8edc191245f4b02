import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type KubeObject, type PodObject, resources } from '../../src/kube/index.ts'
import { boundPod, eventually } from '../support/e2e-cluster.ts'
import { interceptWrites } from '../support/intercepted-client.ts'
import {
  cordonOf,
  createPdb,
  inService,
  patient,
  pinnedTo,
  prepareQueue,
  stays,
  useCrds,
} from '../support/queue-cluster.ts'
import { withoutPods } from '../support/queue-views.ts'

useCrds()

test('the work does not begin while a pod runs that the watch has not shown', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'hidden', replicas: 1 })
  let isHidden = true
  await ground.startQueue({ see: (views) => withoutPods(views, () => isHidden) })
  const { metadata } = await ground.ask(node)
  await ground.untilPhase(metadata.name, 'Claimed')
  await stays(async () => expect((await ground.request(metadata.name)).status?.phase).toBe('Claimed'), 3_000)
  isHidden = false
  await ground.untilPhase(metadata.name, 'Granted')
  expect(await ground.podsOn(node)).toEqual([])
})

test('a PodDisruptionBudget that never allows it is named with its pod, and the node stays in service until it is relaxed', async (context) => {
  const ground = await prepareQueue(context)
  const { namespace, admin } = ground
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'guarded', replicas: 1 })
  await createPdb(ground, 'all-of-them', 'guarded', { minAvailable: 1 })
  const [pod] = await ground.podsOn(node)
  await ground.addWorkload(node, { app: 'free', replicas: 1 })
  const writes: string[] = []
  const noted = interceptWrites(admin, (write, send) => {
    writes.push(write)
    return send()
  })
  await ground.startQueue({ client: noted })
  const { metadata } = await ground.ask(node)
  const blocked = await eventually(async () => {
    const { status } = await ground.request(metadata.name)
    expect(status?.drain?.blockedBy).toEqual([
      { pod: `${namespace}/${pod?.metadata.name}`, pdb: `${namespace}/all-of-them`, neverPasses: true },
    ])
    return status
  }, patient)
  expect(blocked?.phase).toBe('Claimed')
  expect(blocked?.conditions?.find(({ type }) => type === 'Drained')).toMatchObject({
    status: 'False',
    reason: 'Blocked',
    message: `PodDisruptionBudget ${namespace}/all-of-them allows no disruption, ever: 1 of 1 pods are healthy, 1 must be; change it, or run more replicas; until then the node is not cordoned`,
  })
  // While nothing changes, nothing is written, neither here nor in the ledger.
  await eventually(async () => {
    writes.length = 0
    await sleep(4_000)
    expect(writes).toEqual([])
  }, patient)
  expect(await cordonOf(ground, node)).toEqual(inService)
  await ground.untilRunning(node, 'free', 1)

  const budget = { name: 'all-of-them', namespace }
  await admin.patch(resources.podDisruptionBudgets, budget, { type: 'merge', body: { spec: { minAvailable: 0 } } })
  const granted = await ground.untilPhase(metadata.name, 'Granted')
  expect(granted.status?.drain).toMatchObject({ total: 2, left: 0, blockedBy: [] })
})

test('a pod that serves nobody is evicted, whatever its PodDisruptionBudget says', async (context) => {
  const ground = await prepareQueue(context)
  const { namespace, admin } = ground
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'guarded', replicas: 1 })
  await createPdb(ground, 'never', 'guarded', { maxUnavailable: 0, unhealthyPodEvictionPolicy: 'AlwaysAllow' })
  const [pod] = await ground.podsOn(node)
  const ref = { name: pod?.metadata.name ?? '', namespace }
  const body = { status: { conditions: [{ type: 'Ready', status: 'False' }] } }
  await admin.patch(resources.pods, ref, { type: 'strategic', body }, { subresource: 'status' })
  await ground.startQueue()
  const { metadata } = await ground.ask(node)
  await ground.untilPhase(metadata.name, 'Granted')
})

test('a pod without a controller stops the drain with a reason; a DaemonSet pod stays and does not', async (context) => {
  const ground = await prepareQueue(context)
  const { admin, namespace } = ground
  const node = await ground.addNode()
  await admin.create<PodObject>(resources.pods, boundPod(namespace, 'alone', node))
  const labels = { app: 'daemon' }
  await admin.create(resources.daemonSets, {
    metadata: { name: 'daemon', namespace },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pinnedTo(node) } },
  } as KubeObject)
  const [daemon] = await ground.untilRunning(node, 'daemon', 1)
  await ground.startQueue()
  const { metadata } = await ground.ask(node)
  const blocked = await eventually(async () => {
    const { status } = await ground.request(metadata.name)
    expect(status?.drain?.blockedBy).toEqual([{ pod: `${namespace}/alone`, pdb: '', neverPasses: true }])
    return status
  }, patient)
  expect(blocked?.drain).toMatchObject({ total: 1, left: 1 })
  expect(blocked?.conditions?.find(({ type }) => type === 'Drained')?.message).toBe(
    'it has no controller: nothing would start it again elsewhere; delete it yourself to go on',
  )
  await admin.delete(resources.pods, { name: 'alone', namespace }, { uid: 'any' })
  await ground.untilPhase(metadata.name, 'Granted')
  expect((await ground.podsOn(node)).map(({ metadata: { uid } }) => uid)).toEqual([daemon?.metadata.uid])
})

test('system-critical pods stay in service until all others have left', async (context) => {
  const ground = await prepareQueue(context)
  const { admin, namespace } = ground
  const node = await ground.addNode()
  const replicaSet = (app: string, spec: object, annotations = {}) =>
    admin.create(resources.replicaSets, {
      metadata: { name: app, namespace },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app } },
        template: { metadata: { labels: { app }, annotations }, spec: { ...pinnedTo(node), ...spec } },
      },
    } as KubeObject)
  await replicaSet('dns', { priorityClassName: 'system-cluster-critical' })
  await replicaSet('web', {}, { 'simulate.fettle.dev/stop': 'never' })
  await ground.untilRunning(node, 'dns', 1)
  const [web] = await ground.untilRunning(node, 'web', 1)
  await ground.startQueue()
  const { metadata } = await ground.ask(node)
  const webNow = () => admin.get<PodObject>(resources.pods, { name: web?.metadata.name ?? '', namespace })
  await eventually(async () => expect((await webNow()).metadata.deletionTimestamp).toBeDefined(), patient)
  await stays(async () => {
    const dns = (await ground.podsOn(node)).find((pod) => pod.metadata.labels?.['app'] === 'dns')
    expect(dns?.metadata.deletionTimestamp).toBeUndefined()
  }, 2_000)
  await admin.delete(
    resources.pods,
    { name: web?.metadata.name ?? '', namespace },
    { uid: 'any', gracePeriodSeconds: 0 },
  )
  await ground.untilPhase(metadata.name, 'Granted')
  expect(await ground.podsOn(node)).toEqual([])
})
