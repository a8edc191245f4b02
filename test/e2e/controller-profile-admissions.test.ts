import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, type TestContext, test } from 'vitest'
import {
  budgetName,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceFreezes,
  maintenanceRequests,
} from '../../src/api/index.ts'
import { type KubeObject, type NodeObject, resources } from '../../src/kube/index.ts'
import { pauseAnnotation, profileLabel, stateLabel } from '../../src/profiles/index.ts'
import { systemClock } from '../../src/time/index.ts'
import { type FaultRates, faultyClient } from '../load/faulty-client.ts'
import { SeededRandom } from '../load/seeded-random.ts'
import { Witness } from '../load/witness.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { fileOf, profile, profileNodes } from '../support/profile-nodes.ts'
import { startProfiles } from '../support/profiles-run.ts'
import { listOf, patient, prepareQueue, type QueueGround, slotsOf, stays, useCrds } from '../support/queue-cluster.ts'

useCrds()

const [op, inside] = ['operational', 'in-maintenance'] as const
const hasLabel = (key: string) => ['hasLabel', { key }] as const

test.for([
  ['is in maintenance', stateLabel, inside],
  ['has a label of their own', 'e2e.fettle.dev/lock', 'taken'],
] as const)(
  'nodes that go only while no other one %s go one by one, though all may go at the same moment',
  async ([, key, value], context) => {
    const ground = await prepareQueue(context)
    const { addBare, change } = profileNodes(ground)
    const names = await Promise.all(Array.from({ length: 20 }, () => addBare('one', { labels: { go: '' } })))
    await ground.startQueue()
    await eventually(async () => expect((await ground.budget()).status?.slots).toEqual([]), patient)
    const together = new Set<string>()
    const [been, problems] = [new Set<string>(), new Set<string>()]
    const judge = ({ metadata: { name = '', labels = {} } }: NodeObject) => {
      if (!names.includes(name)) return
      if (labels[key] !== value) return void together.delete(name)
      together.add(name)
      if (together.size > 1) problems.add([...together].join(' and '))
      if (been.has(name)) return
      been.add(name)
      void change(name, { labels: { go: null } })
    }
    const end = new AbortController()
    const witness = new Witness<NodeObject>(ground.admin, resources.nodes, end.signal, judge)
    const file = fileOf({
      requeue: '1s',
      check: { go: hasLabel('go'), somebody: ['anyLabel', { key, value }] },
      trigger: { take: ['alterLabel', { key, value }], give: ['alterLabel', { key, remove: true }] },
      profiles: [
        profile('one', [
          [op, 'go && !somebody', inside, 'take'],
          [inside, '!go', op, 'give'],
        ]),
      ],
    })
    const running = startProfiles(context, ground, file, { signal: end.signal })
    await expect.poll(() => been.size, { timeout: 60_000, interval: 200 }).toBe(names.length)
    end.abort()
    await Promise.all([running.ended, witness.ended])
    expect([...problems]).toEqual([])
  },
)

