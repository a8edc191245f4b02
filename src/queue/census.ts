import { isDeepStrictEqual } from 'node:util'
import { budgetName, type MaintenanceBudgetSpec, type NumberOrPercent } from '../api/index.ts'
import { matchesSelector } from '../drain/index.ts'
import type { LabelSelector, NodeObject } from '../kube/index.ts'
import { isGivenBack } from './decide-releases.ts'
import { isControlPlane, type Unavailability, unavailability } from './node-facts.ts'

export type LimitsSpec = Pick<
  MaintenanceBudgetSpec,
  'max' | 'limits' | 'controlPlaneMax' | 'countUnavailable' | 'ignoreNodes'
>

/** One number that must hold: a limit, or one group of it. */
export interface LimitName {
  /** Tells it from every other, whatever name a person gives to theirs. */
  readonly key: string
  /** As its owner calls it; two of different kinds may have the same. */
  readonly name: string
  readonly group?: string
  /** As it was written, for whoever reads why a node waits. */
  readonly rule: NumberOrPercent
}

/** What a limit is about, but for nodes of the control plane. */
interface Count {
  readonly limit: LimitName
  total: number
  /** Why each counts as out although nobody gave it a slot. */
  readonly unavailable: Map<NodeObject, Unavailability>
}

export const controlPlane = 'control-plane'

/**
 * All nodes, counted once. A decision looks at thousands of them of which one has changed since the last: whoever keeps
 * the census pays for that one.
 */
export class Census {
  readonly byUid = new Map<string, NodeObject>()
  /** Those that bear a mark of ours, and are looked at closely. */
  readonly marked = new Set<NodeObject>()
  /** Counted anew each time: what ails one is not written on the node. */
  readonly controlPlane = new Set<NodeObject>()
  readonly counts = new Map<string, Count>()
  #spec: LimitsSpec | undefined
  #nodes: readonly NodeObject[] = []
  readonly #limits = new Map<NodeObject, readonly LimitName[]>()
  /** The same limits are the same list, so that others can tell nodes that are alike. */
  readonly #lists = new Map<string, readonly LimitName[]>()

  /** Takes the nodes as they are now; those that are the same objects as before cost next to nothing. */
  see(nodes: readonly NodeObject[], spec: LimitsSpec): this {
    if (!this.#spec || !isDeepStrictEqual(partsOf(spec), this.#spec)) this.#forgetAll(spec)
    const before = this.#nodes
    // First all that go: one that only stands elsewhere now comes again.
    for (const [index, node] of before.entries()) if (node !== nodes[index]) this.#leave(node)
    for (const [index, node] of nodes.entries()) if (node !== before[index]) this.#enter(node, spec)
    this.#nodes = nodes
    return this
  }

  /** The limits that a node counts in; for a node that never counts, none but the guard of the control plane. */
  limitsOf(node: NodeObject): readonly LimitName[] {
    const known = this.#limits.get(node)
    if (known) return known
    // One that was not counted has its limits all the same.
    if (!this.#spec) throw new Error('no nodes were counted yet')
    return this.#listOf(limitsOf(this.#spec, node))
  }

  #forgetAll(spec: LimitsSpec): void {
    this.#spec = partsOf(spec)
    this.#nodes = []
    for (const known of [this.byUid, this.marked, this.controlPlane, this.counts, this.#limits, this.#lists])
      known.clear()
  }

  #enter(node: NodeObject, spec: LimitsSpec): void {
    const limits = this.#listOf(limitsOf(spec, node))
    this.#limits.set(node, limits)
    this.byUid.set(node.metadata.uid ?? '', node)
    if (!isGivenBack(node)) this.marked.add(node)
    if (isControlPlane(node)) {
      this.controlPlane.add(node)
      return
    }
    const why = limits.length > 0 ? unavailability(spec, node) : undefined
    for (const limit of limits) {
      const count = this.#countOf(limit)
      count.total++
      if (why) count.unavailable.set(node, why)
    }
  }

  #leave(node: NodeObject): void {
    if (!this.controlPlane.delete(node))
      for (const limit of this.limitsOf(node)) {
        const count = this.#countOf(limit)
        count.total--
        count.unavailable.delete(node)
        if (count.total === 0) this.counts.delete(limit.key)
      }
    this.#limits.delete(node)
    this.marked.delete(node)
    if (this.byUid.get(node.metadata.uid ?? '') === node) this.byUid.delete(node.metadata.uid ?? '')
  }

  #listOf(limits: readonly LimitName[]): readonly LimitName[] {
    const key = limits.map((limit) => limit.key).join('\n\n')
    const known = this.#lists.get(key)
    if (known) return known
    this.#lists.set(key, limits)
    return limits
  }

  #countOf(limit: LimitName): Count {
    const known = this.counts.get(limit.key)
    if (known) return known
    const count = { limit, total: 0, unavailable: new Map<NodeObject, Unavailability>() }
    this.counts.set(limit.key, count)
    return count
  }
}

function partsOf({ max, limits, controlPlaneMax, countUnavailable, ignoreNodes }: LimitsSpec): LimitsSpec {
  return {
    max,
    controlPlaneMax,
    countUnavailable,
    ...(limits === undefined ? {} : { limits }),
    ...(ignoreNodes === undefined ? {} : { ignoreNodes }),
  }
}

function limitsOf(spec: LimitsSpec, node: NodeObject): readonly LimitName[] {
  const { ignoreNodes, limits = [], max, controlPlaneMax } = spec
  const labels = node.metadata.labels
  const guard = isControlPlane(node) ? [{ key: controlPlane, name: controlPlane, rule: controlPlaneMax }] : []
  // Who does not count is still one of those that keep the cluster's memory.
  if (ignoreNodes && isMeant(ignoreNodes) && matchesSelector(ignoreNodes, labels)) return guard
  const matching = limits.filter(({ nodeSelector }) => !nodeSelector || matchesSelector(nodeSelector, labels))
  return [
    { key: budgetName, name: budgetName, rule: max },
    ...guard,
    ...matching.map(({ name, groupBy, max: rule }) => {
      if (groupBy === undefined) return { key: keyOf(name), name, rule }
      const group = labels?.[groupBy] ?? ''
      return { key: keyOf(name, group), name, group, rule }
    }),
  ]
}

/**
 * Whether it was written to leave some nodes out. What names no label, or compares with no value, selects all of them,
 * which would be no budget at all: in doubt nodes count. The API server refuses such a one, but it may have been stored before.
 */
function isMeant({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  const isWhole = ({ operator, values = [] }: (typeof matchExpressions)[number]) =>
    (operator === 'In' || operator === 'NotIn') === values.length > 0
  return Object.keys(matchLabels).length + matchExpressions.length > 0 && matchExpressions.every(isWhole)
}

/** No name and no label value contains a line break. */
export function keyOf(name: string, group?: string): string {
  return group === undefined ? `limit\n${name}` : `limit\n${name}\n${group}`
}
