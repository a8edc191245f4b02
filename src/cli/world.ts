import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceFreeze,
  type MaintenanceRequest,
  type MaintenanceWindow,
  maintenanceBudgets,
  maintenanceFreezes,
  maintenanceRequests,
  maintenanceWindows,
} from '../api/index.ts'
import { type DaemonSetObject, type DaemonSets, daemonSetsByUid } from '../drain/index.ts'
import {
  type ConnectedClient,
  isNotFound,
  type NodeObject,
  type PodDisruptionBudget,
  type PodObject,
  resources,
} from '../kube/index.ts'
import {
  type ClaimGates,
  decideLedger,
  foreignLock,
  freezeText,
  type LedgerDecision,
  viewFreezes,
} from '../queue/index.ts'
import { listAll } from './cluster-options.ts'
import { CliFault } from './context.ts'

/** The cluster as the queue sees it, read once, with the queue's own decision about it. */
export interface World {
  readonly budget: MaintenanceBudget
  readonly requests: readonly MaintenanceRequest[]
  readonly nodes: readonly NodeObject[]
  readonly windows: readonly MaintenanceWindow[]
  readonly freezes: readonly MaintenanceFreeze[]
  readonly daemonSets: DaemonSets
  readonly decision: LedgerDecision
}

export async function readBudget(client: ConnectedClient): Promise<MaintenanceBudget> {
  return client.get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
    throw new CliFault(
      'Fettle is not installed in this cluster, or its controller never ran: there is no MaintenanceBudget; `fettle install` installs it',
    )
  })
}

export async function readWorld(client: ConnectedClient, nowMs: number): Promise<World> {
  const budget = await readBudget(client)
  const [requests, nodes, windows, freezes, daemonSets] = await Promise.all([
    listAll<MaintenanceRequest>(client, maintenanceRequests),
    listAll<NodeObject>(client, resources.nodes),
    listAll<MaintenanceWindow>(client, maintenanceWindows),
    listAll<MaintenanceFreeze>(client, maintenanceFreezes),
    listAll<DaemonSetObject>(client, resources.daemonSets),
  ])
  const freeze = freezeText(viewFreezes(freezes, nowMs))
  const lock = foreignLock(daemonSets, nowMs, budget)
  const gates: ClaimGates = {
    ...(freeze ? { freeze: { message: freeze } } : {}),
    ...(lock ? { foreignLock: lock } : {}),
    windowOf: (names) => windowOf(names, windows),
    // Who asks alerts and hooks is the controller; what they said last is in the request.
    blockerOf: (_, { status }) =>
      status?.waiting?.for === 'Blocker'
        ? { message: status.waiting.message, next: status.waiting.next ?? '' }
        : undefined,
  }
  const decision = decideLedger({ budget, requests, nodes, gates, now: new Date(nowMs).toISOString() })
  return { budget, requests, nodes, windows, freezes, daemonSets: daemonSetsByUid(daemonSets), decision }
}

/** As the controller sees the windows: it reads their calendars, which a person may not be able to. */
function windowOf(names: readonly string[], windows: readonly MaintenanceWindow[]): ReturnType<ClaimGates['windowOf']> {
  const meant = names.map((name) => windows.find(({ metadata }) => metadata.name === name))
  const missing = names[meant.indexOf(undefined)]
  if (names.length === 0 || meant.some((window) => window?.status?.open)) return { isOpen: true }
  const opens = meant.flatMap((window) => (window?.status?.next?.[0] ? [Date.parse(window.status.next[0].start)] : []))
  return {
    isOpen: false,
    ...(opens.length > 0 ? { opensAtMs: Math.min(...opens) } : {}),
    ...(missing === undefined ? {} : { problem: `MaintenanceWindow ${missing} does not exist` }),
  }
}

export async function readPods(
  client: ConnectedClient,
  nodeName: string,
): Promise<{ readonly pods: PodObject[]; readonly budgets: PodDisruptionBudget[] }> {
  const pods: PodObject[] = []
  for await (const page of client.list<PodObject>(resources.pods, { fieldSelector: `spec.nodeName=${nodeName}` }))
    pods.push(...page.items)
  return { pods, budgets: await listAll<PodDisruptionBudget>(client, resources.podDisruptionBudgets) }
}
