import { expect, test } from 'vitest'
import { SeededRandom } from '../load/seeded-random.ts'
import { type CrashPoint, crashPointsOf, doomedClient } from '../support/doomed-client.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { interceptWrites } from '../support/intercepted-client.ts'
import { emptyQueue, followLedger, patient, prepareQueue, type QueueGround, useCrds } from '../support/queue-cluster.ts'

useCrds()

interface Run {
  /** Writes of the instance that was to crash. */
  readonly writes: readonly string[]
  readonly hasCrashed: boolean
}

const replicas = 2

/** One maintenance from request to return. The first controller dies at the point, and another one finishes the work. */
async function maintain(
  ground: QueueGround,
  node: string,
  point: CrashPoint | undefined,
  evictions: Map<string, number>,
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
  const { metadata } = await ground.ask(node)
  await ground.untilPhase(metadata.name, 'Granted')
  expect((await ground.podsOn(node)).length, 'pods on the node when the work begins').toBe(0)
  expect((await ground.node(node)).spec?.unschedulable).toBe(true)
  await ground.want(metadata.name, 'Return')
  const done = await ground.untilPhase(metadata.name, 'Done')
  expect(done.status?.outcome).toBe('Completed')
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
function drawn(points: readonly CrashPoint[], seed: number): readonly CrashPoint[] {
  return process.env['FETTLE_CRASH_POINTS'] === 'all' ? points : new SeededRandom(seed).sample(points, 14)
}

test('whichever of its writes the controller dies at, the next one finishes, and no pod is evicted twice', async (context) => {
  const seed = Number(process.env['CRASH_POINTS_SEED'] ?? Math.floor(Math.random() * 2 ** 20))
  console.log(`crash points: seed ${seed}; repeat with CRASH_POINTS_SEED=${seed}`)
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
  const points = drawn(all, seed)
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
