import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FakeClock } from '../../time/fake-clock.ts'
import { ConfigError } from '../errors.ts'
import { loadKubeconfig } from './kubeconfig.ts'
import { loadConfig } from './load-config.ts'
import { Secret } from './secret.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kubeconfig-'))
})
afterEach(() => rm(folder, { recursive: true }))

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}

/** A whole kubeconfig around the lines of one user and one cluster. */
const config = (user: string, cluster = 'server: https://10.0.0.1:6443', context = '') => `apiVersion: v1
kind: Config
current-context: main
contexts:
- name: main
  context: {cluster: c, user: u${context}}
clusters:
- name: c
  cluster:
    ${cluster.replaceAll('\n', '\n    ')}
users:
- name: u
  user:
    ${user.replaceAll('\n', '\n    ')}
`

async function refusal(promise: Promise<unknown>): Promise<ConfigError> {
  const error: unknown = await promise.then(
    () => new Error('it was accepted'),
    (caught: unknown) => caught,
  )
  if (!(error instanceof ConfigError)) throw error
  return error
}

const pem = Buffer.from('-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n').toString('base64')

describe('a kubeconfig', () => {
  it('gives server, namespace, trust and token of the current context', async () => {
    const cluster = `server: https://[fd00::1]:6443\ntls-server-name: kube\ncertificate-authority-data: ${pem}`
    const path = await file('config', config('token: abc', cluster, ', namespace: shop'))
    const loaded = await loadKubeconfig({ path })
    expect(loaded).toMatchObject({ server: 'https://[fd00::1]:6443', namespace: 'shop', tls: { serverName: 'kube' } })
    expect(loaded.source).toBe(`context "main" of ${path}`)
    expect(await loaded.tls.ca?.read()).toContain('BEGIN CERTIFICATE')
    expect((await loaded.credentials.current()).token?.reveal()).toBe('abc')
  })

  it('gives basic credentials and impersonation', async () => {
    const user = 'username: me\npassword: pw\nas: jane\nas-uid: "7"\nas-groups: [a, b]\nas-user-extra: {scope: [x]}'
    const loaded = await loadKubeconfig({ path: await file('config', config(user)) })
    expect(loaded.impersonate).toEqual({ user: 'jane', uid: '7', groups: ['a', 'b'], extra: { scope: ['x'] } })
    expect((await loaded.credentials.current()).basic?.password.reveal()).toBe('pw')
  })

  it('reads files named in it from its own folder, and again after they rotate', async () => {
    await file('token', 'first\n')
    await file('c.pem', 'CERT')
    await file('k.pem', 'KEY')
    const clock = new FakeClock()
    const user = 'tokenFile: token\nclient-certificate: c.pem\nclient-key: k.pem'
    const { credentials } = await loadKubeconfig({ path: await file('config', config(user)), clock })
    const current = await credentials.current()
    expect(current.token?.reveal()).toBe('first')
    expect(current.certificate?.key.reveal()).toBe('KEY')
    await file('token', 'second')
    expect((await credentials.current()).token?.reveal()).toBe('first')
    await clock.advance(6_000)
    expect((await credentials.current()).token?.reveal()).toBe('second')
    await file('token', 'third')
    expect(credentials.refresh()).toBe(true)
    expect((await credentials.current()).token?.reveal()).toBe('third')
    await rm(join(folder, 'token'))
    await clock.advance(6_000)
    expect((await credentials.current()).token?.reveal()).toBe('third')
  })

  it('is merged from several files as kubectl does: the first to name a thing wins, whole', async () => {
    const one = await file('one', config('username: me', 'server: https://one'))
    const two = await file(
      'two',
      config('token: two', 'server: https://two').replace('current-context: main', 'current-context: other'),
    )
    const missing = join(folder, 'missing')
    const loaded = await loadKubeconfig({ env: { KUBECONFIG: `${missing}:${one}::${two}` } })
    expect(loaded.server).toBe('https://one')
    expect((await loaded.credentials.current()).token).toBeUndefined()
    const other = await file(
      'other',
      config('token: t').replaceAll('main', 'second').replace('current-context: second\n', ''),
    )
    const second = await loadKubeconfig({ env: { KUBECONFIG: `${one}:${other}` }, context: 'second' })
    expect(second.source).toContain('other')
  })

  const refusals: readonly [string, string, string, number | undefined, string][] = [
    ['broken YAML', 'clusters: [\nusers: "\n', 'not valid YAML', 2, 'BadConfig'],
    ['another kind of file', 'kind: Pod\n', 'this is not a kubeconfig', 1, 'BadConfig'],
    ['a list instead of a mapping', '- a\n', 'saw a list', 1, 'BadConfig'],
    [
      'a numeric token',
      config('token: 12345'),
      'user "u": token is a number; write a string, in quotes',
      14,
      'BadConfig',
    ],
    [
      'a server without a scheme',
      config('token: x', 'server: 10.0.0.1:6443'),
      'write https://host:port',
      10,
      'BadConfig',
    ],
    [
      'a proxy',
      config('token: x', 'server: https://x\nproxy-url: http://p'),
      'proxy-url is not supported',
      11,
      'UnsupportedConfig',
    ],
    ['an auth provider', config('auth-provider: {name: gcp}'), 'write an exec plugin instead', 14, 'UnsupportedConfig'],
    [
      'a certificate without its key',
      config(`client-certificate-data: ${pem}`),
      'write the missing client-key',
      14,
      'BadConfig',
    ],
    ['data that is no PEM', config('client-certificate-data: abcd'), 'not base64 of a PEM text', 14, 'BadConfig'],
    ['groups without a user', config('as-groups: [a]'), 'need as;', 14, 'BadConfig'],
    [
      'an old exec version',
      config('exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: x}'),
      'write client.authentication.k8s.io/v1',
      14,
      'BadConfig',
    ],
    [
      'a plugin that wants a terminal',
      config('exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}'),
      'wants a terminal',
      14,
      'UnsupportedConfig',
    ],
    [
      'an unknown user',
      config('token: x').replace('name: u\n', 'name: other\n'),
      'user "u" is not defined; defined are "other"',
      6,
      'BadConfig',
    ],
    [
      'no current context',
      config('token: x').replace('current-context: main', ''),
      'it has "main"',
      undefined,
      'BadConfig',
    ],
  ]
  for (const [name, text, message, line, code] of refusals) {
    it(`with ${name} is refused, with file, line and what to write`, async () => {
      const path = await file('config', text)
      const error = await refusal(loadKubeconfig({ path }))
      expect(error.message).toContain(message)
      expect(error.message.startsWith(line === undefined ? `${path}: ` : `${path}:${line}: `), error.message).toBe(true)
      expect(error.code).toBe(code)
    })
  }

  it('with a fault next to a token never shows the token', async () => {
    for (const text of [
      'users:\n- name: u\n  user: {token: canary, x: [}\n',
      config('token: {canary: 1}'),
      config('tokenFile: [canary]'),
    ]) {
      const error = await refusal(loadKubeconfig({ path: await file('config', text) }))
      expect(`${inspect(error, { depth: 9 })}${JSON.stringify(error)}`).not.toContain('canary')
    }
    const loaded = await loadKubeconfig({ path: await file('config', config('token: canary\npassword: canary')) })
    const credential = await loaded.credentials.current()
    const shown = `${inspect(loaded, { depth: 9, showHidden: true })}${JSON.stringify([loaded, credential])}${inspect(credential)}${String(credential.token)}`
    expect(shown).not.toContain('canary')
  })

  it('that was named must exist; without a name the pod decides', async () => {
    expect((await refusal(loadKubeconfig({ path: join(folder, 'none') }))).code).toBe('NoConfig')
    const env = { HOME: folder }
    expect((await refusal(loadConfig({ env }))).code).toBe('NoConfig')
    await file('token', 'pod-token')
    await file('ca.crt', 'CA')
    const loaded = await loadConfig({
      env: { ...env, KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '6443' },
      folder,
    })
    expect(loaded).toMatchObject({ server: 'https://[fd00::1]:6443', namespace: 'default' })
    expect((await loaded.credentials.current()).token?.reveal()).toBe('pod-token')
  })
})

