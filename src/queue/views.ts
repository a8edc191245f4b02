import {
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
} from '../api/index.ts'
import type { DaemonSetObject } from '../drain/index.ts'
import {
  type KubeClient,
  type KubeObject,
  type Lease,
  type NodeObject,
  type PodDisruptionBudget,
  type PodObject,
  type ResourceCache,
  resources,
  type SharedCaches,
} from '../kube/index.ts'
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

const oldestViewMs = 60_000
/** For the question whether a silent view is still true: whoever waits can wait for the next turn too. */
const askDeadlineMs = 10_000

type NamedViews<Part extends keyof ResourceCache<KubeObject>> = Readonly<
  Record<string, Pick<ResourceCache<KubeObject>, Part>>
>

/** A sentence when one of these views is known to be too old to claim anything on. */
export function staleView(views: NamedViews<'stats'>): string | undefined {
  for (const [what, cache] of Object.entries(views)) {
    const { lastContactAgeMs = Number.POSITIVE_INFINITY, isConnected, isSynced } = cache.stats()
    if (!isSynced) return `the view of ${what} is not complete yet`
    // A watch that looks connected says nothing by its silence: whoever claims has to ask, see `behindView`.
    if (!isConnected && lastContactAgeMs > oldestViewMs)
      return `${tooOld(what, lastContactAgeMs)}: the API server does not answer`
  }
  return undefined
}

/**
 * To be asked right before a claim: a sentence when one of these views has been silent for too long and does not show
 * what is stored. A quiet watch is heard of by a bookmark about once a minute, and a dead one looks the same for minutes; so
 * names and versions of all its objects are asked for. Where much happens no view is silent, and nothing is asked.
 */
export async function behindView(
  client: Pick<KubeClient, 'list'>,
  views: NamedViews<'stats' | 'get' | 'size' | 'selection'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const silent = Object.entries(views).filter(([, cache]) => silenceOf(cache) > oldestViewMs)
  const answers = await Promise.all(
    silent.map(async ([what, cache]) => {
      try {
        if (await showsWhatIsStored(client, cache, signal)) return undefined
      } catch (error) {
        signal.throwIfAborted()
        const why = error instanceof Error ? error.message : String(error)
        return `${tooOld(what, silenceOf(cache))}: ${why}`
      }
      // What it heard of meanwhile may be the very difference; it is alive.
      return silenceOf(cache) > oldestViewMs ? `${tooOld(what, silenceOf(cache))}: its watch stands still` : undefined
    }),
  )
  return answers.find((answer) => answer !== undefined)
}

function silenceOf(cache: Pick<ResourceCache<KubeObject>, 'stats'>): number {
  return cache.stats().lastContactAgeMs ?? Number.POSITIVE_INFINITY
}

function tooOld(what: string, ageMs: number): string {
  const age = Number.isFinite(ageMs) ? `${Math.round(ageMs / 1000)} s old` : 'of unknown age'
  return `the view of ${what} is ${age}`
}

async function showsWhatIsStored(
  client: Pick<KubeClient, 'list'>,
  cache: Pick<ResourceCache<KubeObject>, 'get' | 'size' | 'selection'>,
  signal: AbortSignal,
): Promise<boolean> {
  const { resource, ...where } = cache.selection
  let count = 0
  for await (const { items } of client.list<KubeObject>(resource, {
    ...where,
    answer: 'metadata',
    deadlineMs: askDeadlineMs,
    signal,
  }))
    for (const { metadata } of items) {
      const { name = '', namespace, uid, resourceVersion } = metadata
      const known = cache.get({ name, ...(namespace === undefined ? {} : { namespace }) })?.metadata
      if (known?.uid !== uid || known?.resourceVersion !== resourceVersion) return false
      count++
    }
  return count === cache.size
}
