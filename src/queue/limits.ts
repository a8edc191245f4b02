import {
  budgetName,
  type MaintenanceBudgetSpec,
  type MaintenanceBudgetStatus,
  type NumberOrPercent,
  type Slot,
} from '../api/index.ts'
import { isCordonedBy, matchesSelector } from '../drain/index.ts'
import type { NodeObject, PodObject } from '../kube/index.ts'
import { cordonOwner } from './names.ts'

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

/** Why a node counts as out although nobody gave it a slot. */
export function unavailability(
  spec: Pick<MaintenanceBudgetSpec, 'countUnavailable'>,
  node: NodeObject,
): 'NotReady' | 'Cordoned' | undefined {
  return spec.countUnavailable.find((kind) =>
    kind === 'NotReady' ? !isReady(node) : node.spec?.unschedulable === true,
  )
}

export function isReady(node: NodeObject): boolean {
  return node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

/** Whether an ordinary pod could be put there. */
export function takesPods(node: NodeObject): boolean {
  const isTainted = node.spec?.taints?.some(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute') ?? false
  return isReady(node) && node.spec?.unschedulable !== true && !isTainted
}

export function isControlPlane(node: NodeObject): boolean {
  const labels = node.metadata.labels ?? {}
  return 'node-role.kubernetes.io/control-plane' in labels || 'node-role.kubernetes.io/master' in labels
}

const controlPlane = 'control-plane'

/** A static pod of the control plane that is not Ready: its node looks well, and etcd or an API server is missing. */
export function staticPodAilment(pods: readonly PodObject[]): string | undefined {
  const ailing = pods.find(
    ({ metadata, status }) =>
      metadata.namespace === 'kube-system' &&
      metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined &&
      !status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
  )
  return ailing && `NotReady in ${ailing.metadata.name}`
}

/** One number that must hold: a limit, or one group of it. */
export interface Limit {
  /** Tells it from every other, whatever name a person gives to theirs. */
  readonly key: string
  /** As its owner calls it; two of different kinds may have the same. */
  readonly name: string
  readonly group?: string
  /** As it was written, for whoever reads why a node waits. */
  readonly rule: NumberOrPercent
  readonly max: number
  /** Nodes that the limit is about. */
  readonly total: number
  readonly out: ReadonlyMap<string, OutNode>
}

type Spec = Pick<MaintenanceBudgetSpec, 'max' | 'limits' | 'controlPlaneMax' | 'countUnavailable' | 'ignoreNodes'>

type CountedLimit = { -readonly [Field in keyof Limit]: Limit[Field] } & { out: Map<string, OutNode> }

/** Counts once over all nodes, and then answers for each of them; a place that is taken counts from then on. */
export class Tally {
  readonly #spec: Spec
  readonly #limits = new Map<string, CountedLimit>()
  /** Thousands of nodes are asked about several times in one decision. Without limits of its own they are all alike. */
  readonly #limitsByNode = new Map<NodeObject | 'worker' | 'control plane', readonly CountedLimit[]>()
  readonly #areAlike: boolean
  readonly #ailmentOf: (node: NodeObject) => string | undefined
  readonly #promised: { limit: CountedLimit; promise: OutNode; before: OutNode | undefined }[] = []

  constructor(
    spec: Spec,
    slots: readonly Slot[],
    nodes: readonly NodeObject[],
    /** What is wrong with a node of the control plane although it is Ready. */
    ailmentOf: (node: NodeObject) => string | undefined = () => undefined,
  ) {
    this.#spec = spec
    this.#ailmentOf = ailmentOf
    this.#areAlike = spec.ignoreNodes === undefined && (spec.limits ?? []).length === 0
    this.#limitFor({ key: budgetName, name: budgetName, rule: spec.max })
    const slotByUid = new Map(slots.map((slot) => [slot.nodeUID, slot]))
    for (const node of nodes) {
      for (const limit of this.#of(node)) limit.total++
      const slot = slotByUid.get(node.metadata.uid ?? '')
      slotByUid.delete(node.metadata.uid ?? '')
      if (slot) this.take(node, slot)
      else this.#takeUnavailable(node)
    }
    // Their nodes are gone, or not seen yet: they count where they counted when the slot was taken.
    for (const slot of slotByUid.values()) this.#takeUnseen(slot)
    for (const limit of this.#limits.values()) limit.max = resolveMax(limit.rule, limit.total)
  }

  /** The limits that a node counts in; for a node that never counts, none but the guard of the control plane. */
  of(node: NodeObject): readonly Limit[] {
    return this.#of(node)
  }

  #of(node: NodeObject): readonly CountedLimit[] {
    const key = this.#areAlike ? (isControlPlane(node) ? 'control plane' : 'worker') : node
    const known = this.#limitsByNode.get(key)
    if (known) return known
    const found = this.#find(node)
    this.#limitsByNode.set(key, found)
    return found
  }

  #find(node: NodeObject): readonly CountedLimit[] {
    const { ignoreNodes, limits = [], max, controlPlaneMax } = this.#spec
    const labels = node.metadata.labels
    const guard = isControlPlane(node)
      ? [this.#limitFor({ key: controlPlane, name: controlPlane, rule: controlPlaneMax })]
      : []
    // Who does not count is still one of those that keep the cluster's memory.
    if (ignoreNodes && matchesSelector(ignoreNodes, labels)) return guard
    const matching = limits.filter(({ nodeSelector }) => !nodeSelector || matchesSelector(nodeSelector, labels))
    return [
      this.#limitFor({ key: budgetName, name: budgetName, rule: max }),
      ...guard,
      ...matching.map(({ name, groupBy, max: rule }) => {
        if (groupBy === undefined) return this.#limitFor({ key: keyOf(name), name, rule })
        const group = labels?.[groupBy] ?? ''
        return this.#limitFor({ key: keyOf(name, group), name, group, rule })
      }),
    ]
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
    const isMarked = isCordonedBy(node, cordonOwner)
    const isOut = (seen: OutNode) => seen.slot !== undefined || (!isMarked && !seen.isPartly)
    return this.of(node).filter(({ max, out }) => {
      const seen = out.get(uid)
      return max === 0 || (seen && isOut(seen) ? false : out.size - (seen?.isPartly ? 1 : 0) >= max)
    })
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

  #takeUnavailable(node: NodeObject): void {
    const limits = this.#of(node)
    const { uid = '', name = '' } = node.metadata
    // Only a node that counts has the limit of the whole.
    const why = limits[0]?.key === budgetName ? unavailability(this.#spec, node) : undefined
    for (const { key, out } of limits) {
      if (key === controlPlane) this.#takeAiling(node, out, why)
      else if (why) out.set(uid, { name, uid, why })
    }
  }

  /** Whatever a person wants to be counted: a member of the control plane that is down is one that is missing. */
  #takeAiling(node: NodeObject, out: Map<string, OutNode>, counted: OutNode['why'] | undefined): void {
    const { uid = '', name = '' } = node.metadata
    if (!isReady(node)) {
      out.set(uid, { name, uid, why: 'NotReady' })
      return
    }
    // A cordon stops no etcd, and a scheduler that fails is not all of them: the others may still need this one.
    const why = counted ?? this.#ailmentOf(node)
    if (why) out.set(uid, { name, uid, why, isPartly: true })
  }

  #takeUnseen(slot: Slot): void {
    const grouped = (this.#spec.limits ?? []).flatMap(({ name, max: rule }) => {
      const group = slot.groups?.[name]
      return group === undefined ? [] : [this.#limitFor({ key: keyOf(name, group), name, group, rule })]
    })
    const cluster = this.#limitFor({ key: budgetName, name: budgetName, rule: this.#spec.max })
    for (const { out } of [cluster, ...grouped]) out.set(slot.nodeUID, outBySlot(slot))
  }

  #limitFor(about: Pick<Limit, 'key' | 'name' | 'group' | 'rule'>): CountedLimit {
    const known = this.#limits.get(about.key)
    if (known) return known
    const limit = { ...about, max: 0, total: 0, out: new Map<string, OutNode>() }
    this.#limits.set(about.key, limit)
    return limit
  }
}

/** No name and no label value contains a line break. */
function keyOf(name: string, group?: string): string {
  return group === undefined ? `limit\n${name}` : `limit\n${name}\n${group}`
}

function outBySlot(slot: Slot): OutNode {
  return { name: slot.node, uid: slot.nodeUID, slot, why: `out since ${shortTime(slot.takenAt)}` }
}

/** To the minute: nobody reads the milliseconds of a sentence. */
export function shortTime(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 16)} UTC`
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
    withoutSlot: [...out.values()]
      .filter(({ slot }) => !slot)
      .slice(0, mostNames)
      .map(({ name, why }) => `${name} ${why}`),
  }))
}