describe('maxMaintenance', () => {
  const max = 2
  const zones = ['z0', 'z1'] as const
  const file = fileOf({
    requeue: '1s',
    check: { go: hasLabel('go'), room: ['maxMaintenance', { max, groupBy: ['zone'] }] },
    trigger: { drain: ['eviction', { action: 'drain' }], uncordon: ['eviction', { action: 'uncordon' }] },
    profiles: [
      profile('quick', [
        [op, 'go && room', inside],
        [inside, '!go', op],
      ]),
      // On its way for several looks: cordoned, then drained, and only then in maintenance.
      profile('slow', [
        [op, 'go && room', inside, 'drain'],
        [inside, '!go', op, 'uncordon'],
      ]),
    ],
  })

  test('is never exceeded by three controllers that all believe to lead and die, and all nodes get through', async (context) => {
    const seed = Number(process.env['ADMISSIONS_SEED'] ?? Math.floor(Math.random() * 2 ** 20))
    console.log(`admissions: seed ${seed}; repeat with ADMISSIONS_SEED=${seed}`)
    const ground = await prepareQueue(context)
    const { addBare, change } = profileNodes(ground)
    const random = new SeededRandom(seed)
    const names = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        addBare(index % 4 === 0 ? 'slow' : 'quick', { labels: { go: '', zone: zones[index % 2] ?? '' } }),
      ),
    )
    await ground.startQueue()
    await eventually(async () => expect((await ground.budget()).status?.slots).toEqual([]), patient)

    const problems: string[] = []
    const out = new Map<string, string>()
    const been = new Set<string>()
    const judge = ({ metadata }: NodeObject) => {
      const { name = '', labels = {} } = metadata
      if (!names.includes(name)) return
      if (labels[stateLabel] !== inside) return void out.delete(name)
      out.set(name, labels['zone'] ?? '')
      const together = [...out].filter(([, zone]) => zone === labels['zone'])
      if (together.length > max) problems.push(`together in maintenance: ${together.join('; ')}`)
      if (been.has(name)) return
      been.add(name)
      // Whoever works on it is done after a while.
      void sleep(random.between(20, 300)).then(() => change(name, { labels: { go: null } }))
    }
    const end = new AbortController()
    const witness = new Witness<NodeObject>(ground.admin, resources.nodes, end.signal, judge)
    let kills = 0
    const fleet = Array.from({ length: 3 }, () =>
      runReplica(context, ground, new SeededRandom(random.below(2 ** 31)), end.signal, () => kills++),
    )
    const isThrough = (name: string) => been.has(name) && witness.get(name)?.metadata.labels?.[stateLabel] === op
    await expect
      .poll(() => names.filter((name) => !isThrough(name)).length, { timeout: 100_000, interval: 200 })
      .toBe(0)
    end.abort()
    await Promise.all([...fleet, witness.ended])
    console.log(`admissions: ${kills} kills`)
    expect(witness.failure).toBeUndefined()
    expect(problems).toEqual([])
    // A run in which nobody died would prove nothing.
    expect(kills).toBeGreaterThan(2)
  })

  async function runReplica(
    context: TestContext,
    ground: QueueGround,
    random: SeededRandom,
    signal: AbortSignal,
    died: () => void,
  ): Promise<void> {
    const rates: FaultRates = { lost: 0.02, unanswered: 0.03, delayed: 0.1, cut: 0.003, lagging: 0.02 }
    while (!signal.aborted) {
      const death = new AbortController()
      const doom = {
        atWrite: random.between(10, 150),
        isStored: random.next() < 0.5,
        die: () => {
          died()
          death.abort(new Error('killed'))
        },
      }
      const skewMs = random.between(-120, 120) * 1_000
      const running = startProfiles(context, ground, file, {
        client: faultyClient(ground.admin, random, rates, doom),
        signal: AbortSignal.any([signal, death.signal]),
        clock: { ...systemClock, now: () => systemClock.now() + skewMs },
      })
      await running.ended
      await sleep(random.between(0, 200))
    }
  }

  test('a node that is deleted in maintenance keeps its place until another one is there', async (context) => {
    const ground = await prepareQueue(context)
    const { addBare, untilState } = profileNodes(ground)
    await ground.startQueue()
    await eventually(async () => expect((await ground.budget()).status?.slots).toEqual([]), patient)
    const labels = { zone: 'z0', go: '' }
    const [first, second] = [await addBare('quick', { labels }), await addBare('quick', { labels })]
    const { board } = startProfiles(context, ground, file)
    for (const name of [first, second]) await untilState(name, inside)
    const third = await addBare('quick', { labels })
    await ground.admin.delete(resources.nodes, { name: first }, { uid: 'any' })
    await untilState(third, op)
    await stays(async () => expect((await ground.node(third)).metadata.labels?.[stateLabel]).toBe(op), 2_500)
    const [shown] = board.all().filter(({ node }) => node === third)
    expect(shown?.profiles[0]?.applied.transitions[0]?.chain.info['room']).toMatchObject({
      passed: false,
      info: { maintained: 2, gone: [first] },
    })
    // What takes its place need not have its name.
    await ground.addNode({ labels: { zone: 'z0' } })
    await untilState(third, inside)
  })

  test('has room again for others when a controller dies between the ledger and the node', async (context) => {
    const ground = await prepareQueue(context)
    const { addBare, change, untilState } = profileNodes(ground)
    await ground.startQueue()
    await eventually(async () => expect((await ground.budget()).status?.slots).toEqual([]), patient)
    const zone = 'z0'
    const [first, second] = [await addBare('quick', { labels: { zone } }), await addBare('quick', { labels: { zone } })]
    const uid = (await ground.node(first)).metadata.uid ?? ''
    // As it is left behind: let in, in a version of the node that is long over.
    const dead = { node: first, nodeUID: uid, nodeVersion: '1', profile: 'quick', at: new Date().toISOString() }
    await ground.editStatus(maintenanceBudgets, budgetName, { admissions: [dead] })
    startProfiles(context, ground, file)
    await eventually(async () => expect((await ground.budget()).status?.admissions ?? []).toEqual([]), patient)
    for (const name of [first, second]) await change(name, { labels: { go: '' } })
    for (const name of [first, second]) await untilState(name, inside)
    // What is in maintenance stands on the node itself.
    await eventually(async () => expect((await ground.budget()).status?.admissions ?? []).toEqual([]), patient)
  })
})

