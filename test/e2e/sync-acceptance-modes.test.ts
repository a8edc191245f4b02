import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type KubeObject, resources } from '../../src/kube/index.ts'
import { temporaryFolder } from '../support/e2e-cluster.ts'
import { configMap, configMapFiles, prepareSync, type SyncScene } from '../support/sync-command.ts'

const partOf = 'applyset.kubernetes.io/part-of'

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

async function makeByHand({ admin, namespace }: SyncScene, ...names: readonly string[]): Promise<void> {
  for (const name of names)
    await admin.create<ConfigMap>(resources.configMaps, { metadata: { name, namespace }, data: { by: 'hand' } })
}

test('mode observe says what would be done, does nothing, and does not claim that all is well', async (context) => {
  const { repository, run, configMaps, admin, namespace } = await prepareSync(context)
  repository.commit('one', configMapFiles('a'))
  const observed = await run(2, '--mode', 'observe')
  expect(observed.stdout).not.toContain('equals git')
  expect(await configMaps('a')).toEqual([])
  const secrets: string[] = []
  for await (const page of admin.list<KubeObject>(resources.secrets, { namespace }))
    secrets.push(...page.items.map(({ metadata }) => metadata.name ?? ''))
  expect(secrets).toEqual([])
})

test('mode total: a list to agree to first, then a countdown, then strangers go, except those that somebody keeps', async (context) => {
  const scene = await prepareSync(context)
  const { repository, run, runLater, plan, configMaps, sync, admin, namespace } = scene
  const total = ['--mode', 'total', '--grace', '60']
  repository.commit('ours', configMapFiles('ours', 'ours-too', 'ours-three'))
  await run(0)
  await makeByHand(scene, 'stranger', 'kept')
  const annotations = { 'fettle.dev/keep': 'the auditors want it' }
  await admin.patch(
    resources.configMaps,
    { name: 'kept', namespace },
    { type: 'merge', body: { metadata: { annotations } } },
  )
  // Too young for anybody to say whose they are.
  expect((await plan(...total)).deeds).toEqual(expect.arrayContaining(['keep stranger', 'keep kept']))

  const opening = await runLater(70, 3, ...total)
  const hash = /--approve (\S+)/.exec(opening.stdout)?.[1] ?? ''
  expect(hash).not.toBe('')
  // Until then it is as mode adopt: what git removes goes.
  repository.commit('less', { 'ours-too.yaml': undefined })
  await runLater(210, 3, ...total)
  expect(await configMaps('ours', 'ours-too', 'stranger')).toEqual(['ours', 'stranger'])

  expect(await sync('approve', hash)).toMatchObject({ code: 0, stdout: expect.stringContaining(hash) })
  await runLater(220, 0, ...total)
  expect(await configMaps('ours', 'stranger', 'kept')).toEqual(['ours', 'kept'])

  // What comes later needs no new list, but its own countdown.
  await makeByHand(scene, 'newcomer')
  await runLater(300, 0, ...total)
  expect(await configMaps('newcomer')).toEqual(['newcomer'])
  await runLater(365, 0, ...total)
  expect(await configMaps('ours', 'newcomer', 'kept')).toEqual(['ours', 'kept'])
})

test('what was made by hand a moment before mode total is on its list, and nothing opens by itself', async (context) => {
  const scene = await prepareSync(context)
  const { repository, run, runLater, configMaps } = scene
  const total = ['--mode', 'total', '--grace', '1']
  repository.commit('ours', configMapFiles('ours'))
  await makeByHand(scene, 'stranger')
  // Too young to be deleted, and not too young to be asked about.
  const first = await run(3, ...total)
  expect(first.stdout).toContain('in mode total 1 object that nobody declares goes')
  for (const seconds of [70, 200, 400]) await runLater(seconds, 3, ...total)
  expect(await configMaps('ours', 'stranger')).toEqual(['ours', 'stranger'])
  // An approval that is given early counts for this very list.
  const hash = /--approve (\S+)/.exec(first.stdout)?.[1] ?? ''
  await run(0, ...total, '--approve', hash)
  await runLater(500, 0, ...total)
  await runLater(510, 0, ...total)
  expect(await configMaps('ours', 'stranger')).toEqual(['ours'])
})

test('to adopt from another program is to adopt what git declares: the rest of it stays in mode total', async (context) => {
  const { repository, run, runLater, admin, namespace, read, configMaps } = await prepareSync(context)
  const annotations = { 'meta.helm.sh/release-name': 'shop' }
  for (const name of ['declared', 'theirs'])
    await admin.create<ConfigMap>(resources.configMaps, { metadata: { name, namespace, annotations } })
  repository.commit('one of both', configMapFiles('declared'))
  const total = ['--mode', 'total', '--grace', '1', '--adopt-from', 'helm']
  await run(0, ...total)
  expect((await read(resources.configMaps, 'declared'))?.metadata.labels?.[partOf]).toBeDefined()
  for (const seconds of [100, 200]) await runLater(seconds, 0, ...total)
  expect(await configMaps('declared', 'theirs')).toEqual(['declared', 'theirs'])
})

