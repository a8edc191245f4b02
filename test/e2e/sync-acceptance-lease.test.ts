import { expect, test } from 'vitest'
import { type KubeObject, type Lease, resources } from '../../src/kube/index.ts'
import { eventually, type Test } from '../support/e2e-cluster.ts'
import { configMapFiles, prepareSync } from '../support/sync-command.ts'

const service = (name: string) =>
  `apiVersion: v1\nkind: Service\nmetadata: {name: ${name}}\nspec: {ports: [{port: 80}], selector: {app: ${name}}}\n`

// No node is like this: its health is waited for until the end.
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {nodeSelector: {example.org/like: none}, containers: [{name: main, image: 'example.invalid/web:1'}]}
`

const lost = expect.stringMatching(/the Lease .* was lost: .*Run it again/)

async function prepareThief(context: Test) {
  const scene = await prepareSync(context)
  const { admin, namespace, read } = scene
  const name = `fettle-sync-${namespace}`
  const write = (body: object) => admin.patch<Lease>(resources.leases, { name, namespace }, { type: 'merge', body })
  return {
    ...scene,
    /** As one does who believes to lead: a new holder in a new term. */
    takeLease: async () => {
      const { spec } = (await read<Lease>(resources.leases, name)) ?? {}
      const renewTime = new Date().toISOString().replace('Z', '000Z')
      return write({
        spec: { holderIdentity: 'thief', renewTime, leaseTransitions: (spec?.leaseTransitions ?? 0) + 1 },
      })
    },
    giveLeaseBack: async () => {
      const { spec } = (await read<Lease>(resources.leases, name)) ?? {}
      const token = String(spec?.leaseTransitions)
      return write({ metadata: { annotations: { 'fettle.dev/released-token': token } }, spec: { holderIdentity: '' } })
    },
  }
}

test('a run that loses its Lease between two layers of deletions ends with 1 and deletes no more; the next one goes on', async (context) => {
  const { repository, run, start, sync, read, admin, namespace, takeLease, giveLeaseBack, configMaps, plan } =
    await prepareThief(context)
  repository.commit('all', { 'held.yaml': service('held'), ...configMapFiles('a', 'b', 'c', 'd') })
  await run(0)
  const ref = { name: 'held', namespace }
  const finalizers = (names: readonly string[]) =>
    admin.patch(resources.services, ref, { type: 'merge', body: { metadata: { finalizers: names } } })
  await finalizers(['example.org/backup'])
  context.onTestFinished(async () => void (await finalizers([]).catch(() => undefined)))

  // Services go before config: while the Service is held, the ConfigMap has its turn still before it.
  repository.commit('fewer', { 'held.yaml': undefined, 'd.yaml': undefined })
  const running = start('run', '--once', '--yes')
  await eventually(
    async () => expect((await read<KubeObject>(resources.services, 'held'))?.metadata.deletionTimestamp).toBeDefined(),
    { withinMs: 10_000 },
  )
  await takeLease()
  const { code, stderr } = await running.finished
  expect([code, stderr]).toEqual([1, lost])

  await finalizers([])
  expect((await run(1)).stderr).toMatch(/thief is at work on this Sync/)
  expect(await configMaps('a', 'b', 'c', 'd')).toHaveLength(4)
  expect((await sync('status')).stdout).toContain('under way, or cut short')

  await giveLeaseBack()
  await run(0)
  expect(await configMaps('a', 'b', 'c', 'd')).toEqual(['a', 'b', 'c'])
  expect(await plan()).toMatchObject({ code: 0, deeds: [] })
})

test('with --watch it ends, too: what waited for health is not deleted by one who is no longer the writer', async (context) => {
  const { repository, run, start, read, takeLease, giveLeaseBack, configMaps, plan } = await prepareThief(context)
  repository.commit('all', configMapFiles('a', 'b', 'c', 'd'))
  await run(0)
  repository.commit('a rollout that never ends', { 'web.yaml': deployment, 'd.yaml': undefined })
  const running = start('run', '--watch', '--yes')
  await eventually(async () => expect(await read(resources.deployments, 'web')).toBeDefined(), { withinMs: 10_000 })
  await takeLease()
  expect(await running.finished).toMatchObject({ code: 1, stderr: lost })
  expect(await configMaps('a', 'b', 'c', 'd')).toHaveLength(4)

  await giveLeaseBack()
  repository.commit('without it', { 'web.yaml': undefined })
  await run(0)
  expect(await configMaps('a', 'b', 'c', 'd')).toEqual(['a', 'b', 'c'])
  expect(await plan()).toMatchObject({ code: 0, deeds: [] })
})

test('with --watch it ends while it only waits for git, too', async (context) => {
  const { repository, start, takeLease } = await prepareThief(context)
  repository.commit('one', configMapFiles('a'))
  const running = start('run', '--watch', '--yes')
  await running.untilSaid('the namespace equals git')
  await takeLease()
  expect(await running.finished).toMatchObject({ code: 1, stderr: lost })
})
