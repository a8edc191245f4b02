import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { adminKubeconfig, type FaultProxy, startFaultProxy } from '../../src/dev/index.ts'
import { resources } from '../../src/kube/index.ts'
import { eventually, sharedRecord, type Test, temporaryFolder } from '../support/e2e-cluster.ts'
import { configMapFiles, prepareSync, type SyncScene } from '../support/sync-command.ts'

/** The program reaches the cluster only through a proxy that breaks things; whoever looks does not. */
async function prepareFaulty(context: Test): Promise<SyncScene & { readonly proxy: FaultProxy }> {
  const record = sharedRecord()
  const proxy = await startFaultProxy(record, { speakAs: 'admin' })
  context.onTestFinished(() => proxy.close())
  const kubeconfig = join(temporaryFolder(context), 'kubeconfig')
  const direct = readFileSync(adminKubeconfig(record), 'utf8')
  const address = (port: number) => `127.0.0.1:${port}`
  expect(direct).toContain(address(record.ports.apiServer))
  writeFileSync(kubeconfig, direct.replace(address(record.ports.apiServer), address(proxy.port)))
  return { ...(await prepareSync(context, { kubeconfig })), proxy }
}

test('a server that is overloaded, or fails now and then, is asked again; each object is made once', async (context) => {
  const { repository, run, proxy, configMaps, plan } = await prepareFaulty(context)
  const names = Array.from({ length: 8 }, (_, index) => `m${index}`)
  repository.commit('eight', configMapFiles(...names))
  const isObject = (path: string) => /configmaps\/m\d/.test(path)
  proxy.inject({ status: 429, count: 3, retryAfterSeconds: 1, matches: ({ path }) => isObject(path) })
  proxy.inject({ status: 503, count: 2, matches: ({ method }) => method === 'GET' })
  proxy.inject({ status: 500, count: 2, matches: ({ method, path }) => method === 'PATCH' && isObject(path) })
  await run(0)
  expect(await configMaps(...names)).toEqual(names)
  proxy.inject({ status: 410, count: 1, matches: ({ path }) => /configmaps(\?|$)/.test(path) })
  expect(await plan()).toMatchObject({ code: 0, deeds: [] })

  repository.commit('seven', { 'm0.yaml': undefined })
  proxy.inject({ status: 429, count: 1, retryAfterSeconds: 1, matches: ({ method }) => method === 'DELETE' })
  proxy.inject({ status: 503, count: 1, matches: ({ method }) => method === 'DELETE' })
  await run(0)
  expect(await configMaps(...names)).toEqual(names.slice(1))
})

test.for([
  // A right that is missing is for a person to mend; what may pass by itself says nothing about the commit.
  [403, 3, /Failed +four/],
  [500, 1, /^(?!.*four)/s],
] as const)(
  'a kind that cannot be listed (%i) is unknown: nothing of it is deleted, also not in mode total',
  async ([status, code, verdict], context) => {
    const { repository, run, sync, proxy, configMaps, admin, namespace, runLater } = await prepareFaulty(context)
    repository.commit('five', configMapFiles('a', 'b', 'c', 'd', 'e'))
    await run(0)
    await admin.create(resources.configMaps, { metadata: { name: 'stranger', namespace } })
    repository.commit('four', { 'a.yaml': undefined })
    proxy.inject({
      status,
      count: 1_000,
      matches: ({ method, path }) => method === 'GET' && /\/configmaps(\?|$)/.test(path),
    })
    // Nor is anything of it missing.
    const state = await sync('status')
    expect([state.code, state.stdout]).toEqual([1, expect.stringMatching(/^cannot be read: ConfigMap .*: configmaps/m)])
    expect(state.stdout).not.toContain('missing')
    const { missing, unknown } = JSON.parse((await sync('status', '-o', 'json')).stdout) as Record<string, unknown[]>
    expect([missing, unknown?.length]).toEqual([[], 5])
    const refused = await run(code)
    expect(refused.stdout + refused.stderr).toMatch(/configmap/i)
    await runLater(70, code, '--mode', 'total', '--grace', '1')
    await runLater(75, code, '--mode', 'total', '--grace', '1')
    expect((await sync('history')).stdout).toMatch(verdict)
    expect(await configMaps('a', 'b', 'c', 'd', 'e', 'stranger')).toHaveLength(6)
  },
)

test('the watch is cut and the server away while a deletion is awaited: it is still seen to be gone', async (context) => {
  const { repository, run, start, proxy, admin, namespace, read } = await prepareFaulty(context)
  repository.commit('three', configMapFiles('a', 'b', 'held'))
  await run(0)
  const ref = { name: 'held', namespace }
  const finalizers = (names: readonly string[]) =>
    admin.patch(resources.configMaps, ref, { type: 'merge', body: { metadata: { finalizers: names } } })
  await finalizers(['example.org/backup'])
  context.onTestFinished(async () => void (await finalizers([]).catch(() => undefined)))
  repository.commit('two', { 'held.yaml': undefined })
  const running = start('run', '--once', '--yes', '--timeout', '60')
  await eventually(
    async () => expect((await read(resources.configMaps, 'held'))?.metadata.deletionTimestamp).toBeDefined(),
    { withinMs: 20_000 },
  )
  proxy.cutWatches()
  proxy.blackout(4_000)
  await finalizers([])
  const { code, stdout, stderr } = await running.finished
  expect([code, stdout], stderr).toEqual([0, expect.stringMatching(/gone {5}ConfigMap .*held/)])
})
