import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { EvictionPace } from '../../src/drain/index.ts'
import { EventRecorder, isConflict, type KubeObject, resources } from '../../src/kube/index.ts'
import type { ConfigOf } from '../../src/profiles/fields.ts'
import { createFor, passOf } from '../../src/profiles/fixture-pass.ts'
import type { TriggerOutcome } from '../../src/profiles/plugin.ts'
import { eviction } from '../../src/profiles/plugins/trigger/eviction.ts'
import { patchOf } from '../../src/profiles/state/draft.ts'
import { systemClock } from '../../src/time/index.ts'
import { boundPod, eventually } from '../support/e2e-cluster.ts'
import {
  createPdb,
  listOf,
  patient,
  pinnedTo,
  prepareQueue,
  type QueueGround,
  useCrds,
} from '../support/queue-cluster.ts'

useCrds()

/** A profile's trigger, step by step, each with what the API server has just now. */
function triggerOn(ground: QueueGround, node: string, config: Partial<ConfigOf<typeof eviction.fields>>) {
  const { admin, signal } = ground
  const trigger = createFor(eviction, config)
  const sinceMs = Date.now()
  const recorder = new EventRecorder({
    client: admin,
    clock: systemClock,
    random: Math.random,
    reportingController: 'maintenance',
    reportingInstance: 'e2e',
  })
  const evictions = new EvictionPace(Math.random)
  const step = async (): Promise<TriggerOutcome> => {
    const stored = await ground.node(node)
    const pass = passOf({ node: stored, pods: await ground.podsOn(node), nowMs: Date.now(), client: admin, signal })
    const doors = { ...pass.doors, events: recorder, evictions }
    const outcome = await trigger.run({ ...pass, doors, sinceMs, cordonOwner: 'profile-p' })
    const body = patchOf(pass.node)
    try {
      if (body) await admin.patch(resources.nodes, { name: node }, { type: 'merge', body })
    } catch (error) {
      // As the loop does when somebody changed the node meanwhile; a new one gets its taints just then.
      if (isConflict(error)) return step()
      throw error
    }
    return outcome
  }
  return { step, untilDone: () => untilOutcome(step, 'done'), recorder }
}

async function untilOutcome(step: () => Promise<TriggerOutcome>, wanted: unknown): Promise<void> {
  await eventually(async () => expect(await step()).toEqual(wanted), patient)
}

const retry = (text: string) => ({ retry: expect.stringContaining(text) as string })

interface EventObject extends KubeObject {
  readonly reason?: string
  readonly type?: string
  readonly regarding?: { readonly name?: string }
  readonly related?: { readonly name?: string }
  readonly note?: string
}

async function eventsOf({ admin, namespace }: QueueGround, reason: string, inNamespace = namespace) {
  const events = await listOf<EventObject>(admin, resources.events, { namespace: inNamespace })
  return events.filter((event) => event.reason === reason)
}

const owned = 'cordon.fettle.dev/profile-p'

test('a drain cordons, then moves all pods but those of DaemonSets, touches no other node, and tells of each', async (context) => {
  const ground = await prepareQueue(context)
  const { admin, namespace } = ground
  const [node, other] = [await ground.addNode(), await ground.addNode()]
  await ground.addWorkload(node, { app: 'web', replicas: 3 })
  await ground.addWorkload(other, { app: 'far', replicas: 1 })
  await admin.create<KubeObject>(resources.pods, {
    metadata: { name: 'bare', namespace, labels: { app: 'bare' } },
    spec: pinnedTo(node),
  } as KubeObject)
  await admin.create<KubeObject>(resources.daemonSets, {
    metadata: { name: 'each', namespace },
    spec: {
      selector: { matchLabels: { app: 'each' } },
      template: { metadata: { labels: { app: 'each' } }, spec: pinnedTo(node) },
    },
  } as KubeObject)
  await ground.untilRunning(node, 'bare', 1)
  await ground.untilRunning(node, 'each', 1)

  const { step, untilDone, recorder } = triggerOn(ground, node, { action: 'drain' })
  expect(await step()).toEqual({ retry: 'the node is cordoned first' })
  const { metadata, spec } = await ground.node(node)
  expect([spec?.unschedulable, metadata.annotations?.['fettle.dev/cordon-prior']]).toEqual([true, 'false'])
  expect(metadata.annotations).toHaveProperty([owned])
  expect((await ground.podsOn(node)).filter((pod) => pod.metadata.deletionTimestamp)).toEqual([])

  expect(await step()).toEqual(retry('pods that are left: 4'))
  await untilDone()
  expect((await ground.podsOn(node)).map((pod) => pod.metadata.labels?.['app'])).toEqual(['each'])
  expect(await ground.podsOn(other)).toHaveLength(1)
  // Again, as after a crash: it is still done, and nothing is written.
  expect(await step()).toBe('done')

  await recorder.stop(ground.signal)
  const told = await eventsOf(ground, 'Evicting')
  expect(new Set(told.map(({ regarding }) => regarding?.name)).size).toBe(4)
  expect(new Set(told.map(({ related }) => related?.name))).toEqual(new Set([node]))

  const back = triggerOn(ground, node, { action: 'uncordon' })
  expect(await back.step()).toBe('done')
  const after = await ground.node(node)
  expect(after.spec?.unschedulable ?? false).toBe(false)
  expect(after.metadata.annotations).not.toHaveProperty([owned])
  await ground.untilRunning(node, 'web', 3)
})

