import { budgetName, type MaintenanceRequest, maintenanceRequests } from '../api/index.ts'
import type { KubeClient, NodeObject } from '../kube/index.ts'
import {
  controllerManager,
  finalizer,
  isOpen,
  makeRequest,
  type QueueViews,
  requestsOfNode,
  shortHash,
} from '../queue/index.ts'

/**
 * With `profiles: Count` in the budget, a profile needs a slot of the queue before it takes a node into maintenance, as
 * everything else that takes nodes out. Its own triggers cordon and drain, so the queue does not.
 */
export interface SlotPorts {
  readonly client: KubeClient
  readonly views: Pick<QueueViews, 'budgets' | 'requests'>
  readonly signal: AbortSignal
}

/** Why it waits, if it does. Asks for a slot when nobody has yet. */
export async function whyNoSlot(ports: SlotPorts, node: NodeObject, profile: string): Promise<string | undefined> {
  const { views, signal } = ports
  const budget = views.budgets.get({ name: budgetName })
  if (!budget) return 'the budget is not known yet'
  if (budget.spec.profiles !== 'Count') return undefined
  const [open] = openOf(ports, node).filter(({ spec }) => spec.source.key === profile && spec.want === 'Out')
  if (open?.status?.phase === 'Granted') return undefined
  if (!open) await makeRequest(ports, requestFor(ports, node, profile), signal)
  const { phase, waiting } = open?.status ?? {}
  return `a slot of the queue: ${waiting?.message ?? (phase === undefined ? 'it is asked for' : `the request is ${phase}`)}`
}

/** Gives back what profiles of the node no longer need: those that neither are in maintenance nor want to be. */
export async function giveBack(ports: SlotPorts, node: NodeObject, needed: ReadonlySet<string>): Promise<void> {
  const { client, signal } = ports
  for (const { metadata, spec } of openOf(ports, node)) {
    if (needed.has(spec.source.key) || spec.want === 'Return') continue
    const body = { metadata: { uid: metadata.uid }, spec: { want: 'Return' } }
    const ref = { name: metadata.name ?? '' }
    await client.patch(maintenanceRequests, ref, { type: 'merge', body }, { fieldManager: controllerManager, signal })
  }
}

function allOf({ views }: SlotPorts, { metadata }: NodeObject): readonly MaintenanceRequest[] {
  return requestsOfNode(views, metadata.uid ?? '').filter(({ spec }) => spec.source.kind === 'Profile')
}

function openOf(ports: SlotPorts, node: NodeObject): readonly MaintenanceRequest[] {
  return allOf(ports, node).filter(isOpen)
}

/** Who asks again after a crash makes the same name; one that is over leaves its name to nobody. */
function requestFor(ports: SlotPorts, node: NodeObject, profile: string): MaintenanceRequest {
  const { name: nodeName = '', uid: nodeUID = '' } = node.metadata
  const past = allOf(ports, node).flatMap(({ metadata, spec }) =>
    spec.source.key === profile ? (metadata.uid ?? '') : [],
  )
  return {
    metadata: { name: `${nodeName}-profile-${shortHash(nodeUID, profile, ...past.sort())}`, finalizers: [finalizer] },
    spec: {
      nodeName,
      nodeUID,
      source: { kind: 'Profile', key: profile },
      reason: `profile ${profile} takes the node into maintenance`,
      want: 'Out',
      priority: 0,
      work: 'External',
      service: { cordon: false, drain: false },
    },
  }
}
