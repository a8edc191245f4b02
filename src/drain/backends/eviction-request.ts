import {
  isAlreadyExists,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type PodObject,
  type Resource,
} from '../../kube/index.ts'
import type { Backend } from './backend.ts'

const group = 'lifecycle.k8s.io'

export const evictionRequests: Resource = {
  group,
  version: 'v1alpha1',
  plural: 'evictionrequests',
  kind: 'EvictionRequest',
  namespaced: true,
}

/** Says that a pod should leave; those who answer for the pod arrange it, budgets included, in their own time. */
export const evictionRequest: Backend = {
  async ask(client, { pod }, signal) {
    try {
      await client.create(evictionRequests, requestFor(pod), { signal })
    } catch (error) {
      // It was said before.
      if (!isAlreadyExists(error)) throw error
    }
  },
}

function requestFor(pod: PodObject): KubeObject {
  const { name = '', namespace = '', uid = '' } = pod.metadata
  return {
    metadata: {
      name: nameFor(pod),
      namespace,
      // It ends with its pod: nobody has to tidy up.
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }],
    },
    spec: { target: { pod: { name, uid } }, requesterName: 'fettle.dev/controller', intent: 'Eviction' },
  } as KubeObject
}

function nameFor(pod: PodObject): string {
  return `fettle-${pod.metadata.uid}`
}

/** Takes back what was said of these pods. Without the object there is no intent. */
export async function withdrawEvictionRequests(
  client: Pick<KubeClient, 'delete'>,
  pods: readonly PodObject[],
  signal: AbortSignal,
): Promise<void> {
  for (const pod of pods) {
    const ref = { name: nameFor(pod), namespace: pod.metadata.namespace ?? '' }
    try {
      // Its name holds the pod's UID, so it can be no other.
      await client.delete(evictionRequests, ref, { uid: 'any', signal })
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}

/** Whether the server has EvictionRequests in the version that is spoken here. */
export async function offersEvictionRequest(
  client: Pick<KubeClient, 'request'>,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const { resources } = await client.request<{ readonly resources?: readonly { readonly name: string }[] }>({
      method: 'GET',
      path: `/apis/${group}/${evictionRequests.version}`,
      signal,
    })
    return resources?.some(({ name }) => name === evictionRequests.plural) ?? false
  } catch (error) {
    if (isNotFound(error)) return false
    throw error
  }
}
