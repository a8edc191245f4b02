import { setTimeout as sleep } from 'node:timers/promises'
import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
} from '../../src/api/index.ts'
import { isNotFound, type KubeClient, type KubeObject, type NodeObject, resources } from '../../src/kube/index.ts'
import { type Clock, systemClock } from '../../src/time/index.ts'
import { runInstance } from '../support/queue-instance.ts'
import { type FaultRates, faultyClient } from './faulty-client.ts'
import { LedgerJudge } from './ledger-judge.ts'
import { SeededRandom } from './seeded-random.ts'
import { Witness } from './witness.ts'

export interface ExclusivityOptions {
  readonly admin: KubeClient
  readonly seed: number
  readonly schedules: number
  /** Ready nodes that nothing else uses; half of them are in each of two zones. */
  readonly nodes: readonly string[]
  readonly signal?: AbortSignal
  readonly log?: (line: string) => void
}

export interface ExclusivityReport {
  readonly schedules: number
  readonly requests: number
  readonly kills: number
  readonly ledgerVersions: number
  readonly mostOut: number
  readonly seconds: number
  readonly problems: readonly string[]
}

const replicas = 3
const batchSize = 25
const zoneLabel = 'e2e.fettle.dev/zone'
/** From claim to Done a request takes well below a second here; this long means that it is lost. */
const patienceMs = 60_000

/**
 * Three controllers that all believe to lead: the worst that leader election could ever let through. They die, lose
 * writes and answers, see old worlds, and their clocks disagree by minutes. The budget has to hold all the same.
 */
export async function runExclusivity(options: ExclusivityOptions): Promise<ExclusivityReport> {
  const { admin, seed, schedules, signal = new AbortController().signal, log = () => undefined } = options
  const startedAt = Date.now()
  const end = new AbortController()
  const ended = AbortSignal.any([end.signal, signal])
  const counts = { requests: 0, kills: 0 }
  const problems: string[] = []
  const judge = new LedgerJudge(new Map(options.nodes.map((name, index) => [name, `z${index % 2}`])))
  const world: World = {
    judge,
    ledger: new Witness<MaintenanceBudget>(admin, maintenanceBudgets, ended, (budget) => judge.judge(budget)),
    requests: new Witness<MaintenanceRequest>(admin, maintenanceRequests, ended),
  }
  const random = new SeededRandom(seed)
  for (const [index, name] of options.nodes.entries())
    await admin.patch(
      resources.nodes,
      { name },
      { type: 'merge', body: { metadata: { labels: { [zoneLabel]: `z${index % 2}` } } } },
    )
  let done = 0
  try {
    while (done < schedules && problems.length === 0) {
      // A rest is measured by wall clocks, so with clocks that are minutes apart it would last for minutes.
      const mood = random.next() < 0.5 ? { skewSeconds: 600, rests: 0 } : { skewSeconds: 3, rests: 0.3 }
      const batch = new AbortController()
      const batchEnded = AbortSignal.any([ended, batch.signal])
      const fleet = Array.from({ length: replicas }, () =>
        runReplica(admin, new SeededRandom(random.below(2 ** 31)), mood.skewSeconds, batchEnded, () => counts.kills++),
      )
      try {
        const last = Math.min(schedules, done + batchSize)
        for (; done < last && problems.length === 0; done++) {
          ended.throwIfAborted()
          const schedule = new Schedule(options, new SeededRandom(random.below(2 ** 31)), world, mood.rests)
          const found = await schedule.run()
          counts.requests += schedule.requests
          problems.push(...[...found, ...judge.takeProblems()].map((problem) => `schedule ${done}: ${problem}`))
        }
      } finally {
        batch.abort(new Error('the batch is over'))
        await Promise.all(fleet)
      }
      log(`${done} schedules, ${counts.requests} requests, ${counts.kills} kills`)
    }
  } finally {
    end.abort(new Error('the schedules are over'))
    await Promise.all([world.ledger.ended, world.requests.ended])
  }
  const { versions, mostOut } = judge
  const seconds = (Date.now() - startedAt) / 1000
  return { schedules: done, ...counts, ledgerVersions: versions, mostOut, seconds, problems }
}

/** Lives, dies at some write, and lives again with another clock. */
async function runReplica(
  admin: KubeClient,
  random: SeededRandom,
  skewSeconds: number,
  signal: AbortSignal,
  died: () => void,
): Promise<void> {
  while (!signal.aborted) {
    const death = new AbortController()
    const rates: FaultRates = { lost: 0.02, unanswered: 0.03, delayed: 0.1, cut: 0.003, lagging: 0.02 }
    const doom = {
      atWrite: random.between(5, 500),
      isStored: random.next() < 0.5,
      die: () => {
        died()
        death.abort(new Error('killed'))
      },
    }
    await runInstance({
      client: faultyClient(admin, random, rates, doom),
      signal: AbortSignal.any([signal, death.signal]),
      clock: skewed(random.between(-skewSeconds, skewSeconds) * 1_000),
    })
    await sleep(random.between(0, 200))
  }
}

function skewed(ms: number): Clock {
  return { ...systemClock, now: () => systemClock.now() + ms }
}

/** What really happens, seen from outside. */
interface World {
  readonly judge: LedgerJudge
  readonly ledger: Witness<MaintenanceBudget>
  readonly requests: Witness<MaintenanceRequest>
}

/** Some requests on some nodes under some budget, from asking to the last one's end. */
class Schedule {
  readonly #options: ExclusivityOptions
  readonly #random: SeededRandom
  readonly #world: World
  /** How often nodes rest before their slot is free. */
  readonly #rests: number
  requests = 0