test('another folder under the name of a Sync does not take the place of the first one unasked', async (context) => {
  const { repository, run, plan, configMaps } = await prepareSync(context)
  repository.commit('two folders', {
    'one/a.yaml': configMap('a'),
    'one/b.yaml': configMap('b'),
    'two/c.yaml': configMap('c'),
    'two/d.yaml': configMap('d'),
  })
  await run(0, '--path', 'one')
  for (const _ of ['first', 'again']) {
    const { stdout } = await run(3, '--path', 'two')
    expect(stdout).toContain('--name')
    expect(await configMaps('a', 'b', 'c', 'd')).toEqual(['a', 'b', 'c', 'd'])
  }
  // A number is no answer to that question.
  await run(3, '--path', 'two', '--allow-deletes', '2')
  const { halts, hash } = await plan('--path', 'two')
  expect(halts).toMatchObject([{ reason: 'SourceChanged' }])
  await run(0, '--path', 'two', '--approve', hash)
  expect(await configMaps('a', 'b', 'c', 'd')).toEqual(['c', 'd'])
  repository.commit('one less', { 'two/d.yaml': undefined })
  await run(0, '--path', 'two')
  expect(await configMaps('c', 'd')).toEqual(['c'])
})

test('a stranger that is declared during its countdown stays', async (context) => {
  const scene = await prepareSync(context)
  const { repository, run, runLater, plan, configMaps } = scene
  const total = ['--mode', 'total', '--grace', '60']
  await makeByHand(scene, 'stranger')
  repository.commit('ours', configMapFiles('ours'))
  await run(0)
  const hash = /--approve (\S+)/.exec((await runLater(70, 3, ...total)).stdout)?.[1] ?? ''
  await runLater(80, 0, ...total, '--approve', hash)
  repository.commit('declared', configMapFiles('stranger'))
  await runLater(200, 0, ...total)
  expect(await configMaps('stranger')).toEqual(['stranger'])
  expect((await plan()).deeds).toEqual([])
})

test('strangers that a halt holds do not begin their countdown anew', async (context) => {
  const scene = await prepareSync(context)
  const { repository, run, runLater, configMaps } = scene
  const total = ['--mode', 'total', '--grace', '60']
  repository.commit('ours', configMapFiles('ours'))
  await run(0)
  await makeByHand(scene, 's1', 's2', 's3')
  const hash = /--approve (\S+)/.exec((await runLater(70, 3, ...total)).stdout)?.[1] ?? ''
  await runLater(80, 0, ...total, '--approve', hash)
  for (const seconds of [150, 160]) {
    const halted = await runLater(seconds, 3, ...total)
    expect(halted.stdout).not.toContain('equals git')
    expect(await configMaps('s1', 's2', 's3')).toEqual(['s1', 's2', 's3'])
  }
  await runLater(170, 0, ...total, '--allow-deletes', '3')
  expect(await configMaps('ours', 's1', 's2', 's3')).toEqual(['ours'])
})

test('what a person keeps stays when git drops it; what is released is nobody’s; what is adopted goes with git', async (context) => {
  const scene = await prepareSync(context)
  const { repository, run, plan, sync, read, configMaps } = scene
  repository.commit('all', configMapFiles('a', 'b', 'c', 'kept', 'released'))
  await run(0)
  expect(await sync('keep', 'cm/kept', '--reason', 'until the audit')).toMatchObject({ code: 0 })
  expect(await sync('release', 'configmaps/released')).toMatchObject({ code: 0 })
  expect((await read(resources.configMaps, 'released'))?.metadata.labels?.[partOf]).toBeUndefined()
  expect((await sync('keep', 'cm/none')).stderr).toMatch(/ConfigMap .*\/none is not in the cluster/)
  // Nobody had to look at this kind; that is no reason to say that it is not there.
  expect((await sync('explain', 'sa/default')).stdout).toContain('it is in the cluster since')
  await makeByHand(scene, 'adopted')
  expect(await sync('adopt', 'ConfigMap/adopted')).toMatchObject({ code: 0 })
  repository.commit('less', { 'kept.yaml': undefined, 'released.yaml': undefined })
  expect((await plan()).deeds).toEqual(['delete adopted', 'keep kept', 'keep released'])
  expect((await sync('orphans')).stdout).toContain('until the audit')
  await run(0)
  expect(await configMaps('kept', 'released', 'adopted')).toEqual(['kept', 'released'])
})

test('what was released is no stranger to be deleted: it stays in mode total, too', async (context) => {
  const { repository, run, runLater, plan, sync, configMaps } = await prepareSync(context)
  const total = ['--mode', 'total', '--grace', '1']
  repository.commit('all', configMapFiles('a', 'b', 'c', 'released'))
  await run(0)
  expect(await sync('release', 'ConfigMap/released')).toMatchObject({ code: 0 })
  repository.commit('less', { 'released.yaml': undefined })
  expect((await plan(...total)).deeds).toEqual(['keep released'])
  await run(0, ...total)
  await runLater(7_200, 0, ...total)
  expect(await configMaps('released')).toEqual(['released'])
})

