import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type AgentIdentity, runAgent } from '../../src/agent/index.ts'
import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
  maintenanceWindows,
} from '../../src/api/index.ts'
import { type KubeClient, type KubeObject, type PodObject, ResourceCache, resources } from '../../src/kube/index.ts'
import { systemClock } from '../../src/time/index.ts'
import { LedgerJudge } from '../load/ledger-judge.ts'
import { Witness } from '../load/witness.ts'
import { boundPod, type Test } from '../support/e2e-cluster.ts'
import { ensureHeartbeatNamespace, type Kubelet, MemoryHost, Power } from '../support/memory-host.ts'
import { listOf, prepareQueue, type QueueGround, useCrds } from '../support/queue-cluster.ts'

useCrds()

/** All of them with `npm run reboot-wave`; a hundred show the same rules in a fifth of the time. */
const fleetSize = Number(process.env['FETTLE_WAVE_NODES'] ?? 50)
const limits = { max: 25, perZone: 10 }
const zoneLabel = 'topology.kubernetes.io/zone'
const leases = '/apis/coordination.k8s.io/v1/namespaces/fettle-nodes/leases'

interface Member {
  readonly node: AgentIdentity
  readonly zone: string
  readonly host: MemoryHost
  readonly firstBoot: string
}

/** Nodes of this test alone, Ready, and the machines under them. */
async function makeFleet({ admin, namespace }: QueueGround, problems: string[]): Promise<Member[]> {
  return inParallel(fleetSize, async (index): Promise<Member> => {
    const [name, zone, firstBoot] = [`${namespace}-${index}`, `z${index % 3}`, randomUUID()]
    const { metadata } = await admin.create<KubeObject>(resources.nodes, {
      metadata: { name, labels: { [zoneLabel]: zone, 'e2e.fettle.dev/queue': namespace } },
      status: { conditions: [readyCondition('True')], nodeInfo: { bootID: firstBoot } },
    } as KubeObject)
    const host: MemoryHost = new MemoryHost({
      power: new Power(firstBoot, kubeletOf(admin, name)),
      onOrder: async () => {
        problems.push(...(await isUnfounded(admin, name, host)))
      },
    })
    return { node: { name, uid: metadata.uid ?? '' }, zone, host, firstBoot }
  })
}

const readyCondition = (status: 'True' | 'False') => ({
  type: 'Ready',
  status,
  reason: 'E2e',
  message: 'e2e',
  lastHeartbeatTime: new Date().toISOString(),
  lastTransitionTime: new Date().toISOString(),
})

/** Nothing simulates these nodes: five hundred more would be too many for what simulates the others. */
function kubeletOf(admin: KubeClient, name: string): Kubelet {
  const say = async (status: object) => {
    const patch = { type: 'strategic', body: { status } } as const
    await admin.patch(resources.nodes, { name }, patch, { subresource: 'status' })
  }
  return {
    goDown: () => say({ conditions: [readyCondition('False')] }),
    comeUp: (bootID) => say({ conditions: [readyCondition('True')], nodeInfo: { bootID } }),
  }
}

/** In the moment of the order: the ledger lists the node under the number that the machine obeys. */
async function isUnfounded(admin: QueueGround['admin'], name: string, host: MemoryHost): Promise<string[]> {
  const { status } = await admin.get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName })
  const token = status?.slots.find(({ node }) => node === name)?.token
  return token === host.highestToken ? [] : [`${name} reboots with token ${host.highestToken}; the ledger has ${token}`]
}

/**
 * Five hundred agents in one process would each open a watch of their own, as they do on five hundred machines: the
 * test's process would measure itself. They share one, and each sees its own requests only.
 */
class SharedView {
  readonly #cache: ResourceCache<MaintenanceRequest>
  readonly #listeners = new Map<string, () => void>()

  constructor({ admin, signal }: QueueGround) {
    const indexes = { node: ({ spec }: MaintenanceRequest) => [spec.nodeName] }
    this.#cache = new ResourceCache({ client: admin, resource: maintenanceRequests, indexes, signal })
    this.#cache.subscribe(({ object }) => this.#listeners.get(object.spec.nodeName)?.())
  }

  synced(signal: AbortSignal): Promise<void> {
    return this.#cache.waitForSync(signal)
  }

  of(node: string): ResourceCache<MaintenanceRequest> {
    const view = {
      isSynced: true,
      stats: () => this.#cache.stats(),
      values: () => this.#cache.byIndex('node', node).values(),
      subscribe: (listener: () => void) => this.#listeners.set(node, listener),
    }
    return view as unknown as ResourceCache<MaintenanceRequest>
  }
}

function startAgents(test: Test, { admin, signal }: QueueGround, fleet: readonly Member[], view: SharedView): void {
  const over = new AbortController()
  const agents = fleet.map(({ node, host }) =>
    host.power.keepRunning(
      (life) =>
        runAgent(
          {
            node,
            rules: { requestFile: '/var/maintenance-required', mayReboot: true, maxRebootsPerDay: 5 },
            host,
            client: admin,
            requests: view.of(node.name),
            clock: systemClock,
            pollMs: 10_000,
            log: { info: () => undefined, warn: () => undefined },
          },
          life,
        ),
      AbortSignal.any([over.signal, signal]),
    ),
  )
  test.onTestFinished(async () => {
    over.abort(new Error('the test is over'))
    await Promise.all(agents)
  })
}