describe('an exec plugin', () => {
  const v1 = 'client.authentication.k8s.io/v1'
  const user = (extra = '') =>
    `exec:\n  apiVersion: ${v1}\n  command: ./plugin\n  args: [one, "two; three"]\n  env: [{name: FROM_CONFIG, value: yes!}]\n  installHint: get it from there\n  provideClusterInfo: true${extra}`

  async function plugin(script: string, clock = new FakeClock()) {
    await file('plugin', `#!/bin/sh\necho run >> ${folder}/runs\n${script}\n`)
    await chmod(join(folder, 'plugin'), 0o755)
    return loadKubeconfig({ path: await file('config', config(user())), clock })
  }
  const runs = async () => {
    const { readFile } = await import('node:fs/promises')
    return (await readFile(join(folder, 'runs'), 'utf8')).split('\n').length - 1
  }
  const answer = (status: object) => `echo '${JSON.stringify({ apiVersion: v1, kind: 'ExecCredential', status })}'`

  it('is run once with its arguments and what it may know, until its credential expires', async () => {
    const clock = new FakeClock(Date.parse('2026-01-01T00:00:00Z'))
    const status = {
      token: 't',
      expirationTimestamp: '2026-01-01T01:00:00Z',
      clientCertificateData: 'C',
      clientKeyData: 'K',
    }
    const check = `[ "$2" = "two; three" ] && [ "$FROM_CONFIG" = "yes!" ] || exit 9\necho "$KUBERNETES_EXEC_INFO" > ${folder}/info\n`
    const { credentials } = await plugin(`${check}${answer(status)}`, clock)
    const [first, second] = await Promise.all([credentials.current(), credentials.current()])
    expect(first.token?.reveal()).toBe('t')
    expect(first.certificate?.key.reveal()).toBe('K')
    expect(second).toBe(first)
    await clock.advance(3_000_000)
    await credentials.current()
    expect(await runs()).toBe(1)
    await clock.advance(595_000)
    await credentials.current()
    expect(await runs()).toBe(2)
    credentials.refresh()
    await credentials.current()
    expect(await runs()).toBe(3)
    const { readFile } = await import('node:fs/promises')
    const info: unknown = JSON.parse(await readFile(join(folder, 'info'), 'utf8'))
    expect(info).toEqual({
      apiVersion: v1,
      kind: 'ExecCredential',
      spec: { interactive: false, cluster: { server: 'https://10.0.0.1:6443' } },
    })
  })

  it('is not run again for a refusal that came late, of a credential that it has replaced already', async () => {
    const { credentials } = await plugin(answer({ token: 't' }), new FakeClock())
    const first = await credentials.current()
    for (const refused of [first, first]) {
      expect(credentials.refresh(refused)).toBe(true)
      await credentials.current()
    }
    expect(await runs()).toBe(2)
    // As it arrives when certificate files give the other half.
    credentials.refresh({ ...(await credentials.current()), certificate: { cert: 'C', key: new Secret('K') } })
    await credentials.current()
    expect(await runs()).toBe(3)
  })

  const failures: readonly [string, string, string][] = [
    ['fails', 'echo "please log in" >&2; exit 3', 'exit code 3; it said: please log in'],
    ['prints no JSON', 'echo canary', 'not an ExecCredential'],
    ['answers in another version', `echo '{"apiVersion":"v2","kind":"ExecCredential"}'`, 'it answered in "v2"'],
    ['gives nothing', answer({}), 'neither a token nor a client certificate'],
    ['gives half a pair', answer({ clientKeyData: 'canary' }), 'only one of'],
  ]
  for (const [name, script, message] of failures) {
    it(`that ${name} is told with its hint, and without its output`, async () => {
      const { credentials } = await plugin(script)
      const error = await refusal(credentials.current())
      expect(error.code).toBe('ExecPluginFailed')
      expect(error.message).toContain(message)
      expect(error.message).toContain('get it from there')
      expect(inspect(error)).not.toContain('canary')
    })
  }

  it('that is not installed is told with its hint', async () => {
    const { credentials } = await loadKubeconfig({ path: await file('config', config(user())) })
    expect((await refusal(credentials.current())).message).toContain('not found')
  })
})
