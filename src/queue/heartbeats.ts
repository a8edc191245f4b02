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
  readonly #seen = new Map<string, { readonly sign: string; readonly atMs: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts from the first look: a controller that has just begun knows of no silence yet. */
  silentMs(nodeName: string, lease: Lease | undefined): number {
    const nowMs = this.#clock.monotonic()
    const sign = lease ? `${lease.metadata.uid}/${lease.metadata.resourceVersion}` : ''
    const seen = this.#seen.get(nodeName)
    if (seen?.sign === sign) return nowMs - seen.atMs
    this.#seen.set(nodeName, { sign, atMs: nowMs })
    return 0
  }
}
