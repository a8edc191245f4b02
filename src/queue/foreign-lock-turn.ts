import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  type Slot,
} from '../api/index.ts'
import { isConflict, isForbidden, isNotFound, type KubeClient, type KubeObject, resources } from '../kube/index.ts'
import { isStray, missingText, strayLocks } from './foreign-locks.ts'
import { decideTakeOvers, isAskedByLock, isImportOf } from './imported-locks.ts'
import { isSoaking } from './ledger.ts'
import { type LockPlace, namedPlaces, placeText, type SeenLock, seenLocks } from './lock-places.ts'
import {
  isHeld,
  isHeldFor,
  type LockEntry,
  type LockHolder,
  readLock,
  withHolder,
  withoutEntries,
} from './lock-text.ts'
import { makeRequest } from './make-request.ts'
import { controllerManager, nameOf } from './names.ts'
import { isoNow, type QueuePorts } from './ports.ts'

/**
 * Taken: their lock, then the ledger. Given back: the ledger, then their lock. Whoever dies in between leaves a lock
 * without a slot, never a slot without a lock: either the same claim is decided again and finds its lock, or nobody
 * claims and the lock goes. All of it happens in the turn of the ledger, so that no two turns meet.
 */

type Doors = Pick<QueuePorts, 'client' | 'views' | 'clock' | 'log'>

/** Takes the locks for what is about to be claimed. Answers a sentence when one cannot be had. */
export async function holdLocks(
  ports: Doors,
  budget: MaintenanceBudget,
  claims: readonly (LockHolder & { readonly request: string })[],
  gone: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const places = namedPlaces(budget.spec.foreignLocks).filter(({ hold }) => hold)
  const slots = (budget.status?.slots ?? []).filter((slot) => !isSoaking(slot))
  for (const claim of claims) {
    // Who joins a slot finds its lock held.
    if (slots.some(({ nodeUID }) => nodeUID === claim.nodeUID)) continue
    const request = ports.views.requests.get({ name: claim.request })
    for (const place of places) {
      const why = await take(ports, place, claim, request, gone, signal)
      if (why) return why
    }
  }
  return undefined
}

async function take(
  ports: Doors,
  place: LockPlace,
  holder: LockHolder,
  request: MaintenanceRequest | undefined,
  gone: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { namespace, name, annotation, program } = place
  try {
    const daemonSet = await liveDaemonSet(ports, place, signal)
    // Never there: there is nothing to hold, and nobody who could hold it.
    if (!daemonSet) return gone.has(`${namespace}/${name}`) ? missingText(place) : undefined
    const text = daemonSet.metadata.annotations?.[annotation]
    // What was taken over is held for this very node already.
    if (request && isAskedByLock(request, [{ ...place, text }])) return undefined
    const taken = withHolder(text, holder, program, isoNow(ports.clock))
    if (taken === 'has') return undefined
    if ('heldBy' in taken) return `node ${taken.heldBy} holds the lock of ${placeText(place)}`
    await writeLock(ports, daemonSet, annotation, taken.text, signal)
    ports.log.info({ node: holder.node, lock: placeText(place) }, 'the lock of another program is taken')
    return undefined
  } catch (error) {
    if (isForbidden(error)) return forbiddenText(place)
    // Whoever wrote there first is heard of in a moment.
    if (isConflict(error) || isNotFound(error))
      return `the lock of ${placeText(place)} is being written by somebody else`
    throw error
  }
}

function forbiddenText(place: LockPlace): string {
  return `the lock of ${placeText(place)} may not be written: let the controller get and patch this DaemonSet, or take it out of spec.foreignLocks`
}

