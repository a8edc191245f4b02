import type { MaintenanceBudget } from '../../src/api/index.ts'
import type { KubeObject, NodeObject, ResourceCache } from '../../src/kube/index.ts'
import type { QueueViews } from '../../src/queue/index.ts'

/** What the queue sees when a watch is behind: the caches as they are, but for what they have not been told yet. */

export function withoutNode(views: QueueViews, hidden: () => string | false): QueueViews {
  const { nodes } = views
  const seen = {
    ...reads(nodes),
    get: (ref: { readonly name: string }) => (ref.name === hidden() ? undefined : nodes.get(ref)),
    values: () => [...nodes.values()].filter(({ metadata }) => metadata.name !== hidden()).values(),
  }
  return { ...views, nodes: seen as ResourceCache<NodeObject> }
}

export function withoutRequests(views: QueueViews, isHidden: () => boolean): QueueViews {
  const { requests } = views
  const seen = {
    ...reads(requests),
    get: (ref: { readonly name: string }) => (isHidden() ? undefined : requests.get(ref)),
    values: () => (isHidden() ? [] : [...requests.values()]).values(),
  }
  return { ...views, requests: seen as QueueViews['requests'] }
}

export function withoutPods(views: QueueViews, isHidden: () => boolean): QueueViews {
  const { pods } = views
  const byIndex = (name: string, key: string) => (isHidden() ? [] : pods.byIndex(name, key))
  return { ...views, pods: { ...reads(pods), byIndex } as QueueViews['pods'] }
}

/** The ledger as it was. */
export function withOldLedger(views: QueueViews, old: MaintenanceBudget): QueueViews {
  return { ...views, budgets: { ...reads(views.budgets), get: () => old } as unknown as QueueViews['budgets'] }
}

function reads<T extends KubeObject>(cache: ResourceCache<T>) {
  return {
    size: cache.size,
    selection: cache.selection,
    get: (ref: { readonly name: string; readonly namespace?: string }) => cache.get(ref),
    values: () => cache.values(),
    byIndex: (name: string, key: string) => cache.byIndex(name, key),
    subscribe: (handler: Parameters<ResourceCache<T>['subscribe']>[0]) => cache.subscribe(handler),
    stats: () => cache.stats(),
  }
}
