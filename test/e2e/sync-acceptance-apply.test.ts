import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { adminKubeconfig, controlPlaneProgram, places } from '../../src/dev/index.ts'
import { run as runProgram } from '../../src/host/index.ts'
import { type KubeObject, type Resource, resources } from '../../src/kube/index.ts'
import { temporaryFolder } from '../support/e2e-cluster.ts'
import { configMap, configMapFiles, prepareSync, type SyncScene } from '../support/sync-command.ts'

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}
interface Deployment extends KubeObject {
  readonly spec?: { readonly replicas?: number; readonly minReadySeconds?: number }
}

const autoscalers: Resource = {
  ...{ group: 'autoscaling', version: 'v2', kind: 'HorizontalPodAutoscaler' },
  ...{ plural: 'horizontalpodautoscalers', namespaced: true },
}

async function kubectlOf({ record, namespace }: SyncScene) {
  const program = await controlPlaneProgram({ working: () => undefined, finished: () => undefined }, places())
  return async (...args: string[]) => {
    const argv = [program, 'kubectl', '--kubeconfig', adminKubeconfig(record), '--namespace', namespace, ...args]
    const result = await runProgram(argv, {})
    expect(result, result.stderr).toMatchObject({ code: 0 })
  }
}

test('what kubectl applied from its side becomes ours whole: a field that git drops goes', async (context) => {
  const scene = await prepareSync(context)
  const { repository, run, plan, read, sync } = scene
  const kubectl = await kubectlOf(scene)
  const file = join(temporaryFolder(context), 'a.yaml')
  writeFileSync(file, configMap('a', { stays: '1', goes: '2', 'never-in-git': '3' }))
  await kubectl('apply', '-f', file)
  repository.commit('as it was, nearly', { 'a.yaml': configMap('a', { stays: '1', goes: '2' }) })
  expect((await plan()).deeds).toEqual(['adopt a'])
  // Nobody agrees to what is not shown.
  expect((await sync('plan')).stdout).toMatch(/ConfigMap .*\/a \(a.yaml:1\): .*; removed: data\.never-in-git$/m)
  const diff = (await sync('diff')).stdout
  expect(diff).toContain('data.never-in-git: "3" → (none)')
  expect(diff).not.toContain('data.stays')
  await run(0)
  const adopted = await read<ConfigMap>(resources.configMaps, 'a')
  expect(adopted?.data).toEqual({ stays: '1', goes: '2' })
  expect(Object.keys(adopted?.metadata.annotations ?? {})).toEqual([])
  repository.commit('one less', { 'a.yaml': configMap('a', { stays: '1' }) })
  await run(0)
  expect((await read<ConfigMap>(resources.configMaps, 'a'))?.data).toEqual({ stays: '1' })
})

test('what an adoption removes of a Secret is named, and its value is not told', async (context) => {
  const scene = await prepareSync(context)
  const { repository, run, sync, admin, namespace, read } = scene
  const kubectl = await kubectlOf(scene)
  const file = join(temporaryFolder(context), 'login.yaml')
  const secret = (data: Readonly<Record<string, string>>) =>
    `apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: ${JSON.stringify(data)}\n`
  writeFileSync(file, secret({ user: 'shop', password: 'canary-of-mine' }))
  await kubectl('apply', '-f', file)
  const bodies = (await admin.get<KubeObject>(resources.secrets, { name: 'login', namespace })) as unknown
  const encoded = Buffer.from('canary-of-mine').toString('base64')
  expect(JSON.stringify(bodies)).toContain(encoded)
  repository.commit('less', { 'login.yaml': secret({ user: 'shop' }) })
  const shown = [await sync('plan'), await sync('plan', '-o', 'json'), await sync('diff'), await run(0)]
  expect(shown[0]?.stdout).toContain('removed: data.password')
  expect(shown[2]?.stdout).toContain('data.password: *** → (none)')
  for (const { stdout, stderr } of shown)
    for (const text of ['canary-of-mine', encoded]) expect(stdout + stderr).not.toContain(text)
  expect(await read(resources.secrets, 'login')).toMatchObject({ data: { user: expect.any(String) as string } })
  expect(JSON.stringify(await read(resources.secrets, 'login'))).not.toContain('password')
})

test('replicas are left to an autoscaler, run after run, and the rest of the Deployment follows git', async (context) => {
  const { repository, run, plan, read, admin, namespace } = await prepareSync(context)
  const web = (more = '') => `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1${more}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: example.org/web:1}]}
`
  repository.commit('scaled', { 'web.yaml': web() })
  await run(0)
  const replicas = async () => (await read<Deployment>(resources.deployments, 'web'))?.spec?.replicas
  await admin.create(autoscalers, {
    metadata: { name: 'web', namespace },
    spec: {
      minReplicas: 2,
      maxReplicas: 3,
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
    },
  } as KubeObject)
  // As its controller does it, which takes a quarter of a minute to look.
  await admin.patch(
    resources.deployments,
    { name: 'web', namespace },
    { type: 'merge', body: { spec: { replicas: 2 } } },
    { fieldManager: 'kube-controller-manager', subresource: 'scale' },
  )
  await run(0)
  expect(await plan()).toMatchObject({ code: 0, deeds: ['keep web'] })
  expect(await replicas()).toBe(2)
  repository.commit('more', { 'web.yaml': web('\n  minReadySeconds: 1') })
  await run(0)
  expect(await read<Deployment>(resources.deployments, 'web')).toMatchObject({
    spec: { replicas: 2, minReadySeconds: 1 },
  })
  await admin.delete(autoscalers, { name: 'web', namespace }, { uid: 'any' })
  repository.commit('by hand again', { 'web.yaml': web('\n  minReadySeconds: 2') })
  await run(0)
  expect(await replicas()).toBe(1)
})

