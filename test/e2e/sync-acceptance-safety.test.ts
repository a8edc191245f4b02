import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type KubeObject, resources } from '../../src/kube/index.ts'
import { temporaryFolder } from '../support/e2e-cluster.ts'
import { configMap, configMapFiles, prepareSync } from '../support/sync-command.ts'

test('a commit that loses more than half is not believed, even within the budget', async (context) => {
  const { repository, run, plan, configMaps } = await prepareSync(context)
  repository.commit('three', configMapFiles('a', 'b', 'c'))
  await run(0)
  repository.commit('one', { 'a.yaml': undefined, 'b.yaml': undefined })
  expect((await plan()).halts.map(({ reason }) => reason)).toEqual(['DeclaredSetShrank'])
  const halted = await run(3)
  expect(halted.stdout).not.toContain('equals git')
  expect(await configMaps('a', 'b', 'c')).toEqual(['a', 'b', 'c'])
})

test('a tree without manifests removes nothing, until somebody says that nothing is meant', async (context) => {
  const { repository, run, configMaps } = await prepareSync(context)
  repository.commit('one', configMapFiles('a'))
  await run(0)
  repository.commit('none', { 'a.yaml': undefined, 'README.md': 'nothing here' })
  expect((await run(3)).stdout).toContain('declares nothing at all')
  await run(3, '--allow-deletes', '100')
  expect(await configMaps('a')).toEqual(['a'])
  await run(0, '--allow-empty')
  expect(await configMaps('a')).toEqual([])
})

test('a path or a branch that is missing is no empty one', async (context) => {
  const { repository, run, configMaps, sync } = await prepareSync(context)
  repository.commit('one', { 'shop/a.yaml': configMap('a') })
  await run(0, '--path', 'shop')
  const noPath = await run(1, '--path', 'shpo', '--allow-empty')
  expect(noPath.stderr).toContain('shpo')
  // It was a slip: the commit in force is as good as it was.
  expect((await sync('history')).stdout).toMatch(/Applied +one/)
  repository.git('mv', 'shop', 'store')
  repository.commit('elsewhere', {})
  await run(1, '--path', 'shop', '--allow-empty')
  expect((await sync('history')).stdout).toMatch(/Rejected +elsewhere .*There is no folder shop/)
  repository.git('branch', '--move', 'main', 'trunk')
  const noBranch = await run(1, '--path', 'store', '--allow-empty')
  expect(noBranch.stderr).toContain('main')
  expect(await configMaps('a')).toEqual(['a'])
})

test('history that was rewritten halts, with both commits, until somebody allows it', async (context) => {
  const { repository, run, configMaps, sync } = await prepareSync(context)
  const base = repository.commit('base', configMapFiles('a', 'b'))
  const lost = repository.commit('more', configMapFiles('c'))
  await run(0)
  repository.git('reset', '--quiet', '--hard', base)
  const other = repository.commit('another way', configMapFiles('d'))
  const refused = await run(1)
  for (const sha of [lost, other]) expect(refused.stderr).toContain(sha.slice(0, 12))
  expect(await configMaps('a', 'b', 'c', 'd')).toEqual(['a', 'b', 'c'])
  expect((await sync('history')).stdout).toMatch(/Rejected +another way/)
  await run(0, '--allow-rewrite')
  expect(await configMaps('a', 'b', 'c', 'd')).toEqual(['a', 'b', 'd'])
  expect((await sync('history')).stdout).toMatch(/Applied +another way/)
})

