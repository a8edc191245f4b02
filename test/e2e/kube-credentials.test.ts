import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { issueExpirableToken } from '../../src/dev/index.ts'
import { connect, loadKubeconfig, resources } from '../../src/kube/index.ts'
import { systemClock } from '../../src/time/index.ts'
import { bindClusterRole, createAccount, prepareGround, requestToken, temporaryFolder } from '../support/e2e-cluster.ts'
import { adminEntries, connectWith, whoAmI, writeKubeconfig } from '../support/e2e-identity.ts'

test('a client certificate written into the kubeconfig is accepted', async (context) => {
  const ground = await prepareGround(context)
  expect(await whoAmI(ground.admin)).toMatchObject({ username: 'fettle-dev-admin' })
})

test('a client certificate in files beside the kubeconfig is accepted', async (context) => {
  const ground = await prepareGround(context)
  const folder = temporaryFolder(context)
  const { user } = adminEntries(ground)
  writeFileSync(join(folder, 'me.crt'), Buffer.from(user['client-certificate-data'] ?? '', 'base64'))
  writeFileSync(join(folder, 'me.key'), Buffer.from(user['client-key-data'] ?? '', 'base64'))
  const files = { 'client-certificate': 'me.crt', 'client-key': 'me.key' }
  const client = await connectWith(context, writeKubeconfig(context, ground, files, folder))
  expect(await whoAmI(client)).toMatchObject({ username: 'fettle-dev-admin' })
})

test('certificate files that rotate are used without a restart, and open watches live on', async (context) => {
  const ground = await prepareGround(context)
  const folder = temporaryFolder(context)
  const rotateTo = (component: string) => {
    const { users } = JSON.parse(readFileSync(join(ground.record.folder, `${component}.kubeconfig`), 'utf8')) as {
      readonly users: readonly { readonly user: Readonly<Record<string, string>> }[]
    }
    for (const [file, key] of [
      ['me.crt', 'client-certificate-data'],
      ['me.key', 'client-key-data'],
    ] as const)
      writeFileSync(join(folder, file), Buffer.from(users[0]?.user[key] ?? '', 'base64'))
  }
  rotateTo('scheduler')
  const files = { 'client-certificate': 'me.crt', 'client-key': 'me.key' }
  // Files are looked at every few seconds; the clock is moved instead of waiting.
  let offsetMs = 0
  const clock = { ...systemClock, monotonic: () => performance.now() + offsetMs }
  const path = writeKubeconfig(context, ground, files, folder)
  const client = connect(await loadKubeconfig({ path, clock }), { component: 'e2e' })
  context.onTestFinished(() => client.close())
  expect(await whoAmI(client)).toMatchObject({ username: 'system:kube-scheduler' })
  const watch = client.watch(resources.nodes, { signal: ground.signal })[Symbol.asyncIterator]()
  expect((await watch.next()).value).toMatchObject({ type: 'ADDED' })

  rotateTo('controller-manager')
  offsetMs = 60_000
  expect(await whoAmI(client)).toMatchObject({ username: 'system:kube-controller-manager' })
  rotateTo('scheduler')
  offsetMs = 120_000
  expect(await whoAmI(client)).toMatchObject({ username: 'system:kube-scheduler' })
  expect((await watch.next()).value).toMatchObject({ type: 'ADDED' })
})

test('a token in the kubeconfig is accepted, and the context gives the namespace', async (context) => {
  const ground = await prepareGround(context)
  const account = await createAccount(ground, 'with-token')
  const token = await requestToken(ground.admin, account)
  const client = await connectWith(context, writeKubeconfig(context, ground, { token }))
  expect(await whoAmI(client)).toMatchObject({ username: account.user })
  expect(client.config.namespace).toBe(ground.namespace)
})

test('a token that has expired is refused as Unauthorized, after one try', async (context) => {
  const ground = await prepareGround(context)
  const dead = await issueExpirableToken(ground.admin, await createAccount(ground, 'expired'))
  await dead.expire()
  const client = await connectWith(context, writeKubeconfig(context, ground, { token: dead.token }))
  await expect(whoAmI(client)).rejects.toMatchObject({ code: 'Unauthorized', status: 401, attempts: 1 })
})

test('a token file that rotates is read again when the old token has expired, for calls and for watches', async (context) => {
  const ground = await prepareGround(context)
  const account = await createAccount(ground, 'rotating')
  await bindClusterRole(context, ground.admin, 'view', { kind: 'ServiceAccount', ...account })
  const folder = temporaryFolder(context)
  const rotate = (token: string) => writeFileSync(join(folder, 'token'), token)
  const issue = () => issueExpirableToken(ground.admin, account)
  const path = writeKubeconfig(context, ground, { tokenFile: 'token' }, folder)

  // Expired before its first use: the API server goes on trusting a token for ten seconds once it has accepted it.
  const dead = await issue()
  await dead.expire()
  rotate(dead.token)
  const client = await connectWith(context, path)
  const watcher = await connectWith(context, path)
  for (const one of [client, watcher]) {
    await expect(whoAmI(one)).rejects.toMatchObject({ code: 'Unauthorized', attempts: 2 })
  }

  // Both hold the dead token in memory now, and it is seconds old only.
  rotate(`${(await issue()).token}\n`)
  expect(await whoAmI(client)).toMatchObject({ username: account.user })
  expect(client.counters().requests).toEqual({ 'POST selfsubjectreviews 401': 3, 'POST selfsubjectreviews 201': 1 })

  const watch = watcher.watch(resources.configMaps, { namespace: ground.namespace, signal: ground.signal })
  const first = await watch[Symbol.asyncIterator]().next()
  expect(first.value).toMatchObject({ type: 'ADDED', object: { kind: 'ConfigMap' } })
  expect(watcher.counters().requests).toMatchObject({ 'GET configmaps 401': 1, 'GET configmaps 200': 1 })
})
