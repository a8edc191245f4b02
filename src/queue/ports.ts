import type { EventRecorder, KubeClient } from '../kube/index.ts'
import type { Clock } from '../time/index.ts'
import type { QueueViews } from './views.ts'

/** What the acting half of the queue needs of the outside. */
export interface QueuePorts {
  /** Refuses to write once its term as leader is over. */
  readonly client: KubeClient
  readonly views: QueueViews
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