test('a Job that cannot be changed is made anew, and a claim on a volume is not', async (context) => {
  const { repository, run, read, plan } = await prepareSync(context)
  const job = (image: string) => `apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  suspend: true
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: "${image}"}]}
`
  repository.commit('a job', { 'job.yaml': job('example.org/migrate:1'), ...configMapFiles('a') })
  await run(0)
  const before = await read(resources.jobs, 'migrate')
  repository.commit('another', { 'job.yaml': job('example.org/migrate:2') })
  const { stdout } = await run(0)
  expect(stdout).toContain('migrate is replaced')
  const after = await read(resources.jobs, 'migrate')
  expect(after?.metadata.uid).not.toBe(before?.metadata.uid)
  expect(await plan()).toMatchObject({ code: 0, deeds: [] })

  const claim = (size: string) =>
    `apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  storageClassName: none-${size}\n` +
    `  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n`
  repository.commit('a claim', { 'claim.yaml': claim('one') })
  await run(0)
  const claimBefore = await read(resources.persistentVolumeClaims, 'data')
  repository.commit('another claim', { 'claim.yaml': claim('two') })
  const refused = await run(1)
  expect(refused.stdout).toMatch(/claim\.yaml:1/)
  expect((await read(resources.persistentVolumeClaims, 'data'))?.metadata).toMatchObject({
    uid: claimBefore?.metadata.uid,
  })
})

test('before mode total is agreed to, what cannot be changed is made anew as in mode adopt', async (context) => {
  const { repository, run, runLater, read, admin, namespace } = await prepareSync(context)
  const job = (image: string) => `apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
spec:
  suspend: true
  template:
    spec: {restartPolicy: Never, containers: [{name: main, image: "${image}"}]}
`
  repository.commit('a job', { 'job.yaml': job('example.org/migrate:1') })
  await run(0)
  await admin.create<KubeObject>(resources.configMaps, { metadata: { name: 'stranger', namespace } })
  const before = await read(resources.jobs, 'migrate')
  repository.commit('another', { 'job.yaml': job('example.org/migrate:2') })
  const { stdout } = await runLater(70, 3, '--mode', 'total')
  expect(stdout).toContain('migrate is replaced')
  expect((await read(resources.jobs, 'migrate'))?.metadata.uid).not.toBe(before?.metadata.uid)
  expect(await read(resources.configMaps, 'stranger')).toBeDefined()
})

test('what a halt keeps from being made anew is told, and the commit is not in force', async (context) => {
  const { repository, run, read, sync, configMaps } = await prepareSync(context)
  const always = (value: string) => configMap('a', { value }, ', annotations: {fettle.dev/replace: always}')
  repository.commit('one', { 'a.yaml': always('1') })
  await run(0)
  const { uid } = (await read(resources.configMaps, 'a'))?.metadata ?? {}
  repository.commit('two', { 'a.yaml': always('2'), ...configMapFiles('new') })
  for (const attempt of ['first', 'second']) {
    const { stdout } = await run(1, '--max-deletes', '0')
    expect(stdout, attempt).toMatch(/problem {2}ConfigMap .*\/a \(a.yaml:1\) is as it was/)
    expect(stdout, attempt).not.toContain('is there')
  }
  expect(await configMaps('new')).toEqual(['new'])
  expect(await read<ConfigMap>(resources.configMaps, 'a')).toMatchObject({ metadata: { uid }, data: { value: '1' } })
  expect((await sync('history')).stdout).toMatch(/Failed +two/)
  await run(0)
  expect((await read<ConfigMap>(resources.configMaps, 'a'))?.data).toEqual({ value: '2' })
  expect((await sync('history')).stdout).toMatch(/Applied +two/)
})

test('a field that somebody else applied is a conflict with his name, and nothing of it is written until it is decided', async (context) => {
  const { repository, run, admin, namespace, read, sync } = await prepareSync(context)
  repository.commit('ours', { 'a.yaml': configMap('a', { x: '1', y: '1' }), ...configMapFiles('b', 'gone') })
  await run(0)
  await admin.apply(resources.configMaps, { metadata: { name: 'a', namespace }, data: { x: 'theirs' } } as KubeObject, {
    fieldManager: 'some-controller',
    force: true,
  })
  repository.commit('change', { 'a.yaml': configMap('a', { x: '2', y: '2' }), 'gone.yaml': undefined })
  const refused = await run(1)
  expect(refused.stdout).toMatch(/data\.x is held by "some-controller"/)
  expect((await read<ConfigMap>(resources.configMaps, 'a'))?.data).toEqual({ x: 'theirs', y: '1' })
  // Not all was applied: nothing is deleted.
  expect(await read(resources.configMaps, 'gone')).toBeDefined()
  expect(await sync('status')).toMatchObject({ code: 1 })
  await run(0, '--conflicts', 'take')
  expect((await read<ConfigMap>(resources.configMaps, 'a'))?.data).toEqual({ x: '2', y: '2' })
  expect(await read(resources.configMaps, 'gone')).toBeUndefined()
})

test('nobody to ask and no --yes: nothing is done', async (context) => {
  const { repository, sync, configMaps } = await prepareSync(context)
  repository.commit('one', configMapFiles('a'))
  for (const verb of [['run', '--once'], ['apply']] as const) {
    const refused = await sync(...(verb as readonly [string]))
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('--yes')])
  }
  expect(await sync('run', '--once', '--watch')).toMatchObject({ code: 1 })
  expect(await configMaps('a')).toEqual([])
})
