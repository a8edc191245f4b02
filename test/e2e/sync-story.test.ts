import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { adminKubeconfig } from '../../src/dev/index.ts'
import { isNotFound, type KubeObject, resources } from '../../src/kube/index.ts'
import { type Ground, prepareGround } from '../support/e2e-cluster.ts'
import { repository as checkout, fettle } from '../support/fettle-process.ts'
import { makeRepository } from '../support/sync-repository.ts'

interface Deployment extends KubeObject {
  readonly spec?: { readonly replicas?: number }
  readonly status?: { readonly readyReplicas?: number }
}

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

/** What the example has in git after one of its commits. */
function filesAfter(commit: string): Readonly<Record<string, string>> {
  const folder = join(checkout, 'examples/sync/two-services', commit)
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
}

const settings = (text: string) => `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {text: "${text}"}
`

function syncOn({ record, namespace }: Ground, url: string) {
  const cluster = ['--kubeconfig', adminKubeconfig(record), '--namespace', namespace]
  const source = ['--url', url, '--branch', 'main']
  return {
    look: (verb: string, ...args: readonly string[]) => fettle(['sync', verb, ...cluster, ...args]),
    plan: (...args: readonly string[]) => fettle(['sync', 'plan', ...cluster, ...source, ...args]),
    verb: (verb: string, ...args: readonly string[]) => fettle(['sync', verb, ...cluster, ...source, ...args]),
    run: (...args: readonly string[]) => fettle(['sync', 'run', '--once', '--yes', ...cluster, ...source, ...args]),
  }
}

async function isThere({ admin, namespace }: Ground, resource: typeof resources.deployments, name: string) {
  return admin.get<KubeObject>(resource, { name, namespace }).then(
    () => true,
    (error: unknown) => {
      if (isNotFound(error)) return false
      throw error
    },
  )
}

test('service A comes, B comes, A changes, A goes: the namespace is what git says after each commit', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  const repository = makeRepository(context)
  const sync = syncOn(ground, `file://${repository.folder}`)
  const deployment = (name: string) => admin.get<Deployment>(resources.deployments, { name, namespace })

  // Each folder of the example is all of it.
  let there: Readonly<Record<string, string>> = {}
  const commit = (name: string) => {
    const next = filesAfter(name)
    const gone = Object.keys(there).filter((path) => next[path] === undefined)
    there = next
    return repository.commit(name, { ...next, ...Object.fromEntries(gone.map((path) => [path, undefined])) })
  }

  commit('1-add-service-a')
  const first = await sync.plan()
  expect([first.code, first.stdout], first.stderr).toEqual([2, expect.stringContaining('service-a')])
  expect(await isThere(ground, resources.deployments, 'service-a')).toBe(false)
  const created = await sync.run()
  expect(created, created.stderr + created.stdout).toMatchObject({ code: 0 })
  expect((await deployment('service-a')).status?.readyReplicas).toBe(1)

  const again = await sync.plan()
  expect([again.code, again.stderr]).toEqual([0, expect.any(String)])

  commit('2-add-service-b')
  expect(await sync.run()).toMatchObject({ code: 0 })
  const b = await deployment('service-b')
  expect(b.status?.readyReplicas).toBe(1)

  const changed = commit('3-change-service-a')
  expect(await sync.run()).toMatchObject({ code: 0 })
  expect((await deployment('service-a')).spec?.replicas).toBe(2)

  commit('4-remove-service-a')
  const removal = await sync.plan()
  expect(removal.code).toBe(2)
  expect(removal.stdout.indexOf('service-a')).toBeGreaterThanOrEqual(0)
  const removed = await sync.run()
  expect(removed, removed.stderr + removed.stdout).toMatchObject({ code: 0 })
  expect(removed.stdout).toContain(`gone     Deployment.apps ${namespace}/service-a`)
  expect(await isThere(ground, resources.deployments, 'service-a')).toBe(false)
  expect(await isThere(ground, resources.services, 'service-a')).toBe(false)
  expect((await deployment('service-b')).metadata).toMatchObject({
    uid: b.metadata.uid,
    generation: b.metadata.generation,
  })

  const status = await sync.look('status')
  expect([status.code, status.stdout], status.stderr).toEqual([0, expect.stringContaining('4-remove-service-a')])
  const history = await sync.look('history')
  const subjects = ['4-remove-service-a', '3-change-service-a', '2-add-service-b', '1-add-service-a']
  expect(history.stdout.split('\n').filter((line) => line !== '')).toEqual(
    subjects.map((subject) => expect.stringMatching(new RegExp(`Applied .*${subject}`)) as string),
  )
  expect(history.stdout).toContain(changed.slice(0, 12))

  const nowhere = there['service-b.yaml']?.replace('    spec:\n', '    spec:\n      nodeSelector: {place: nowhere}\n')
  const bad = repository.commit('service-b goes nowhere', { 'service-b.yaml': nowhere })
  expect(await sync.run('--timeout', '1')).toMatchObject({ code: 1 })
  const failed = await sync.plan()
  expect(failed.stdout).toMatch(new RegExp(`Commit ${bad.slice(0, 12)} failed at .*: .*service-b is not healthy`))
  expect(failed.stdout).not.toContain('Nothing to do')
})

