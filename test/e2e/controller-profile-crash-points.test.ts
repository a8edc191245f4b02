import { expect, test } from 'vitest'
import { type Lease, type NodeObject, resources } from '../../src/kube/index.ts'
import { dataAnnotation, profileLabel, stateLabel } from '../../src/profiles/index.ts'
import { startSlack } from '../../src/profiles/plugins/notify/fixture-slack.ts'
import { SeededRandom } from '../load/seeded-random.ts'
import { Witness } from '../load/witness.ts'
import { type CrashPoint, crashPointsOf, doomedClient } from '../support/doomed-client.ts'
import { eventually, type Test } from '../support/e2e-cluster.ts'
import { interceptWrites } from '../support/intercepted-client.ts'
import { fileOf, profile, profileNodes } from '../support/profile-nodes.ts'
import { startProfiles } from '../support/profiles-run.ts'
import { listOf, patient, prepareQueue, type QueueGround, useCrds } from '../support/queue-cluster.ts'

useCrds()

const [op, required, inside] = ['operational', 'maintenance-required', 'in-maintenance'] as const
const replicas = 2

interface World {
  readonly ground: QueueGround
  readonly node: string
  readonly file: string
  readonly nodes: Witness<NodeObject>
}

/** The whole way of a node, with a Lease, a drain and messages. One dies at the point, and another one goes on. */
async function goRound(test: Test, { ground, node, file, nodes }: World, point: CrashPoint | undefined) {
  const { change } = profileNodes(ground)
  await ground.untilRunning(node, 'web', replicas)
  const evictions = new Map<string, number>()
  const counted = async <T>(write: string, send: () => Promise<T>): Promise<T> => {
    const answer = await send()
    if (write.startsWith('evict ')) evictions.set(write, (evictions.get(write) ?? 0) + 1)
    return answer
  }
  const { client, writes, death } = doomedClient(ground.admin, point, counted)
  const first = startProfiles(test, ground, file, { client, signal: death })
  const next = first.ended.then(() =>
    death.aborted ? startProfiles(test, ground, file, { client: interceptWrites(ground.admin, counted) }) : undefined,
  )
  const until = async (state: string) => {
    const isThere = (seen: NodeObject | undefined) => seen?.metadata.labels?.[stateLabel] === state
    if (!(await nodes.until(node, isThere, patient.withinMs)))
      throw new Error(`${node} is not ${state}: ${JSON.stringify(nodes.get(node)?.metadata.annotations)}`)
  }
  await change(node, { labels: { go: '' } })
  await until(inside)
  expect(await ground.podsOn(node), 'pods when the maintenance begins').toEqual([])
  await change(node, { labels: { go: null } })
  await until(op)
  // Told, noted, and nothing under way: only then is a round over.
  await eventually(async () => {
    const { metadata, spec } = await ground.node(node)
    const read = (key: string) => JSON.parse(metadata.annotations?.[key] ?? '{}') as Record<string, unknown>
    expect([Object.keys(read('fettle.dev/profile-progress')), spec?.unschedulable]).toEqual([['sent'], undefined])
    expect(read(dataAnnotation)['Profiles']).toMatchObject({ p: { Current: op, Previous: op } })
  }, patient)
  const hasCrashed = death.aborted
  await first.stop()
  await (await next)?.stop()
  return { writes, hasCrashed, twice: [...evictions].filter(([, count]) => count > 1) }
}

test('whichever of its writes the loop dies at, the next one goes on, and nothing is done twice or lost', async (context) => {
  const seed = Number(process.env['CRASH_POINTS_SEED'] ?? Math.floor(Math.random() * 2 ** 20))
  console.log(`crash points of profiles: seed ${seed}; repeat with CRASH_POINTS_SEED=${seed}`)
  const ground = await prepareQueue(context)
  const { admin, namespace } = ground
  await ground.setBudget({ max: 1 })
  const slack = await startSlack(context)
  const chat = { hook: `${slack.origin}/hook`, channel: 'c', message: '{{ .State }}' }
  const file = fileOf({
    requeue: '1s',
    check: {
      go: ['hasLabel', { key: 'go' }],
      turn: ['stagger', { duration: '1h', leaseName: 'turn', leaseNamespace: namespace, parallel: 100 }],
    },
    trigger: { drain: ['eviction', { action: 'drain' }], uncordon: ['eviction', { action: 'uncordon' }] },
    notify: { chat: ['slack', chat, { type: 'periodic', config: { interval: '1h' } }] },
    profiles: [
      profile(
        'p',
        [
          [op, 'go', required],
          [required, 'go && turn', inside, 'drain'],
          [inside, '!go', op, 'uncordon'],
        ],
        { [required]: { notify: 'chat' }, [inside]: { notify: 'chat' }, [op]: { notify: 'chat' } },
      ),
    ],
  })
  const node = await ground.addNode({ labels: { [profileLabel]: 'p' } })
  await ground.addWorkload(node, { app: 'web', replicas })
  const nodes = new Witness<NodeObject>(admin, resources.nodes, ground.signal)
  const world = { ground, node, file, nodes }
  // Nobody gives one back within the hour: each is one time that one was taken.
  const turns = async () => (await listOf<Lease>(admin, resources.leases, { namespace })).length

  // The first one also writes to nodes that nobody has looked at before.
  await goRound(context, world, undefined)
  slack.heard.length = 0
  const clean = await goRound(context, world, undefined)
  expect(clean.writes.length).toBeGreaterThanOrEqual(10)
  expect(slack.heard.map(({ body }) => body.text)).toEqual([required, inside, op])
  expect(await turns()).toBe(2)

  const all = crashPointsOf(clean.writes)
  const points = process.env['FETTLE_CRASH_POINTS'] === 'all' ? all : new SeededRandom(seed).sample(all, 12)
  const failures: string[] = []
  let crashes = 0
  for (const [index, point] of points.entries()) {
    slack.heard.length = 0
    const { writes, hasCrashed, twice } = await goRound(context, world, point)
    if (hasCrashed) crashes++
    const told = slack.heard.map(({ body }) => body.text)
    const where = `${point.when} of write ${point.at} (${writes.at(-1)})`
    if (twice.length > 0) failures.push(`${where}: ${JSON.stringify(twice)}`)
    if ((await turns()) !== index + 3) failures.push(`${where}: ${await turns()} Leases after ${index + 3} rounds`)
    // A message whose note was lost with the process may come once more, and one write notes all that went out since the last.
    const most = hasCrashed ? 2 : 1
    const times = [required, inside, op].map((state) => told.filter((text) => text === state).length)
    if (times.some((count) => count < 1 || count > most)) failures.push(`${where}: told ${told.join(', ')}`)
  }
  console.log(`${crashes} of ${all.length} crash points; a run without a crash writes:\n  ${clean.writes.join('\n  ')}`)
  expect(failures).toEqual([])
  expect(crashes).toBeGreaterThanOrEqual(Math.floor(points.length * 0.7))
}, 300_000)
