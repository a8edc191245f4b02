import { budgetName, type MaintenanceBudget, type MaintenanceBudgetStatus, maintenanceBudgets } from '../api/index.ts'
import { isConflict, type KubeClient, type NodeObject, type ResourceCache, resources } from '../kube/index.ts'
import { controllerManager } from '../queue/index.ts'
import type { Clock } from '../time/index.ts'
import { onTheWay } from './in-maintenance.ts'
import { dataAnnotation, stateLabel } from './names.ts'
import type { ClusterView, NodeDraft } from './plugin.ts'
import { readData, writeData } from './state/data.ts'
import { messageOf } from './state/evaluate-chain.ts'
import { goTimeOf } from './state/go-time.ts'
import { progressAnnotation } from './state/progress.ts'
import type { WhyRefused } from './state/turn.ts'

export type Admission = NonNullable<MaintenanceBudgetStatus['admissions']>[number]

export interface AdmissionPorts {
  readonly client: KubeClient
  readonly budgets: Pick<ResourceCache<MaintenanceBudget>, 'get'>
  readonly nodes: Pick<ResourceCache<NodeObject>, 'get' | 'isSynced'>
  readonly cluster: ClusterView
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Lets in whom it would let in, and writes nothing. */
  readonly isDryRun: boolean
}

/** The node that asks, as it was read: only in that version can it be taken into maintenance by this look. */
type Asker = Pick<NodeDraft, 'name' | 'uid' | 'stored'>

interface Candidate {
  readonly node: Asker
  readonly profile: string
  readonly whyRefused: WhyRefused
  readonly answer: (why: string | undefined) => void
}

const mostAdmissions = 500
/** A write that was on its way when its controller died has arrived by then, or never will. */
const forgottenAfterMs = 600_000
/** A node that is not in the cache is gone, or so new that the cache has not seen it yet. */
const goneAfterMs = 60_000

/**
 * Who may enter maintenance when the answer depends on who else has. All who ask at the same time are asked one after the
 * other, each with the nodes before it counted in, and who may is written into the ledger in one write that fails if
 * anybody else wrote meanwhile. An admission counts until the node itself shows its new state.
 */
export class Admissions {
  readonly #ports: AdmissionPorts
  #waiting: Candidate[] = []
  #running: Promise<void> | undefined
  #newest: MaintenanceBudget | undefined
  /** The ledger that is known to hold all whom it has to: it can be deleted, and comes back empty. */
  #complete: string | undefined
  /** When nodes gave up what they have in the ledger, by uid. */
  readonly #givenUp = new Map<string, number>()
  /** Who a dry run let in; their nodes never change by it. */
  #pretended: readonly Admission[] = []

  constructor(ports: AdmissionPorts) {
    this.#ports = ports
  }

  /** Why not, if not. */
  admit(node: Asker, profile: string, whyRefused: WhyRefused): Promise<string | undefined> {
    return new Promise((answer) => {
      this.#waiting.push({ node, profile, whyRefused, answer })
      this.#start()
    })
  }

  /** What let the node in was refused, so that it never comes in by this admission. It leaves the ledger when that is tidied. */
  giveUp(nodeUID: string): void {
    this.#givenUp.set(nodeUID, this.#ports.clock.now())
  }

