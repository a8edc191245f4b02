import type { CompatibleProgram } from '../api/index.ts'

/**
 * The text of another program's lock: one holder, or, where kured lets several nodes go, a list of them. We read what
 * they write, and write what they read.
 */

/** One holder, as it is stored. Everything in it was written by somebody else, or may have been. */
export interface LockEntry {
  readonly nodeID?: unknown
  readonly created?: unknown
  readonly TTL?: unknown
  readonly metadata?: unknown
  /** UID of the node that we hold the lock for. */
  readonly fettle?: unknown
}

interface LockText {
  readonly entries: readonly LockEntry[]
  /** How many may hold it at once. */
  readonly most: number
  readonly isList: boolean
}

/** For whom we hold a lock. */
export interface LockHolder {
  readonly node: string
  readonly nodeUID: string
}

/**
 * No node has such a name. With the name of the node itself the program's own daemon on it would take the lock for its
 * own: it would uncordon the node and let the lock go when it starts, or reboot the node while others are at work there.
 * It also stays when kured writes the list anew and drops the fields that it does not know.
 */
const ourPrefix = 'fettle/'

/** Newer versions of kured let a lock without an end of its own end by their own setting; ten years is longer than any. */
const ttlNs = 10 * 365 * 24 * 3600 * 1_000_000_000

/** Undefined when it cannot be read, so that nobody knows whether it is held. */
export function readLock(text: string | undefined): LockText | undefined {
  if (text === undefined || text === '') return { entries: [], most: 1, isList: false }
  try {
    const value: unknown = JSON.parse(text)
    if (!isObject(value)) return undefined
    const { locks, maxOwners } = value as { readonly locks?: unknown; readonly maxOwners?: unknown }
    if (locks === undefined) return { entries: [value], most: 1, isList: false }
    const most = typeof maxOwners === 'number' && maxOwners >= 1 ? Math.floor(maxOwners) : 1
    // An empty list is written as null by the language that both programs are made in.
    if (locks === null) return { entries: [], most, isList: true }
    return Array.isArray(locks) && locks.every(isObject) ? { entries: locks, most, isList: true } : undefined
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is LockEntry {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** TTL is in nanoseconds and counts from the creation; 0 never ends. What cannot be read has not ended. */
export function isHeld({ nodeID, created, TTL }: LockEntry, nowMs: number): boolean {
  if (nodeID === undefined || nodeID === '') return false
  const ttlMs = typeof TTL === 'number' ? TTL / 1_000_000 : 0
  const createdMs = typeof created === 'string' ? Date.parse(created) : Number.NaN
  return !(ttlMs > 0 && createdMs + ttlMs <= nowMs)
}

/** The node that we hold it for; undefined when it is not ours. */
export function ourHolder({ nodeID, fettle }: LockEntry): (Pick<LockHolder, 'node'> & Partial<LockHolder>) | undefined {
  if (typeof nodeID !== 'string' || !nodeID.startsWith(ourPrefix)) return undefined
  return { node: nodeID.slice(ourPrefix.length), ...(typeof fettle === 'string' ? { nodeUID: fettle } : {}) }
}

export function isHeldFor(entry: LockEntry, { node, nodeUID }: LockHolder): boolean {
  const ours = ourHolder(entry)
  return ours?.node === node && (ours.nodeUID === undefined || ours.nodeUID === nodeUID)
}

/** For people: who holds it. */
export function holderText(entry: LockEntry): string {
  return ourHolder(entry)?.node ?? String(entry.nodeID)
}

/** The text with us as a holder, `has` when we are one, or who is in the way. */
export function withHolder(
  text: string | undefined,
  holder: LockHolder,
  program: CompatibleProgram,
  now: string,
): { readonly text: string } | 'has' | { readonly heldBy: string } {
  const lock = readLock(text)
  if (!lock) return { heldBy: 'somebody whose name cannot be read' }
  const live = lock.entries.filter((entry) => isHeld(entry, Date.parse(now)))
  if (live.some((entry) => isHeldFor(entry, holder))) return 'has'
  if (live.length >= lock.most) return { heldBy: live.map(holderText).join(', ') }
  const entry = {
    nodeID: `${ourPrefix}${holder.node}`,
    // What the node was before is noted on the node itself.
    metadata: { unschedulable: false },
    created: now,
    TTL: ttlNs,
    fettle: holder.nodeUID,
  }
  if (lock.isList) return { text: JSON.stringify({ maxOwners: lock.most, locks: [...live, entry] }) }
  // Nobody knows which of its two shapes kured would write here. Each reads its own out of both together; the list alone
  // would be no lock to one that lets one node go, and the other way round.
  return { text: JSON.stringify(program === 'Kured' ? { ...entry, maxOwners: 1, locks: [entry] } : entry) }
}

/** The text without these, null when nobody is left, undefined when none of them is there. */
export function withoutEntries(
  text: string | undefined,
  isToGo: (entry: LockEntry) => boolean,
): string | null | undefined {
  const lock = readLock(text)
  const left = lock?.entries.filter((entry) => !isToGo(entry))
  if (!lock || !left || left.length === lock.entries.length) return undefined
  return left.length === 0 ? null : JSON.stringify({ maxOwners: lock.most, locks: left })
}
