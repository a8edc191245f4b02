import { ApiError, hasCode, isEvictionBlocked, isNotFound, type KubeClient, type PodObject } from '../kube/index.ts'
import type { Backend, BackendClient } from './backends/backend.ts'
import { deletion } from './backends/deletion.ts'
import { eviction } from './backends/eviction.ts'
import { evictionRequest } from './backends/eviction-request.ts'
import { budgetKey } from './disruption-budgets.ts'
import type { PodToAsk } from './plan.ts'

export type AskResult =
  | { readonly asked: PodToAsk; readonly result: 'accepted' | 'gone' }
  | {
      readonly asked: PodToAsk
      /** refused: by a budget, or because its namespace is going. failed: by anything else. */
      readonly result: 'refused' | 'failed'
      readonly why: string
      /** How long the server wants to be left alone. */
      readonly retryAfterMs?: number
    }

const backends: Readonly<Record<PodToAsk['how'], Backend>> = {
  evict: eviction,
  delete: deletion,
  request: evictionRequest,
}

const width = 20

/** Asks pods to leave, many at a time. One that fails does not hold up the others. */
export async function askPods(
  client: BackendClient,
  pods: readonly PodToAsk[],
  signal: AbortSignal,
): Promise<AskResult[]> {
  return askAll(lanesOf(pods), (one) => backends[one.how].ask(client, one, signal), signal)
}

/** What the server would say to each pod alone, asked once each. Nothing changes. */
export async function dryRunPods(
  client: Pick<KubeClient, 'evict'>,
  pods: readonly PodObject[],
  signal: AbortSignal,
): Promise<Map<string, AskResult>> {
  const results = await askAll(
    pods.map((pod) => [{ pod, how: 'evict' }]),
    ({ pod: { metadata } }) =>
      client.evict(
        { name: metadata.name ?? '', namespace: metadata.namespace ?? '' },
        { uid: metadata.uid ?? '', signal, dryRun: true },
      ),
    signal,
  )
  return new Map(results.map((one) => [one.asked.pod.metadata.uid ?? '', one]))
}

/** Many lanes side by side; the pods of one lane one after the other. */
async function askAll(
  lanes: readonly (readonly PodToAsk[])[],
  ask: (one: PodToAsk) => Promise<void>,
  signal: AbortSignal,
): Promise<AskResult[]> {
  const rest = [...lanes]
  const results: AskResult[] = []
  const askOne = async (asked: PodToAsk): Promise<AskResult> => {
    try {
      await ask(asked)
      return { asked, result: 'accepted' }
    } catch (error) {
      signal.throwIfAborted()
      return answerOf(asked, error)
    }
  }
  await Promise.all(
    Array.from({ length: Math.min(width, rest.length) }, async () => {
      for (let lane = rest.shift(); lane; lane = rest.shift())
        for (const one of lane) if (!signal.aborted) results.push(await askOne(one))
    }),
  )
  signal.throwIfAborted()
  return results
}

/**
 * One lane for each budget. The API server counts down a budget for each eviction, and two at once get in each other's
 * way: the loser tries again after half a second.
 */
function lanesOf(pods: readonly PodToAsk[]): PodToAsk[][] {
  const lanes = new Map<string, PodToAsk[]>()
  for (const one of pods) {
    const key = one.budget ? budgetKey(one.budget) : (one.pod.metadata.uid ?? '')
    lanes.set(key, [...(lanes.get(key) ?? []), one])
  }
  return [...lanes.values()]
}

/** What a refusal means for the pod. */
export function answerOf(asked: PodToAsk, error: unknown): AskResult {
  // Conflict on the UID: another pod has the name by now, so ours is gone.
  if (isNotFound(error) || hasCode(error, 'Conflict')) return { asked, result: 'gone' }
  const retryAfterMs = error instanceof ApiError ? error.retryAfterMs : undefined
  const after = retryAfterMs === undefined ? {} : { retryAfterMs }
  // Nothing can be created in a namespace that is going, not even an eviction; the pod goes with it.
  if (error instanceof ApiError && isNamespaceGoing(error))
    return { asked, result: 'refused', why: 'its namespace is being deleted, and the pod with it', ...after }
  if (isEvictionBlocked(error)) return { asked, result: 'refused', why: (error as ApiError).seen, ...after }
  return { asked, result: 'failed', why: error instanceof Error ? error.message : String(error), ...after }
}

function isNamespaceGoing({ code, details }: ApiError): boolean {
  return code === 'Forbidden' && (details?.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating')
}
