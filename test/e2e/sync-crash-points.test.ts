import { expect, test } from 'vitest'
import { isNotFound, type KubeClient, type KubeObject, type Lease, resources } from '../../src/kube/index.ts'
import {
  carefulDeletion,
  type Inventory,
  keepAnnotation,
  managerOf,
  type Permits,
  type Policy,
  partOfLabel,
  type Run,
  runSyncOnce,
} from '../../src/sync/index.ts'
import { SeededRandom } from '../load/seeded-random.ts'
import { type CrashPoint, crashPointsOf, doomedClient } from '../support/doomed-client.ts'
import { type Ground, prepareGround, type Test } from '../support/e2e-cluster.ts'
import { listOf } from '../support/queue-cluster.ts'
import { withEngine } from '../support/sync-engine.ts'
import { makeRepository, type SyncRepository } from '../support/sync-repository.ts'

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

type Uids = Readonly<Record<string, string | undefined>>
type Expect = (isTrue: boolean, what: string) => void

/** How a Sync is run: the same before the crash and after it. */
interface Way {
  readonly policy?: Partial<Policy>
  readonly permits?: Permits
}

interface Stage {
  readonly ground: Ground
  readonly repository: SyncRepository
  readonly run: (way?: Way, mayCarryOut?: boolean) => Promise<Run>
}

interface Scenario {
  readonly name: string
  /** How many writes it takes at least. */
  readonly writes: number
  /** Brings all to where the run begins that is to die. */
  readonly prepare: (stage: Stage) => Promise<Way>
  readonly check: (expectThat: Expect, stage: Stage, before: Uids, now: Uids, inventory: Inventory) => Promise<void>
}

