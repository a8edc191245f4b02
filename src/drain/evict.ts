import { hasCode, isEvictionBlocked, isNotFound, type KubeClient, type PodObject } from '../kube/index.ts'

export type EvictionResult =
  | { readonly pod: PodObject; readonly result: 'accepted' | 'gone' }
  | { readonly pod: PodObject; readonly result: 'refused' | 'failed'; readonly why: string }

const width = 20

/** Asks pods to leave, many at a time. Each is named with its UID: one that was made anew elsewhere is not meant. */
export async function evictPods(
  client: Pick<KubeClient, 'evict'>,
  pods: readonly PodObject[],
  signal: AbortSignal,
): Promise<EvictionResult[]> {
  const rest = [...pods]
  const results: EvictionResult[] = []
  await Promise.all(
    Array.from({ length: Math.min(width, rest.length) }, async () => {
      for (let pod = rest.shift(); pod && !signal.aborted; pod = rest.shift())
        results.push(await evictPod(client, pod, signal))
    }),
  )
  signal.throwIfAborted()
  return results
}

async function evictPod(
  client: Pick<KubeClient, 'evict'>,
  pod: PodObject,
  signal: AbortSignal,
): Promise<EvictionResult> {
  const { name = '', namespace = '', uid = '' } = pod.metadata
  try {
    await client.evict({ name, namespace }, { uid, signal })
    return { pod, result: 'accepted' }
  } catch (error) {
    // Conflict on the UID: another pod has the name by now, so ours is gone.
    if (isNotFound(error) || hasCode(error, 'Conflict')) return { pod, result: 'gone' }
    signal.throwIfAborted()
    const why = error instanceof Error ? error.message : String(error)
    return { pod, result: isEvictionBlocked(error) ? 'refused' : 'failed', why }
  }
}
