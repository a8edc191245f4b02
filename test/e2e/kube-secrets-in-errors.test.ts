import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { type ConnectedClient, connect, type KubeObject, loadKubeconfig, resources } from '../../src/kube/index.ts'
import { type Ground, prepareGround, type Test, temporaryFolder } from '../support/e2e-cluster.ts'
import { adminEntries, whoAmI, writeKubeconfig } from '../support/e2e-identity.ts'

const canary = 'canary-d41d8cd98f00b204'
const pem = (kind: string, text: string) =>
  Buffer.from(`-----BEGIN ${kind}-----\n${Buffer.from(text).toString('base64')}\n-----END ${kind}-----\n`)

/** Everything about a value that could end up in a log. */
function everythingIn(value: unknown): string {
  const texts = [inspect(value, { depth: 30, showHidden: true, getters: true }), String(value), JSON.stringify(value)]
  for (let error = value; error instanceof Error; error = error.cause) texts.push(error.stack ?? '', error.message)
  return texts.join('\n')
}

function expectNoCanary(value: unknown): void {
  const text = everythingIn(value)
  for (const form of [canary, Buffer.from(canary).toString('base64').slice(0, 24), encodeURIComponent(canary)])
    expect(text).not.toContain(form)
}

async function failureOf(run: () => Promise<unknown>): Promise<unknown> {
  const outcome = await run().then(
    () => 'it did not fail',
    (error: unknown) => error,
  )
  expect(outcome).toBeInstanceOf(Error)
  return outcome
}

const plugin = (script: string) => ({
  exec: {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: '/bin/sh',
    args: ['-c', script],
    env: [{ name: 'CANARY', value: canary }],
    interactiveMode: 'Never',
  },
})

const users: readonly [string, (ground: Ground) => object, string][] = [
  ['a wrong token', () => ({ token: canary }), 'Unauthorized'],
  ['a password, which no server knows any more', () => ({ username: 'me', password: canary }), 'Forbidden'],
  ['a token that fits into no header', () => ({ token: `${canary}\u0007` }), 'CredentialUnreadable'],
  [
    'a key that is none',
    (ground) => ({ ...adminEntries(ground).user, 'client-key-data': pem('PRIVATE KEY', canary).toString('base64') }),
    'CredentialUnreadable',
  ],
  ['a plugin that fails while printing it', () => plugin('echo $CANARY; exit 3'), 'ExecPluginFailed'],
  ['a plugin that prints broken JSON', () => plugin('echo \\{\\"token\\": \\"$CANARY'), 'ExecPluginFailed'],
]

for (const [name, userOf, code] of users) {
  test(`${name} is in no error of a call or a watch`, async (context) => {
    const ground = await prepareGround(context)
    const client = await connectAs(context, ground, userOf(ground))
    const called = await failureOf(() => whoAmI(client))
    expect(called).toMatchObject({ code })
    expectNoCanary(called)
    const watched = await failureOf(async () => {
      for await (const _ of client.watch(resources.nodes, { signal: ground.signal })) break
    })
    expectNoCanary(watched)
    expectNoCanary(client.config)
    expectNoCanary(client)
  })
}

test('a token is in no error when nobody listens at the server address', async (context) => {
  const ground = await prepareGround(context)
  const config = (await connectAs(context, ground, { token: canary })).config
  const client = connect({ ...config, server: 'https://127.0.0.1:9' }, { component: 'e2e' })
  context.onTestFinished(() => client.close())
  const failure = await failureOf(() => whoAmI(client))
  expect(failure).toMatchObject({ code: 'Unreachable' })
  expectNoCanary(failure)
})

test('a kubeconfig that cannot be read is told by line, without what stands there', async (context) => {
  const folder = temporaryFolder(context)
  for (const [name, text] of [
    ['broken', `users:\n- name: me\n  user: {token: "${canary}\ncontexts: [`],
    ['wrong-type', `users:\n- name: me\n  user:\n    token: [${canary}]\n`],
    [
      'wrong-base64',
      `users:\n- name: me\n  user:\n    client-key-data: ${canary}\n    client-certificate-data: ${canary}\n`,
    ],
  ] as const) {
    const path = join(folder, name)
    const around = 'clusters: [{name: c, cluster: {server: "https://127.0.0.1:9"}}]\n'
    const contexts = 'contexts: [{name: x, context: {cluster: c, user: me}}]\ncurrent-context: x\n'
    writeFileSync(path, `${around}${name === 'broken' ? '' : contexts}${text}`)
    const failure = await failureOf(() => loadKubeconfig({ path }))
    expect(failure).toMatchObject({ code: 'BadConfig', file: path, line: expect.any(Number) as number })
    expectNoCanary(failure)
  }
})

test('a Secret that the server refuses is not quoted, whichever way it was sent', async (context) => {
  const { admin, namespace } = await prepareGround(context)
  const secret = (more: object) => ({ metadata: { name: 'refused', namespace }, ...more }) as KubeObject
  const attempts = [
    () => admin.create(resources.secrets, secret({ data: { password: canary } })),
    () => admin.create(resources.secrets, secret({ type: 'kubernetes.io/tls', stringData: { other: canary } })),
    () => admin.apply(resources.secrets, secret({ data: { password: canary } }), { fieldManager: 'e2e' }),
  ]
  for (const attempt of attempts) expectNoCanary(await failureOf(attempt))
})

async function connectAs(test: Test, ground: Ground, user: object): Promise<ConnectedClient> {
  const client = connect(await loadKubeconfig({ path: writeKubeconfig(test, ground, user) }), { component: 'e2e' })
  test.onTestFinished(() => client.close())
  return client
}