const settings = (name: string, text: string) =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {text: ${text}}\n`

/** The pods of a Job cannot be changed: it has to be replaced. */
const job = (image: string) => `apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  suspend: true
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "example.org/once:${image}"}]
`

const jobsResource = { group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true }

const changes: Scenario = {
  name: 'objects come, change, go and are replaced',
  writes: 7,
  prepare: async ({ ground, repository, run }) => {
    repository.commit('before', {
      'stays.yaml': settings('stays', 'one'),
      'goes.yaml': settings('goes', 'one'),
      'job.yaml': job('1'),
    })
    expect((await run()).outcome?.is).toBe('Applied')
    await create(ground, 'stranger')
    repository.commit('after', {
      'stays.yaml': settings('stays', 'two'),
      'comes.yaml': settings('comes', 'one'),
      'goes.yaml': undefined,
      'job.yaml': job('2'),
    })
    return {}
  },
  check: async (expectThat, { ground }, before, now, { members }) => {
    expectThat(now['stays'] === before['stays'], 'what stays was made anew')
    expectThat(now['stranger'] === before['stranger'], 'the stranger is gone')
    expectThat(now['goes'] === undefined, 'what has to go is there')
    expectThat(now['comes'] !== undefined, 'what has to come is not there')
    expectThat(now['job once'] !== undefined && now['job once'] !== before['job once'], 'the Job was not replaced')
    expectThat((await readMap(ground, 'stays')).data?.['text'] === 'two', 'what stays was not changed')
    expectMembers(expectThat, members, ['comes', 'once', 'stays'])
  },
}

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

const adoption: Scenario = {
  name: 'objects that kubectl applied become ours',
  writes: 5,
  prepare: async ({ ground, repository }) => {
    await create(ground, 'stranger')
    for (const name of ['first', 'second'])
      await create(ground, name, {
        data: { text: 'one', old: 'x' },
        annotations: { [lastApplied]: `{"data":{"text":"one","old":"x"}}` },
        fieldManager: 'kubectl-client-side-apply',
      })
    repository.commit('both, without the old field', {
      'first.yaml': settings('first', 'one'),
      'second.yaml': settings('second', 'two'),
    })
    return {}
  },
  check: async (expectThat, { ground }, before, now, { members }) => {
    expectThat(now['stranger'] === before['stranger'], 'the stranger is gone')
    for (const [name, text] of [
      ['first', 'one'],
      ['second', 'two'],
    ] as const) {
      expectThat(now[name] === before[name], `${name} was made anew`)
      const { data, metadata } = await readMap(ground, name)
      expectThat(JSON.stringify(data) === JSON.stringify({ text }), `${name} holds ${JSON.stringify(data)}`)
      expectThat(metadata.labels?.[partOfLabel] !== undefined, `${name} bears no label`)
      expectThat(metadata.annotations?.[lastApplied] === undefined, `${name} still has what kubectl wrote`)
    }
    expectMembers(expectThat, members, ['first', 'second'])
  },
}

const total: Scenario = {
  name: 'strangers go, as a person approved',
  writes: 5,
  prepare: async ({ ground, repository, run }) => {
    repository.commit('one', { 'stays.yaml': settings('stays', 'one') })
    expect((await run()).outcome?.is).toBe('Applied')
    await create(ground, 'stranger')
    await create(ground, 'intruder')
    await create(ground, 'kept', { annotations: { [keepAnnotation]: 'a person wants it' } })
    const deletion = { ...carefulDeletion, strangerGraceMs: 0, minOrphanAgeMs: 0 }
    const policy = { mode: 'total', deletion } as const
    const { plan } = (await run({ policy }, false)).found
    expect(plan.opening?.keys.map(({ name }) => name)).toEqual(['intruder', 'stranger'])
    return { policy, permits: { confirmed: [], approve: plan.opening?.hash ?? '' } }
  },
  check: async (expectThat, _, before, now, { members, openingHash }) => {
    expectThat(now['stays'] === before['stays'], 'what stays was made anew')
    expectThat(now['kept'] === before['kept'], 'what is kept is gone')
    expectThat(now['kube-root-ca.crt'] === before['kube-root-ca.crt'], 'what every namespace has was touched')
    for (const name of ['stranger', 'intruder']) expectThat(now[name] === undefined, `${name} is still there`)
    expectThat(openingHash !== undefined, 'the approval is forgotten')
    expectMembers(expectThat, members, ['stays'])
    await Promise.resolve()
  },
}

interface Made {
  readonly data?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly fieldManager?: string
}

function create({ admin, namespace }: Ground, name: string, made: Made = {}): Promise<ConfigMap> {
  const { data = { text: 'mine' }, annotations = {}, fieldManager = 'e2e' } = made
  const object = { metadata: { name, namespace, annotations }, data }
  return admin.create<ConfigMap>(resources.configMaps, object, { fieldManager })
}

function readMap({ admin, namespace }: Ground, name: string): Promise<ConfigMap> {
  return admin.get<ConfigMap>(resources.configMaps, { name, namespace })
}

function expectMembers(expectThat: Expect, members: Inventory['members'], names: readonly string[]): void {
  const found = members.map(({ key }) => key.name).sort()
  expectThat(found.join() === names.join(), `members: ${found.join()}`)
}

/** One scenario, by a process that dies at the point and another one after it. */
async function play(test: Test, scenario: Scenario, point: CrashPoint | undefined) {
  const ground = await prepareGround(test)
  const { admin, namespace } = ground
  const repository = makeRepository(test)
  const runAs = (client: KubeClient, signal: AbortSignal, { policy, permits }: Way = {}, mayCarryOut = true) => {
    const parts = { mayCarryOut: () => Promise.resolve(mayCarryOut), ...(permits ? { permits } : {}) }
    const options = { client, namespace, repository, signal, parts, policy: { name: 'crash', ...policy } }
    return withEngine(options, (all) => runSyncOnce(all, signal))
  }
  const run: Stage['run'] = (way, mayCarryOut) => runAs(admin, ground.signal, way, mayCarryOut)
  const stage = { ground, repository, run }
  const way = await scenario.prepare(stage)
  const before = await uidsOf(ground)

  const { client, writes, death } = doomedClient(admin, point)
  await runAs(client, death, way).catch((error: unknown) => {
    if (!death.aborted) throw error
  })
  const hasCrashed = death.aborted
  if (hasCrashed) await letGo(ground)
  const next = hasCrashed ? await run(way) : undefined
  const quiet = await run(way)

  const problems: string[] = []
  const expectThat: Expect = (isTrue, what) => {
    if (!isTrue) problems.push(what)
  }
  if (next)
    expectThat(
      ['Applied', 'NoChange', 'Quiet'].includes(next.outcome?.is ?? ''),
      `the next run: ${next.outcome?.is}: ${next.outcome?.problems.join()}`,
    )
  expectThat(
    quiet.outcome?.is === 'Quiet',
    `a run after it is not quiet: ${quiet.outcome?.is} ${JSON.stringify(quiet.found.plan.steps)}`,
  )
  await scenario.check(expectThat, stage, before, await uidsOf(ground), quiet.found.memory.inventory)
  return { writes, hasCrashed, problems }
}

/** A Lease runs out by itself; nobody has to wait for that here. */
async function letGo({ admin, namespace }: Ground): Promise<void> {
  const ref = { name: managerOf('crash'), namespace }
  const lease = await admin.get<Lease>(resources.leases, ref).catch((error: unknown) => {
    // It died before its first write.
    if (isNotFound(error)) return undefined
    throw error
  })
  if (!lease) return
  const annotations = { 'fettle.dev/released-token': String(lease.spec?.leaseTransitions ?? 0) }
  const body = { metadata: { annotations }, spec: { holderIdentity: '' } }
  await admin.patch(resources.leases, ref, { type: 'merge', body })
}

async function uidsOf({ admin, namespace }: Ground): Promise<Uids> {
  const maps = await listOf<ConfigMap>(admin, resources.configMaps, { namespace })
  const jobs = await listOf<KubeObject>(admin, jobsResource, { namespace })
  return Object.fromEntries([
    ...maps.map(({ metadata }) => [metadata.name, metadata.uid]),
    ...jobs.map(({ metadata }) => [`job ${metadata.name}`, metadata.uid]),
  ])
}

const scenarios = [changes, adoption, total]

test('whichever of its writes a sync dies at, the next one ends at what git says, and nothing else is touched', async (context) => {
  const seed = Number(process.env['CRASH_POINTS_SEED'] ?? Math.floor(Math.random() * 2 ** 20))
  console.log(`crash points of sync: seed ${seed}; repeat with CRASH_POINTS_SEED=${seed}`)
  const all: { readonly scenario: Scenario; readonly point: CrashPoint }[] = []
  for (const scenario of scenarios) {
    const { problems, writes } = await play(context, scenario, undefined)
    expect(problems, scenario.name).toEqual([])
    expect(writes.length, scenario.name).toBeGreaterThanOrEqual(scenario.writes)
    console.log(`${scenario.name}: a run without a crash writes:\n  ${writes.join('\n  ')}`)
    all.push(...crashPointsOf(writes).map((point) => ({ scenario, point })))
  }
  const points = process.env['FETTLE_CRASH_POINTS'] === 'all' ? all : new SeededRandom(seed).sample(all, 6)
  const failures: string[] = []
  let crashes = 0
  for (const { scenario, point } of points) {
    const { writes, hasCrashed, problems } = await play(context, scenario, point)
    if (hasCrashed) crashes++
    const where = `${scenario.name}, ${point.when} of write ${point.at} (${writes.at(-1)})`
    failures.push(...problems.map((problem) => `${where}: ${problem}`))
  }
  console.log(`${crashes} of ${all.length} crash points`)
  expect(failures).toEqual([])
  expect(crashes).toBeGreaterThanOrEqual(Math.floor(points.length * 0.8))
}, 900_000)
