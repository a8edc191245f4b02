import type { Command } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import {
  isConflict,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type ObjectRef,
  type Resource,
  resources,
  waitUntilGone,
} from '../kube/index.ts'
import { systemClock } from '../time/index.ts'
import { addClusterOptions, type ClusterFlags, withCluster } from './cluster-options.ts'
import { type CliContext, CliFault, devReport } from './context.ts'
import { assertNotOthers, liveObject } from './install-apply.ts'
import { installManifests, nameOf } from './install-manifests.ts'
import {
  installer,
  lockRolePrefix,
  type Manifest,
  managedByLabel,
  nodesNamespace,
  profilesName,
} from './install-names.ts'
import { wholeNumber } from './options.ts'
import { assertNothingHeld, emptyQueue } from './uninstall-queue.ts'

interface UninstallFlags extends ClusterFlags {
  readonly namespace: string
  readonly force: boolean
  readonly keepCrds: boolean
  readonly onlyQueue: boolean
  readonly timeout: number
}

export function addUninstallCommand(program: Command, context: CliContext): void {
  addClusterOptions(program.command('uninstall'))
    .description('remove Fettle from a cluster, with all requests and the budget')
    .option('--namespace <name>', 'where its pods run', 'fettle-system')
    .option('--force', 'give nodes back that are out of service, instead of refusing', false)
    .option('--keep-crds', 'leave the custom resources and all requests, for a later installation', false)
    .option(
      '--only-queue',
      "only stop the controller and remove requests and budget; the chart's hook does this",
      false,
    )
    .option('--timeout <seconds>', 'how long to wait for each part', wholeNumber(1, 3600), 180)
    .action(async (flags: UninstallFlags) => {
      if (flags.keepCrds && flags.onlyQueue) throw new CliFault('--keep-crds and --only-queue exclude each other')
      await withCluster(flags, (client) => uninstall(client, flags, context))
    })
}

async function uninstall(client: KubeClient, flags: UninstallFlags, context: CliContext): Promise<void> {
  const report = devReport(context)
  const { namespace, force } = flags
  const timeoutMs = flags.timeout * 1000
  if (!flags.onlyQueue) await assertNotOthers(client, namespace)
  const howToForce = flags.onlyQueue ? helmForce(namespace) : 'uninstall with --force'
  if (flags.keepCrds) await assertNothingHeld(client, { force, howToForce })
  else await emptyQueue(client, { namespace, force, howToForce, timeoutMs, signal: context.signal, ...report })
  if (flags.onlyQueue) return
  const doomed = await removable(client, namespace, flags.keepCrds)
  for (const { manifest, uid } of doomed) await deleteObject(client, manifest, uid)
  for (const { manifest, uid } of doomed) {
    report.working(`waiting for the end of ${nameOf(manifest)}`)
    await untilGone(client, manifest, uid, { timeoutMs, context, working: report.working })
  }
  const isNamespaceGone = await removeNamespaceIfOurs(client, namespace, {
    timeoutMs,
    context,
    working: report.working,
  })
  if (doomed.length === 0 && !isNamespaceGone)
    context.err(`Fettle is not installed in namespace ${namespace}; nothing to do\n`)
  else context.out(`Fettle is gone${flags.keepCrds ? '; its custom resources stay' : ''}\n`)
}

/** An uninstallation by Helm takes no settings; those of the release count. */
function helmForce(namespace: string): string {
  return `helm upgrade the release in ${namespace} with --reuse-values --set uninstallHook.force=true and uninstall again`
}

interface Removal {
  readonly timeoutMs: number
  readonly context: CliContext
  readonly working: (text: string) => void
}

/** Which DaemonSets locks are about, and where profiles keep Leases, is known only from themselves. */
async function rightsElsewhere(client: KubeClient, own: string): Promise<Manifest[]> {
  const found: Manifest[] = []
  for (const resource of [resources.roleBindings, resources.roles])
    for await (const page of client.list<KubeObject>(resource, { labelSelector: `${managedByLabel}=${installer}` }))
      for (const object of page.items)
        if (isElsewhere(object, own)) found.push({ resource, object: { kind: resource.kind, ...object } })
  return found
}

function isElsewhere({ metadata: { name, namespace } }: KubeObject, own: string): boolean {
  return name?.startsWith(lockRolePrefix) || (name === profilesName && namespace !== own)
}

