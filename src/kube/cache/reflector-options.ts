import type { Clock } from '../../time/index.ts'
import type { BackoffOptions } from '../backoff.ts'
import type { KubeClient } from '../door.ts'
import type { Resource } from '../resource.ts'

/** What a reflector needs of a client. */
export type ListWatch = Pick<KubeClient, 'list' | 'watch'>

export interface Selection {
  readonly resource: Resource
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
}

/** Where the reflector puts what it learns. */
export interface ReflectorSink<T> {
  /** The object exists in this state. Answers the key it is filed under. */
  put(object: T): string
  remove(object: T): void
  /** The whole state has been told: whatever has none of these keys is gone. */
  retain(keys: ReadonlySet<string>): void
}

export interface ReflectorTimes {
  /** No byte of a watch for this long means a dead connection. Default 150 s; bookmarks come every 60 to 75 s. */
  readonly inactivityMs?: number
  readonly backoff?: BackoffOptions
  /** A connection that lived this long clears the count of failures. Default 10 s. */
  readonly healthyMs?: number
}

export interface ReflectorOptions extends ReflectorTimes {
  readonly client: ListWatch
  readonly selection: Selection
  readonly clock: Clock
  readonly random: () => number
  readonly signal: AbortSignal
  /** Objects per page where the server cannot stream the first list. Default 500. */
  readonly pageSize?: number
  /** Each failure, before the reflector waits and tries again. */
  readonly onError: (error: unknown) => void
}

/** A bookmark comes about as often: a watch that was silent for longer may have missed something. */
export const longSilenceMs = 60_000

export interface ReflectorStats {
  /** A watch is open and the first list is complete. */
  readonly isConnected: boolean
  /** Watches opened after the first. */
  readonly reconnects: number
  /** Whole lists after the first. */
  readonly relists: number
  readonly events: number
  readonly failuresInARow: number
  /** Since an object changed. */
  readonly lastEventAgeMs: number | undefined
  /** Since the server said anything at all: an event, a bookmark, a page. */
  readonly lastContactAgeMs: number | undefined
  /** It is heard of again after a long silence, and nothing says yet that it has heard of everything that it missed. */
  readonly isCatchingUp: boolean
  /** The version up to which everything is known. */
  readonly position: string | undefined
  readonly lastError: string | undefined
}
