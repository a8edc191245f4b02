import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { issueExpirableToken } from '../../src/dev/index.ts'
import { resources } from '../../src/kube/index.ts'
import {
  type Account,
  bindClusterRole,
  createAccount,
  eventually,
  type Ground,
  prepareGround,
  type Test,
  temporaryFolder,
  timed,
} from '../support/e2e-cluster.ts'
import { connectWith, writeKubeconfig } from '../support/e2e-identity.ts'

/** A plugin that notes each run and prints the credential that lies in its folder, from run to run the next one. */
async function preparePlugin(test: Test, ground: Ground, options = { delaySeconds: 0.1 }) {
  const folder = temporaryFolder(test)
  const [runs, credential, next] = ['runs', 'credential.json', 'next.json'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  const write = (path: string, status: object) =>
    writeFileSync(path, JSON.stringify({ apiVersion: exec.apiVersion, kind: 'ExecCredential', status }))
  writeFileSync(
    join(folder, 'plugin.sh'),
    `#!/bin/sh\necho "$KUBERNETES_EXEC_INFO" >> '${runs}'\nsleep ${options.delaySeconds}\ncat '${credential}'\n[ ! -e '${next}' ] || mv '${next}' '${credential}'\n`,
  )
  chmodSync(join(folder, 'plugin.sh'), 0o700)
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: './plugin.sh',
    interactiveMode: 'Never',
    provideClusterInfo: true,
  }
  const client = await connectWith(test, writeKubeconfig(test, ground, { exec }, folder))
  return {
    client,
    runs: () => (existsSync(runs) ? readFileSync(runs, 'utf8').trim().split('\n') : []),
    willPrint: (status: object, then?: object) => {
      if (then) write(next, then)
      write(credential, status)
    },
  }
}

async function prepareAccount(test: Test, ground: Ground): Promise<Account> {
  const account = await createAccount(ground, 'of-plugin')
  await bindClusterRole(test, ground.admin, 'cluster-admin', { kind: 'ServiceAccount', ...account })
  return account
}

test('a plugin runs once for many calls, again when its credential is about to expire, and again after a 401', async (context) => {
  const ground = await prepareGround(context)
  const account = await prepareAccount(context, ground)
  const { client, runs, willPrint } = await preparePlugin(context, ground)
  const read = () => client.get(resources.namespaces, { name: ground.namespace })
  const [first, second, third] = [
    await issueExpirableToken(ground.admin, account),
    await issueExpirableToken(ground.admin, account),
    await issueExpirableToken(ground.admin, account),
  ]

  // Ten seconds before the end it no longer counts as good.
  const goodUntil = Date.now() + 6_000
  willPrint({ token: first.token, expirationTimestamp: new Date(goodUntil + 10_000).toISOString() })
  await eventually(read, { withinMs: 5_000 })
  await Promise.all([read(), read(), read(), read()])
  expect(runs()).toHaveLength(1)
  expect(JSON.parse(runs()[0] ?? '')).toMatchObject({
    kind: 'ExecCredential',
    spec: { interactive: false, cluster: { server: client.config.server } },
  })

  await second.expire()
  willPrint({ token: second.token }, { token: third.token })
  await sleep(Math.max(0, goodUntil + 50 - Date.now()))
  // The next run prints a token that is dead already, and the one after it a good one: one call goes through both.
  await read()
  expect(runs()).toHaveLength(3)
  expect(client.counters().requests['GET namespaces 401']).toBe(1)
  await read()
  expect(runs()).toHaveLength(3)
})

test('a plugin that prints no credential fails the call by name, and is asked again by the next', async (context) => {
  const ground = await prepareGround(context)
  const account = await prepareAccount(context, ground)
  const { client, runs, willPrint } = await preparePlugin(context, ground)
  const read = () => client.get(resources.namespaces, { name: ground.namespace })
  willPrint({ nothing: 'useful' })
  const failure = await read().catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'ExecPluginFailed' })
  expect(String(failure)).toMatch(/plugin\.sh" of user "tester" in .*neither a token nor a client certificate/)
  expect(client.counters().requests).toEqual({})
  const good = await issueExpirableToken(ground.admin, account)
  willPrint({ token: good.token })
  await eventually(read, { withinMs: 5_000 })
  expect(runs().length).toBeGreaterThanOrEqual(2)
})

test('many calls that are refused at the same time ask the plugin for a new credential once', async (context) => {
  const ground = await prepareGround(context)
  const account = await prepareAccount(context, ground)
  const { client, runs, willPrint } = await preparePlugin(context, ground, { delaySeconds: 0 })
  const [dead, good] = [
    await issueExpirableToken(ground.admin, account),
    await issueExpirableToken(ground.admin, account),
  ]
  await dead.expire()
  willPrint({ token: dead.token })
  await client.config.credentials.current()
  willPrint({ token: good.token })
  const read = () => client.get(resources.namespaces, { name: ground.namespace })
  // Each has a connection of its own to open, so that their refusals come one after the other.
  await Promise.all(Array.from({ length: 20 }, read))
  expect(runs()).toHaveLength(2)
})

test('a call does not wait for a slow plugin beyond its deadline', async (context) => {
  const ground = await prepareGround(context)
  const { client, willPrint } = await preparePlugin(context, ground, { delaySeconds: 6 })
  willPrint({ token: 'too late' })
  const { error, ms } = await timed(() =>
    client.get(resources.namespaces, { name: ground.namespace }, { deadlineMs: 500 }),
  )
  expect(error).toMatchObject({ code: 'Timeout' })
  expect(ms).toBeLessThan(5_000)
})
