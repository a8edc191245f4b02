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
  const instance = openInstance(options)
  try {
    await instance.run(options.client, options.signal)
  } catch (error) {
    if (!options.signal.aborted) throw error
  }
}

/** The caches of one controller, which watches before it leads. What it runs as leader may write through another client. */
export function openInstance({ client, signal, clock = systemClock, ...options }: InstanceOptions) {
  const caches = new SharedCaches({ client, signal, clock })
  const views = openViews(caches)
  const windows = openWindowViews(caches, { client, namespace: ownNamespace, signal })
  return {
    run: async (writer: KubeClient, term: AbortSignal): Promise<void> => {
      const doors = { client: writer, clock, random: Math.random }
      await caches.waitForSync(term)
      await runQueue(
        {
          ...doors,
          views: options.see?.(views) ?? views,
          windows,
          blockers: new BlockerBoard({
            ...doors,
            readToken: secretKeys(writer, { namespace: ownNamespace, name: blockerSecretName }),
            signal: term,
          }),
          heartbeats: new Heartbeats(clock),
          offersEvictionRequest: options.offersEvictionRequest ?? false,
          ownNamespace,
          recorder: options.recorder ?? { record: () => undefined },
          log: options.log ?? { info: () => undefined, warn: () => undefined },
        },
        term,
      )
    },
  }
}
