import { expect, test } from 'vitest'
import { type KubeObject, resources } from '../../src/kube/index.ts'
import { openInventory, runSyncOnce } from '../../src/sync/index.ts'
import { doomedClient } from '../support/doomed-client.ts'
import { configMap, configMapFiles, prepareSync } from '../support/sync-command.ts'
import { customKind } from '../support/sync-custom-kind.ts'
import { withEngine } from '../support/sync-engine.ts'

const account = (name: string) => `apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: ${name}}\n`

test('the last object of a kind goes, and so does what was renamed, once the new one is there', async (context) => {
  const { repository, run, read, plan, configMaps } = await prepareSync(context)
  repository.commit('one of each', { ...configMapFiles('old', 'stays', 'also'), 'sa.yaml': account('only') })
  await run(0)
  repository.commit('no account, and another name', {
    'sa.yaml': undefined,
    'old.yaml': configMap('new'),
  })
  const { deeds, code } = await plan()
  expect([code, deeds]).toEqual([2, ['delete old', 'delete only', 'create new']])
  const { stdout } = await run(0)
  expect(stdout.indexOf('created')).toBeLessThan(stdout.indexOf('gone'))
  expect(await configMaps('old', 'new', 'stays')).toEqual(['new', 'stays'])
  expect(await read(resources.serviceAccounts, 'only')).toBeUndefined()
  expect((await plan()).deeds).toEqual([])
})

test('a namespace of which git says nothing any more is emptied of what was ours, and of nothing else', async (context) => {
  const { repository, run, namespace, admin, read } = await prepareSync(context)
  const other = `${namespace}-b`
  await admin.create<KubeObject>(resources.namespaces, { metadata: { name: other } })
  context.onTestFinished(() => admin.delete(resources.namespaces, { name: other }, { uid: 'any' }))
  await admin.create<KubeObject>(resources.configMaps, { metadata: { name: 'stranger', namespace: other } })
  const both = ['--namespace', namespace, '--namespace', other]
  const here = (name: string) => configMap(name, {}, `, namespace: ${namespace}`)
  repository.commit('both', {
    'here/a.yaml': here('a'),
    'here/b.yaml': here('b'),
    'there/c.yaml': configMap('c', {}, `, namespace: ${other}`),
  })
  await run(0, ...both)
  expect(await read(resources.configMaps, 'c', other)).toBeDefined()
  repository.commit('one', { 'there/c.yaml': undefined })
  await run(0, ...both)
  expect(await read(resources.configMaps, 'c', other)).toBeUndefined()
  expect(await read(resources.configMaps, 'stranger', other)).toBeDefined()
  expect(await read(resources.namespaces, other)).toBeDefined()
  expect(await read(resources.configMaps, 'a')).toBeDefined()
})

test('what a finalizer holds stays ours: it is named, remembered, and gone with the run after its release', async (context) => {
  const { repository, run, admin, namespace, read, sync } = await prepareSync(context)
  repository.commit('two', configMapFiles('held', 'b', 'c'))
  await run(0)
  const ref = { name: 'held', namespace }
  const finalizers = (names: readonly string[]) =>
    admin.patch(
      resources.configMaps,
      ref,
      { type: 'merge', body: { metadata: { finalizers: names } } },
      { fieldManager: 'backup-operator' },
    )
  await finalizers(['example.org/backup'])
  context.onTestFinished(async () => void (await finalizers([]).catch(() => undefined)))
  repository.commit('not held', { 'held.yaml': undefined })
  const stuck = await run(1, '--timeout', '1')
  expect(stuck.stdout).toMatch(/stuck {4}ConfigMap .*held: .*example\.org\/backup/)
  expect(stuck.stdout).toContain('backup-operator')
  const status = await sync('status')
  expect([status.code, status.stdout]).toEqual([1, expect.stringMatching(/Failed.*example\.org\/backup/)])
  expect((await sync('explain', 'ConfigMap/held')).stdout).toContain('being deleted since')
  await finalizers([])
  await run(0)
  expect(await read(resources.configMaps, 'held')).toBeUndefined()
  expect((await sync('status')).stdout).toContain('2 objects, 2 healthy')
})

