import { longestReason, type MaintenanceRequest } from '../api/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { placeText, type SeenLock } from './lock-places.ts'
import { isHeld, type LockEntry, ourHolder, readLock } from './lock-text.ts'
import { finalizer, nameOf, shortHash } from './names.ts'
import { isOpen } from './order.ts'

/**
 * Maintenances that another program has begun, and that become requests of ours. Each is known by its lock: node, place
 * and time give the name of its request, so that after a crash it is neither made twice nor forgotten.
 */

/** On the request: whether the node was unschedulable before the other program took it. */
const priorAnnotation = 'fettle.dev/imported-prior'

export function importedRequest(lock: SeenLock, entry: LockEntry, node: NodeObject): MaintenanceRequest {
  const { name: nodeName = '', uid: nodeUID = '' } = node.metadata
  const { unschedulable } = (entry.metadata ?? {}) as { readonly unschedulable?: unknown }
  const since = typeof entry.created === 'string' ? ` since ${entry.created.slice(0, 40)}` : ''
  return {
    metadata: {
      name: importedName(lock, entry, { nodeName, nodeUID }),
      annotations: { [priorAnnotation]: String(unschedulable === true) },
      finalizers: [finalizer],
    },
    spec: {
      nodeName,
      nodeUID,
      source: { kind: 'Imported', key: `${lock.program} ${lock.namespace}/${lock.name}` },
      reason: `taken over: it holds the lock of ${placeText(lock)}${since}`.slice(0, longestReason),
      want: 'Out',
      priority: 0,
      // The files of Kustodian's scripts are ours to answer as well; what kured was about to do a person has to look at.
      work: lock.program === 'Kustodian' ? 'Host' : 'External',
      service: { cordon: true, drain: true },
    },
  }
}

function importedName(
  { namespace, name, annotation }: SeenLock,
  { created }: LockEntry,
  { nodeName, nodeUID }: Pick<MaintenanceRequest['spec'], 'nodeName' | 'nodeUID'>,
): string {
  return `${nodeName}-imported-${shortHash(nodeUID, namespace, name, annotation, String(created))}`
}

/** Whether this is the maintenance that the lock was taken for. */
export function isImportOf(request: MaintenanceRequest, lock: SeenLock, entry: LockEntry): boolean {
  const { nodeName, source } = request.spec
  if (!lock.takeOver || source.kind !== 'Imported' || entry.nodeID !== nodeName) return false
  return importedName(lock, entry, request.spec) === nameOf(request)
}

/** What the node was before somebody else took it: by now it is unschedulable because of them. */
export function wasUnschedulable({ metadata, spec }: MaintenanceRequest): boolean | undefined {
  const prior = spec.source.kind === 'Imported' ? metadata.annotations?.[priorAnnotation] : undefined
  return prior === undefined ? undefined : prior === 'true'
}

interface TakeOvers {
  readonly make: readonly MaintenanceRequest[]
  /** Locks whose maintenance is over here; each is removed if it is still the same. */
  readonly over: readonly { readonly lock: SeenLock; readonly request: MaintenanceRequest }[]
}

/** The request comes before anything is done to its lock, and the lock goes only when the request is done. */
export function decideTakeOvers(
  locks: readonly SeenLock[],
  nodeByName: (name: string) => NodeObject | undefined,
  requestByName: (name: string) => MaintenanceRequest | undefined,
  nowMs: number,
): TakeOvers {
  const make: MaintenanceRequest[] = []
  const over: TakeOvers['over'][number][] = []
  for (const lock of locks) {
    if (!lock.takeOver) continue
    for (const entry of readLock(lock.text)?.entries ?? []) {
      const node = ourHolder(entry) || !isHeld(entry, nowMs) ? undefined : nodeByName(String(entry.nodeID))
      if (!node) continue
      const wanted = importedRequest(lock, entry, node)
      const made = requestByName(nameOf(wanted))
      if (!made) make.push(wanted)
      else if (!isOpen(made)) over.push({ lock, request: made })
    }
  }
  return { make, over }
}

/** The lock that it was made for is still there. */
export function isAskedByLock(request: MaintenanceRequest, locks: readonly SeenLock[]): boolean {
  return locks.some((lock) => readLock(lock.text)?.entries.some((entry) => isImportOf(request, lock, entry)))
}