test('an object in another namespace, or of the whole cluster, rejects all of the commit', async (context) => {
  const { repository, run, configMaps, namespace, admin, read } = await prepareSync(context)
  const role = `${namespace}-reader`
  context.onTestFinished(() =>
    admin.delete(resources.clusterRoles, { name: role }, { uid: 'any' }).catch(() => undefined),
  )
  const clusterRole = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ${role}}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
`
  repository.commit('elsewhere', {
    ...configMapFiles('a', 'b', 'c'),
    'default.yaml': configMap(`${namespace}-x`, {}, ', namespace: default'),
  })
  const elsewhere = await run(1)
  expect(elsewhere.stderr).toMatch(/default\.yaml:3: .*may not touch/)
  expect(await configMaps('a', 'b')).toEqual([])

  repository.commit('cluster', { 'default.yaml': undefined, 'role.yaml': clusterRole })
  const denied = await run(1)
  expect(denied.stderr).toMatch(/role\.yaml:1: .*whole cluster/)
  await run(1, '--cluster-kind', `ClusterRole.rbac.authorization.k8s.io=another-*`)
  expect(await configMaps('a', 'b')).toEqual([])
  expect(await read(resources.clusterRoles, role)).toBeUndefined()

  const allowed = ['--cluster-kind', `ClusterRole.rbac.authorization.k8s.io=${namespace}-*`]
  await run(0, ...allowed)
  expect(await read(resources.clusterRoles, role)).toBeDefined()
  repository.commit('no role', { 'role.yaml': undefined })
  // Who may no longer touch it does not.
  await run(0)
  expect(await read(resources.clusterRoles, role)).toBeDefined()
  await run(0, ...allowed)
  expect(await read(resources.clusterRoles, role)).toBeUndefined()
})

test('a Namespace other than its own is of the whole cluster, and is denied', async (context) => {
  const { repository, run, namespace, read } = await prepareSync(context)
  repository.commit('a namespace', { 'ns.yaml': `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${namespace}-x}\n` })
  expect((await run(1)).stderr).toContain('whole cluster')
  expect(await read(resources.namespaces, `${namespace}-x`)).toBeUndefined()
})

test('links, names that differ in case alone, and names that steer a terminal are refused, and nothing is read', async (context) => {
  const { repository, run, configMaps, sync } = await prepareSync(context)
  const good = repository.commit('good', configMapFiles('a', 'b', 'c'))
  await run(0)
  const refused = async (path: string) => {
    const subject = repository.git('log', '-1', '--format=%s')
    const { stderr } = await run(1)
    expect(stderr).toContain(path)
    // The commit has its verdict, as one with a bad manifest has.
    const [told = ''] = (await sync('history')).stdout.split('\n')
    expect(told).toMatch(new RegExp(`Rejected +${subject} `))
    expect(told).toContain(path)
    expect(stderr + told).not.toContain('\u001B')
    repository.git('reset', '--quiet', '--hard', good)
  }
  symlinkSync('/etc/hostname', join(repository.folder, 'link.yaml'))
  repository.commit('a link', { 'a.yaml': undefined })
  await refused('link.yaml is a symbolic link')
  repository.commit('case', { 'A.yaml': configMap('other') })
  await refused('case does not count')
  repository.commit('control', { 'evil\u001B[2K.yaml': configMap('other') })
  await refused('control character')
  repository.git('update-index', '--add', '--cacheinfo', `160000,${good},sub`)
  repository.git('commit', '--quiet', '--message', 'another repository')
  await refused('sub is a submodule')
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'0'.repeat(64)}\nsize 12\n`
  repository.commit('a pointer', { 'a.yaml': pointer })
  await refused('a.yaml is only a pointer')
  repository.commit('too much', { 'a.yaml': `# ${'x'.repeat(17 * 1024 * 1024)}` })
  await refused('a.yaml is too large')
  expect(await sync('status')).toMatchObject({ code: 1, stdout: expect.stringMatching(/Rejected of \w+ too much/) })
  const blob = repository.git('hash-object', '-w', 'a.yaml')
  for (const name of ['.GIT', '..']) {
    // git itself makes no such tree.
    const file = join(temporaryFolder(context), 'tree')
    writeFileSync(file, Buffer.concat([Buffer.from(`100644 ${name}\0`), Buffer.from(blob, 'hex')]))
    const tree = repository.git('hash-object', '-t', 'tree', '-w', '--literally', file)
    repository.git('update-ref', 'refs/heads/main', repository.git('commit-tree', tree, '-p', good, '-m', 'planted'))
    await refused(JSON.stringify(name))
  }
  expect(await configMaps('a', 'b', 'c')).toEqual(['a', 'b', 'c'])
  expect((await sync('plan')).code).toBe(0)
})

