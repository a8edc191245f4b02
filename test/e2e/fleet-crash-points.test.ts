import { expect, test } from 'vitest'
import type { MaintenanceRequest } from '../../src/api/index.ts'
import { rebootSimulatedNode } from '../../src/dev/index.ts'
import { type NodeObject, ResourceCache, resources } from '../../src/kube/index.ts'
import { SeededRandom } from '../load/seeded-random.ts'
import { type CrashPoint, crashPointsOf, doomedClient } from '../support/doomed-client.ts'
import { eventually, type Test } from '../support/e2e-cluster.ts'
import { interceptWrites } from '../support/intercepted-client.ts'
import { type PlayedAgent, playAgent } from '../support/played-agent.ts'
import {
  emptyQueue,
  followLedger,
  isReady,
  patient,
  prepareQueue,
  type QueueGround,
  useCrds,
} from '../support/queue-cluster.ts'

useCrds()

interface Run {
  /** Writes of the instance that was to crash. */
  readonly writes: readonly string[]
  readonly hasCrashed: boolean
}

const replicas = 2

/** What is done on a node once it may be, and how the queue hears that it is over. */
interface Work {
  readonly spec?: object
  readonly run: (request: MaintenanceRequest) => Promise<void>
}

const byPerson = (ground: QueueGround): Work => ({ run: ({ metadata: { name = '' } }) => ground.want(name, 'Return') })

/** The agent waits for nobody: it notes that it means to reboot, reboots, and says so when it is back. */
function byReboot(ground: QueueGround, agent: PlayedAgent, node: string): Work {
  return {
    spec: { work: 'Reboot' },
    run: async ({ metadata: { name = '' }, status }) => {
      const token = status?.slot?.token ?? 0
      const fromBootID = (await ground.node(node)).status?.nodeInfo?.bootID ?? ''
      const told = { request: 'Present', permission: 'Present', tokens: { inFile: token, highest: token } } as const
      await agent.report(name, { ...told, bootID: fromBootID, rebootIntent: { token, fromBootID } })
      const bootID = await rebootSimulatedNode(ground.admin, node)
      await agent.report(name, { request: 'Absent', permission: 'Absent', bootID })
    },
  }
}

/** One maintenance from request to return. The first controller dies at the point, and another one finishes the work. */
async function maintain(
  ground: QueueGround,
  node: string,
  point: CrashPoint | undefined,
  evictions: Map<string, number>,
  work = byPerson(ground),
): Promise<Run> {
  await ground.untilRunning(node, 'web', replicas)
  const onTheirWay = new Set<Promise<unknown>>()
  const counted = async <T>(write: string, send: () => Promise<T>): Promise<T> => {
    const sent = send()
    onTheirWay.add(sent)
    const answer = await sent.finally(() => onTheirWay.delete(sent))
    if (write.startsWith('evict ')) evictions.set(write, (evictions.get(write) ?? 0) + 1)
    return answer
  }
  const { client, writes, death, end } = doomedClient(ground.admin, point, counted)
  const first = await ground.startQueue({ client, signal: death })
  // In life a Lease has to run out before anybody else leads; what was on its way when a controller died has arrived by then.
  const successor = nextAfter(death, async () => {
    await Promise.allSettled(onTheirWay)
    return ground.startQueue({ client: interceptWrites(ground.admin, counted) })
  })
  const { metadata } = await ground.ask(node, work.spec)
  const granted = await ground.untilPhase(metadata.name, 'Granted')
  expect((await ground.podsOn(node)).length, 'pods on the node when the work begins').toBe(0)
  expect((await ground.node(node)).spec?.unschedulable).toBe(true)
  await work.run(granted)
  const done = await ground.untilPhase(metadata.name, 'Done')
  expect(done.status?.outcome).toBe('Completed')
  expect(done.status?.reboots?.count).toBe(work.spec ? 1 : 0)
  const { metadata: restored, spec } = await ground.node(node)
  expect({ unschedulable: spec?.unschedulable, annotations: Object.keys(restored.annotations ?? {}) }).toEqual({
    unschedulable: undefined,
    annotations: expect.not.arrayContaining([expect.stringMatching(/^(cordon\.fettle\.dev\/|fettle\.dev\/cordon)/)]),
  })
  const { status } = await ground.budget()
  expect(status?.slots).toEqual([])
  await first.stop()
  const hasCrashed = death.aborted
  end()
  const second = await successor
  await second.stop()
  return { writes, hasCrashed }
}

function nextAfter<T>(signal: AbortSignal, start: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => void start().then(resolve, reject), { once: true })
  })
}

/** Some of all points, drawn anew each time; all of them with `npm run crash-points`. */
function drawn(points: readonly CrashPoint[], seed: number, count: number): readonly CrashPoint[] {
  return process.env['FETTLE_CRASH_POINTS'] === 'all' ? points : new SeededRandom(seed).sample(points, count)
}

function seedOfRun(): number {
  const seed = Number(process.env['CRASH_POINTS_SEED'] ?? Math.floor(Math.random() * 2 ** 20))
  console.log(`crash points: seed ${seed}; repeat with CRASH_POINTS_SEED=${seed}`)
  return seed
}

