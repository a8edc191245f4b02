import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type KubeObject, type Resource, resources } from '../../src/kube/index.ts'
import { runSyncAlways, type Told } from '../../src/sync/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { configMap, configMapFiles, prepareSync, type SyncScene } from '../support/sync-command.ts'
import { type EngineOptions, withEngine } from '../support/sync-engine.ts'

const endpoints: Resource = { group: '', version: 'v1', plural: 'endpoints', kind: 'Endpoints', namespaced: true }
// Nobody gives addresses in this cluster.
const balanced =
  'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n'

/** `run --watch` in a hurry, until the test is over. */
function watchQuickly({ admin, namespace, repository, signal }: SyncScene, settings: EngineOptions['settings'] = {}) {
  const told: Told[] = []
  const pace = { lookMs: 100, firstMs: 300, mostMs: 600 }
  const options = { client: admin, namespace, repository, signal, settings, parts: { pace } }
  withEngine(options, (parts) => runSyncAlways(parts, (one) => told.push(one), signal)).catch(() => undefined)
  const count = (is: string) => told.filter((one) => 'outcome' in one && one.outcome?.is === is).length
  /** What it said last, without what that was made from. */
  const last = () => {
    const one = told.at(-1)
    if (!one) return 'nothing'
    if ('error' in one) return String(one.error)
    return 'outcome' in one ? [one.outcome?.is, one.outcome?.problems.join(), one.afterwards].join(' | ') : ''
  }
  return {
    count,
    last,
    untilIs: (is: string, times = 1) =>
      eventually(() => expect(count(is), last()).toBeGreaterThanOrEqual(times), { withinMs: 20_000 }),
  }
}

test('with --watch what a quota refuses is tried again, and is there when there is room', async (context) => {
  const scene = await prepareSync(context)
  const { repository, admin, namespace, configMaps, sync } = scene
  const quotas = { ...resources.configMaps, plural: 'resourcequotas', kind: 'ResourceQuota' }
  const spec = (most: number) => ({ spec: { hard: { 'count/services': String(most) } } })
  await admin.create(quotas, { metadata: { name: 'few', namespace }, ...spec(0) } as KubeObject)
  await eventually(
    async () => {
      const { status } = await admin.get<KubeObject & { status?: { hard?: unknown } }>(quotas, {
        name: 'few',
        namespace,
      })
      expect(status?.hard).toBeDefined()
    },
    { withinMs: 20_000 },
  )
  const plain = balanced.replace('LoadBalancer', 'ClusterIP')
  repository.commit('a service', { 'web.yaml': plain, ...configMapFiles('a') })
  const watcher = watchQuickly(scene)
  // The first attempt brings the ConfigMap; those after it have one and the same plan.
  await watcher.untilIs('Failed', 3)
  expect(watcher.last()).toMatch(/exceeded quota.* \| it is tried again: after 0\.3 s at first/)
  await admin.patch(quotas, { name: 'few', namespace }, { type: 'merge', body: spec(5) })
  await watcher.untilIs('Applied')
  expect(await configMaps('a')).toEqual(['a'])
  expect((await sync('history')).stdout).toMatch(/Applied +a service/)
})

test('with --watch what is invalid is not tried again until something changes', async (context) => {
  const scene = await prepareSync(context)
  const { repository } = scene
  repository.commit('first', configMapFiles('b'))
  const watcher = watchQuickly(scene)
  await watcher.untilIs('Applied')
  repository.commit('bad', { 'a.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndta: {}\n' })
  await watcher.untilIs('Failed')
  expect(watcher.last()).toContain('it is not tried until git, or what is refused, changes')
  await sleep(1_500)
  expect(watcher.count('Failed')).toBe(1)
  repository.commit('good', configMapFiles('a'))
  await watcher.untilIs('Applied', 2)
})

test('with --watch a wave goes on when what it waited for is healthy after all', async (context) => {
  const scene = await prepareSync(context)
  const { repository, admin, namespace, configMaps } = scene
  const late = configMap('late', {}, ", annotations: {fettle.dev/wave: '1'}")
  repository.commit('a service first', { 'web.yaml': balanced, 'late.yaml': late })
  const watcher = watchQuickly(scene, { healthTimeoutMs: 200 })
  await watcher.untilIs('Failed', 3)
  expect(await configMaps('late')).toEqual([])
  const body = { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } }
  await admin.patch(resources.services, { name: 'web', namespace }, { type: 'merge', body }, { subresource: 'status' })
  await watcher.untilIs('Applied')
  expect(await configMaps('late')).toEqual(['late'])
})