test('what git declares and somebody is deleting is not there: the run says so, and makes it anew once it is gone', async (context) => {
  const { repository, run, plan, read, admin, namespace } = await prepareSync(context)
  repository.commit('all', configMapFiles('leaving', 'stays'))
  await run(0)
  const ref = { name: 'leaving', namespace }
  const finalizers = (names: readonly string[]) =>
    admin.patch(resources.configMaps, ref, { type: 'merge', body: { metadata: { finalizers: names } } })
  await finalizers(['example.org/backup'])
  context.onTestFinished(async () => void (await finalizers([]).catch(() => undefined)))
  const { uid = '' } = (await read(resources.configMaps, 'leaving'))?.metadata ?? {}
  await admin.delete(resources.configMaps, ref, { uid })
  expect((await plan()).code).toBe(2)
  expect((await run(2)).stdout).not.toContain('equals git')
  await finalizers([])
  await run(0)
  expect((await read(resources.configMaps, 'leaving'))?.metadata.uid).not.toBe(uid)
})

test('a definition and its instance come in one commit; when both are removed, the definition waits for a word', async (context) => {
  const { repository, run, plan, read, namespace, admin } = await prepareSync(context)
  const { manifest, instance, resource, name, group } = customKind(namespace)
  context.onTestFinished(() =>
    admin.delete(resources.customResourceDefinitions, { name }, { uid: 'any' }).catch(() => undefined),
  )
  const allowed = ['--cluster-kind', `CustomResourceDefinition.apiextensions.k8s.io=*.${group}`]
  repository.commit('a kind and one of it', {
    'a-instance.yaml': instance('first'),
    'z-kind.yaml': manifest,
    ...configMapFiles('stays', 'stays-too'),
  })
  await run(0, ...allowed)
  expect(await read(resource, 'first')).toBeDefined()
  expect((await plan(...allowed)).deeds).toEqual([])

  repository.commit('neither', { 'a-instance.yaml': undefined, 'z-kind.yaml': undefined })
  // The definition waits for a person.
  await run(3, ...allowed)
  expect(await read(resource, 'first')).toBeUndefined()
  const definition = await read(resources.customResourceDefinitions, name)
  expect(definition).toBeDefined()
  const uid = definition?.metadata.uid ?? ''
  expect((await plan(...allowed, '--confirm', uid)).halts).toMatchObject([{ reason: 'OverBudget' }])
  await run(0, ...allowed, '--confirm', uid, '--allow-deletes', '5')
  expect(await read(resources.customResourceDefinitions, name)).toBeUndefined()
})

test('a definition stays while somebody else has objects of it', async (context) => {
  const { repository, run, read, namespace, admin } = await prepareSync(context)
  const { manifest, resource, name, group } = customKind(namespace)
  context.onTestFinished(() =>
    admin.delete(resources.customResourceDefinitions, { name }, { uid: 'any' }).catch(() => undefined),
  )
  const allowed = ['--cluster-kind', `CustomResourceDefinition.apiextensions.k8s.io=*.${group}`]
  repository.commit('a kind', { 'kind.yaml': manifest, ...configMapFiles('stays', 'stays-too') })
  await run(0, ...allowed)
  await admin.create<KubeObject>(resource, { metadata: { name: 'theirs', namespace } })
  repository.commit('no kind', { 'kind.yaml': undefined })
  const uid = (await read(resources.customResourceDefinitions, name))?.metadata.uid ?? ''
  const refused = await run(1, ...allowed, '--confirm', uid, '--allow-deletes', '5')
  expect(refused.stdout).toContain(name)
  expect(await read(resource, 'theirs')).toBeDefined()
  expect((await read(resources.customResourceDefinitions, name))?.metadata.deletionTimestamp).toBeUndefined()
})