test('a bad commit, then a good one: both have their verdict, and each is told once', async (context) => {
  const { repository, run, sync } = await prepareSync(context)
  repository.commit('first', configMapFiles('a'))
  await run(0)
  repository.commit('unreadable', { 'b.yaml': 'kind: [' })
  await run(1)
  await run(1)
  repository.commit('refused by the server', {
    'b.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndta: {}\n',
  })
  await run(1)
  expect(await sync('status')).toMatchObject({ code: 1 })
  repository.commit('never looked at', { 'c.yaml': configMap('c') })
  repository.commit('good', { 'b.yaml': configMap('b') })
  await run(0)
  expect(await sync('status')).toMatchObject({ code: 0 })
  const verdicts = JSON.parse((await sync('history', '-o', 'json')).stdout) as {
    is: string
    subject: string
    why?: string
  }[]
  expect(verdicts[0]?.why).toMatch(/before it was a failure$/)
  expect(verdicts.map(({ is, subject }) => `${is} ${subject}`)).toEqual([
    'Applied good',
    'Superseded never looked at',
    'Failed refused by the server',
    'Rejected unreadable',
    'Applied first',
  ])
})

test('deletions beyond the budget are allowed by a trailer, for as many as it says', async (context) => {
  const { repository, run, configMaps } = await prepareSync(context)
  const names = Array.from({ length: 12 }, (_, index) => `m${index}`)
  repository.commit('many', configMapFiles(...names))
  await run(0)
  const removed = Object.fromEntries(['m0', 'm1', 'm2', 'm3'].map((name) => [`${name}.yaml`, undefined]))
  repository.commit('less\n\nSync-Allow-Deletes: 3', removed)
  await run(3)
  await run(3, '--allow-deletes', '2')
  expect(await configMaps('m0', 'm1', 'm2', 'm3')).toHaveLength(4)
  repository.commit('I mean it\n\nSync-Allow-Deletes: 4', {})
  await run(0)
  expect(await configMaps(...names)).toEqual(names.slice(4))
})

test('a second writer is told who is at work, and changes nothing', async (context) => {
  const { repository, run, start, sync, configMaps, read } = await prepareSync(context)
  const atWork = expect.stringContaining('is at work on this Sync') as string
  repository.commit('one', configMapFiles('a', 'b', 'c'))
  const first = start('run', '--watch', '--yes')
  try {
    await first.untilSaid('equals git')
    const before = (await sync('history')).stdout
    const second = await run(1, '--path', '')
    expect(second.stderr).toMatch(/is at work on this Sync/)
    // What has two halves is not begun.
    const label = (await read(resources.configMaps, 'a'))?.metadata.labels
    expect(await sync('release', 'ConfigMap/a')).toMatchObject({ code: 1, stderr: atWork })
    expect(await sync('adopt', 'ConfigMap/kube-root-ca.crt')).toMatchObject({ code: 1, stderr: atWork })
    expect((await read(resources.configMaps, 'a'))?.metadata.labels).toEqual(label)
    expect(await sync('verify')).toMatchObject({ code: 0 })
    expect((await sync('history')).stdout).toBe(before)
    // Whoever only looks is not in the way.
    expect(await sync('plan')).toMatchObject({ code: 0 })
    repository.commit('two', { 'a.yaml': undefined, ...configMapFiles('d') })
    await first.untilSaid('1 created, 1 gone')
    expect(await configMaps('a', 'b', 'd')).toEqual(['b', 'd'])
  } finally {
    first.signal('SIGINT')
    await first.finished
  }
  // It has left the Lease behind as free.
  const { seconds } = await run(0)
  expect(seconds).toBeLessThan(10)
})

