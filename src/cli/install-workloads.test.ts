import { expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { bareProgram } from './bare-program.ts'
import type { CliContext } from './context.ts'
import { addInstallCommands } from './install.ts'
import { type InstallSettings, installManifests, nameOf } from './install-manifests.ts'

const settings: InstallSettings = {
  namespace: 'fettle-system',
  version: '1.0.0',
  managedBy: 'fettle',
  image: 'image',
  replicas: 2,
  nodeSelector: {},
  agentArgs: [],
  sharedLocks: [],
}

interface Egress {
  readonly to?: readonly object[]
  readonly ports: readonly { readonly port: number; readonly protocol: string }[]
}

function egressOf(objects: readonly object[]): readonly Egress[] {
  const found = objects.find((one) => JSON.stringify(one).includes('"kind":"NetworkPolicy"'))
  return (found as { readonly spec: { readonly egress: readonly Egress[] } }).spec.egress
}

const made = (more: Partial<InstallSettings>) =>
  egressOf(
    installManifests({ ...settings, ...more })
      .filter((one) => nameOf(one).endsWith('/fettle-controller'))
      .map(({ object }) => object),
  )

const portsOf = (egress: readonly Egress[]) =>
  egress.filter(({ to }) => to === undefined).flatMap(({ ports }) => ports.map(({ port }) => port))

test('the controller reaches the API server, names, Prometheus and mail relays, those on port 25 too', () => {
  expect(portsOf(made({}))).toEqual([443, 6443, 53, 25, 53, 465, 587, 9090])
})

test('further ports are opened, each once', () => {
  expect(portsOf(made({ controllerPorts: [8428, 9090, 8428] }))).toEqual([443, 6443, 53, 25, 53, 465, 587, 9090, 8428])
})

test('with profiles a replica that does not lead reaches the one that does, and no other pod', () => {
  const others = (more: Partial<InstallSettings>) => made(more).filter(({ to }) => to !== undefined)
  expect(others({})).toEqual([])
  const [deployment] = installManifests(settings)
    .filter((one) => nameOf(one).startsWith('Deployment'))
    .map(({ object }) => object as unknown as { spec: { template: { metadata: { labels: object } } } })
  expect(others({ profiles: { config: 'text', leaseNamespaces: [] } })).toEqual([
    {
      to: [{ podSelector: { matchLabels: deployment?.spec.template.metadata.labels } }],
      ports: [{ port: 8080, protocol: 'TCP' }],
    },
  ])
})

async function installed(...flags: readonly string[]): Promise<object[]> {
  let text = ''
  const context = {
    out: (more: string) => {
      text += more
    },
    err: () => undefined,
  } as Partial<CliContext> as CliContext
  const program = bareProgram(context)
  addInstallCommands(program, context)
  await program.parseAsync(['install', '-o', 'yaml', ...flags], { from: 'user' })
  return parseAllDocuments(text).map((document) => document.toJS() as object)
}

test('--controller-egress-port opens a port, and can be repeated', async () => {
  const flags = ['--controller-egress-port', '8428', '--controller-egress-port=10902']
  expect(portsOf(egressOf(await installed(...flags)))).toEqual([443, 6443, 53, 25, 53, 465, 587, 9090, 8428, 10902])
  await expect(installed('--controller-egress-port', '70000')).rejects.toThrow('Write a whole number from 1 to 65535.')
})
