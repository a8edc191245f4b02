import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
  type Slot,
} from '../api/index.ts'
import { isNotFound, type KubeClient, type NodeObject, type PodObject, resources } from '../kube/index.ts'
import { slotOf } from './ledger.ts'

/** A cache may be behind. What cannot be taken back is looked at once more, at the source. */

export async function liveNodeOf(
  client: KubeClient,
  name: string,
  signal: AbortSignal,
): Promise<NodeObject | undefined> {
  return client.get<NodeObject>(resources.nodes, { name }, { signal }).catch(absent)
}

export async function liveRequestOf(
  client: KubeClient,
  name: string,
  signal: AbortSignal,
): Promise<MaintenanceRequest | undefined> {
  return client.get<MaintenanceRequest>(maintenanceRequests, { name }, { signal }).catch(absent)
}

/** The slot that lists a request, in the ledger as it is now. */
export async function liveSlotOf(client: KubeClient, request: string, signal: AbortSignal): Promise<Slot | undefined> {
  const ref = { name: budgetName }
  const budget = await client.get<MaintenanceBudget>(maintenanceBudgets, ref, { signal }).catch(absent)
  return slotOf(budget?.status, request)
}

export async function livePodsOn(client: KubeClient, nodeName: string, signal: AbortSignal): Promise<PodObject[]> {
  const pods: PodObject[] = []
  for await (const page of client.list<PodObject>(resources.pods, {
    fieldSelector: `spec.nodeName=${nodeName}`,
    signal,
  }))
    pods.push(...page.items)
  return pods
}

function absent(error: unknown): undefined {
  if (!isNotFound(error)) throw error
  return undefined
}
