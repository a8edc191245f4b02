import {
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
} from '../api/index.ts'
import type { DaemonSetObject } from '../drain/index.ts'
import {
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

/** A sentence when one of these views has not been heard of for too long to claim anything. */
export function staleView(
  views: Readonly<Record<string, Pick<ResourceCache<KubeObject>, 'stats'>>>,
): string | undefined {
  for (const [what, cache] of Object.entries(views)) {
    const { lastContactAgeMs = Number.POSITIVE_INFINITY, isConnected } = cache.stats()
    // A quiet watch is heard of by a bookmark about once a minute; only a broken one is stale.
    if (!isConnected && lastContactAgeMs > oldestViewMs)
      return `the view of ${what} is ${Math.round(lastContactAgeMs / 1000)} s old: the API server does not answer`
  }
  return undefined
}
