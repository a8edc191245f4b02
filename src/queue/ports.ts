import type { EventRecorder, KubeClient } from '../kube/index.ts'
import type { Clock } from '../time/index.ts'
import type { BlockerBoard } from './blockers/index.ts'
import type { Heartbeats } from './heartbeats.ts'
import type { QueueViews } from './views.ts'
import type { WindowViews } from './windows/index.ts'

/** What the acting half of the queue needs of the outside. */
export interface QueuePorts {
  /** Refuses to write once its term as leader is over. */
  readonly client: KubeClient
  readonly views: QueueViews
  readonly windows: WindowViews
  readonly blockers: BlockerBoard
  readonly heartbeats: Heartbeats
  /** Whether the API server has EvictionRequests. */
  readonly offersEvictionRequest: boolean
  /** The namespace that the controller itself runs in. */
  readonly ownNamespace: string
  readonly clock: Clock
  readonly random: () => number
  readonly recorder: Pick<EventRecorder, 'record'>
  readonly log: QueueLog
}

export interface QueueLog {
  readonly info: (fields: object, message: string) => void
  readonly warn: (fields: object, message: string) => void
}

export function isoNow(clock: Clock): string {
  return new Date(clock.now()).toISOString()
}