test('with --watch a plan is approved beside it, and is carried out at once', async (context) => {
  const { repository, start, sync, plan, configMaps } = await prepareSync(context)
  const names = Array.from({ length: 12 }, (_, index) => `m${index}`)
  repository.commit('many', configMapFiles(...names))
  const watcher = start('run', '--watch', '--yes')
  try {
    await watcher.untilSaid('equals git')
    repository.commit('fewer', Object.fromEntries(names.slice(0, 5).map((name) => [`${name}.yaml`, undefined])))
    await watcher.untilSaid('deletions are halted')
    const { hash } = await plan()
    expect(await sync('keep', 'ConfigMap/m11')).toMatchObject({ code: 0 })
    expect(await sync('approve', hash)).toMatchObject({ code: 0 })
    // It looks every 30 s by itself.
    await watcher.untilSaid('5 gone', 20_000)
    expect(await configMaps(...names)).toEqual(names.slice(5))
  } finally {
    watcher.signal('SIGINT')
    await watcher.finished
  }
})

test('with --watch a commit that cannot be read is told with its file and line, and the next one is taken', async (context) => {
  const { repository, start } = await prepareSync(context)
  repository.commit('good', configMapFiles('a'))
  const watcher = start('run', '--watch', '--yes')
  try {
    await watcher.untilSaid('equals git')
    repository.commit('broken', { 'b.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other\n' })
    await watcher.untilSaid('Nothing was changed')
    expect(watcher.said()).toMatch(/^b\.yaml:\d+:\d+: /m)
    repository.commit('mended', { 'b.yaml': configMap('b') })
    await watcher.untilSaid('1 created')
  } finally {
    watcher.signal('SIGINT')
    await watcher.finished
  }
})

test('with --watch what is remembered is verified at first, and a difference is told and not repaired', async (context) => {
  const { repository, run, start, sync, admin, namespace, read } = await prepareSync(context)
  repository.commit('one', configMapFiles('a'))
  await run(0)
  const { labels } = (await read(resources.configMaps, 'a'))?.metadata ?? {}
  await admin.create<KubeObject>(resources.configMaps, { metadata: { name: 'lost', namespace, labels: { ...labels } } })
  const watcher = start('run', '--watch', '--yes')
  await watcher.untilSaid('lost: carries our label and was not recorded')
  expect(watcher.said()).toContain('Nothing is repaired by itself')
  await watcher.untilSaid('equals git')
  watcher.signal('SIGINT')
  await watcher.finished
  expect(await sync('verify')).toMatchObject({ code: 2, stdout: expect.stringContaining('lost') })
})

test('a group whose program is down is unknown, and the rest goes on', async (context) => {
  const { repository, run, admin, namespace, configMaps, runLater, plan } = await prepareSync(context)
  const group = `down.${namespace}.example.org`
  const name = `v1.${group}`
  const services = {
    ...resources.clusterRoles,
    group: 'apiregistration.k8s.io',
    plural: 'apiservices',
    kind: 'APIService',
  }
  await admin.create(services, {
    metadata: { name },
    spec: {
      ...{ group, version: 'v1', groupPriorityMinimum: 1000, versionPriority: 10, insecureSkipTLSVerify: true },
      service: { name: 'nowhere', namespace },
    },
  } as KubeObject)
  context.onTestFinished(() => admin.delete(services, { name }, { uid: 'any' }))
  repository.commit('three', configMapFiles('a', 'b', 'c'))
  await run(0)
  repository.commit('two', { 'a.yaml': undefined })
  await run(0)
  expect(await configMaps('a', 'b')).toEqual(['b'])
  await admin.create<KubeObject>(resources.configMaps, { metadata: { name: 'stranger', namespace } })
  const hash = /--approve (\S+)/.exec((await runLater(70, 3, '--mode', 'total', '--grace', '1')).stdout)?.[1] ?? ''
  await runLater(80, 0, '--mode', 'total', '--grace', '1', '--approve', hash)
  expect(await configMaps('stranger')).toEqual([])
  expect((await plan()).halts).toEqual([])
})