  /** Takes those off the ledger that are no longer needed; nothing is written if there are none. */
  async tidy(): Promise<void> {
    const { admissions = [] } = this.#ledger()?.status ?? {}
    if (admissions.length > 0 && this.#stillNeeded(admissions).length < admissions.length) this.#start()
    await this.#running
  }

  #start(): void {
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined
      if (this.#waiting.length > 0) this.#start()
    })
  }

  async #work(): Promise<void> {
    // All that are decided in the same turn of the event loop go into one write.
    await new Promise((resolve) => setImmediate(resolve))
    const batch = this.#waiting
    this.#waiting = []
    try {
      const refused = await this.#write(batch)
      for (const candidate of batch) candidate.answer(refused.get(candidate))
    } catch (error) {
      for (const { answer } of batch) answer(`the ledger could not be written: ${messageOf(error)}`)
    }
  }

  /** Those who may not, and why. */
  async #write(batch: readonly Candidate[]): Promise<ReadonlyMap<Candidate, string>> {
    const { client, signal, isDryRun } = this.#ports
    if (isDryRun) {
      const { next, refused } = await this.#decide(batch, this.#stillNeeded(this.#pretended))
      this.#pretended = next
      return refused
    }
    for (let attempt = 1; ; attempt++) {
      const budget = attempt === 1 ? this.#ledger() : await this.#readLedger()
      if (!budget?.status) return new Map(batch.map((each) => [each, 'the ledger is not there yet']))
      const { admissions = [] } = budget.status
      const { next, refused } = await this.#decide(batch, this.#stillNeeded(await this.#completed(budget)))
      try {
        if (!isSameList(admissions, next))
          this.#newest = await client.replace<MaintenanceBudget>(
            maintenanceBudgets,
            { ...budget, status: { ...budget.status, admissions: [...next] } },
            { subresource: 'status', fieldManager: controllerManager, signal },
          )
        this.#complete = budget.metadata.uid
        for (const uid of this.#givenUp.keys())
          if (!next.some(({ nodeUID }) => nodeUID === uid)) this.#givenUp.delete(uid)
        return refused
      } catch (error) {
        if (!isConflict(error) || attempt >= 20) throw error
      }
    }
  }

  async #decide(batch: readonly Candidate[], needed: readonly Admission[]) {
    const { cluster, clock } = this.#ports
    const refused = new Map<Candidate, string>()
    if (batch.length === 0) return { next: needed, refused }
    const now = withNewer(cluster, await this.#inMaintenance())
    let next = needed
    for (const candidate of batch) {
      const { uid: nodeUID, name: node, stored } = candidate.node
      const { profile } = candidate
      const others = next.filter((each) => each.nodeUID !== nodeUID)
      const own = next.find((each) => each.nodeUID === nodeUID)
      const why = await candidate.whyRefused(withAdmitted(now, others))
      // Who is refused keeps what it has: it may be of somebody else's look, whose write is on its way.
      if (why !== undefined) refused.set(candidate, why)
      else if (others.length >= mostAdmissions) refused.set(candidate, 'too many nodes are on their way already')
      else if (!own || own.profile !== profile || versionOf(stored) > BigInt(own.nodeVersion ?? 0)) {
        const { resourceVersion: nodeVersion = '0' } = stored.metadata
        next = [...others, { node, nodeUID, nodeVersion, profile, at: new Date(clock.now()).toISOString() }]
      }
    }
    return { next, refused }
  }

  /** With those whom a ledger lost that this process has not seen before: whom it let in itself, and who is on the way. */
  async #completed({ metadata: { uid }, status }: MaintenanceBudget): Promise<readonly Admission[]> {
    const all = [...(status?.admissions ?? [])]
    if (uid === this.#complete) return all
    const lost = [...(await this.#onTheWay()), ...(this.#newest?.status?.admissions ?? [])]
    for (const each of lost) if (!all.some(({ nodeUID }) => nodeUID === each.nodeUID)) all.push(each)
    return all
  }

  /** No label says who it is, and the view may be behind: all nodes are read, once for each ledger. */
  async #onTheWay(): Promise<readonly Admission[]> {
    const { client, clock, signal } = this.#ports
    const at = new Date(clock.now()).toISOString()
    const found: Admission[] = []
    for await (const { items } of client.list<NodeObject>(resources.nodes, { signal }))
      for (const { metadata } of items) {
        const { name: node = '', uid: nodeUID = '', resourceVersion: nodeVersion = '0', annotations = {} } = metadata
        const profiles = onTheWay(annotations[progressAnnotation] ?? '')
        found.push(...profiles.map((profile) => ({ node, nodeUID, nodeVersion, profile, at })))
      }
    return found
  }

  /**
   * An admission leaves the ledger once some controller has seen the node in maintenance. This one's view may be behind
   * that; so it asks the API server itself, after it has read the ledger.
   */
  async #inMaintenance(): Promise<ReadonlyMap<string, NodeObject>> {
    const { client, signal } = this.#ports
    const found = new Map<string, NodeObject>()
    const options = { labelSelector: `${stateLabel}=in-maintenance`, signal }
    for await (const { items } of client.list<NodeObject>(resources.nodes, options))
      for (const node of items) found.set(node.metadata.uid ?? '', node)
    return found
  }

  #stillNeeded(admissions: readonly Admission[]): readonly Admission[] {
    const { nodes, clock } = this.#ports
    const kept = admissions.filter(({ nodeUID, at }) => Date.parse(at) > (this.#givenUp.get(nodeUID) ?? 0))
    return stillNeeded(kept, nodes, clock.now())
  }

  /** The newest version that this process knows of. */
  #ledger(): MaintenanceBudget | undefined {
    const seen = this.#ports.budgets.get({ name: budgetName })
    if (!seen || !this.#newest || seen.metadata.uid !== this.#newest.metadata.uid) return seen
    return versionOf(seen) >= versionOf(this.#newest) ? seen : this.#newest
  }

  async #readLedger(): Promise<MaintenanceBudget> {
    const { client, signal } = this.#ports
    return client.get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName }, { signal })
  }
}

