import { expect, test } from 'vitest'
import { type KubeClient, type KubeObject, type Lease, resources } from '../../src/kube/index.ts'
import {
  carefulDeletion,
  managerOf,
  openSource,
  type Run,
  runSyncOnce,
  type SyncSettings,
} from '../../src/sync/index.ts'
import { systemClock } from '../../src/time/index.ts'
import { SeededRandom } from '../load/seeded-random.ts'
import { type CrashPoint, crashPointsOf, doomedClient } from '../support/doomed-client.ts'
import { type Ground, prepareGround, type Test } from '../support/e2e-cluster.ts'
import { listOf } from '../support/queue-cluster.ts'
import { makeRepository, type SyncRepository } from '../support/sync-repository.ts'

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

interface Job extends KubeObject {
  readonly spec?: {
    readonly template?: { readonly spec?: { readonly containers?: readonly { readonly image?: string }[] } }
  }
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

const before = { 'stays.yaml': settings('stays', 'one'), 'goes.yaml': settings('goes', 'one'), 'job.yaml': job('1') }
const after = {
  'stays.yaml': settings('stays', 'two'),
  'comes.yaml': settings('comes', 'one'),
  'goes.yaml': undefined,
  'job.yaml': job('2'),
}

async function sync(ground: Ground, repository: SyncRepository, client: KubeClient, signal: AbortSignal): Promise<Run> {
  const { namespace } = ground
  const settingsOfSync: SyncSettings = {
    policy: {
      name: 'crash',
      namespaces: [namespace],
      mode: 'adopt',
      adoption: 'ifUnowned',
      adoptFrom: [],
      clusterKinds: [],
      ignore: [],
      conflicts: 'fail',
      deletion: carefulDeletion,
    },
    path: '',
    namespaceRule: 'fill',
    ignoreFiles: [],
    healthTimeoutMs: 30_000,
    deleteTimeoutMs: 30_000,
  }
  const source = await openSource({
    url: repository.folder,
    ref: { branch: 'main' },
    cacheFolder: repository.folder,
    signal,
  })
  try {
    const parts = {
      client,
      clock: systemClock,
      source,
      settings: settingsOfSync,
      permits: { confirmed: [] },
      version: '0.0.0',
    }
    return await runSyncOnce({ ...parts, report: () => undefined, mayCarryOut: () => Promise.resolve(true) }, signal)
  } finally {
    source.close()
  }
}

/** From one commit to the next, by a process that dies at the point and another one after it. */
async function changeOver(test: Test, point: CrashPoint | undefined) {
  const ground = await prepareGround(test)
  const { admin, namespace, signal } = ground
  const repository = makeRepository(test)
  repository.commit('before', before)
  expect((await sync(ground, repository, admin, signal)).outcome?.is).toBe('Applied')
  await admin.create<ConfigMap>(resources.configMaps, {
    metadata: { name: 'stranger', namespace },
    data: { text: 'mine' },
  })
  const uids = await uidsOf(ground)
  repository.commit('after', after)

  const { client, writes, death } = doomedClient(admin, point)
  await sync(ground, repository, client, death).catch((error: unknown) => {
    if (!death.aborted) throw error
  })
  const hasCrashed = death.aborted
  if (hasCrashed) await letGo(ground)
  const run = hasCrashed ? await sync(ground, repository, admin, signal) : undefined
  const quiet = await sync(ground, repository, admin, signal)

  const problems: string[] = []
  const expectThat = (isTrue: boolean, what: string) => {
    if (!isTrue) problems.push(what)
  }
  if (run)
    expectThat(
      ['Applied', 'NoChange', 'Quiet'].includes(run.outcome?.is ?? ''),
      `the next run: ${run.outcome?.is}: ${run.outcome?.problems.join()}`,
    )
  expectThat(
    quiet.outcome?.is === 'Quiet',
    `a run after it is not quiet: ${quiet.outcome?.is} ${JSON.stringify(quiet.found.plan.steps)}`,
  )
  const now = await uidsOf(ground)
  expectThat(now['stays'] === uids['stays'], 'what stays was made anew')
  expectThat(now['stranger'] === uids['stranger'], 'the stranger is gone')
  expectThat(now['goes'] === undefined, 'what has to go is there')
  expectThat(now['comes'] !== undefined, 'what has to come is not there')
  expectThat(now['job once'] !== undefined && now['job once'] !== uids['job once'], 'the Job was not replaced')
  const ref = { name: 'stays', namespace }
  expectThat(
    (await admin.get<ConfigMap>(resources.configMaps, ref)).data?.['text'] === 'two',
    'what stays was not changed',
  )
  const members = quiet.found.memory.inventory.members.map(({ key }) => key.name).sort()
  expectThat(members.join() === 'comes,once,stays', `members: ${members.join()}`)
  return { writes, hasCrashed, problems }
}

/** A Lease runs out by itself; nobody has to wait for that here. */
async function letGo({ admin, namespace }: Ground): Promise<void> {
  const ref = { name: managerOf('crash'), namespace }
  const lease = await admin.get<Lease>(resources.leases, ref)
  const annotations = { 'fettle.dev/released-token': String(lease.spec?.leaseTransitions ?? 0) }
  const body = { metadata: { annotations }, spec: { holderIdentity: '' } }
  await admin.patch(resources.leases, ref, { type: 'merge', body })
}

async function uidsOf({ admin, namespace }: Ground): Promise<Readonly<Record<string, string | undefined>>> {
  const maps = await listOf<ConfigMap>(admin, resources.configMaps, { namespace })
  const jobs = await listOf<Job>(admin, jobsResource, { namespace })
  return Object.fromEntries([
    ...maps.map(({ metadata }) => [metadata.name, metadata.uid]),
    ...jobs.map(({ metadata }) => [`job ${metadata.name}`, metadata.uid]),
  ])
}

const jobsResource = { group: 'batch', version: 'v1', plural: 'jobs', kind: 'Job', namespaced: true }

test('whichever of its writes a sync dies at, the next one ends at what git says, and nothing else is touched', async (context) => {
  const seed = Number(process.env['CRASH_POINTS_SEED'] ?? Math.floor(Math.random() * 2 ** 20))
  console.log(`crash points of sync: seed ${seed}; repeat with CRASH_POINTS_SEED=${seed}`)
  const clean = await changeOver(context, undefined)
  expect(clean.problems).toEqual([])
  expect(clean.writes.length).toBeGreaterThanOrEqual(7)
  const all = crashPointsOf(clean.writes)
  const points = process.env['FETTLE_CRASH_POINTS'] === 'all' ? all : new SeededRandom(seed).sample(all, 6)
  const failures: string[] = []
  let crashes = 0
  for (const point of points) {
    const { writes, hasCrashed, problems } = await changeOver(context, point)
    if (hasCrashed) crashes++
    failures.push(...problems.map((problem) => `${point.when} of write ${point.at} (${writes.at(-1)}): ${problem}`))
  }
  console.log(`${crashes} of ${all.length} crash points; a run without a crash writes:\n  ${clean.writes.join('\n  ')}`)
  expect(failures).toEqual([])
  expect(crashes).toBeGreaterThanOrEqual(Math.floor(points.length * 0.8))
}, 600_000)
