import { setTimeout as sleep } from 'node:timers/promises'
import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
  type Slot,
} from '../api/index.ts'
import { cordonOwners, forgetOwnerPatch, restorePatch } from '../drain/index.ts'
import {
  isConflict,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type NodeObject,
  type Resource,
  resources,
} from '../kube/index.ts'
import { isProfileOwner, progressAnnotation, withoutWays } from '../profiles/index.ts'
import { finalizer, letOurLocksGo, queuedTaintPatch } from '../queue/index.ts'
import { CliFault } from './context.ts'
import { controllerName, selectorLabels } from './install-names.ts'

/** Keeps the budget while a slot is held. */
const ledgerFinalizer = 'fettle.dev/ledger'

export interface EmptyQueueSettings {
  readonly namespace: string
  /** Gives nodes back that are out of service, instead of refusing. */
  readonly force: boolean
  /** How the person who asks can say so. */
  readonly howToForce: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly working: (text: string) => void
  readonly finished: (text: string) => void
}

interface Deployment extends KubeObject {
  readonly spec?: { readonly replicas?: number }
}

/**
 * Removes requests and budget so that no finalizer is left without somebody to answer it, and no node out of service.
 * The controller is stopped first, because it would make the budget anew; with no slot in the ledger and no
 * controller, nothing is left for a finalizer to guard.
 */
export async function emptyQueue(client: KubeClient, settings: EmptyQueueSettings): Promise<void> {
  const held = await assertNothingHeld(client, settings)
  const withdrawn = held.length > 0 ? await letControllerGiveBack(client, settings) : 0
  const replicas = await stopController(client, settings)
  const late = await heldSlots(client)
  if (late.length > 0 && !settings.force) {
    await scale(client, settings.namespace, replicas)
    throw stillHeld(late, settings)
  }
  await restoreNodes(client, settings)
  for (const lock of await letOurLocksGo(client, settings.signal)) settings.finished(lock)
  const requests = await removeAll<MaintenanceRequest>(client, maintenanceRequests, finalizer)
  const budgets = await removeAll<MaintenanceBudget>(client, maintenanceBudgets, ledgerFinalizer)
  await removeLease(client, settings.namespace)
  if (budgets > 0) settings.finished(`${Math.max(withdrawn, requests)} requests and the budget are gone`)
}

/** Answers the slots that a forced uninstallation has to give back. */
export async function assertNothingHeld(
  client: KubeClient,
  settings: Pick<EmptyQueueSettings, 'force' | 'howToForce'>,
): Promise<readonly Slot[]> {
  const held = await heldSlots(client)
  if (held.length > 0 && !settings.force) throw stillHeld(held, settings)
  return held
}

async function heldSlots(client: KubeClient): Promise<readonly Slot[]> {
  const budget = await orUndefined(client.get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName }))
  return budget?.status?.slots ?? []
}

function stillHeld(slots: readonly Slot[], { howToForce }: Pick<EmptyQueueSettings, 'howToForce'>): CliFault {
  const nodes = slots.map(({ node, takenAt }) => `${node} since ${takenAt}`).join(', ')
  return new CliFault(
    `out of service: ${nodes}. Give ${slots.length === 1 ? 'it' : 'them'} back with \`fettle node return NODE\`, ` +
      `or ${howToForce}, which withdraws all requests. Nothing was changed.`,
  )
}

/** The ordinary way: withdrawn requests make the controller restore each node and record it. */
async function letControllerGiveBack(client: KubeClient, settings: EmptyQueueSettings): Promise<number> {
  let withdrawn = 0
  for await (const page of client.list<MaintenanceRequest>(maintenanceRequests)) {
    withdrawn += page.items.length
    for (const { metadata } of page.items)
      await orUndefined(client.delete(maintenanceRequests, { name: metadata.name ?? '' }, { uid: metadata.uid ?? '' }))
  }
  for (let waitedMs = 0; waitedMs < settings.timeoutMs; waitedMs += 500) {
    const left = await heldSlots(client)
    if (left.length === 0) break
    settings.working(`the controller gives back ${left.map(({ node }) => node).join(', ')}`)
    await sleep(500, undefined, { signal: settings.signal })
  }
  return withdrawn
}

