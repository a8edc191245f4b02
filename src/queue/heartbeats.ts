import type { Lease } from '../kube/index.ts'
import type { Clock } from '../time/index.ts'

/** Where the agents of nodes at work renew a Lease of their node's name. */
export const heartbeatNamespace = 'fettle-nodes'

/**
 * How long each node has been silent. Only changes count, timed by our own clock: what a node writes into its Lease is
 * the time of a clock that may be wrong.
 */
export class Heartbeats {
  readonly namespace = heartbeatNamespace
  readonly #clock: Clock
  readonly #seen = new Map<string, { readonly sign: string; readonly atMs: number; readonly isHeard: boolean }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts from the first look: a controller that has just begun knows of no silence yet. */
  silentMs(nodeName: string, lease: Lease | undefined): number {
    return this.listen(nodeName, lease).silentMs
  }

  /** With it, whether a beat was heard at all: before the first one the silence says nothing until it has lasted. */
  listen(nodeName: string, lease: Lease | undefined): { readonly silentMs: number; readonly isHeard: boolean } {
    const nowMs = this.#clock.monotonic()
    const seen = this.#seen.get(nodeName)
    const sign = lease ? `${lease.metadata.uid}/${lease.metadata.resourceVersion}` : ''
    // A Lease that was removed is no beat.
    if (seen && (seen.sign === sign || !lease)) return { silentMs: nowMs - seen.atMs, isHeard: seen.isHeard }
    const isHeard = seen !== undefined
    this.#seen.set(nodeName, { sign, atMs: nowMs, isHeard })
    return { silentMs: 0, isHeard }
  }
}
