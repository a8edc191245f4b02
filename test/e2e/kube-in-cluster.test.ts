import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { apiServerUrl, issueExpirableToken } from '../../src/dev/index.ts'
import { connect, loadConfig } from '../../src/kube/index.ts'
import {
  createAccount,
  type Ground,
  prepareGround,
  requestToken,
  type Test,
  temporaryFolder,
} from '../support/e2e-cluster.ts'
import { adminEntries, whoAmI } from '../support/e2e-identity.ts'

/** What the kubelet mounts into a pod, and the environment that it gives. */
function mountAccount(test: Test, ground: Ground, mounted: { readonly authority: string; readonly token: string }) {
  const folder = temporaryFolder(test)
  const { hostname, port } = new URL(apiServerUrl(ground.record))
  writeFileSync(join(folder, 'ca.crt'), Buffer.from(mounted.authority, 'base64'))
  writeFileSync(join(folder, 'namespace'), ground.namespace)
  writeFileSync(join(folder, 'token'), mounted.token)
  // HOME is the empty place where a kubeconfig would be, and would win.
  const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port, HOME: folder }
  return { folder, env }
}

test('in a pod the mounted account is used, and its next token when the first has expired', async (context) => {
  const ground = await prepareGround(context)
  const account = await createAccount(ground, 'in-pod')
  const [first, second] = [
    await issueExpirableToken(ground.admin, account),
    await issueExpirableToken(ground.admin, account),
  ]
  const authority = adminEntries(ground).cluster['certificate-authority-data'] ?? ''
  const { env, folder } = mountAccount(context, ground, { authority, token: first.token })
  const client = connect(await loadConfig({ env, folder }), { component: 'e2e' })
  context.onTestFinished(() => client.close())
  expect(client.config.namespace).toBe(ground.namespace)

  // The first token was read when the configuration was loaded, and dies before its first use.
  await first.expire()
  writeFileSync(join(folder, 'token'), second.token)
  expect(await whoAmI(client)).toMatchObject({ username: account.user })
  // The server says no once; unless it took so long to forget the first token that the file was due to be read anyhow.
  const { 'POST selfsubjectreviews 401': refused = 0, ...others } = client.counters().requests
  expect(refused).toBeLessThanOrEqual(1)
  expect(others).toEqual({ 'POST selfsubjectreviews 201': 1 })
})

test('a server that the mounted authority has not signed is not trusted, and never sees the token', async (context) => {
  const ground = await prepareGround(context)
  const token = await requestToken(ground.admin, await createAccount(ground, 'misled'))
  const stranger = adminEntries(ground).user['client-certificate-data'] ?? ''
  const { env, folder } = mountAccount(context, ground, { authority: stranger, token })
  const client = connect(await loadConfig({ env, folder }), { component: 'e2e' })
  context.onTestFinished(() => client.close())
  await expect(whoAmI(client)).rejects.toMatchObject({ code: 'Untrusted', attempts: 1, status: undefined })
})