test('two Syncs declare one object: the second is told whose it is, and writes nothing at all', async (context) => {
  const { repository, run, read, configMaps } = await prepareSync(context)
  repository.commit('both', {
    'one/shared.yaml': configMap('shared', { from: 'one' }),
    'two/shared.yaml': configMap('shared', { from: 'two' }),
    'two/own.yaml': configMap('own'),
  })
  await run(0, '--name', 'one', '--path', 'one')
  const refused = await run(3, '--name', 'two', '--path', 'two')
  expect(refused.stdout).toMatch(/shared: it belongs to another Sync, one/)
  expect((await read<ConfigMap>(resources.configMaps, 'shared'))?.data).toEqual({ from: 'one' })
  expect(await configMaps('own')).toEqual([])
})

test('an object moves from one Sync to another and lives through it', async (context) => {
  const { repository, run, read, sync } = await prepareSync(context)
  const moved = configMap('moved')
  repository.commit('in one', {
    'one/moved.yaml': moved,
    'one/a.yaml': configMap('a'),
    'one/b.yaml': configMap('b'),
    'two/c.yaml': configMap('c'),
  })
  await run(0, '--name', 'one', '--path', 'one')
  await run(0, '--name', 'two', '--path', 'two')
  const before = await read(resources.configMaps, 'moved')
  repository.commit('in two', { 'one/moved.yaml': undefined, 'two/moved.yaml': moved })
  await run(0, '--name', 'two', '--path', 'two', '--adopt-from', 'fettle-sync-one')
  const given = await run(0, '--name', 'one', '--path', 'one')
  expect(given.stdout).not.toContain('gone')
  const after = await read(resources.configMaps, 'moved')
  expect(after?.metadata.uid).toBe(before?.metadata.uid)
  expect(after?.metadata.labels?.[partOf]).not.toBe(before?.metadata.labels?.[partOf])
  expect((await sync('status', '--name', 'one')).stdout).toContain('2 objects, 2 healthy')
  // And it goes with its new one.
  repository.commit('nowhere', { 'two/moved.yaml': undefined })
  await run(0, '--name', 'two', '--path', 'two')
  expect(await read(resources.configMaps, 'moved')).toBeUndefined()
})

test('a namespace that people made, exported and committed, is adopted as it is, and then there is nothing to do', async (context) => {
  const scene = await prepareSync(context)
  const { repository, run, plan, sync, admin, namespace, read } = scene
  await makeByHand(scene, 'settings', 'more.settings')
  await admin.create(resources.secrets, {
    metadata: { name: 'login', namespace },
    type: 'Opaque',
    data: { password: Buffer.from('hunter2').toString('base64') },
  } as KubeObject)
  const labels = { app: 'web' }
  await admin.create(resources.deployments, {
    metadata: { name: 'web', namespace, labels },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            { name: 'main', image: 'example.org/web:1', resources: { requests: { cpu: '0.1' } } },
            { name: 'side', image: 'example.org/side:1', ports: [{ containerPort: 80 }] },
          ],
        },
      },
    },
  } as KubeObject)
  await admin.create(resources.services, {
    metadata: { name: 'web', namespace },
    spec: { selector: labels, ports: [{ port: 80 }] },
  } as KubeObject)
  // A double would round it.
  const patience = 9_007_199_254_740_993n
  await admin.request({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/podtemplates`,
    body: {
      metadata: { name: 'patient' },
      template: {
        metadata: { labels },
        spec: { terminationGracePeriodSeconds: patience, containers: [{ name: 'main', image: 'example.org/web:1' }] },
      },
    },
  })
  const before = await read(resources.deployments, 'web')
  const folder = temporaryFolder(context)
  const exported = await sync('export', '--to', folder, '--secrets')
  expect(exported, exported.stderr).toMatchObject({ code: 0 })
  expect(readFileSync(join(folder, 'podtemplate-patient.yaml'), 'utf8')).toContain(`Seconds: ${patience}\n`)
  cpSync(folder, join(repository.folder, 'shop'), { recursive: true })
  repository.commit('as it is', {})
  const first = await plan('--path', 'shop')
  const names = ['login', 'more.settings', 'patient', 'settings', 'web', 'web']
  expect([...first.deeds].sort()).toEqual(names.map((name) => `adopt ${name}`))
  // Each field gets a new owner, and none another value.
  expect((await sync('plan', '--path', 'shop')).stdout.match(/becomes ours$/gm)).toHaveLength(names.length)
  await run(0, '--path', 'shop')
  expect(await plan('--path', 'shop')).toMatchObject({ code: 0, deeds: [], unchanged: 6 })
  expect((await plan('--path', 'shop', '--mode', 'total')).halts).toEqual([])
  expect((await read(resources.deployments, 'web'))?.metadata.generation).toBe(before?.metadata.generation)
})
