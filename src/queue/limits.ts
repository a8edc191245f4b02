import { budgetName, type MaintenanceBudgetStatus, type NumberOrPercent, type Slot } from '../api/index.ts'
import { isCordonedBy } from '../drain/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { type Census, controlPlane, keyOf, type LimitName, type LimitsSpec } from './census.ts'
import { cordonOwner } from './names.ts'
import { isReady, unavailability } from './node-facts.ts'

/** Who is out, and which limits of the budget have a place left. */

/** A percentage rounds down, but a budget that is not 0 always lets one node go. */
export function resolveMax(max: NumberOrPercent, total: number): number {
  if (typeof max === 'number') return max
  const share = Number(max.slice(0, -1))
  return share === 0 ? 0 : Math.max(1, Math.floor((total * share) / 100))
}

export interface OutNode {
  readonly name: string
  readonly uid: string
  /** Present when it has a slot; otherwise why it counts all the same. */
  readonly slot?: Slot
  /** It is missed, but not all of it is down: to take it out would still cost a place. */
  readonly isPartly?: true
  readonly why: string
}

export interface Limit extends LimitName {
  readonly max: number
  /** Nodes that the limit is about. */
  readonly total: number
  readonly out: ReadonlyMap<string, OutNode>
}

type CountedLimit = { -readonly [Field in keyof Limit]: Limit[Field] } & { out: Map<string, OutNode> }

/** Who is out of the nodes that were counted; answers for each of them, and a place that is taken counts from then on. */
export class Tally {
  readonly #spec: LimitsSpec
  readonly #census: Census
  readonly #limits = new Map<string, CountedLimit>()
  /** Thousands of nodes are asked about several times in one decision, and most are alike. */
  readonly #alike = new Map<readonly LimitName[], readonly CountedLimit[]>()
  readonly #promised: { limit: CountedLimit; promise: OutNode; before: OutNode | undefined }[] = []

