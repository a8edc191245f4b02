import { readFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import type { KubeClient } from '../kube/index.ts'
import { addClusterOptions, type ClusterFlags, withCluster } from './cluster-options.ts'
import { type CliContext, CliFault, devReport } from './context.ts'
import { applyManifest, assertNotOthers, type Change, ownManifests, waitForManifest } from './install-apply.ts'
import { type InstallSettings, installManifests, nameOf } from './install-manifests.ts'
import { installer, type Manifest } from './install-names.ts'
import type { ProfilesSettings } from './install-profiles.ts'
import type { SharedLock } from './install-rbac.ts'
import { wholeNumber } from './options.ts'
import { checkedText, checkProfiles } from './profiles-check.ts'
import { addUninstallCommand } from './uninstall.ts'

interface InstallFlags extends ClusterFlags {
  readonly namespace: string
  readonly image: string
  readonly replicas: number
  readonly nodeSelector: Readonly<Record<string, string>>
  readonly agentArg: readonly string[]
  readonly shareLock: readonly SharedLock[]
  readonly profiles?: string
  readonly profilesLeaseNamespace: readonly string[]
  readonly originalLeaseNamespace?: string
  readonly controllerEgressPort: readonly number[]
  readonly apiServer?: { readonly host: string; readonly port: number }
  readonly dryRun: boolean
  readonly output: 'text' | 'yaml'
  readonly wait: boolean
  readonly timeout: number
}

/** `fettle install` and `fettle uninstall`: what the chart does, without Helm. */
export function addInstallCommands(program: Command, context: CliContext): void {
  addClusterOptions(program.command('install'))
    .description('install Fettle in a cluster, or bring an installation up to date')
    .option('--namespace <name>', 'where its pods run', 'fettle-system')
    .option('--image <reference>', 'container image of all programs', `fettle.dev/fettle:${manifest.version}`)
    .option(
      '--replicas <count>',
      'controllers; one leads; 0 if they run in a Deployment of your own',
      wholeNumber(0, 7),
      2,
    )
    .option('--node-selector <label=value>', 'nodes that controllers may run on; can be repeated', addLabel, {})
    .option(
      '--agent-arg <argument>',
      'an argument of `fettle agent`, such as --reboot-method=signal; can be repeated',
      addArgument,
      [],
    )
    .option(
      '--share-lock <namespace/daemonset>',
      'a DaemonSet of kured or Kustodian whose lock the controller may hold and take over; can be repeated',
      addLock,
      [],
    )
    .option('--profiles <file>', 'maintenance profiles: a maintenance.yaml, which is checked first')
    .option(
      '--profiles-lease-namespace <name>',
      'where stagger and slackThread of the profiles keep Leases, if not beside the controller; can be repeated',
      addNamespace,
      [],
    )
    .option(
      '--original-lease-namespace <name>',
      'where maintenance-controller has its lease, which is held while profiles act (default: that of --namespace)',
      namespaceName,
    )
    .option(
      '--controller-egress-port <port>',
      'a TCP port that the controller may reach, besides 25, 53, 443, 465, 587, 6443 and 9090; can be repeated',
      addPort,
      [],
    )
    .option(
      '--api-server <host:port>',
      "where pods reach the API server, if not at the cluster's own address",
      hostPort,
    )
    .option('--dry-run', 'ask the cluster what would change, and change nothing', false)
    .addOption(
      new Option('-o, --output <format>', 'yaml prints the objects and asks no cluster')
        .choices(['text', 'yaml'])
        .default('text'),
    )
    .option('--no-wait', 'do not wait until the pods are ready')
    .option('--timeout <seconds>', 'how long to wait for each part', wholeNumber(1, 3600), 180)
    .action(async (flags: InstallFlags) => {
      const settings = settingsOf(flags, await profilesOf(flags, context))
      if (flags.output === 'yaml') context.out(await yamlOf(installManifests(settings)))
      else await withCluster(flags, (client) => install(client, settings, flags, context))
    })
  addUninstallCommand(program, context)
}

/** A file that the controller could not put in force is not installed. What `${NAME}` stands for only the cluster knows. */
async function profilesOf(
  { profiles: file, profilesLeaseNamespace: leaseNamespaces, originalLeaseNamespace }: InstallFlags,
  context: CliContext,
): Promise<ProfilesSettings | undefined> {
  if (file === undefined) {
    const hasOriginal = originalLeaseNamespace !== undefined
    if (!hasOriginal && leaseNamespaces.length === 0) return undefined
    const idle = hasOriginal ? '--original-lease-namespace' : '--profiles-lease-namespace'
    throw new CliFault(`${idle} does nothing without --profiles: name the maintenance.yaml too, or leave it out`)
  }
  const config = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CliFault(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  })
  const checked = checkProfiles(file, config, undefined, false)
  const said = checkedText(checked)
  if (!checked.ok) throw new CliFault(`${said}Nothing was installed: correct the file, and run the same command again`)
  if (checked.problems.length > 0) context.err(said)
  return { config, leaseNamespaces, ...(originalLeaseNamespace === undefined ? {} : { originalLeaseNamespace }) }
}