/** What an installation consists of and is there, last made first. */
async function removable(client: KubeClient, namespace: string, keepCrds: boolean) {
  const settings = {
    namespace,
    version: manifest.version,
    managedBy: installer,
    image: '',
    replicas: 1,
    nodeSelector: {},
    agentArgs: [],
    sharedLocks: [],
    profiles: { config: '', leaseNamespaces: [] },
  }
  const found: { manifest: Manifest; uid: string }[] = []
  for (const candidate of [...(await rightsElsewhere(client, namespace)), ...installManifests(settings).reverse()]) {
    const { kind } = candidate.resource
    if (kind === 'Namespace' && candidate.object.metadata.name !== nodesNamespace) continue
    if (keepCrds && kind === 'CustomResourceDefinition') continue
    const live = await liveObject(client, candidate)
    // Somebody else's object of the same name stays.
    if (live?.metadata.labels?.[managedByLabel] === installer)
      found.push({ manifest: candidate, uid: live.metadata.uid ?? '' })
  }
  return found
}

async function deleteObject(client: KubeClient, manifest: Manifest, uid: string): Promise<void> {
  // Whatever has pods goes after them. For the others nobody has to wait until the garbage collector looks at them.
  const propagationPolicy = hasPods(manifest) ? 'Foreground' : 'Background'
  try {
    await client.delete(manifest.resource, refOf(manifest), { uid, propagationPolicy })
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

function hasPods({ resource: { kind } }: Manifest): boolean {
  return kind === 'Deployment' || kind === 'DaemonSet'
}

async function untilGone(client: KubeClient, manifest: Manifest, uid: string, removal: Removal): Promise<void> {
  const { timeoutMs, context, working } = removal
  const stepMs = manifest.resource.kind === 'CustomResourceDefinition' ? Math.min(reminderMs, timeoutMs) : timeoutMs
  for (let waitedMs = 0; ; ) {
    const result = await waitUntilGone(client, manifest.resource, refOf(manifest), {
      clock: systemClock,
      random: Math.random,
      signal: context.signal,
      deadlineMs: stepMs,
      uid,
      onProgress: working,
    })
    if (result.outcome === 'gone') return
    waitedMs += stepMs
    if (waitedMs >= timeoutMs) throw new CliFault(`${result.reason}; see to it, and run the same command again`)
    await remindServer(client, manifest, uid)
  }
}

const reminderMs = 3000

/**
 * The API server looks for instances before it lets their kind go. When its first look fails, as it does while the
 * storage of a kind starts that nobody has read before, its second one can collide with its own note about the first,
 * and then it rests for five minutes. Any change to the definition makes it look again.
 */
async function remindServer(client: KubeClient, manifest: Manifest, uid: string): Promise<void> {
  const body = {
    metadata: { uid, annotations: { 'fettle.dev/uninstalled-at': new Date(systemClock.now()).toISOString() } },
  }
  try {
    await client.patch(manifest.resource, refOf(manifest), { type: 'merge', body })
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error
  }
}

function refOf({ object }: Manifest): ObjectRef {
  const { name = '', namespace } = object.metadata
  return { name, ...(namespace ? { namespace } : {}) }
}

/** Only a namespace that `fettle install` made, and that holds nothing of anybody else. */
async function removeNamespaceIfOurs(client: KubeClient, name: string, removal: Removal): Promise<boolean> {
  const manifest: Manifest = { resource: resources.namespaces, object: { kind: 'Namespace', metadata: { name } } }
  const live = await liveObject(client, manifest)
  if (live?.metadata.labels?.[managedByLabel] !== installer) return false
  const strangers = await strangersIn(client, name)
  if (strangers.length > 0) {
    removal.context.err(`namespace ${name} stays, because it holds ${strangers.slice(0, 3).join(', ')}\n`)
    return false
  }
  const uid = live.metadata.uid ?? ''
  await deleteObject(client, manifest, uid)
  await untilGone(client, manifest, uid, removal)
  return true
}

async function strangersIn(client: KubeClient, namespace: string): Promise<string[]> {
  const kinds: readonly Resource[] = [
    resources.deployments,
    resources.statefulSets,
    resources.daemonSets,
    resources.jobs,
    resources.services,
    resources.secrets,
    resources.configMaps,
    resources.persistentVolumeClaims,
  ]
  const found: string[] = []
  for (const kind of kinds)
    for await (const page of client.list<KubeObject>(kind, { namespace }))
      for (const { metadata } of page.items)
        if (metadata.name !== 'kube-root-ca.crt') found.push(`${kind.kind} ${metadata.name}`)
  return found
}
