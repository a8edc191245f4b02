import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { installManifests } from '../../src/cli/install-manifests.ts'
import type { RunResult } from '../../src/host/index.ts'
import { repository } from '../support/fettle-process.ts'
import { chart, documentsOf, helmProgram, renderArguments } from '../support/helm.ts'
import { normalised } from '../support/install-set.ts'

let helm: (...args: string[]) => Promise<RunResult>

beforeAll(async () => {
  helm = await helmProgram()
}, 1_200_000)

async function render(...more: string[]): Promise<string> {
  const rendered = await helm(...renderArguments(...more))
  expect(rendered.stderr).toBe('')
  return rendered.stdout
}

describe('the chart', () => {
  test('passes helm lint', async () => {
    const linted = await helm('lint', '--strict', '--kube-version', '1.36.3', chart)
    expect(linted).toMatchObject({ code: 0 })
  })

  test('renders as the golden file says', async () => {
    await expect(await render()).toMatchFileSnapshot(join(chart, 'tests/default.yaml'))
  })

  test('renders other values as the golden file says', async () => {
    const text = await render('--values', join(chart, 'tests/variant.values.yaml'))
    await expect(text).toMatchFileSnapshot(join(chart, 'tests/variant.yaml'))
  })

  test('makes the same objects as `fettle install`, with flags too', async () => {
    const text = await render(
      ...['--set', 'image.tag=next', '--set', 'controller.replicas=3'],
      ...['--set', 'apiServer.host=10.0.0.1', '--set', 'apiServer.port=6443'],
      ...['--set-string', 'controller.nodeSelector.fettle\\.dev/real=true'],
      ...['--set', 'profiles.enabled=true', '--set-file', 'profiles.config=examples/profiles/flatcar.yaml'],
      ...['--set', 'profiles.leaseNamespaces={kube-system}', '--set', 'profiles.originalLeaseNamespace=ops'],
      ...['--set', 'networkPolicy.controllerPorts={25,53,465,587,9090,8428}'],
    )
    const made = installManifests({
      namespace: 'fettle-system',
      version: manifest.version,
      managedBy: 'fettle',
      image: 'fettle.dev/fettle:next',
      replicas: 3,
      nodeSelector: { 'fettle.dev/real': 'true' },
      agentArgs: [],
      sharedLocks: [],
      profiles: {
        config: readFileSync(join(repository, 'examples/profiles/flatcar.yaml'), 'utf8'),
        leaseNamespaces: ['kube-system'],
        originalLeaseNamespace: 'ops',
      },
      controllerPorts: [8428, 9090],
      apiServer: { host: '10.0.0.1', port: 6443 },
    }).map(({ object }) => object)
    expect(normalised(documentsOf(text), 'fettle-system')).toEqual(normalised(made, 'fettle-system'))
  })

  test('keeps nothing of the agent when it is switched off', async () => {
    expect(await render('--set', 'agent.enabled=false')).not.toMatch(/fettle-agent|fettle-nodes/)
  })

  test('keeps nothing of profiles when there are none, and refuses them without a file', async () => {
    expect(await render()).not.toMatch(/fettle-profiles|--profiles|8082/)
    const refused = await helm(...renderArguments('--set', 'profiles.enabled=true'))
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('say --set-file profiles.config=maintenance.yaml')
  })

  test('brings no hook where the custom resources are kept or come from elsewhere', async () => {
    for (const value of ['crds.keep=true', 'crds.install=false', 'uninstallHook.enabled=false'])
      expect(await render('--set', value), value).not.toContain('helm.sh/hook')
  })

  test.each([
    ['a setting it does not know', 'controller.replica=3', "additional properties 'replica' not allowed"],
    ['a section it does not know', 'controler.replicas=3', "additional properties 'controler' not allowed"],
    ['more controllers than anybody needs', 'controller.replicas=8', 'maximum: got 8, want 7'],
    ['a pull policy that does not exist', 'image.pullPolicy=Sometimes', "'Always', 'IfNotPresent', 'Never'"],
    ['a tag inside the repository', 'image.repository=fettle.dev/fettle@sha256:1', 'does not match pattern'],
    ['a lease that no leader could keep', 'controller.leaseSeconds=1', 'minimum: got 1, want 3'],
    ['an amount that is none', 'agent.resources.limits.memory=much', 'does not match pattern'],
    ['a log level that is none', 'agent.logLevel=loud', "'debug', 'info', 'warn', 'error'"],
  ])('refuses %s', async (_what, value, reason) => {
    const refused = await helm(...renderArguments('--set', value))
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain(reason)
  })

  test('refuses a cluster that is too old', async () => {
    const refused = await helm('template', 'fettle', chart, '--kube-version', '1.31.9')
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('requires kubeVersion: >=1.32.0-0')
  })
})
