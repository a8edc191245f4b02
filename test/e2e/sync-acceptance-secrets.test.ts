import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { type KubeObject, resources } from '../../src/kube/index.ts'
import type { FettleResult } from '../support/fettle-process.ts'
import { configMap, prepareSync, type SyncScene } from '../support/sync-command.ts'

const canary = 'CaNaRy7Value'
const encoded = Buffer.from(canary).toString('base64')
/** What of it is left in base64 wherever it begins in a longer text. */
const traces = [canary, ...[0, 1, 2].map((lead) => middleOf('x'.repeat(lead) + canary))]

function middleOf(text: string): string {
  return Buffer.from(text).toString('base64').slice(4, -4)
}

function tracesIn(text: string): readonly string[] {
  return traces.filter((trace) => text.includes(trace))
}

interface SecretObject extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

/** All that is said is searched. */
async function heard(answer: Promise<FettleResult>): Promise<FettleResult> {
  const result = await answer
  expect(tracesIn(result.stdout + result.stderr), result.stdout + result.stderr).toEqual([])
  return result
}

async function look({ sync }: SyncScene, ...commands: readonly string[]): Promise<void> {
  await Promise.all(commands.map((command) => heard(sync(...(command.split(' ') as [string])))))
}

const plans = ['plan', 'plan -o json', 'plan -o markdown', 'diff']
const sides = [...plans, 'render', 'explain Secret/login', 'orphans --mode total']
const memory = ['status', 'status -o json', 'history', 'history -o json', 'verify', 'export']

/** Everything in the namespace but the Secrets that are meant to hold it, with what is packed unpacked. */
async function writtenElsewhere({ admin, namespace }: SyncScene, own: readonly string[]): Promise<string> {
  const texts: string[] = []
  for (const resource of [resources.secrets, resources.configMaps, resources.leases, resources.events])
    for await (const page of admin.list<SecretObject>(resource, { namespace }))
      for (const object of page.items) {
        const { metadata, data = {} } = object
        const isOwn = resource === resources.secrets && own.includes(metadata.name ?? '')
        texts.push(JSON.stringify(isOwn ? metadata : object))
        if (!isOwn && resource === resources.secrets) texts.push(...Object.values(data).map(unpacked))
      }
  return texts.join('\n')
}

function unpacked(text: string): string {
  const bytes = Buffer.from(text, 'base64')
  try {
    return gunzipSync(bytes).toString('utf8')
  } catch {
    return bytes.toString('utf8')
  }
}

const secret = (rest: string) => `apiVersion: v1\nkind: Secret\nmetadata: {name: login}\n${rest}\n`

test('a Secret comes, changes, drifts, meets another holder and goes, and its values are told nowhere', async (context) => {
  const scene = await prepareSync(context)
  const { repository, run, admin, namespace, read } = scene
  const ref = { name: 'login', namespace }
  // As kubectl leaves it: with a copy of all values in an annotation.
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': `{"data":{"old":"${encoded}"}}` }
  await admin.create(resources.secrets, { metadata: { ...ref, annotations }, data: { old: encoded } } as KubeObject, {
    fieldManager: 'kubectl-client-side-apply',
  })
  const both = secret(`stringData: {password: ${canary}}\ndata: {token: ${encoded}}`)
  const fresh = both.replace('login', 'fresh')
  repository.commit('secrets', {
    'login.yaml': both,
    'fresh.yaml': fresh,
    'a.yaml': configMap('a'),
    'b.yaml': configMap('b'),
  })
  await look(scene, ...sides)
  await heard(run(0))
  expect((await read<SecretObject>(resources.secrets, 'login'))?.data).toEqual({ password: encoded, token: encoded })

  const hand = (data: object, fieldManager: string) =>
    admin.patch(resources.secrets, ref, { type: 'merge', body: { data } }, { fieldManager })
  const drifted = Buffer.from(`by hand ${canary}`).toString('base64')
  await hand({ password: drifted }, 'kubectl-edit')
  await look(scene, 'plan -o json', 'diff')
  await heard(run(0))
  expect((await read<SecretObject>(resources.secrets, 'login'))?.data?.['password']).toBe(encoded)

  await admin.apply(resources.secrets, { metadata: { ...ref }, data: { token: drifted } } as KubeObject, {
    fieldManager: 'vault-operator',
    force: true,
  })
  await look(scene, 'diff')
  const fought = await heard(run(1))
  expect(fought.stdout).toMatch(/data\.token is held by "vault-operator"/)
  await look(scene, ...memory)
  await heard(run(0, '--conflicts', 'take'))

  repository.commit('another', { 'login.yaml': secret(`stringData: {password: "not ${canary}"}`) })
  await look(scene, ...plans)
  await heard(run(0))
  repository.commit('none', { 'login.yaml': undefined })
  await look(scene, 'orphans', 'explain Secret/login')
  expect(tracesIn(await writtenElsewhere(scene, ['login', 'fresh']))).toEqual([])
  await heard(run(0))
  expect(await read(resources.secrets, 'login')).toBeUndefined()
})

/** What the server refuses, and often repeats. */
const refusedLate: Readonly<Record<string, string>> = {
  'a field that is not one': `strngData: {password: ${canary}}`,
  'a text where a truth value belongs': `immutable: ${canary}`,
  'a value that is not base64': `data: {password: "${canary}!"}`,
  'a key that is none': `stringData: {"a b": ${canary}}`,
  'a type that wants other keys': `type: kubernetes.io/tls\nstringData: {password: ${canary}}`,
}
/** What is not even sent. */
const refusedEarly: Readonly<Record<string, string>> = {
  'a value where a mapping belongs': `data: ${canary}`,
  'a list among the values': `stringData: {password: [${canary}]}`,
  'a number': `stringData: {pin: 123456, password: ${canary}}`,
  'a quote that does not end': `stringData: {password: "${canary}}`,
  'an alias': `stringData:\n  password: *${canary}`,
}

test('a Secret that is wrong is refused without a word of what is in it', async (context) => {
  const scene = await prepareSync(context)
  const { repository, run } = scene
  repository.commit('good', { 'a.yaml': configMap('a') })
  await run(0)
  for (const [what, rest] of Object.entries({ ...refusedLate, ...refusedEarly })) {
    repository.commit(what, { 'login.yaml': secret(rest) })
    const { stdout, stderr } = await heard(run(1))
    expect(stdout + stderr, what).toContain('login.yaml:')
    if (what in refusedLate) await look(scene, 'diff', 'render')
  }
  await look(scene, 'plan -o json', ...memory)
  expect(tracesIn(await writtenElsewhere(scene, []))).toEqual([])
})
