import type { MaintenanceBudget, MaintenanceRequest, Slot } from '../api/index.ts'
import type { KubeObject } from '../kube/index.ts'
import { isImportOf } from './imported-locks.ts'
import { type LockPlace, namedPlaces, placeText, type SeenLock, seenLocks } from './lock-places.ts'
import { holderText, isHeld, isHeldFor, type LockEntry, type LockHolder, ourHolder, readLock } from './lock-text.ts'

/** Locks of other programs over the same nodes. While one is held, nobody is let out: two at a time is what they prevent. */

/** As long as we hold a lock that is made for one node, no second one goes. */
export function holdsLocks({ foreignLocks = [] }: Pick<MaintenanceBudget['spec'], 'foreignLocks'>): boolean {
  return foreignLocks.some(({ hold }) => hold)
}

/** A sentence about the lock that keeps a request in line. */
export type ForeignLockGate = (request: MaintenanceRequest) => string | undefined

export interface LockWorld {
  readonly spec: Pick<MaintenanceBudget['spec'], 'foreignLocks'>
  readonly status?: Pick<NonNullable<MaintenanceBudget['status']>, 'slots'>
}

/** Undefined when no lock is in anybody's way. `gone` are DaemonSets that were there and are not any more. */
export function foreignLock(
  daemonSets: Iterable<KubeObject>,
  nowMs: number,
  { spec, status }: LockWorld = { spec: {} },
  gone: ReadonlySet<string> = new Set(),
): ForeignLockGate | undefined {
  const missing = namedPlaces(spec.foreignLocks).find(
    ({ hold, namespace, name }) => hold && gone.has(`${namespace}/${name}`),
  )
  if (missing) return () => missingText(missing)
  const held = seenLocks(daemonSets, spec.foreignLocks).filter(({ text }) => {
    const lock = readLock(text)
    return !lock || lock.entries.some((entry) => isHeld(entry, nowMs))
  })
  if (held.length === 0) return undefined
  const slots = status?.slots ?? []
  return (request) => {
    for (const lock of held) {
      const why = inTheWay(lock, request, slots, nowMs)
      if (why) return why
    }
    return undefined
  }
}

export function missingText(place: LockPlace): string {
  return `the lock of ${placeText(place)} is to be held, and the DaemonSet is gone: wait until it is back, or take it out of spec.foreignLocks`
}

function inTheWay(
  lock: SeenLock,
  request: MaintenanceRequest,
  slots: readonly Slot[],
  nowMs: number,
): string | undefined {
  const where = placeText(lock)
  const read = readLock(lock.text)
  if (!read) return `the lock of ${where} cannot be read, so nobody knows whether it is held`
  const live = read.entries.filter((entry) => isHeld(entry, nowMs))
  const isIts = (entry: LockEntry) => isHeldFor(entry, holderOf(request)) || isImportOf(request, lock, entry)
  // Who takes a place among several of their nodes leaves no room for one more of them, and then has it.
  if (lock.hold && read.isList && (live.length < read.most || live.some(isIts))) return undefined
  // That of a node with a slot is in the budget's count.
  const other = live.find((entry) => !isIts(entry) && !slots.some((slot) => isHeldFor(entry, slot)))
  return other && `node ${holderText(other)} holds the lock of ${where}`
}

function holderOf({ spec: { nodeName: node, nodeUID } }: MaintenanceRequest): LockHolder {
  return { node, nodeUID }
}

/** Locks that we hold for nodes without a slot, in whatever annotation they are: the budget may name it no longer. */
export function strayLocks(
  daemonSets: Iterable<KubeObject>,
  slots: readonly Slot[],
): { readonly namespace: string; readonly name: string; readonly annotation: string }[] {
  return [...daemonSets].flatMap(({ metadata: { namespace = '', name = '', annotations = {} } }) =>
    Object.entries(annotations)
      .filter(([, text]) => text.includes('"fettle/') && readLock(text)?.entries.some((entry) => isStray(entry, slots)))
      .map(([annotation]) => ({ namespace, name, annotation })),
  )
}

export function isStray(entry: LockEntry, slots: readonly Slot[]): boolean {
  return ourHolder(entry) !== undefined && !slots.some((slot) => isHeldFor(entry, slot))
}
