import { setTimeout as sleep } from 'node:timers/promises'
import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
} from '../../src/api/index.ts'
import { isNotFound, type KubeClient, type KubeObject, type NodeObject, resources } from '../../src/kube/index.ts'
import type { SeededRandom } from './seeded-random.ts'
import type { Witness } from './witness.ts'

export const zoneLabel = 'e2e.fettle.dev/zone'
/** From claim to Done a request takes well below a second here; this long means that it is lost. */
const patienceMs = 60_000

/** What really happens, seen from outside. */
export interface World {
  readonly ledger: Witness<MaintenanceBudget>
  readonly requests: Witness<MaintenanceRequest>
  readonly nodes: Witness<NodeObject>
}

export interface ScheduleOptions {
  readonly admin: KubeClient
  readonly nodes: readonly string[]
  readonly world: World
  readonly random: SeededRandom
  /** How often nodes rest before their slot is free. */
  readonly rests: number
}

/** Some requests on some nodes under some budget, from asking to the last one's end. */
export class Schedule {
  readonly #options: ScheduleOptions
  requests = 0

  constructor(options: ScheduleOptions) {
    this.#options = options
  }

  async run(): Promise<string[]> {
    const { admin, random, rests } = this.#options
    const hasZones = random.next() < 0.5
    const max = random.between(1, 3)
    const soak = random.next() < rests ? '100ms' : '0s'
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
    // Now and then there are more than there are nodes: a line forms, some share a slot, and nobody may be forgotten in it.
    const count = random.next() < 0.05 ? random.between(8, 12) : random.between(1, 3)
    const asked = await Promise.all(Array.from({ length: count }, () => this.#ask()))
    this.requests = asked.length
    const problems = (await Promise.all(asked.map((name) => this.#followToEnd(name)))).flat()
    if (problems.length > 0) return problems
    await this.#untilFree()
    problems.push(...(await this.#untilGivenBack()))
    await Promise.all(asked.map((name) => this.#remove(name)))
    return problems
  }

  async #ask(): Promise<string> {
    const { admin, nodes, random, world } = this.#options
    const nodeName = nodes[random.below(nodes.length)] ?? ''
    const name = `${nodeName}-${random.below(2 ** 31).toString(36)}`
    const priority = random.between(-1, 1)
    // Most come together, and some while others are at work.
    await sleep(random.between(0, random.next() < 0.2 ? 120 : 20))
    await admin.create(maintenanceRequests, {
      metadata: { name },
      spec: {
        nodeName,
        nodeUID: world.nodes.get(nodeName)?.metadata.uid,
        source: { kind: 'Person', key: name },
        reason: 'schedule',
        work: random.next() < 0.3 ? 'Host' : 'External',
        priority,
      },
    } as KubeObject)
    return name
  }

  /** Works for a moment once it may, gives the node back, and waits for the end. */
  async #followToEnd(name: string): Promise<string[]> {
    const { admin, random, world } = this.#options
    const { requests, ledger } = world
    const isWithdrawn = random.next() < 0.15
    const workMs = random.between(0, 40)
    const phaseOf = (request: MaintenanceRequest | undefined) => request?.status?.phase
    const late = () => [
      `${name} did not go on for ${patienceMs / 1000} s: ${JSON.stringify(requests.get(name)?.status)}; the ledger: ${JSON.stringify(ledger.get(budgetName)?.status)}`,
    ]
    if (!isWithdrawn && !(await requests.until(name, (seen) => phaseOf(seen) === 'Granted', patienceMs))) return late()
    const { spec, status } = requests.get(name) ?? {}
    if (spec?.work === 'Host') await this.#workOnHost(name, isWithdrawn ? undefined : status?.slot?.token, workMs)
    else {
      await sleep(workMs)
      await admin.patch(maintenanceRequests, { name }, { type: 'merge', body: { spec: { want: 'Return' } } })
    }
    const isOver = await requests.until(name, (seen) => phaseOf(seen) === 'Done', patienceMs)
    return isOver ? hasEnded(name, requests.get(name)?.status?.outcome, isWithdrawn) : late()
  }

  /** As an agent tells it: the permission lies there for a moment longer than anybody asks for it. */
  async #workOnHost(name: string, token: number | undefined, workMs: number): Promise<void> {
    const { admin, random } = this.#options
    const report = (host: NonNullable<MaintenanceRequest['status']>['host']) =>
      admin.apply(maintenanceRequests, { metadata: { name }, status: { host } } as KubeObject, {
        fieldManager: 'fettle-agent',
        subresource: 'status',
      })
    if (token !== undefined) {
      const tokens = { inFile: token, highest: token }
      await report({ request: 'Present', permission: 'Present', tokens })
      await sleep(workMs)
      await report({ request: 'Absent', permission: 'Present', tokens })
      await sleep(random.between(0, 40))
    }
    await report({ request: 'Absent', permission: 'Absent' })
  }

  /** No slot is held any more; a node that rests has to have rested. Asked at the source: the witness may be behind. */
  async #untilFree(): Promise<void> {
    const { admin, world } = this.#options
    const { ledger } = world
    const isFree = (budget: MaintenanceBudget | undefined) =>
      budget !== undefined && (budget.status?.slots ?? []).length === 0
    for (const endAt = Date.now() + patienceMs; Date.now() < endAt; await sleep(20)) {
      await ledger.until(budgetName, isFree, endAt - Date.now())
      if (isFree(await admin.get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName }))) return
    }
    throw new Error(`slots are left in the ledger: ${JSON.stringify(ledger.get(budgetName)?.status?.slots)}`)
  }

  /** A controller that knew less may have marked a node once more: somebody has to take that away again. */
  async #untilGivenBack(): Promise<string[]> {
    const { nodes, world } = this.#options
    let left = await this.#leftovers()
    for (const endAt = Date.now() + patienceMs; left.length > 0 && Date.now() < endAt; left = await this.#leftovers())
      for (const name of nodes)
        await world.nodes.until(name, (node) => node !== undefined && !leftOn(node), endAt - Date.now())
    return left
  }

  /** Asked at the source, for the same reason. */
  async #leftovers(): Promise<string[]> {
    const found: string[] = []
    for await (const { items } of this.#options.admin.list<NodeObject>(resources.nodes, { labelSelector: zoneLabel }))
      found.push(...items.flatMap((node) => leftOn(node) ?? []))
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

function leftOn({ metadata, spec, status }: NodeObject): string | undefined {
  const ours = Object.keys(metadata.annotations ?? {}).filter((key) => /^(cordon\.)?fettle\.dev\//.test(key))
  const said = (status?.conditions ?? []).filter(({ reason }) => reason === 'FettleMaintenance')
  if (!spec?.unschedulable && ours.length === 0 && said.length === 0) return undefined
  return `${metadata.name} was not given back: ${JSON.stringify({ spec, ours, said })}`
}

function hasEnded(name: string, outcome: string | undefined, isWithdrawn: boolean): string[] {
  const allowed = isWithdrawn ? ['Completed', 'Withdrawn'] : ['Completed']
  return allowed.includes(outcome ?? '') ? [] : [`${name} ended as ${outcome}`]
}

function absent(error: unknown): undefined {
  if (!isNotFound(error)) throw error
  return undefined
}