test('a budget that refuses is named; when its time is over, that is told; once it gives, the drain ends', async (context) => {
  const ground = await prepareQueue(context)
  const { admin, namespace } = ground
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'guarded', replicas: 2 })
  await createPdb(ground, 'all-of-them', 'guarded', { minAvailable: 2 })
  const config = { action: 'drain', evictionTimeout: 4_000, deletionTimeout: 2_000 }
  const { step, untilDone, recorder } = triggerOn(ground, node, config)
  await step()
  const blocked = await step()
  expect(blocked).toEqual(
    retry(`pods that are left: 2 (still there: 2 pods, cannot leave now: 2); ${namespace}/guarded-`),
  )
  expect(blocked).toEqual(retry(`PodDisruptionBudget ${namespace}/all-of-them allows no disruption, ever`))
  await untilOutcome(step, retry('evictionTimeout of 4s is over, and forceEviction is off: a person has to help'))
  await untilOutcome(step, retry('pods did not leave within 6s; look at them, the drain goes on'))
  expect((await ground.podsOn(node)).filter((pod) => pod.metadata.deletionTimestamp)).toEqual([])

  const ref = { name: 'all-of-them', namespace }
  await admin.patch(resources.podDisruptionBudgets, ref, { type: 'merge', body: { spec: { minAvailable: 0 } } })
  await untilDone()
  await recorder.stop(ground.signal)
  const overdue = (await eventsOf(ground, 'DrainOverdue', 'default')).filter(
    ({ regarding }) => regarding?.name === node,
  )
  expect(overdue[0]).toMatchObject({
    type: 'Warning',
    note: expect.stringContaining(`profile p: pods did not leave within 6s: ${namespace}/guarded-`) as string,
  })
})

test('a forced drain asks for its time, then deletes whatever the budget says', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'guarded', replicas: 2 })
  await createPdb(ground, 'none', 'guarded', { maxUnavailable: 0 })
  const config = { action: 'drain', evictionTimeout: 4_000, forceEviction: true }
  const { step, untilDone, recorder } = triggerOn(ground, node, config)
  await step()
  expect(await step()).toEqual(retry('none allows no disruption, ever'))
  expect((await ground.podsOn(node)).filter((pod) => pod.metadata.deletionTimestamp)).toEqual([])
  await untilOutcome(step, retry('evictionTimeout of 4s is over: what is left is deleted'))
  await untilDone()
  await recorder.stop(ground.signal)
  expect(new Set((await eventsOf(ground, 'ForceDeleting')).map(({ regarding }) => regarding?.name)).size).toBe(2)
})

test('a pod that nobody confirms to be gone is taken out by force only', async (context) => {
  const ground = await prepareQueue(context)
  const { admin, namespace } = ground
  // Nobody plays the kubelet here.
  const node = `dead-${randomBytes(4).toString('hex')}`
  const labels = { 'e2e.fettle.dev/queue': namespace }
  await admin.create<KubeObject>(resources.nodes, { metadata: { name: node, labels } })
  const pod = boundPod(namespace, 'stuck', node)
  await admin.create(resources.pods, { ...pod, spec: { ...pod.spec, terminationGracePeriodSeconds: 1 } })
  const gentle = triggerOn(ground, node, { action: 'drain' })
  await gentle.step()
  await gentle.step()
  const stopping = retry('pods that are left: 1 (still there: 1 pod, stopping: 1)')
  await untilOutcome(gentle.step, stopping)
  await new Promise((resolve) => setTimeout(resolve, 4_000))
  expect(await gentle.step()).toEqual(stopping)
  await triggerOn(ground, node, { action: 'drain', forceEviction: true }).untilDone()
  expect(await ground.podsOn(node)).toEqual([])
})
