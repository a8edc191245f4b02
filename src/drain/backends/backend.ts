import type { KubeClient } from '../../kube/index.ts'
import type { PodToAsk } from '../plan.ts'

/** One way to make a pod leave. Every one of them names the pod with its UID. */
export interface Backend {
  /** Resolves when the server has accepted it; its refusals are thrown as they come. */
  readonly ask: (client: BackendClient, toAsk: PodToAsk, signal: AbortSignal) => Promise<void>
}

export type BackendClient = Pick<KubeClient, 'evict' | 'delete' | 'create'>
