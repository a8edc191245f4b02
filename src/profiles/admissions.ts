import { budgetName, type MaintenanceBudget, type MaintenanceBudgetStatus, maintenanceBudgets } from '../api/index.ts'
import { isConflict, type KubeClient, type NodeObject, type ResourceCache } from '../kube/index.ts'
import { controllerManager } from '../queue/index.ts'
import type { Clock } from '../time/index.ts'
import { dataAnnotation, stateLabel } from './names.ts'
import type { ClusterView, NodeDraft } from './plugin.ts'
import { readData, writeData } from './state/data.ts'
import { messageOf } from './state/evaluate-chain.ts'
import { goTimeOf } from './state/go-time.ts'
import { progressAnnotation, readProgress } from './state/progress.ts'

type Admission = NonNullable<MaintenanceBudgetStatus['admissions']>[number]

export interface AdmissionPorts {
  readonly client: KubeClient
  readonly budgets: Pick<ResourceCache<MaintenanceBudget>, 'get'>
  readonly nodes: Pick<ResourceCache<NodeObject>, 'get' | 'isSynced'>
  readonly cluster: ClusterView
  readonly clock: Clock
  readonly signal: AbortSignal
}

interface Candidate {
  readonly node: Pick<NodeDraft, 'name' | 'uid'>
  readonly profile: string
  readonly passes: (cluster: ClusterView) => Promise<boolean>
  readonly answer: (why: string | undefined) => void
}

const mostAdmissions = 500
/** A write that was on its way when its controller died has arrived by then, or never will. */
const forgottenAfterMs = 60_000

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

  constructor(ports: AdmissionPorts) {
    this.#ports = ports
  }

  /** Why not, if not. */
  admit(
    node: Pick<NodeDraft, 'name' | 'uid'>,
    profile: string,
    passes: (cluster: ClusterView) => Promise<boolean>,
  ): Promise<string | undefined> {
    return new Promise((answer) => {
      this.#waiting.push({ node, profile, passes, answer })
      this.#start()
    })
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
    const { client, signal } = this.#ports
    for (let attempt = 1; ; attempt++) {
      const budget = attempt === 1 ? this.#ledger() : await this.#readLedger()
      if (!budget?.status) return new Map(batch.map((each) => [each, 'the ledger is not there yet']))
      const { admissions = [] } = budget.status
      const { next, refused } = await this.#decide(batch, this.#stillNeeded(admissions))
      if (isSameList(admissions, next)) return refused
      try {
        this.#newest = await client.replace<MaintenanceBudget>(
          maintenanceBudgets,
          { ...budget, status: { ...budget.status, admissions: [...next] } },
          { subresource: 'status', fieldManager: controllerManager, signal },
        )
        return refused
      } catch (error) {
        if (!isConflict(error) || attempt >= 20) throw error
      }
    }
  }

  async #decide(batch: readonly Candidate[], needed: readonly Admission[]) {
    const { cluster, clock } = this.#ports
    const refused = new Map<Candidate, string>()
    let next = needed
    for (const candidate of batch) {
      const { uid: nodeUID, name: node } = candidate.node
      const { profile } = candidate
      const others = next.filter((each) => each.nodeUID !== nodeUID)
      if (!(await candidate.passes(withAdmitted(cluster, others)))) {
        refused.set(candidate, 'other nodes were first')
        next = others
      } else if (others.length >= mostAdmissions) refused.set(candidate, 'too many nodes are on their way already')
      else if (others.length === next.length)
        next = [...next, { node, nodeUID, profile, at: new Date(clock.now()).toISOString() }]
    }
    return { next, refused }
  }

  #stillNeeded(admissions: readonly Admission[]): readonly Admission[] {
    const { nodes, clock } = this.#ports
    return admissions.filter(({ node: name, nodeUID, profile, at }) => {
      const node = nodes.get({ name })
      if (node?.metadata.uid !== nodeUID) return !nodes.isSynced
      const { annotations = {} } = node.metadata
      const read = readData(annotations[dataAnnotation])
      const stored = 'data' in read ? read.data.profiles.get(profile) : undefined
      if (stored?.current === 'in-maintenance') return false
      if (readProgress(annotations[progressAnnotation]).inFlight[profile]?.next === 'in-maintenance') return true
      // It was in, and is out again; or what was to bring it in never arrived.
      const isOver = stored !== undefined && stored.transition.ms > Date.parse(at)
      return !isOver && clock.now() - Date.parse(at) < forgottenAfterMs
    })
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

/** The cluster as it will look once those nodes are where they were let in. */
export function withAdmitted(cluster: ClusterView, admissions: readonly Admission[]): ClusterView {
  if (admissions.length === 0) return cluster
  const byUid = new Map(admissions.map((admission) => [admission.nodeUID, admission]))
  return {
    *nodes() {
      for (const node of cluster.nodes()) {
        const admission = byUid.get(node.metadata.uid ?? '')
        yield admission ? admitted(node, admission) : node
      }
    },
    podsOn: (node) => cluster.podsOn(node),
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

function versionOf({ metadata }: MaintenanceBudget): bigint {
  return BigInt(metadata.resourceVersion ?? 0)
}