  constructor(options: ExclusivityOptions, random: SeededRandom, world: World, rests: number) {
    this.#rests = rests
    this.#options = options
    this.#random = random
    this.#world = world
  }

  async run(): Promise<string[]> {
    const { admin } = this.#options
    const random = this.#random
    const hasZones = random.next() < 0.5
    const max = random.between(1, 3)
    const soak = random.next() < this.#rests ? '300ms' : '0s'
    const spec = {
      max,
      limits: hasZones ? [{ name: 'zones', groupBy: zoneLabel, max: 1 }] : [],
      // A node that is down by itself gets its slot over the limit, and on a busy machine some are.
      countUnavailable: ['Cordoned'],
      timing: { soak, minReadySeconds: 0 },
    }
    // Only while nobody is out: a limit that is lowered under a slot is not broken by anybody.
    await this.#untilFree()
    await admin.apply(maintenanceBudgets, { metadata: { name: budgetName }, spec } as KubeObject, {
      fieldManager: 'schedules',
      force: true,
    })
    const asked = await Promise.all(Array.from({ length: random.between(1, 3) }, () => this.#ask()))
    this.requests = asked.length
    const problems = (await Promise.all(asked.map((name) => this.#followToEnd(name)))).flat()
    if (problems.length > 0) return problems
    await this.#untilFree()
    problems.push(...(await this.#untilGivenBack()))
    for (const name of asked) await this.#remove(name)
    return problems
  }

  async #ask(): Promise<string> {
    const { admin, nodes } = this.#options
    const random = this.#random
    const nodeName = nodes[random.below(nodes.length)] ?? ''
    const name = `${nodeName}-${random.below(2 ** 31).toString(36)}`
    await sleep(random.between(0, 80))
    const node = await admin.get<NodeObject>(resources.nodes, { name: nodeName })
    await admin.create(maintenanceRequests, {
      metadata: { name },
      spec: {
        nodeName,
        nodeUID: node.metadata.uid,
        source: { kind: 'Person', key: name },
        reason: 'schedule',
        work: 'External',
        priority: random.between(-1, 1),
      },
    } as KubeObject)
    return name
  }

  /** Works for a moment once it may, gives the node back, and waits for the end. */
  async #followToEnd(name: string): Promise<string[]> {
    const { admin } = this.#options
    const { requests } = this.#world
    const isWithdrawn = this.#random.next() < 0.15
    const workMs = this.#random.between(0, 40)
    const phaseOf = (request: MaintenanceRequest | undefined) => request?.status?.phase
    const late = () => [
      `${name} did not go on for ${patienceMs / 1000} s: ${JSON.stringify(requests.get(name)?.status)}; the ledger: ${JSON.stringify(this.#world.ledger.get(budgetName)?.status)}`,
    ]
    if (!isWithdrawn && !(await requests.until(name, (seen) => phaseOf(seen) === 'Granted', patienceMs))) return late()
    await sleep(workMs)
    await admin.patch(maintenanceRequests, { name }, { type: 'merge', body: { spec: { want: 'Return' } } })
    const isOver = await requests.until(name, (seen) => phaseOf(seen) === 'Done', patienceMs)
    return isOver ? hasEnded(name, requests.get(name)?.status?.outcome, isWithdrawn) : late()
  }

  /** No slot is held any more; a node that rests has to have rested. Asked at the source: the witness may be behind. */
  async #untilFree(): Promise<void> {
    const { ledger } = this.#world
    const isFree = (budget: MaintenanceBudget | undefined) =>
      budget !== undefined && (budget.status?.slots ?? []).length === 0
    for (const endAt = Date.now() + patienceMs; Date.now() < endAt; await sleep(20)) {
      await ledger.until(budgetName, isFree, endAt - Date.now())
      if (isFree(await this.#options.admin.get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName }))) return
    }
    throw new Error(`slots are left in the ledger: ${JSON.stringify(ledger.get(budgetName)?.status?.slots)}`)
  }

  /** A controller that knew less may have marked a node once more: somebody has to take that away again. */
  async #untilGivenBack(): Promise<string[]> {
    let left = await this.#leftovers()
    for (const endAt = Date.now() + patienceMs; left.length > 0 && Date.now() < endAt; await sleep(100))
      left = await this.#leftovers()
    return left
  }

  async #leftovers(): Promise<string[]> {
    const found: string[] = []
    for await (const { items } of this.#options.admin.list<NodeObject>(resources.nodes, { labelSelector: zoneLabel }))
      for (const { metadata, spec, status } of items) {
        const ours = Object.keys(metadata.annotations ?? {}).filter((key) => /^(cordon\.)?fettle\.dev\//.test(key))
        const said = (status?.conditions ?? []).filter(({ reason }) => reason === 'FettleMaintenance')
        if (spec?.unschedulable || ours.length > 0 || said.length > 0)
          found.push(`${metadata.name} was not given back: ${JSON.stringify({ spec, ours, said })}`)
      }
    return found
  }

  async #remove(name: string): Promise<void> {
    const { admin } = this.#options
    await admin
      .patch(maintenanceRequests, { name }, { type: 'merge', body: { metadata: { finalizers: [] } } })
      .catch(absent)
    await admin.delete(maintenanceRequests, { name }, { uid: 'any' }).catch(absent)
  }
}

function hasEnded(name: string, outcome: string | undefined, isWithdrawn: boolean): string[] {
  const allowed = isWithdrawn ? ['Completed', 'Withdrawn'] : ['Completed']
  return allowed.includes(outcome ?? '') ? [] : [`${name} ended as ${outcome}`]
}

function absent(error: unknown): undefined {
  if (!isNotFound(error)) throw error
  return undefined
}