/**
 * What lets a node in is written on the condition that the node is still in the version that was read. A newer one shows
 * it in maintenance, or on its way there; or it never comes in by this admission.
 */
export function stillNeeded(
  admissions: readonly Admission[],
  nodes: AdmissionPorts['nodes'],
  nowMs: number,
): readonly Admission[] {
  return admissions.filter(({ node: name, nodeUID, nodeVersion = '0', profile, at }) => {
    const node = nodes.get({ name })
    const ageMs = nowMs - Date.parse(at)
    if (node?.metadata.uid !== nodeUID) return !nodes.isSynced || ageMs < goneAfterMs
    const { annotations = {} } = node.metadata
    if (onTheWay(annotations[progressAnnotation] ?? '').includes(profile)) return true
    return versionOf(node) <= BigInt(nodeVersion) && ageMs < forgottenAfterMs
  })
}

/** The cluster with these nodes as they are, where the view of it is older. */
function withNewer(cluster: ClusterView, newer: ReadonlyMap<string, NodeObject>): ClusterView {
  if (newer.size === 0) return cluster
  return {
    ...cluster,
    *nodes() {
      const uids = new Set<string>()
      for (const node of cluster.nodes()) {
        const { uid = '' } = node.metadata
        uids.add(uid)
        yield newer.get(uid) ?? node
      }
      for (const [uid, node] of newer) if (!uids.has(uid)) yield node
    },
  }
}

/** The cluster as it will look once those nodes are where they were let in. */
export function withAdmitted(cluster: ClusterView, admissions: readonly Admission[]): ClusterView {
  if (admissions.length === 0) return cluster
  const byUid = new Map(admissions.map((admission) => [admission.nodeUID, admission]))
  return {
    ...cluster,
    *nodes() {
      for (const node of cluster.nodes()) {
        const admission = byUid.get(node.metadata.uid ?? '')
        yield admission ? admitted(node, admission) : node
      }
    },
  }
}

function admitted(node: NodeObject, { profile, at }: Admission): NodeObject {
  const { labels, annotations } = node.metadata
  const read = readData(annotations?.[dataAnnotation])
  const data = 'data' in read ? read.data : { profiles: new Map(), notifications: new Map() }
  const entry = {
    transition: goTimeOf(Date.parse(at)),
    current: 'in-maintenance',
    previous: data.profiles.get(profile)?.current ?? 'operational',
  }
  const profiles = new Map([...data.profiles, [profile, entry]])
  return {
    ...node,
    metadata: {
      ...node.metadata,
      labels: { ...labels, [stateLabel]: 'in-maintenance' },
      annotations: { ...annotations, [dataAnnotation]: writeData({ ...data, profiles }) },
    },
  }
}

function isSameList(one: readonly Admission[], other: readonly Admission[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index])
}

function versionOf({ metadata }: MaintenanceBudget | NodeObject): bigint {
  return BigInt(metadata.resourceVersion ?? 0)
}
