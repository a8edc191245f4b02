import { expect, type TestContext, test } from 'vitest'
import { adminKubeconfig } from '../../src/dev/index.ts'
import { type Lease, type PodDisruptionBudget, resources } from '../../src/kube/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { type FettleProcess, startFettle } from '../support/fettle-process.ts'
import { createPdb, followLedger, patient, prepareQueue, type QueueGround, useCrds } from '../support/queue-cluster.ts'

useCrds()

const leaseName = 'fettle-controller'

function startController(context: TestContext, ground: QueueGround, who: string): FettleProcess {
  const controller = startFettle(
    [
      'controller',
      '--kubeconfig',
      adminKubeconfig(ground.record),
      '--namespace',
      ground.namespace,
      '--lease-name',
      leaseName,
      '--lease-seconds',
      '4',
      '--http-port',
      '0',
    ],
    { env: { POD_NAME: who }, deadlineMs: 300_000 },
  )
  context.onTestFinished(async () => {
    controller.signal('SIGKILL')
    await controller.finished
  })
  return controller
}

async function leaderOf({ admin, namespace }: QueueGround): Promise<string> {
  const lease = await admin.get<Lease>(resources.leases, { name: leaseName, namespace })
  // A random suffix tells a restarted pod from its past.
  return (lease.spec?.holderIdentity ?? '').replace(/_[0-9a-f]{8}$/, '')
}

/** Both run; answers them by the names that the Lease knows. */
async function startTwo(context: TestContext, ground: QueueGround): Promise<Map<string, FettleProcess>> {
  const both = new Map(['one', 'two'].map((who) => [who, startController(context, ground, who)]))
  await eventually(async () => expect([...both.keys()]).toContain(await leaderOf(ground)), patient)
  return both
}

/** A drain that stands still until the budget of its pods is relaxed. */
async function startStuckDrain(ground: QueueGround) {
  const [node, next] = [await ground.addNode(), await ground.addNode()]
  await ground.addWorkload(node, { app: 'web', replicas: 2 })
  await createPdb(ground, 'stuck', 'web', { maxUnavailable: 0 })
  const first = await ground.ask(node)
  await eventually(
    async () => expect((await ground.request(first.metadata.name)).status?.drain?.blockedBy).toHaveLength(2),
    patient,
  )
  const second = await ground.ask(next)
  await ground.untilPhase(second.metadata.name, 'Queued')
  const release = () =>
    ground.admin.patch<PodDisruptionBudget>(
      resources.podDisruptionBudgets,
      { name: 'stuck', namespace: ground.namespace },
      { type: 'merge', body: { spec: { maxUnavailable: 2 } } },
    )
  return { node, next, first: first.metadata.name, second: second.metadata.name, release }
}

async function finishBoth(ground: QueueGround, { node, first, second }: Awaited<ReturnType<typeof startStuckDrain>>) {
  const granted = await ground.untilPhase(first, 'Granted')
  expect(granted.status?.slot?.token).toBe(1)
  expect(await ground.podsOn(node)).toEqual([])
  expect((await ground.request(second)).status?.phase).toBe('Queued')
  await ground.want(first, 'Return')
  expect((await ground.untilPhase(first, 'Done')).status?.outcome).toBe('Completed')
  await ground.untilPhase(second, 'Granted')
  await ground.want(second, 'Return')
  await ground.untilPhase(second, 'Done')
  expect((await ground.budget()).status?.slots).toEqual([])
}

test('the leader is killed during a drain: the other one finishes it, and never two nodes are out', async (context) => {
  const ground = await prepareQueue(context)
  const ledger = followLedger(context, ground)
  const controllers = await startTwo(context, ground)
  const path = await startStuckDrain(ground)
  const dead = await leaderOf(ground)
  controllers.get(dead)?.signal('SIGKILL')
  await path.release()
  await finishBoth(ground, path)
  expect(await leaderOf(ground)).not.toBe(dead)
  expect(ledger).toEqual({ most: 1, tokens: [1, 2] })
}, 240_000)

test('the leader is frozen during a drain, another one takes over, and the one that wakes up writes nothing', async (context) => {
  const ground = await prepareQueue(context)
  const ledger = followLedger(context, ground)
  const controllers = await startTwo(context, ground)
  const path = await startStuckDrain(ground)
  const frozen = await leaderOf(ground)
  // A write whose answer it has not read yet would be told only after it wakes.
  await eventually(
    () => expect(controllers.get(frozen)?.said()).toMatch(new RegExp(`"request":"${path.second}".*"phase":"Queued"`)),
    patient,
  )
  controllers.get(frozen)?.signal('SIGSTOP')
  context.onTestFinished(() => controllers.get(frozen)?.signal('SIGCONT'))
  await eventually(async () => expect(await leaderOf(ground)).not.toBe(frozen), patient)
  // It wakes into a world that has moved on: what it believed in is drained, free for eviction, and somebody else's.
  await path.release()
  const wokeAtMs = Date.now()
  controllers.get(frozen)?.signal('SIGCONT')
  await finishBoth(ground, path)
  expect(await leaderOf(ground)).not.toBe(frozen)
  expect(ledger).toEqual({ most: 1, tokens: [1, 2] })
  const said = () =>
    (controllers.get(frozen)?.said() ?? '')
      .split('\n')
      .filter((line) => Number(/"time":(\d+)/.exec(line)?.[1] ?? 0) >= wokeAtMs)
      .join('\n')
  // The others may be done before it has come to its senses.
  await eventually(() => expect(said()).toContain('leadership ended'), patient)
  // It tells of each write that succeeded.
  expect(said()).not.toMatch(/"phase":|"unschedulable":|slot (claimed|freed)/)
}, 240_000)

test('the leader is asked to stop during a drain: the other one takes over at once', async (context) => {
  const ground = await prepareQueue(context)
  const ledger = followLedger(context, ground)
  const controllers = await startTwo(context, ground)
  const path = await startStuckDrain(ground)
  const leaving = await leaderOf(ground)
  controllers.get(leaving)?.signal('SIGTERM')
  expect((await controllers.get(leaving)?.finished)?.code).toBe(0)
  await path.release()
  await finishBoth(ground, path)
  expect(ledger).toEqual({ most: 1, tokens: [1, 2] })
}, 240_000)