/** Lets go what no slot needs, and takes over what others have begun. Comes after the ledger: what fails here keeps no slot. */
export async function tidyLocks(
  ports: Doors,
  budget: MaintenanceBudget,
  slots: readonly Slot[],
  gone: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> {
  const { client, views, clock, log } = ports
  const stray = strayLocks(views.daemonSets.values(), slots)
  if (stray.length > 0) {
    // The caches may be behind a claim of ours: what lets somebody else go is looked at once more, at the source.
    const live = await client.get<MaintenanceBudget>(maintenanceBudgets, { name: budgetName }, { signal })
    const held = live.status?.slots ?? []
    for (const place of stray) await letGo(ports, place, (entry) => isStray(entry, held), signal)
  }
  const locks = seenLocks(views.daemonSets.values(), budget.spec.foreignLocks)
  await keepHeld(ports, locks, slots, gone, signal)
  const { make, over } = decideTakeOvers(
    locks,
    (name) => views.nodes.get({ name }),
    (name) => views.requests.get({ name }),
    clock.now(),
  )
  for (const request of make) {
    const { nodeName: node, reason } = request.spec
    await makeRequest(ports, request, signal)
    log.info({ request: nameOf(request), node, reason }, 'the maintenance of another program is taken over')
  }
  for (const { lock, request } of over) await letGo(ports, lock, (entry) => isImportOf(request, lock, entry), signal)
}

/** A lock that was lost, with its DaemonSet or by hand, is taken again while it is free. */
async function keepHeld(
  ports: Doors,
  locks: readonly SeenLock[],
  slots: readonly Slot[],
  gone: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> {
  for (const lock of locks.filter(({ hold }) => hold)) {
    const { entries = [], most = 0 } = readLock(lock.text) ?? {}
    const live = entries.filter((entry) => isHeld(entry, ports.clock.now()))
    const slot = slots.find((one) => !live.some((entry) => isHeldFor(entry, one)))
    if (!slot || live.length >= most) continue
    const requests = slot.requests.flatMap((name) => ports.views.requests.get({ name }) ?? [])
    const imported = requests.find(({ spec }) => spec.source.kind === 'Imported')
    const why = await take(ports, lock, slot, imported, gone, signal)
    if (why) ports.log.warn({ node: slot.node, why }, 'a node is out without the lock of another program')
  }
}

async function letGo(
  ports: Doors,
  place: Pick<LockPlace, 'namespace' | 'name' | 'annotation'>,
  isToGo: (entry: LockEntry) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, annotation } = place
  try {
    const daemonSet = await liveDaemonSet(ports, place, signal)
    const text = withoutEntries(daemonSet?.metadata.annotations?.[annotation], isToGo)
    if (!daemonSet || text === undefined) return
    await writeLock(ports, daemonSet, annotation, text, signal)
    ports.log.info({ daemonSet: `${namespace}/${name}` }, 'the lock of another program is let go')
  } catch (error) {
    if (!isForbidden(error)) throw error
    ports.log.warn(
      { daemonSet: `${namespace}/${name}`, annotation },
      'a lock may not be let go: it needs get and patch',
    )
  }
}

/** Nobody is left to let them go later. Answers what became of each, as a sentence. */
export async function letOurLocksGo(client: KubeClient, signal: AbortSignal): Promise<string[]> {
  const said: string[] = []
  try {
    for await (const page of client.list<KubeObject>(resources.daemonSets, { signal }))
      for (const place of strayLocks(page.items, [])) {
        const daemonSet = await liveDaemonSet({ client }, place, signal)
        const text = withoutEntries(daemonSet?.metadata.annotations?.[place.annotation], (entry) => isStray(entry, []))
        if (!daemonSet || text === undefined) continue
        await writeLock({ client }, daemonSet, place.annotation, text, signal)
        said.push(`our lock on DaemonSet ${place.namespace}/${place.name} is let go`)
      }
  } catch (error) {
    if (!isForbidden(error)) throw error
    said.push('locks shared with other programs could not be looked at: it needs list, get and patch on DaemonSets')
  }
  return said
}

async function liveDaemonSet(
  { client }: Pick<Doors, 'client'>,
  { namespace, name }: Pick<LockPlace, 'namespace' | 'name'>,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  return client.get<KubeObject>(resources.daemonSets, { namespace, name }, { signal }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
    return undefined
  })
}

/** Holds only for the version that was looked at, as the other programs write it. */
async function writeLock(
  { client }: Pick<Doors, 'client'>,
  { metadata: { namespace = '', name = '', resourceVersion, uid } }: KubeObject,
  annotation: string,
  text: string | null,
  signal: AbortSignal,
): Promise<void> {
  const body = { metadata: { resourceVersion, uid, annotations: { [annotation]: text } } }
  await client.patch(
    resources.daemonSets,
    { namespace, name },
    { type: 'merge', body },
    { fieldManager: controllerManager, signal },
  )
}

/** Whether the lock that a request was made for is still there, as far as the caches know. */
export function isLockLeft(
  { views }: Pick<QueuePorts, 'views'>,
  request: MaintenanceRequest,
  budget: MaintenanceBudget,
): boolean {
  if (request.spec.source.kind !== 'Imported') return false
  return isAskedByLock(request, seenLocks(views.daemonSets.values(), budget.spec.foreignLocks))
}
