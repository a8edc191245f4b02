import {
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
} from '../api/index.ts'
import type { DaemonSetObject } from '../drain/index.ts'
import {
  isOlderVersion,
  type KubeClient,
  type KubeObject,
  type Lease,
  longSilenceMs,
  type NodeObject,
  type PodDisruptionBudget,
  type PodObject,
  type ResourceCache,
  resources,
  type SharedCaches,
} from '../kube/index.ts'
import type { Clock } from '../time/index.ts'
import { heartbeatNamespace } from './heartbeats.ts'

/** What the queue watches. All controllers of a process share these caches. */
export interface QueueViews {
  readonly nodes: ResourceCache<NodeObject>
  readonly pods: ResourceCache<PodObject>
  readonly disruptionBudgets: ResourceCache<PodDisruptionBudget>
  readonly requests: ResourceCache<MaintenanceRequest>
  readonly budgets: ResourceCache<MaintenanceBudget>
  readonly daemonSets: ResourceCache<DaemonSetObject>
  /** Signs of life of nodes at work. */
  readonly heartbeats: ResourceCache<Lease>
}

export const podsByNode = 'node'
const requestsByNode = 'nodeUID'

export function openViews(caches: SharedCaches): QueueViews {
  return {
    nodes: caches.of<NodeObject>({ resource: resources.nodes }),
    pods: caches.of<PodObject>({ resource: resources.pods, indexes: { [podsByNode]: nodeNameOf } }),
    disruptionBudgets: caches.of<PodDisruptionBudget>({ resource: resources.podDisruptionBudgets }),
    requests: caches.of<MaintenanceRequest>({
      resource: maintenanceRequests,
      indexes: { [requestsByNode]: nodeUidOf },
    }),
    budgets: caches.of<MaintenanceBudget>({ resource: maintenanceBudgets }),
    daemonSets: caches.of<DaemonSetObject>({ resource: resources.daemonSets, trim: onlyWhatIsAsked }),
    heartbeats: caches.of<Lease>({ resource: resources.leases, namespace: heartbeatNamespace }),
  }
}

/** Of a DaemonSet only its existence, its annotations, what its pods tolerate and how many are ready are asked for. */
const onlyWhatIsAsked = ({
  metadata: { name, namespace, uid, resourceVersion, annotations },
  spec,
  status,
}: DaemonSetObject): DaemonSetObject => ({
  metadata: {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(annotations === undefined ? {} : { annotations }),
  },
  spec: { template: { spec: { tolerations: spec?.template?.spec?.tolerations ?? [] } } },
  status: { numberReady: status?.numberReady ?? 0 },
})
const nodeNameOf = (pod: PodObject) => pod.spec?.nodeName
const nodeUidOf = (request: MaintenanceRequest) => request.spec.nodeUID

export function requestsOfNode(views: Pick<QueueViews, 'requests'>, nodeUID: string): MaintenanceRequest[] {
  return views.requests.byIndex(requestsByNode, nodeUID)
}

/** For the question whether a silent view is still true: whoever waits can wait for the next turn too. */
const askDeadlineMs = 10_000
const [mostLooks, betweenLooksMs] = [20, 100]

type NamedViews<Part extends keyof ResourceCache<KubeObject>> = Readonly<
  Record<string, Pick<ResourceCache<KubeObject>, Part>>
>

/** A sentence when one of these views is known to be too old to claim anything on. */
export function staleView(views: NamedViews<'stats'>): string | undefined {
  for (const [what, cache] of Object.entries(views)) {
    const { lastContactAgeMs = Number.POSITIVE_INFINITY, isConnected, isSynced } = cache.stats()
    if (!isSynced) return `the view of ${what} is not complete yet`
    // A watch that looks connected says nothing by its silence: whoever claims has to ask, see `behindView`.
    if (!isConnected && lastContactAgeMs > longSilenceMs)
      return `${tooOld(what, lastContactAgeMs)}: the API server does not answer`
  }
  return undefined
}

/**
 * To be asked right before a claim: whether one of these views is behind what is stored, as a sentence, and whether it took
 * a question to know. A quiet watch is heard of by a bookmark about once a minute, and a dead one looks the same for minutes;
 * so after a longer silence, and until what was missed meanwhile is known, names and versions of all its objects are asked
 * for. Where much happens no view is silent, and nothing is asked.
 */
export async function behindView(
  { client, clock }: { readonly client: Pick<KubeClient, 'list'>; readonly clock: Pick<Clock, 'sleep'> },
  views: NamedViews<'stats' | 'get' | 'size' | 'selection'>,
  signal: AbortSignal,
): Promise<{ readonly wasAsked: boolean; readonly stale?: string }> {
  const doubtful = Object.entries(views).filter(
    ([, cache]) => silenceOf(cache) > longSilenceMs || cache.stats().isCatchingUp,
  )
  const answers = await Promise.all(doubtful.map(([what, cache]) => whyBehind({ client, clock }, what, cache, signal)))
  const stale = answers.find((answer) => answer !== undefined)
  return { wasAsked: doubtful.length > 0, ...(stale === undefined ? {} : { stale }) }
}

async function whyBehind(
  { client, clock }: { readonly client: Pick<KubeClient, 'list'>; readonly clock: Pick<Clock, 'sleep'> },
  what: string,
  cache: NamedViews<'stats' | 'get' | 'size' | 'selection'>[string],
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    for (let look = 0; look < mostLooks; look++) {
      const { isSame, version } = await heldAgainstStored(client, cache, signal)
      if (isSame) return undefined
      if (silenceOf(cache) > longSilenceMs) return `${tooOld(what, silenceOf(cache))}: its watch stands still`
      // It is heard of again, and the rest of what it missed is on its way.
      const { position } = cache.stats()
      if (position !== undefined && !isOlderVersion(position, version)) return undefined
      await clock.sleep(betweenLooksMs, signal)
    }
  } catch (error) {
    signal.throwIfAborted()
    return `${tooOld(what, silenceOf(cache))}: ${error instanceof Error ? error.message : String(error)}`
  }
  return `the view of ${what} was silent for long and has not caught up yet`
}

function silenceOf(cache: Pick<ResourceCache<KubeObject>, 'stats'>): number {
  return cache.stats().lastContactAgeMs ?? Number.POSITIVE_INFINITY
}

function tooOld(what: string, ageMs: number): string {
  const age = Number.isFinite(ageMs) ? `${Math.round(ageMs / 1000)} s old` : 'of unknown age'
  return `the view of ${what} is ${age}`
}

async function heldAgainstStored(
  client: Pick<KubeClient, 'list'>,
  cache: Pick<ResourceCache<KubeObject>, 'get' | 'size' | 'selection'>,
  signal: AbortSignal,
): Promise<{ readonly isSame: boolean; readonly version: string }> {
  const { resource, ...where } = cache.selection
  const pages = client.list<KubeObject>(resource, { ...where, answer: 'metadata', deadlineMs: askDeadlineMs, signal })
  let [isSame, count, version] = [true, 0, '']
  for await (const { items, resourceVersion } of pages) {
    version ||= resourceVersion
    for (const { metadata } of items) {
      const { name = '', namespace, uid, resourceVersion: stored } = metadata
      const known = cache.get({ name, ...(namespace === undefined ? {} : { namespace }) })?.metadata
      if (known?.uid !== uid || known?.resourceVersion !== stored) isSame = false
      count++
    }
  }
  return { isSame: isSame && count === cache.size, version }
}