/** Opens after so many seconds. Answers its name and when that is. */
async function makeWindow(test: Test, { admin, namespace: name }: QueueGround, inSeconds: number) {
  const opensMs = Math.ceil(Date.now() / 1000 + inSeconds) * 1000
  const time = (ms: number) => new Date(ms).toISOString().slice(0, 19)
  const spec = { schedule: { once: { from: time(opensMs), to: time(opensMs + 3_600_000) } } }
  await admin.create(maintenanceWindows, { metadata: { name }, spec } as KubeObject)
  test.onTestFinished(() => admin.delete(maintenanceWindows, { name }, { uid: 'any' }))
  return { name, opensMs }
}

async function inParallel<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  let next = 0
  const worker = async () => {
    for (let index = next++; index < count; index = next++) results[index] = await work(index)
  }
  await Promise.all(Array.from({ length: 16 }, worker))
  return results
}

test(`${fleetSize} nodes that all need a reboot at once get it within the budget, in the window, each once`, async (context) => {
  const ground = await prepareQueue(context)
  const { admin, namespace, signal } = ground
  const problems: string[] = []
  const fleet = await makeFleet(ground, problems)
  await ensureHeartbeatNamespace(admin)
  context.onTestFinished(() => admin.request({ method: 'DELETE', path: leases, deadlineMs: 120_000 }))
  const [blocked, ...others] = fleet
  const labels = { job: 'backup' }
  const blocker = await admin.create<PodObject>(
    resources.pods,
    boundPod(namespace, 'backup', blocked?.node.name ?? '', { metadata: { labels } }),
  )
  const window = await makeWindow(context, ground, 5)
  await ground.setBudget({
    max: limits.max,
    limits: [{ name: 'zones', groupBy: zoneLabel, max: limits.perZone }],
    blockers: [{ name: 'backups', pods: { selector: { matchLabels: labels } } }],
    // A node that is down by itself gets its slot over the limit, and on a busy machine some are.
    countUnavailable: [],
    timing: { minReadySeconds: 0 },
    defaults: { windows: [window.name] },
  })
  const judge = new LedgerJudge(new Map(fleet.map(({ node, zone }) => [node.name, zone])))
  /** Nodes in the order of their claims. */
  const claimed = new Map<string, number>()
  const ledger = new Witness<MaintenanceBudget>(admin, maintenanceBudgets, signal, (budget) => {
    judge.judge(budget)
    for (const { node, takenAt } of budget.status?.slots ?? [])
      if (!claimed.has(node)) claimed.set(node, Date.parse(takenAt))
  })
  const requests = new Witness<MaintenanceRequest>(admin, maintenanceRequests, signal)

  const startedMs = Date.now()
  const view = new SharedView(ground)
  await view.synced(signal)
  for (const { host } of fleet) await host.needReboot()
  startAgents(context, ground, fleet, view)
  await ground.startQueue()
  const isClaimed = ({ node }: Member) => claimed.has(node.name)
  const withinMs = 480_000
  await ledger.until(budgetName, () => others.every(isClaimed), withinMs)
  expect(blocked && isClaimed(blocked)).toBe(false)
  await admin.delete(
    resources.pods,
    { name: 'backup', namespace },
    { uid: blocker.metadata.uid ?? '', gracePeriodSeconds: 0 },
  )
  const nameOf = ({ node }: Member) => `${node.name}-reboot-0`
  const isDone = (request: MaintenanceRequest | undefined) => request?.status?.phase === 'Done'
  for (const member of fleet) await requests.until(nameOf(member), isDone, startedMs + withinMs - Date.now())
  const seconds = Math.round((Date.now() - startedMs) / 100) / 10
  console.log(
    `${fleetSize} nodes in ${seconds} s; ${judge.versions} versions of the ledger, at most ${judge.mostOut} out`,
  )

  expect([...judge.takeProblems(), ...problems]).toEqual([])
  expect([ledger.failure, requests.failure]).toEqual([undefined, undefined])
  expect(Math.min(...claimed.values())).toBeGreaterThanOrEqual(window.opensMs)
  expect([...claimed.keys()].at(-1)).toBe(blocked?.node.name)
  expect(judge.mostOut).toBe(limits.max)
  const stored = await listOf<MaintenanceRequest>(admin, maintenanceRequests)
  const ended = stored.map(({ metadata, status }) => `${metadata.name} ${status?.phase} ${status?.outcome}`)
  expect(ended.sort()).toEqual(fleet.map((member) => `${nameOf(member)} Done Completed`).sort())
  for (const { node, host, firstBoot } of fleet) {
    const { spec, status } = await ground.node(node.name)
    expect({ node: node.name, orders: host.orders, boots: host.power.boots, spec }).toMatchObject({
      orders: 1,
      boots: 1,
      spec: expect.not.objectContaining({ unschedulable: true }),
    })
    expect(status?.nodeInfo?.bootID).toBe(host.power.bootID)
    expect(host.power.bootID).not.toBe(firstBoot)
  }
  expect((await ground.budget()).status?.slots).toEqual([])
}, 900_000)
