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
import {
  type DaemonSetObject,
  type DaemonSets,
  type DrainWorld,
  daemonSetsByUid,
  offersEvictionRequest,
} from '../drain/index.ts'
import {
  type ConnectedClient,
  isForbidden,
  isNotFound,
  type NodeObject,
  type PodDisruptionBudget,
  type PodObject,
  resources,
} from '../kube/index.ts'
import {
  type ClaimGates,
  canRunElsewhere,
  decideLedger,
  foreignLock,
  freezeText,
  isControlPlane,
  type LedgerDecision,
  staticPodAilment,
  windowsFrom,
} from '../queue/index.ts'
import { calendarsOf, readCalendars, usualNamespace } from './calendars.ts'
import { listAll } from './cluster-options.ts'
import { CliFault } from './context.ts'
import { selectorLabels } from './install-names.ts'

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
  const { stateFor, freezes: frozen } = await windowsSeen(client, windows, freezes, nowMs)
  const freeze = freezeText(frozen)
  const untilMs = frozen.active[0]?.untilMs
  const lock = foreignLock(daemonSets, nowMs, budget)
  const gates: ClaimGates = {
    ...(freeze ? { freeze: { message: freeze, ...(untilMs === undefined ? {} : { untilMs }) } } : {}),
    ...(lock ? { foreignLock: lock } : {}),
    windowOf: stateFor,
    // Who asks alerts and hooks is the controller; what they said last is in the request.
    blockerOf: (_, { status }) =>
      status?.waiting?.for === 'Blocker'
        ? { message: status.waiting.message, next: status.waiting.next ?? '' }
        : undefined,
  }
  const ailments = await ailmentsOf(client, nodes)
  const controlPlaneAilment = ({ metadata: { name = '' } }: NodeObject) => ailments.get(name)
  const now = new Date(nowMs).toISOString()
  const decision = decideLedger({ budget, requests, nodes, gates, controlPlaneAilment, now })
  return { budget, requests, nodes, windows, freezes, daemonSets: daemonSetsByUid(daemonSets), decision }
}

/**
 * As the controller sees the windows. It may read calendars that a person may not, or look for them in another namespace:
 * where one cannot be had, what the controller wrote into the window counts.
 */
async function windowsSeen(
  client: ConnectedClient,
  windows: readonly MaintenanceWindow[],
  freezes: readonly MaintenanceFreeze[],
  nowMs: number,
): Promise<Pick<ReturnType<typeof windowsFrom>, 'stateFor' | 'freezes'>> {
  const calendarOf = await readCalendars(client, windows, usualNamespace)
  const isHidden = (window: MaintenanceWindow) =>
    calendarsOf([window]).some(({ configMapRef }) => 'problem' in calendarOf(configMapRef))
  const seen = windowsFrom(windows, freezes, calendarOf, nowMs, isHidden)
  const hidden = new Set(windows.filter(isHidden).map(({ metadata }) => metadata.name))
  const stateFor: ClaimGates['windowOf'] = (names) => {
    const state = seen.stateFor(names)
    const unclear = names.find((name) => hidden.has(name))
    // One alone is told in full by its status. Of a list that may be open after all it is said why nobody here can tell.
    if (state.isOpen || state.problem !== undefined || names.length === 1 || unclear === undefined) return state
    return {
      ...state,
      problem: `MaintenanceWindow ${unclear} names a calendar that you cannot read here: what it excludes is not known, and so it counts as closed; \`kubectl get mreq\` shows what the controller sees`,
    }
  }
  return { stateFor, freezes: seen.freezes }
}

/** What is wrong with static pods of control-plane nodes, by node. Of the other nodes' pods nothing is asked. */
async function ailmentsOf(client: ConnectedClient, nodes: readonly NodeObject[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const { metadata } of nodes.filter(isControlPlane)) {
    const name = metadata.name ?? ''
    const pods: PodObject[] = []
    const where = { namespace: 'kube-system', fieldSelector: `spec.nodeName=${name}` }
    try {
      for await (const page of client.list<PodObject>(resources.pods, where)) pods.push(...page.items)
    } catch (error) {
      // Who may not read pods still sees the rest of the line.
      if (!isForbidden(error)) throw error
      return found
    }
    const ailment = staticPodAilment(pods)
    if (ailment !== undefined) found.set(name, ailment)
  }
  return found
}

export async function readPods(client: ConnectedClient, nodeName: string): Promise<PodObject[]> {
  const pods: PodObject[] = []
  for await (const page of client.list<PodObject>(resources.pods, { fieldSelector: `spec.nodeName=${nodeName}` }))
    pods.push(...page.items)
  return pods
}

/** What the controller knows when it drains a node. */
export type DrainFacts = Required<
  Pick<DrainWorld, 'pods' | 'budgets' | 'ownPods' | 'offersEvictionRequest' | 'hasOtherNodes'>
>

export async function readDrainFacts(
  client: ConnectedClient,
  nodeName: string,
  nodes: readonly NodeObject[],
  signal: AbortSignal,
): Promise<DrainFacts> {
  const pods = await readPods(client, nodeName)
  return {
    pods,
    budgets: await listAll<PodDisruptionBudget>(client, resources.podDisruptionBudgets),
    ownPods: isOwnPod,
    offersEvictionRequest: await offersEvictionRequest(client, signal),
    hasOtherNodes: canRunElsewhere(pods.filter(isOwnPod), nodeName, nodes),
  }
}

function isOwnPod({ metadata }: PodObject): boolean {
  return Object.entries(selectorLabels('controller')).every(([key, value]) => metadata.labels?.[key] === value)
}