/** Answers how many there were to be, for the case that they have to come back. */
async function stopController(client: KubeClient, settings: EmptyQueueSettings): Promise<number> {
  const { namespace, signal, timeoutMs } = settings
  const ref = { name: controllerName, namespace }
  const deployment = await orUndefined(client.get<Deployment>(resources.deployments, ref))
  if (!deployment) return 0
  await scale(client, namespace, 0)
  const labelSelector = Object.entries(selectorLabels('controller')).map((pair) => pair.join('='))
  for (let waitedMs = 0; ; waitedMs += 500) {
    let left = 0
    for await (const page of client.list(resources.pods, { namespace, labelSelector: labelSelector.join(',') }))
      left += page.items.length
    if (left === 0) break
    if (waitedMs > timeoutMs)
      throw new CliFault(`${left} controller pods in ${namespace} do not end; look at them, then try again`)
    settings.working(`${left} controller pods end`)
    await sleep(500, undefined, { signal })
  }
  return deployment.spec?.replicas ?? 1
}

async function scale(client: KubeClient, namespace: string, replicas: number): Promise<void> {
  const patch = { type: 'merge', body: { spec: { replicas } } } as const
  await client.patch(resources.deployments, { name: controllerName, namespace }, patch, { subresource: 'scale' })
}

/** Whatever the controller could not give back any more. Usually nothing. */
async function restoreNodes(client: KubeClient, { finished }: EmptyQueueSettings): Promise<void> {
  for await (const page of client.list<NodeObject>(resources.nodes))
    for (const listed of page.items) {
      const name = listed.metadata.name ?? ''
      if (queuedTaintPatch(listed, false))
        await withFreshObject<NodeObject>(client, resources.nodes, name, async (node) => {
          const body = queuedTaintPatch(node, false)
          if (body) await client.patch(resources.nodes, { name }, { type: 'merge', body })
        })
      if (waysPatch(listed))
        await withFreshObject<NodeObject>(client, resources.nodes, name, async (node) => {
          const body = waysPatch(node)
          if (body) await client.patch(resources.nodes, { name }, { type: 'merge', body })
        })
      // Profiles last: what they hold stays out, although others give it back.
      for (const owner of cordonOwners(listed).sort((a, b) => Number(isProfileOwner(a)) - Number(isProfileOwner(b)))) {
        const isOnItsWay = isProfileOwner(owner)
        await withFreshObject<NodeObject>(client, resources.nodes, name, async (node) => {
          // Its state is on the node, and maintenance-controller goes on from there: it does not cordon a second time.
          const body = isOnItsWay ? forgetOwnerPatch(node, owner) : restorePatch(node, owner)
          if (body) await client.patch(resources.nodes, { name }, { type: 'merge', body })
        })
        finished(
          isOnItsWay
            ? `${name} stays cordoned for ${owner}; maintenance-controller, or \`kubectl uncordon ${name}\`, ends that`
            : `${name} has back the state that it had before ${owner} took it`,
        )
      }
    }
}

/** Whoever installs Fettle again, weeks later, must not find transitions that it would go on with. */
function waysPatch({ metadata: { uid, resourceVersion, annotations } }: NodeObject): object | undefined {
  const before = annotations?.[progressAnnotation]
  const after = withoutWays(before)
  if (before === after) return undefined
  return { metadata: { uid, resourceVersion, annotations: { [progressAnnotation]: after ?? null } } }
}

/** Takes our finalizer off, and no other, and deletes. Answers how many there were. */
async function removeAll<T extends KubeObject>(client: KubeClient, resource: Resource, ours: string): Promise<number> {
  const names: string[] = []
  try {
    for await (const page of client.list<T>(resource))
      names.push(...page.items.map(({ metadata }) => metadata.name ?? ''))
  } catch (error) {
    // The kind itself is gone already.
    if (!isNotFound(error)) throw error
  }
  for (const name of names)
    await withFreshObject<T>(client, resource, name, async ({ metadata }) => {
      const { uid = '', resourceVersion, finalizers = [] } = metadata
      if (finalizers.includes(ours)) {
        const body = { metadata: { uid, resourceVersion, finalizers: finalizers.filter((one) => one !== ours) } }
        await client.patch(resource, { name }, { type: 'merge', body })
      }
      if (metadata.deletionTimestamp === undefined) await client.delete(resource, { name }, { uid })
    })
  return names.length
}

async function withFreshObject<T extends KubeObject>(
  client: KubeClient,
  resource: Resource,
  name: string,
  work: (object: T) => Promise<void>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const object = await orUndefined(client.get<T>(resource, { name }))
    if (!object) return
    try {
      await work(object)
      return
    } catch (error) {
      if (isNotFound(error)) return
      if (!isConflict(error) || attempt === 5) throw error
    }
  }
}

async function removeLease(client: KubeClient, namespace: string): Promise<void> {
  const ref = { name: controllerName, namespace }
  const lease = await orUndefined(client.get<KubeObject>(resources.leases, ref))
  if (lease) await orUndefined(client.delete(resources.leases, ref, { uid: lease.metadata.uid ?? '' }))
}

async function orUndefined<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
