import type { NodeObject } from '../kube/index.ts'
import { isInMaintenance } from './in-maintenance.ts'
import type { GoneNode } from './plugin.ts'

/** Enough for any wave; whoever is forgotten no longer counts, as in the original. */
const mostRemembered = 500

/**
 * Nodes that were deleted in the middle of their maintenance, as those are that are replaced by new ones. What is missing
 * is not back because its object is gone: without them `maxMaintenance` would let the next ones in too early.
 */
export class GoneNodes {
  #nodes: GoneNode[] = []

  note(node: NodeObject, nowMs: number): void {
    // Whoever counts them knows what is in the file then.
    const any = { has: () => true }
    if (isInMaintenance(node, any)) this.#nodes = [...this.#nodes, { node, atMs: nowMs }].slice(-mostRemembered)
  }

  /** In the order in which they went. */
  all(): readonly GoneNode[] {
    return this.#nodes
  }
}
