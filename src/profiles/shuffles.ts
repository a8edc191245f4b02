import type { KubeObject, ObjectRef, PodObject, ResourceCache } from '../kube/index.ts'

/** What runs pods: its owner, and how many pods it wants or has. */
export interface WorkloadObject extends KubeObject {
  readonly spec?: { readonly replicas?: number }
  readonly status?: { readonly numberReady?: number }
}

export interface WorkloadViews {
  readonly replicaSets: Pick<ResourceCache<WorkloadObject>, 'get'>
  readonly deployments: Pick<ResourceCache<WorkloadObject>, 'get'>
  readonly statefulSets: Pick<ResourceCache<WorkloadObject>, 'get'>
  readonly daemonSets: { get(ref: ObjectRef): Pick<WorkloadObject, 'status'> | undefined }
}

/** One pod that has to move, as the original counts it. */
export interface Shuffle {
  /** Such as `deployment_web`. */
  readonly owner: string
  readonly namespace: string
  /** What part of its owner's pods it is. An owner without pods counts as one with one; the original said infinity. */
  readonly perReplica: number
}

/** For the pods of a node. An owner that is not known is left out; the original then counted none of them. */
export function shufflesOf(pods: Iterable<PodObject>, views: WorkloadViews): readonly Shuffle[] {
  return [...pods].flatMap((pod) => shuffleOf(pod, views) ?? [])
}

function shuffleOf({ metadata }: PodObject, views: WorkloadViews): Shuffle | undefined {
  const { namespace = '' } = metadata
  const owner = metadata.ownerReferences?.[0]
  if (!owner) return undefined
  const ref = { namespace, name: owner.name }
  switch (owner.kind) {
    case 'DaemonSet':
      return shuffle('daemon_set', ref, partOf(views.daemonSets.get(ref)?.status?.numberReady))
    case 'StatefulSet':
      return shuffle('stateful_set', ref, partOf(views.statefulSets.get(ref)?.spec?.replicas))
    case 'ReplicaSet': {
      const set = views.replicaSets.get(ref)
      const above = set?.metadata.ownerReferences?.[0]
      if (!set || (above && above.kind !== 'Deployment')) return undefined
      if (!above) return shuffle('replica_set', ref, partOf(set.spec?.replicas))
      const upper = { namespace, name: above.name }
      return shuffle('deployment', upper, partOf(views.deployments.get(upper)?.spec?.replicas))
    }
    default:
      return undefined
  }
}

/** Scaled to zero, an owner may still have a pod that is on its way out. */
function partOf(count = 1): number {
  return 1 / Math.max(1, count)
}

function shuffle(kind: string, { namespace, name }: { namespace: string; name: string }, part: number): Shuffle {
  return { owner: `${kind}_${name}`, namespace, perReplica: part }
}