describe('profiles: Count', () => {
  const fileWith = (requeue: string) =>
    fileOf({
      requeue,
      check: { go: hasLabel('go') },
      profiles: [
        profile('counted', [
          [op, 'go', inside],
          [inside, '!go', op],
        ]),
      ],
    })
  const labels = { [profileLabel]: 'counted' }

  async function prepare(context: TestContext, requeue = '300ms') {
    const ground = await prepareQueue(context)
    await ground.setBudget({ max: 1, profiles: 'Count', timing: { soak: '0s', minReadySeconds: 0 } })
    await ground.startQueue()
    const { board } = startProfiles(context, ground, fileWith(requeue))
    const requestsOf = async (node: string) =>
      (await listOf<MaintenanceRequest>(ground.admin, maintenanceRequests))
        .filter(({ spec }) => spec.nodeName === node)
        .map(({ spec, status }) => ({ kind: spec.source.kind, key: spec.source.key, phase: status?.phase ?? '' }))
    const waitsFor = (node: string) => board.all().find((one) => one.node === node)?.profiles[0]?.waitsFor
    return { ground, requestsOf, waitsFor, ...profileNodes(ground) }
  }

  test('a profile takes a slot before it takes the node, and gives it back with the node', async (context) => {
    const { ground, requestsOf, waitsFor, change, untilState } = await prepare(context)
    const [first, second] = [await ground.addNode({ labels }), await ground.addNode({ labels })]
    await change(first, { labels: { go: '' } })
    await untilState(first, inside)
    expect(await requestsOf(first)).toEqual([{ kind: 'Profile', key: 'counted', phase: 'Granted' }])
    expect((await slotsOf(ground)).map(({ node }) => node)).toEqual([first])
    expect((await ground.node(first)).spec?.unschedulable).toBeUndefined()

    await change(second, { labels: { go: '' } })
    await expect
      .poll(() => waitsFor(second), { timeout: 20_000 })
      .toMatch(/^a slot of the queue: 1 of \d+ nodes may be out/)
    await stays(async () => expect((await ground.node(second)).metadata.labels?.[stateLabel]).toBe(op), 1_000)
    await change(first, { labels: { go: null } })
    await untilState(first, op)
    await untilState(second, inside)
    expect((await slotsOf(ground)).map(({ node }) => node)).toEqual([second])
    // And once more round: a request that is over does not stand in the way of the next.
    await change(second, { labels: { go: null } })
    await untilState(second, op)
    await eventually(async () => expect(await slotsOf(ground)).toEqual([]), patient)
    await change(first, { labels: { go: '' } })
    await untilState(first, inside)
  })

  test('who waits for a slot or for the end of a freeze goes on at once, however seldom nodes are looked at', async (context) => {
    const { ground, change, untilState, waitsFor } = await prepare(context, '10m')
    const [first, second] = [await ground.addNode({ labels }), await ground.addNode({ labels })]
    await change(first, { labels: { go: '' } })
    await untilState(first, inside)
    await change(second, { labels: { go: '' } })
    await expect.poll(() => waitsFor(second), { timeout: 20_000 }).toMatch(/^a slot of the queue/)
    await change(first, { labels: { go: null } })
    await untilState(second, inside)

    const name = `e2e-${ground.namespace}`
    const freeze = { metadata: { name }, spec: { reason: 'release day' } }
    await ground.admin.create(maintenanceFreezes, freeze as KubeObject)
    const thaw = () => ground.admin.delete(maintenanceFreezes, { name }, { uid: 'any' }).catch(() => undefined)
    context.onTestFinished(thaw)
    await change(second, { labels: { go: null } })
    await untilState(second, op)
    await change(first, { labels: { go: '' } })
    await expect.poll(() => waitsFor(first), { timeout: 20_000 }).toContain('release day')
    await thaw()
    await untilState(first, inside)
  })

  test('a person who has the slot keeps the profile waiting; a pause keeps its slot, and losing the label frees it', async (context) => {
    const { ground, requestsOf, waitsFor, change, untilState } = await prepare(context)
    const [mine, theirs] = [await ground.addNode({ labels }), await ground.addNode()]
    const { metadata } = await ground.ask(theirs)
    await ground.untilPhase(metadata.name, 'Granted')
    await change(mine, { labels: { go: '' } })
    await expect.poll(() => waitsFor(mine), { timeout: 20_000 }).toContain(`${theirs} is out since`)
    // Whoever no longer wants in does not stay in the line.
    await change(mine, { labels: { go: null } })
    await eventually(async () => expect(await requestsOf(mine)).toMatchObject([{ phase: 'Done' }]), patient)
    await change(mine, { labels: { go: '' } })
    await ground.want(metadata.name, 'Return')
    await untilState(mine, inside)

    await change(mine, { annotations: { [pauseAnnotation]: 'look at it first' } })
    await stays(async () => expect((await slotsOf(ground)).map(({ node }) => node)).toEqual([mine]), 1_500)
    await change(mine, { annotations: { [pauseAnnotation]: null }, labels: { [profileLabel]: null } })
    await untilState(mine, op)
    await eventually(async () => expect(await slotsOf(ground)).toEqual([]), patient)
  })
})
