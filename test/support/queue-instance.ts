import { blockerSecretName } from '../../src/api/index.ts'
import { type KubeClient, SharedCaches, secretKeys } from '../../src/kube/index.ts'
import {
  BlockerBoard,
  Heartbeats,
  openViews,
  openWindowViews,
  type QueuePorts,
  type QueueViews,
  runQueue,
} from '../../src/queue/index.ts'
import { type Clock, systemClock } from '../../src/time/index.ts'

/** Nothing runs there; only what lies in the controller's namespace would be looked for in it. */
const ownNamespace = 'fettle-system'

export interface InstanceOptions {
  readonly client: KubeClient
  readonly signal: AbortSignal
  readonly clock?: Clock
  /** Shows the queue something else than what its caches hold. */
  readonly see?: ((views: QueueViews) => QueueViews) | undefined
  readonly log?: QueuePorts['log'] | undefined
  readonly offersEvictionRequest?: boolean | undefined
  readonly recorder?: QueuePorts['recorder'] | undefined
}

/** One controller's queue in this process, on caches of its own. Resolves when the signal has ended it. */
export async function runInstance(options: InstanceOptions): Promise<void> {
  const { client, signal, clock = systemClock, see, log, recorder } = options
  const caches = new SharedCaches({ client, signal, clock })
  const views = openViews(caches)
  const windows = openWindowViews(caches, { client, namespace: ownNamespace, signal })
  const doors = { client, clock, random: Math.random }
  try {
    await caches.waitForSync(signal)
    await runQueue(
      {
        ...doors,
        views: see?.(views) ?? views,
        windows,
        blockers: new BlockerBoard({
          ...doors,
          readToken: secretKeys(client, { namespace: ownNamespace, name: blockerSecretName }),
          signal,
        }),
        heartbeats: new Heartbeats(clock),
        offersEvictionRequest: options.offersEvictionRequest ?? false,
        ownNamespace,
        recorder: recorder ?? { record: () => undefined },
        log: log ?? { info: () => undefined, warn: () => undefined },
      },
      signal,
    )
  } catch (error) {
    if (!signal.aborted) throw error
  }
}