function settingsOf(
  { namespace, image, replicas, nodeSelector, agentArg, shareLock, controllerEgressPort, apiServer }: InstallFlags,
  profiles: ProfilesSettings | undefined,
): InstallSettings {
  const placement = { namespace, version: manifest.version, managedBy: installer }
  return {
    ...placement,
    image,
    replicas,
    nodeSelector,
    agentArgs: agentArg,
    sharedLocks: shareLock,
    controllerPorts: controllerEgressPort,
    ...(profiles ? { profiles } : {}),
    ...(apiServer ? { apiServer } : {}),
  }
}

async function install(
  client: KubeClient,
  settings: InstallSettings,
  flags: InstallFlags,
  context: CliContext,
): Promise<void> {
  const report = devReport(context)
  await assertNotOthers(client, settings.namespace)
  const manifests = await ownManifests(client, installManifests(settings))
  const counts: Record<Change, number> = { created: 0, changed: 0, unchanged: 0 }
  const wait = { timeoutMs: flags.timeout * 1000, signal: context.signal, working: report.working }
  for (const [position, manifest] of manifests.entries()) {
    context.signal.throwIfAborted()
    report.working(`${position + 1} of ${manifests.length} objects: ${nameOf(manifest)}`)
    const change = await applyManifest(client, manifest, flags.dryRun)
    counts[change]++
    if (flags.dryRun) context.out(`${planned[change].padEnd(9)} ${nameOf(manifest)}\n`)
    else if (manifest.resource.kind === 'CustomResourceDefinition') await waitForManifest(client, manifest, wait)
  }
  const { created, changed, unchanged } = counts
  if (flags.dryRun) {
    context.out(`${created} to create, ${changed} to change, ${unchanged} as they should be; nothing was changed\n`)
    return
  }
  report.finished(`${manifests.length} objects: ${created} created, ${changed} changed, ${unchanged} as they were`)
  if (!flags.wait) return
  for (const manifest of manifests.filter(({ resource }) => ['Deployment', 'DaemonSet'].includes(resource.kind))) {
    await waitForManifest(client, manifest, wait)
    report.finished(`${nameOf(manifest)} is ready`)
  }
  context.out(
    `Fettle ${settings.version} is in namespace ${settings.namespace}; \`fettle status\` shows what it does\n`,
  )
}

const planned: Readonly<Record<Change, string>> = { created: 'create', changed: 'change', unchanged: 'unchanged' }

async function yamlOf(manifests: readonly Manifest[]): Promise<string> {
  const { stringify } = await import('yaml')
  // Kubernetes reads version 1.1, where a bare Off is a boolean.
  const options = { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false } as const
  return manifests.map(({ object }) => stringify(object, options)).join('---\n')
}

function addArgument(text: string, before: readonly string[]): readonly string[] {
  if (!text.startsWith('--')) throw new InvalidArgumentError('Write --agent-arg=--name=value.')
  return [...before, text]
}

function addLock(text: string, before: readonly SharedLock[]): readonly SharedLock[] {
  const [, namespace, name] = /^([a-z0-9-]+)\/([a-z0-9.-]+)$/.exec(text) ?? []
  if (namespace === undefined || name === undefined) throw new InvalidArgumentError('Write namespace/daemonset.')
  return [...before, { namespace, name }]
}

function namespaceName(text: string): string {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text))
    throw new InvalidArgumentError('Write the name of a namespace.')
  return text
}

function addNamespace(text: string, before: readonly string[]): readonly string[] {
  return [...before, namespaceName(text)]
}

const readPort = wholeNumber(1, 65_535)

function addPort(text: string, before: readonly number[]): readonly number[] {
  return [...before, readPort(text)]
}

function addLabel(text: string, before: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [, key, value] = /^([\w./-]+)=([\w.-]*)$/.exec(text) ?? []
  if (key === undefined || value === undefined) throw new InvalidArgumentError('Write label=value.')
  return { ...before, [key]: value }
}

function hostPort(text: string): { readonly host: string; readonly port: number } {
  const [, host, port] = /^\[?([^\s\]]+?)\]?:(\d{1,5})$/.exec(text) ?? []
  if (host === undefined || Number(port) > 65_535) throw new InvalidArgumentError('Write host:port.')
  return { host, port: Number(port) }
}
