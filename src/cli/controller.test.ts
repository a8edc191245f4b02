import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { CliContext } from './context.ts'
import { type ControllerSettings, createControllerProgram, defaultNamespace, narrowedHost } from './controller.ts'

const context: CliContext = {
  out: () => undefined,
  err: () => undefined,
  progress: { write: () => undefined },
  nowMs: () => 0,
  signal: new AbortController().signal,
  exitCode: () => undefined,
}

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'fettle-controller-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
  return path
}

/** What the controller is started with, in a folder and a pod of its own. */
async function settingsOf(
  args: readonly string[],
  { hasFile = false, env = {} }: { hasFile?: boolean; env?: Readonly<Record<string, string>> } = {},
): Promise<ControllerSettings | undefined> {
  const path = folder()
  if (hasFile) {
    mkdirSync(join(path, 'config'))
    writeFileSync(join(path, 'config/maintenance.yaml'), '')
  }
  const before = process.cwd()
  process.chdir(path)
  for (const name of ['POD_NAME', 'POD_NAMESPACE', 'KUBERNETES_SERVICE_HOST']) vi.stubEnv(name, env[name])
  onTestFinished(() => {
    process.chdir(before)
    vi.unstubAllEnvs()
  })
  let seen: ControllerSettings | undefined
  const program = createControllerProgram(context, async (settings) => {
    seen = settings
  })
  await program.parseAsync(['controller', ...args], { from: 'user' })
  return seen
}

test.for([
  ['what our manifests say', { POD_NAMESPACE: 'said' }, 'mounted\n', 'said'],
  ['what its account says', {}, 'mounted\n', 'mounted'],
  ['what its account says, if the other is empty', { POD_NAMESPACE: '' }, 'mounted', 'mounted'],
  ['the usual one, if the account does not say', {}, ' \n', 'fettle-system'],
  ['the usual one, outside of pods', {}, undefined, 'fettle-system'],
] as const)('the namespace is %s', async ([, env, mounted, expected]) => {
  const path = folder()
  if (mounted !== undefined) writeFileSync(join(path, 'namespace'), mounted)
  expect(await defaultNamespace(env, path)).toBe(expected)
})

test.for([
  [[], 'pod-ns', 'pod-ns'],
  [['--namespace', 'ours'], 'ours', 'ours'],
  [['--namespace', 'ours', '--original-lease-namespace', 'theirs'], 'ours', 'theirs'],
  [['-original-lease-namespace=theirs'], 'pod-ns', 'theirs'],
] as const)('with %j its own lease is in %s, and that of the original in %s', async ([args, own, original]) => {
  const settings = await settingsOf(args, { env: { POD_NAMESPACE: 'pod-ns' } })
  expect([settings?.namespace, settings?.originalLeaseNamespace]).toEqual([own, original])
})

const inPod = { KUBERNETES_SERVICE_HOST: '10.0.0.1' }

test.for([
  ['a file that it found', [], true, { host: '0.0.0.0', port: 8081, isOptional: true }],
  ['a file that it found, and an address', ['-health-addr=:9999'], true, { host: '0.0.0.0', port: 9999 }],
  ['a file that it found, and the word that nobody asks', ['-health-addr=0'], true, undefined],
  ['a file that it was given', ['--profiles', 'config/maintenance.yaml'], true, undefined],
  ['no file', [], false, undefined],
] as const)('with %s health is answered where it is looked for', async ([, args, hasFile, expected]) => {
  expect((await settingsOf(args, { hasFile, env: inPod }))?.healthAddress).toEqual(expected)
})

test.for([
  ['our own pod', { POD_NAME: 'fettle-1', KUBERNETES_SERVICE_HOST: '10.0.0.1' }, '0.0.0.0', 'fettle-1'],
  ['a pod that was made for the original', inPod, '0.0.0.0', hostname()],
  ['a terminal', {}, '127.0.0.1', `${hostname()}-${process.pid}`],
] as const)('in %s it is reached, and found by its name', async ([, env, host, identity]) => {
  expect(await settingsOf([], { env })).toMatchObject({ httpHost: host, identity })
})

test('figures that are to be answered nowhere else are no fault', async () => {
  expect(await settingsOf(['--metrics-addr=0'], { env: inPod })).not.toHaveProperty('metricsAddress')
})

test.for([
  [[], '0.0.0.0'],
  [['--metrics-addr=127.0.0.1:8080'], '127.0.0.1'],
  [['--health-addr=[::1]:8080'], '::1'],
  [['--metrics-addr=127.0.0.1:9090', '--http-port=9090'], '127.0.0.1'],
  [['--metrics-addr=127.0.0.1:8082'], '0.0.0.0'],
  [['--metrics-addr=:8080'], '0.0.0.0'],
  [['--metrics-addr=0'], '0.0.0.0'],
  [['--metrics-addr=127.0.0.1:8080', '--http-host=0.0.0.0'], '0.0.0.0'],
  [['--metrics-addr=127.0.0.1:8080', '--http-host=10.0.0.5'], '10.0.0.5'],
] as const)('in a pod, %j is answered at %s', async ([args, host]) => {
  expect(await settingsOf(args, { env: inPod })).toMatchObject({ httpHost: host })
})

test('who is answered on this machine alone stays there, whoever else asks', () => {
  expect(narrowedHost({ host: '127.0.0.1', port: 8080 }, [{ host: '10.0.0.5', port: 8080 }])).toBe('127.0.0.1')
})
