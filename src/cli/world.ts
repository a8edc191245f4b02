import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
} from '../api/index.ts'
import {
  type ConnectedClient,
  isNotFound,
  type NodeObject,
  type PodDisruptionBudget,
  type PodObject,
  resources,
} from '../kube/index.ts'
import { decideLedger, type LedgerDecision } from '../queue/index.ts'
import { listAll } from './cluster-options.ts'
import { CliFault } from './context.ts'

/** The cluster as the queue sees it, read once, with the queue's own decision about it. */
export interface World {
  readonly budget: MaintenanceBudget
  readonly requests: readonly MaintenanceRequest[]
  readonly nodes: readonly NodeObject[]
  readonly decision: LedgerDecision
}

export async function readWorld(client: ConnectedClient, nowMs: number): Promise<World> {
  const budget = await client
    .get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName })
    .catch((error: unknown) => {
      if (!isNotFound(error)) throw error
      throw new CliFault(
        'Fettle is not installed in this cluster, or its controller never ran: there is no MaintenanceBudget; `fettle install` installs it',
      )
    })
  const [requests, nodes] = await Promise.all([
    listAll<MaintenanceRequest>(client, maintenanceRequests),
    listAll<NodeObject>(client, resources.nodes),
  ])
  const decision = decideLedger({ budget, requests, nodes, now: new Date(nowMs).toISOString() })
  return { budget, requests, nodes, decision }
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
