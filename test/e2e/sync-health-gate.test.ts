import { expect, test } from 'vitest'
import { type Resource, resources } from '../../src/kube/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { configMap, configMapFiles, prepareSync } from '../support/sync-command.ts'

const endpoints: Resource = { group: '', version: 'v1', plural: 'endpoints', kind: 'Endpoints', namespaced: true }
// Nobody gives addresses in this cluster.
const balanced =
  'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n'

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