test('a file that cannot be read changes nothing, and is named with its line', async (context) => {
  const ground = await prepareGround(context)
  const repository = makeRepository(context)
  const sync = syncOn(ground, repository.folder)
  repository.commit('good', { 'a.yaml': settings('one'), 'b.yaml': settings('two').replace('settings', 'other') })
  expect(await sync.run()).toMatchObject({ code: 0 })
  repository.commit('broken', { 'b.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other\n' })
  const refused = await sync.run()
  expect(refused.code).toBe(1)
  expect(refused.stderr).toMatch(/b\.yaml:\d+/)
  expect(refused.stderr).toContain('Nothing was changed')
  for (const name of ['settings', 'other']) expect(await isThere(ground, resources.configMaps, name)).toBe(true)
})

test('a plan for a namespace that is not there says so, and a run changes nothing', async (context) => {
  const ground = { ...(await prepareGround(context)), namespace: 'e2e-not-yet' }
  const repository = makeRepository(context)
  const sync = syncOn(ground, repository.folder)
  repository.commit('settings', { 'a.yaml': settings('one') })
  const remedy = expect.stringContaining('kubectl create namespace e2e-not-yet') as string
  expect(await sync.plan()).toMatchObject({ code: 2, stderr: remedy })
  // The server is asked how it would store each object, and refuses.
  expect(await sync.verb('diff')).toMatchObject({ code: 1, stderr: remedy })
  expect(await sync.run()).toMatchObject({ code: 1, stderr: remedy })
})

test('what somebody changed by hand is put right, and what is not ours is left alone', async (context) => {
  const ground = await prepareGround(context)
  const { admin, namespace } = ground
  const repository = makeRepository(context)
  const sync = syncOn(ground, repository.folder)
  repository.commit('settings', { 'a.yaml': settings('from git') })
  expect(await sync.run()).toMatchObject({ code: 0 })
  await admin.create<ConfigMap>(resources.configMaps, { metadata: { name: 'stranger', namespace }, data: { a: 'b' } })
  const ref = { name: 'settings', namespace }
  await admin.patch(
    resources.configMaps,
    ref,
    { type: 'merge', body: { data: { text: 'by hand', more: 'x' } } },
    { fieldManager: 'kubectl-edit' },
  )
  const plan = await sync.plan()
  expect([plan.code, plan.stdout]).toEqual([2, expect.stringContaining('data.text')])
  expect(plan.stdout).not.toContain('by hand')
  const mended = await sync.run()
  expect(mended, mended.stderr + mended.stdout).toMatchObject({ code: 0 })
  expect((await admin.get<ConfigMap>(resources.configMaps, ref)).data).toEqual({ text: 'from git', more: 'x' })
  expect(await isThere(ground, resources.configMaps, 'stranger')).toBe(true)
})

test('too many deletions at once halt, until the very plan is approved', async (context) => {
  const ground = await prepareGround(context)
  const repository = makeRepository(context)
  const sync = syncOn(ground, repository.folder)
  const names = Array.from({ length: 12 }, (_, index) => `c${index}`)
  const files = Object.fromEntries(names.map((name) => [`${name}.yaml`, settings('x').replace('settings', name)]))
  repository.commit('twelve', { ...files, 'stays.yaml': settings('x') })
  expect(await sync.run()).toMatchObject({ code: 0 })
  repository.commit('nearly none', Object.fromEntries(Object.keys(files).map((path) => [path, undefined])))
  const halted = await sync.run()
  expect(halted.code).toBe(3)
  for (const name of names) expect(await isThere(ground, resources.configMaps, name)).toBe(true)
  const { stdout } = await sync.plan('-o', 'json')
  const { hash } = JSON.parse(stdout) as { readonly hash: string }
  expect(await sync.run('--approve', 'another')).toMatchObject({ code: 3 })
  const approved = await sync.run('--approve', hash)
  expect(approved, approved.stderr + approved.stdout).toMatchObject({ code: 0 })
  for (const name of names) expect(await isThere(ground, resources.configMaps, name)).toBe(false)
  expect(await isThere(ground, resources.configMaps, 'settings')).toBe(true)
})