test('a Namespace that may be declared is seen: made once, then quiet, then deleted with a word', async (context) => {
  const { repository, run, plan, read, namespace, admin } = await prepareSync(context)
  const other = `${namespace}-made`
  context.onTestFinished(() =>
    admin.delete(resources.namespaces, { name: other }, { uid: 'any' }).catch(() => undefined),
  )
  const allowed = ['--cluster-kind', `Namespace=${other}`]
  const manifest = `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${other}, labels: {team: shop}}\n`
  repository.commit('a namespace', { 'namespace.yaml': manifest, ...configMapFiles('stays', 'stays-too') })
  await run(0, ...allowed)
  expect(await plan(...allowed)).toMatchObject({ code: 0, deeds: [], unchanged: 3 })
  const uid = (await read(resources.namespaces, other))?.metadata.uid ?? ''
  repository.commit('none', { 'namespace.yaml': undefined })
  expect((await plan(...allowed)).deeds).toEqual([`wait ${other}`])
  await run(3, ...allowed)
  expect((await read(resources.namespaces, other))?.metadata.deletionTimestamp).toBeUndefined()
  await run(0, ...allowed, '--confirm', uid, '--allow-deletes', '5')
  expect(await read(resources.namespaces, other)).toBeUndefined()
})

test('deletions that do not wait for health come first; the commit has failed all the same', async (context) => {
  const { repository, run, sync, configMaps } = await prepareSync(context)
  repository.commit('three', configMapFiles('a', 'b', 'c'))
  await run(0)
  // Nobody gives addresses in this cluster.
  const balanced =
    'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {type: LoadBalancer, ports: [{port: 80}]}\n'
  repository.commit('a service, and no a', { 'web.yaml': balanced, 'a.yaml': undefined })
  const early = ['--prune-after', 'applied', '--timeout', '2']
  const { stdout } = await run(1, ...early)
  expect(stdout).toMatch(/gone {5}ConfigMap .*\/a[\s\S]*Service .*\/web is not healthy/)
  expect(await configMaps('a', 'b')).toEqual(['b'])
  expect((await sync('history')).stdout).toMatch(/Failed +a service, and no a/)
  repository.commit('no service', { 'web.yaml': undefined })
  await run(0, ...early)
  expect((await sync('history')).stdout).toMatch(/Applied +no service/)
})

test('what is marked to stay between the plan and its deletion stays, and the run says so', async (context) => {
  const { repository, run, admin, namespace, signal, configMaps } = await prepareSync(context)
  repository.commit('three', configMapFiles('a', 'b', 'c'))
  await run(0)
  repository.commit('two', { 'a.yaml': undefined })
  const body = { metadata: { annotations: { 'fettle.dev/keep': 'an audit' } } }
  const mayCarryOut = async () => {
    await admin.patch(resources.configMaps, { name: 'a', namespace }, { type: 'merge', body })
    return true
  }
  const { outcome } = await withEngine(
    { client: admin, namespace, repository, signal, parts: { mayCarryOut } },
    (parts) => runSyncOnce(parts, signal),
  )
  expect(outcome?.problems).toEqual([
    expect.stringContaining('a is not gone: it is marked to stay now: fettle.dev/keep'),
  ])
  expect(await configMaps('a')).toEqual(['a'])
})

test('deletions of a run that died over them are spent, also if nobody saw how many were made', async (context) => {
  const { repository, run, admin, namespace, signal } = await prepareSync(context)
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']
  repository.commit('ten', configMapFiles(...names))
  await run(0)
  repository.commit('eight', { 'a.yaml': undefined, 'b.yaml': undefined })
  const { client, death } = doomedClient(admin, { at: 'delete configmaps/a', when: 'before the answer is seen' })
  const doomed = withEngine({ client, namespace, repository, signal: death }, (parts) => runSyncOnce(parts, death))
  await expect(doomed).rejects.toThrow()
  expect(death.aborted).toBe(true)
  const stored = await openInventory(admin, { name: namespace, namespaces: [namespace] }, '0.0.0').load(signal)
  expect(stored?.inventory.deletions).toHaveLength(2)
})

test('config that pods still read goes when they no longer do', async (context) => {
  const { repository, run, configMaps } = await prepareSync(context)
  const web = (config: string) => `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: example.org/web:1, envFrom: [{configMapRef: {name: ${config}}}]}
`
  repository.commit('one', { 'web.yaml': web('config-1'), ...configMapFiles('config-1', 'other') })
  await run(0)
  repository.commit('two', { 'web.yaml': web('config-2'), 'config-1.yaml': undefined, ...configMapFiles('config-2') })
  expect((await run(0)).stdout).toMatch(/gone {5}ConfigMap .*config-1/)
  expect(await configMaps('config-1', 'config-2')).toEqual(['config-2'])
})