test('whichever of its writes the controller dies at, the next one finishes, and no pod is evicted twice', async (context) => {
  const seed = seedOfRun()
  const ground = await prepareQueue(context)
  const [node, bystander] = [await ground.addNode(), await ground.addNode()]
  await ground.addWorkload(node, { app: 'web', replicas })
  const ledger = followLedger(context, ground)
  const evictions = new Map<string, number>()

  // The first run makes the ledger, too, which the others find.
  await maintain(ground, node, undefined, evictions)
  const clean = await maintain(ground, node, undefined, evictions)
  expect(clean.hasCrashed).toBe(false)
  // What any run must write, so that a path that got shorter by accident does not pass as a good one.
  expect(clean.writes.length).toBeGreaterThanOrEqual(12)

  const all = crashPointsOf(clean.writes)
  const points = drawn(all, seed, 14)
  let crashes = 0
  const failures: string[] = []
  for (const { at, when } of points) {
    evictions.clear()
    const { writes, hasCrashed } = await maintain(ground, node, { at, when }, evictions)
    // A run may get by with a write less than the one that was counted.
    if (hasCrashed) crashes++
    const twice = [...evictions].filter(([, count]) => count > 1)
    if (twice.length > 0) failures.push(`${when} of write ${at} (${writes.at(-1)}): ${JSON.stringify(twice)}`)
  }
  console.log(`${crashes} of ${all.length} crash points; a run without a crash writes:\n  ${clean.writes.join('\n  ')}`)
  expect(failures).toEqual([])
  expect(crashes).toBeGreaterThanOrEqual(Math.floor(points.length * 0.8))
  expect(ledger.most).toBe(1)
  expect(ledger.tokens).toEqual([...ledger.tokens].sort((a, b) => a - b))
  expect(ledger.tokens.length).toBe(points.length + 2)
  expect((await ground.node(bystander)).spec?.unschedulable).toBeUndefined()
  await eventually(async () => expect((await ground.node(node)).spec?.unschedulable).toBeUndefined(), patient)
}, 600_000)

test('whichever of its writes it dies at while a node reboots, that node comes back proven, in its new boot', async (context) => {
  const seed = seedOfRun()
  const ground = await prepareQueue(context)
  await ground.setBudget({ timing: { minReadySeconds: 1 } })
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'web', replicas })
  const agent = playAgent(context, ground, node)
  await agent.beat()
  const returns = followReturns(context, ground, node)
  const evictions = new Map<string, number>()
  const work = byReboot(ground, agent, node)
  const clean = await maintain(ground, node, undefined, evictions, work)
  const all = crashPointsOf(clean.writes)
  const points = drawn(all, seed, 6)
  const boots = [(await ground.node(node)).status?.nodeInfo?.bootID]
  let crashes = 0
  for (const point of points) {
    const { hasCrashed } = await maintain(ground, node, point, evictions, work)
    if (hasCrashed) crashes++
    boots.push((await ground.node(node)).status?.nodeInfo?.bootID)
  }
  console.log(`${crashes} of ${all.length} crash points of a reboot`)
  expect([...evictions].filter(([, count]) => count > 1)).toEqual([])
  expect(crashes).toBeGreaterThanOrEqual(Math.floor(points.length * 0.6))
  // Each time the node took pods again it was in the boot that this turn had led to.
  expect(new Set(boots).size).toBe(points.length + 1)
  await eventually(() => expect(returns).toEqual(boots.map((bootID) => ({ bootID, isReady: true }))), patient)
}, 600_000)

/** In which boot the node was, and whether it was Ready, each time that it took pods again. */
function followReturns(test: Test, { admin }: QueueGround, name: string) {
  const stop = new AbortController()
  const nodes = new ResourceCache<NodeObject>({ client: admin, resource: resources.nodes, signal: stop.signal })
  const seen: { readonly bootID: string | undefined; readonly isReady: boolean }[] = []
  nodes.subscribe(({ object, old }) => {
    if (object.metadata.name !== name || !old?.spec?.unschedulable || object.spec?.unschedulable) return
    seen.push({ bootID: object.status?.nodeInfo?.bootID, isReady: isReady(object) })
  })
  test.onTestFinished(async () => {
    stop.abort()
    await nodes.ended
  })
  return seen
}

test('it may die while it makes the ledger, too', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'web', replicas })
  const ledger = followLedger(context, ground)
  const evictions = new Map<string, number>()
  for (const when of ['before it is sent', 'before the answer is seen'] as const)
    for (const at of ['create maintenancebudgets/cluster', 'replace maintenancebudgets/cluster/status']) {
      await emptyQueue(ground.admin)
      const { hasCrashed } = await maintain(ground, node, { at, when }, evictions)
      expect(hasCrashed).toBe(true)
    }
  expect([...evictions].filter(([, count]) => count > 1)).toEqual([])
  expect(ledger).toEqual({ most: 1, tokens: [1] })
}, 300_000)
