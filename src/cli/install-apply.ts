import { isNotFound, type KubeClient, type KubeObject, resources, waitFor } from '../kube/index.ts'
import { systemClock } from '../time/index.ts'
import { CliFault } from './context.ts'
import { nameOf } from './install-manifests.ts'
import { agentName, controllerName, installer, type Manifest, managedByLabel, selectorLabels } from './install-names.ts'

/** What applying an object did, or would do. */
export type Change = 'created' | 'changed' | 'unchanged'

export interface WaitSettings {
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly working: (text: string) => void
}

interface Binding extends KubeObject {
  readonly subjects?: readonly { readonly namespace?: string }[]
}

/** A cluster has one Fettle, and one who takes care of it. */
export async function assertNotOthers(client: KubeClient, namespace: string): Promise<void> {
  const binding = await client
    .get<Binding>(resources.clusterRoleBindings, { name: controllerName })
    .catch((error: unknown) => {
      if (isNotFound(error)) return undefined
      throw error
    })
  if (!binding) return
  const other = binding.subjects?.[0]?.namespace ?? namespace
  if (binding.metadata.labels?.[managedByLabel] === 'Helm') {
    const release = binding.metadata.annotations?.['meta.helm.sh/release-name'] ?? 'fettle'
    throw new CliFault(
      `Fettle was installed here by Helm, as release ${release} in namespace ${other}: use helm upgrade or helm uninstall`,
    )
  }
  if (other !== namespace)
    throw new CliFault(`Fettle is installed in namespace ${other}, and a cluster has one: say --namespace ${other}`)
}

/** Namespaces that were there before are not ours to mark, or later to remove. */
export async function ownManifests(client: KubeClient, manifests: readonly Manifest[]): Promise<Manifest[]> {
  const own: Manifest[] = []
  for (const manifest of manifests) {
    const live = manifest.resource.kind === 'Namespace' ? await liveObject(client, manifest) : undefined
    if (live === undefined || live.metadata.labels?.[managedByLabel] === installer) own.push(manifest)
  }
  return own
}

/** Server-side apply of one object. A dry run asks the server, too, and so also finds what it would refuse. */
export async function applyManifest(client: KubeClient, manifest: Manifest, dryRun: boolean): Promise<Change> {
  const before = await liveObject(client, manifest)
  // A dry run in a namespace that does not exist yet would be refused for that alone.
  if (before === undefined && dryRun) return 'created'
  const options = { fieldManager: installer, force: true, dryRun }
  const after = await client.apply<KubeObject>(manifest.resource, manifest.object, options)
  if (before === undefined) return 'created'
  return content(before) === content(after) ? 'unchanged' : 'changed'
}

/** Without what every write touches, and what others say about it. */
function content(object: KubeObject): string {
  const metadata = { ...object.metadata, managedFields: undefined, resourceVersion: undefined, generation: undefined }
  return JSON.stringify({ ...object, metadata, status: undefined })
}

export async function liveObject(client: KubeClient, manifest: Manifest): Promise<KubeObject | undefined> {
  const { name = '', namespace } = manifest.object.metadata
  try {
    return await client.get<KubeObject>(manifest.resource, { name, ...(namespace ? { namespace } : {}) })
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

interface Workload extends KubeObject {
  readonly spec?: { readonly replicas?: number }
  readonly status?: {
    readonly observedGeneration?: number
    readonly updatedReplicas?: number
    readonly availableReplicas?: number
    readonly replicas?: number
    readonly desiredNumberScheduled?: number
    readonly updatedNumberScheduled?: number
    readonly numberAvailable?: number
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

/** True, or a sentence about what is missing. */
export function isRolledOut(workload: Workload | undefined): true | string {
  if (workload === undefined) return 'it does not exist'
  const { metadata, spec, status = {} } = workload
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 1)) return 'its controller has not looked at it yet'
  const wanted = status.desiredNumberScheduled ?? spec?.replicas ?? 1
  const updated = status.updatedNumberScheduled ?? status.updatedReplicas ?? 0
  const ready = Math.min(updated, status.numberAvailable ?? status.availableReplicas ?? 0)
  if (ready < wanted) return `${ready} of ${wanted} pods are ready`
  const old = (status.replicas ?? wanted) - wanted
  return old > 0 ? `${old} pods of the version before are still there` : true
}

export function isEstablished(crd: Workload | undefined): true | string {
  const isServed = crd?.status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True')
  return isServed === true || 'the API server does not serve it yet'
}

/** Waits for one object; the fault says what was missing, and what its pods say about it. */
export async function waitForManifest(client: KubeClient, manifest: Manifest, settings: WaitSettings): Promise<void> {
  const { name = '', namespace } = manifest.object.metadata
  const isReady = manifest.resource.kind === 'CustomResourceDefinition' ? isEstablished : isRolledOut
  const result = await waitFor<Workload>(
    client,
    manifest.resource,
    { name, ...(namespace ? { namespace } : {}) },
    isReady,
    {
      clock: systemClock,
      random: Math.random,
      signal: settings.signal,
      deadlineMs: settings.timeoutMs,
      onProgress: (missing) => settings.working(`${nameOf(manifest)}: ${missing}`),
    },
  )
  if (result.outcome === 'met') return
  const reasons = namespace === undefined ? [] : await podTroubles(client, namespace, componentOf(name))
  throw new CliFault(
    [
      `${nameOf(manifest)} is not ready after ${settings.timeoutMs / 1000} s: ${result.missing}`,
      ...reasons,
      `What is installed stays; the same command continues, \`fettle uninstall\` removes it.`,
    ].join('\n  '),
  )
}

function componentOf(name: string): string {
  return name === controllerName ? 'controller' : name === agentName ? 'agent' : name
}

interface PodStates extends KubeObject {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[]
    readonly containerStatuses?: readonly {
      readonly state?: { readonly waiting?: { readonly reason?: string; readonly message?: string } }
      readonly lastState?: { readonly terminated?: { readonly exitCode?: number; readonly message?: string } }
    }[]
  }
}

async function podTroubles(client: KubeClient, namespace: string, component: string): Promise<string[]> {
  const labelSelector = Object.entries(selectorLabels(component))
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
  const told: string[] = []
  for await (const page of client.list<PodStates>(resources.pods, { namespace, labelSelector }))
    for (const { metadata, status } of page.items) {
      const unscheduled = status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False')
      const waiting = status?.containerStatuses?.[0]?.state?.waiting
      const ended = status?.containerStatuses?.[0]?.lastState?.terminated
      const parts = [
        unscheduled?.message,
        waiting?.reason,
        waiting?.message,
        ended ? `last exit code ${ended.exitCode}` : '',
      ]
      const said = parts.filter(Boolean).join(': ')
      if (said) told.push(`${metadata.name}: ${said}`)
    }
  return told.slice(0, 5)
}