  constructor(
    spec: LimitsSpec,
    slots: readonly Slot[],
    census: Census,
    /** What is wrong with a node of the control plane although it is Ready. */
    ailmentOf: (node: NodeObject) => string | undefined = () => undefined,
  ) {
    this.#spec = spec
    this.#census = census
    this.#limitFor({ key: budgetName, name: budgetName, rule: spec.max })
    const slotted = new Set<string>()
    for (const slot of slots) {
      slotted.add(slot.nodeUID)
      const node = census.byUid.get(slot.nodeUID)
      if (node) this.take(node, slot)
      else this.#takeUnseen(slot)
    }
    for (const { limit, total, unavailable } of census.counts.values()) {
      const counted = this.#limitFor(limit)
      counted.total = total
      for (const [{ metadata }, why] of unavailable)
        if (!slotted.has(metadata.uid ?? '')) counted.out.set(metadata.uid ?? '', outBy(metadata, why))
    }
    for (const node of census.controlPlane) {
      for (const limit of this.#of(node)) limit.total++
      if (!slotted.has(node.metadata.uid ?? '')) this.#takeUnavailable(node, ailmentOf)
    }
    for (const limit of this.#limits.values()) limit.max = resolveMax(limit.rule, limit.total)
  }

  /** The limits that a node counts in; for a node that never counts, none but the guard of the control plane. */
  of(node: NodeObject): readonly Limit[] {
    return this.#of(node)
  }

  #of(node: NodeObject): readonly CountedLimit[] {
    const names = this.#census.limitsOf(node)
    const known = this.#alike.get(names)
    if (known) return known
    const found = names.map((name) => this.#limitFor(name))
    this.#alike.set(names, found)
    return found
  }

  /**
   * The limits that have no place left for this node. One that is out already costs none, unless nothing may go at all.
   * But a mark of ours without a slot is left from a turn that is over, and is about to be taken away: then it is not out.
   */
  full(node: NodeObject): readonly Limit[] {
    const uid = node.metadata.uid ?? ''
    const cluster = this.#limits.get(budgetName)
    // 0 stops every claim, that of a node that never counts as well.
    if (cluster?.max === 0) return [cluster]
    return this.#of(node).filter((limit) => isFull(limit, limit.out.get(uid), node))
  }

  take(node: NodeObject, slot: Slot): void {
    for (const { out } of this.#of(node)) out.set(slot.nodeUID, outBySlot(slot))
  }

  /** Others count with this place, but nobody has it yet. */
  promise(node: NodeObject, slot: Slot): void {
    const promise = outBySlot(slot)
    for (const limit of this.#of(node)) {
      this.#promised.push({ limit, promise, before: limit.out.get(promise.uid) })
      limit.out.set(promise.uid, promise)
    }
  }

  /** The node's group in each limit that has groups, as the slot remembers it. */
  groupsOf(node: NodeObject): Record<string, string> {
    return Object.fromEntries(this.of(node).flatMap(({ name, group }) => (group === undefined ? [] : [[name, group]])))
  }

  all(): readonly Limit[] {
    return [...this.#limits.values()]
  }

  /** Whether slots alone are more than a limit allows. A limit of 0 stops claims, and breaks nothing that is out. */
  isOverLimit(): boolean {
    return this.all().some(({ max, out }) => {
      const slots = [...out.values()].filter(({ slot }) => slot)
      return slots.length > Math.max(1, max)
    })
  }

  /** Ends the count: without the places that were only promised. */
  withoutPromises(): readonly Limit[] {
    for (const { limit, promise, before } of this.#promised.splice(0).reverse()) {
      // Somebody else on that node has the place by now.
      if (limit.out.get(promise.uid) !== promise) continue
      if (before) limit.out.set(promise.uid, before)
      else limit.out.delete(promise.uid)
    }
    return this.all()
  }

  /** Of the control plane: whatever a person wants to be counted, a member of it that is down is one that is missing. */
  #takeUnavailable(node: NodeObject, ailmentOf: (node: NodeObject) => string | undefined): void {
    const { uid = '' } = node.metadata
    const limits = this.#of(node)
    // Only a node that counts has the limit of the whole.
    const counted = limits[0]?.key === budgetName ? unavailability(this.#spec, node) : undefined
    for (const { key, out } of limits) {
      const why = key === controlPlane && !isReady(node) ? 'NotReady' : counted
      // A cordon stops no etcd, and a scheduler that fails is not all of them: the others may still need this one.
      const partly = key === controlPlane && isReady(node) ? (why ?? ailmentOf(node)) : undefined
      if (partly) out.set(uid, { ...outBy(node.metadata, partly), isPartly: true })
      else if (why) out.set(uid, outBy(node.metadata, why))
    }
  }

  #takeUnseen(slot: Slot): void {
    const grouped = (this.#spec.limits ?? []).flatMap(({ name, max: rule }) => {
      const group = slot.groups?.[name]
      return group === undefined ? [] : [this.#limitFor({ key: keyOf(name, group), name, group, rule })]
    })
    const cluster = this.#limitFor({ key: budgetName, name: budgetName, rule: this.#spec.max })
    for (const { out } of [cluster, ...grouped]) out.set(slot.nodeUID, outBySlot(slot))
  }

  #limitFor(about: LimitName): CountedLimit {
    const known = this.#limits.get(about.key)
    if (known) return known
    const limit = { ...about, max: 0, total: 0, out: new Map<string, OutNode>() }
    this.#limits.set(about.key, limit)
    return limit
  }
}

/** Whether a limit has no place left for a node that is in it already as `seen`, or not at all. */
function isFull({ max, out }: Limit, seen: OutNode | undefined, node: NodeObject): boolean {
  if (max === 0) return true
  if (!seen) return out.size >= max
  const isOut = seen.slot !== undefined || (!seen.isPartly && !isCordonedBy(node, cordonOwner))
  return !isOut && out.size - (seen.isPartly ? 1 : 0) >= max
}

function outBy({ name = '', uid = '' }: NodeObject['metadata'], why: string): OutNode {
  return { name, uid, why }
}

function outBySlot(slot: Slot): OutNode {
  return { name: slot.node, uid: slot.nodeUID, slot, why: `out since ${shortTime(slot.takenAt)}` }
}

/** To the minute: nobody reads the milliseconds of a sentence. */
export function shortTime(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`
}

/** The same nodes read the same, in whatever order they were counted: who has a slot first, as the slots were given. */
export function inReadingOrder(out: Limit['out']): OutNode[] {
  const tokenOf = ({ slot }: OutNode) => slot?.token ?? Number.POSITIVE_INFINITY
  return [...out.values()].sort((a, b) =>
    a.slot || b.slot ? tokenOf(a) - tokenOf(b) : a.name < b.name ? -1 : a.name > b.name ? 1 : 0,
  )
}

const mostFigures = 64
const mostNames = 10

/** The limits in figures: the whole first, then the fullest. */
export function figuresOf(limits: readonly Limit[]): NonNullable<MaintenanceBudgetStatus['limits']> {
  const [cluster, ...others] = limits
  const fullest = others.sort((a, b) => b.out.size - a.out.size || (a.key < b.key ? -1 : 1))
  return [...(cluster ? [cluster] : []), ...fullest].slice(0, mostFigures).map(({ name, group, max, out }) => ({
    name: group === undefined ? name : `${name}/${group}`,
    max,
    out: out.size,
    withoutSlot: inReadingOrder(out)
      .filter(({ slot }) => !slot)
      .slice(0, mostNames)
      .map(({ name, why }) => `${name} ${why}`),
  }))
}
