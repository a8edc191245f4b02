import { type KubeClient, type KubeObject, type Resource, resources } from '../../kube/index.ts'
import type { Key } from '../key.ts'

/** What the built-in controllers make for the objects of a kind. */
const children: Readonly<Record<string, Resource>> = {
  'Deployment.apps': resources.replicaSets,
  'StatefulSet.apps': resources.pods,
  'DaemonSet.apps': resources.pods,
  'ReplicaSet.apps': resources.pods,
  'ReplicationController.': resources.pods,
  'Job.batch': resources.pods,
  'CronJob.batch': resources.jobs,
}

/** Whether an object is only done with when its pods are. */
export const hasDependants = ({ kind, group }: Key): boolean => children[`${kind}.${group}`] !== undefined

const mostNamed = 5

/** The dependants that a deletion in the foreground waits for, as far as they can be seen. */
export async function dependantsOf(
  client: KubeClient,
  key: Key,
  uid: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const resource = children[`${key.kind}.${key.group}`]
  if (!resource) return []
  const found: string[] = []
  try {
    for await (const { items } of client.list<KubeObject>(resource, { namespace: key.namespace, signal })) {
      for (const { metadata } of items) {
        const isOwned = metadata.ownerReferences?.some((owner) => owner.uid === uid) === true
        if (isOwned) found.push(`${resource.kind} ${metadata.name}`)
      }
    }
  } catch {
    // Only a part of an explanation is missing then; what is stuck is told all the same.
    signal.throwIfAborted()
  }
  return found.length <= mostNamed
    ? found
    : [...found.slice(0, mostNamed), `${found.length - mostNamed} more of kind ${resource.kind}`]
}