test('a Namespace that is a member is there, also if nothing of ours is in it', async (context) => {
  const { repository, run, sync, namespace } = await prepareSync(context)
  repository.commit('itself', { 'ns.yaml': `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${namespace}}\n` })
  await run(0)
  expect(await sync('status')).toMatchObject({ code: 0, stdout: expect.stringContaining('1 objects, 1 healthy') })
})

test('a commit that is not healthy is not in force, and deletes nothing, however often it is tried', async (context) => {
  const { repository, run, sync, admin, namespace, configMaps } = await prepareSync(context)
  repository.commit('five', configMapFiles('a', 'b', 'c', 'd', 'e'))
  await run(0)
  const late = configMap('late', {}, ", annotations: {fettle.dev/wave: '1'}")
  repository.commit('a service, and no a', { 'web.yaml': balanced, 'a.yaml': undefined, 'late.yaml': late })
  for (const attempt of ['first', 'second']) {
    const { stdout } = await run(1, '--timeout', '2')
    expect(stdout, attempt).toContain('Service')
    expect(await configMaps('a', 'late')).toEqual(['a'])
  }
  const ill = await sync('status')
  expect([ill.code, ill.stdout]).toEqual([1, expect.stringMatching(/last verdict: Failed .*no address yet/)])
  const body = { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } }
  await admin.patch(resources.services, { name: 'web', namespace }, { type: 'merge', body }, { subresource: 'status' })
  await run(0, '--timeout', '10')
  expect(await configMaps('a', 'late')).toEqual(['late'])
  const well = await sync('status')
  expect([well.code, well.stdout]).toEqual([0, expect.stringContaining('a service, and no a')])
})

test('with --watch a newer commit ends the wait for the health of the one before', async (context) => {
  const { repository, start, read, sync } = await prepareSync(context)
  repository.commit('a service', { 'web.yaml': balanced })
  const running = start('run', '--watch', '--yes', '--timeout', '90')
  await eventually(async () => expect(await read(resources.services, 'web')).toBeDefined(), { withinMs: 10_000 })
  repository.commit('another way', { 'web.yaml': balanced.replace('LoadBalancer', 'ClusterIP') })
  await running.untilSaid('the namespace equals git')
  running.signal('SIGINT')
  await running.finished
  expect((await sync('history')).stdout).toMatch(/Applied +another way[\s\S]*Superseded +a service/)
})

test('with --watch a newer commit also ends the wait of a wave for the one before', async (context) => {
  const { repository, start, read, sync, configMaps } = await prepareSync(context)
  const late = configMap('late', {}, ", annotations: {fettle.dev/wave: '1'}")
  repository.commit('a service first', { 'web.yaml': balanced, 'late.yaml': late })
  const running = start('run', '--watch', '--yes', '--timeout', '90')
  await eventually(async () => expect(await read(resources.services, 'web')).toBeDefined(), { withinMs: 10_000 })
  expect(await configMaps('late')).toEqual([])
  repository.commit('another way', { 'web.yaml': balanced.replace('LoadBalancer', 'ClusterIP') })
  await running.untilSaid('the namespace equals git')
  running.signal('SIGINT')
  await running.finished
  expect(await configMaps('late')).toEqual(['late'])
  expect((await sync('history')).stdout).toMatch(/Applied +another way[\s\S]*Superseded +a service first/)
})

test('what controllers label as we do is no finding, and kinds of the whole cluster are looked at', async (context) => {
  const { repository, run, sync, admin, namespace } = await prepareSync(context)
  const role = `${namespace}-reader`
  context.onTestFinished(() => admin.delete(resources.clusterRoles, { name: role }, { uid: 'any' }))
  const clusterRole = `apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: ${role}}\nrules: []\n`
  const service =
    'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n'
  repository.commit('a service', { 'web.yaml': service, 'role.yaml': clusterRole })
  await run(0, '--cluster-kind', `ClusterRole.rbac.authorization.k8s.io=${role}`)
  await eventually(() => admin.get(endpoints, { name: 'web', namespace }), { withinMs: 20_000 })
  expect(await sync('verify')).toMatchObject({ code: 0, stdout: 'what is remembered is true\n' })
})
