import type { KubeObject } from '../kube/index.ts'

/** Locks of other programs over the same nodes. While one is held, nobody is let out: two at a time is what they prevent. */
const lockAnnotations = { Kustodian: 'k8s.io/kustodian-node-lock', kured: 'weave.works/kured-node-lock' } as const

interface ForeignLock {
  readonly nodeID?: unknown
  readonly created?: unknown
  readonly TTL?: unknown
}

/** A sentence about the first lock that somebody else holds on one of these DaemonSets. */
export function foreignLock(daemonSets: Iterable<KubeObject>, nowMs: number): string | undefined {
  for (const { metadata } of daemonSets)
    for (const [program, key] of Object.entries(lockAnnotations)) {
      const text = metadata.annotations?.[key]
      if (text === undefined || text === '') continue
      const where = `${program} on DaemonSet ${metadata.namespace}/${metadata.name}`
      const locks = readLocks(text)
      if (!locks) return `the lock of ${where} cannot be read, so nobody knows whether it is held`
      const held = locks.find((lock) => isHeld(lock, nowMs))
      if (held) return `node ${String(held.nodeID)} holds the lock of ${where}`
    }
  return undefined
}

/** One lock, or, where several nodes may hold it, a list of them. */
function readLocks(text: string): readonly ForeignLock[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    const { locks } = value as { readonly locks?: unknown }
    if (locks === undefined) return [value as ForeignLock]
    // An empty list is written as null by the language that both programs are made in.
    if (locks === null) return []
    const isList = Array.isArray(locks) && locks.every((lock) => typeof lock === 'object' && lock !== null)
    return isList ? (locks as readonly ForeignLock[]) : undefined
  } catch {
    return undefined
  }
}

/** TTL is in nanoseconds and counts from the creation; 0 never ends. What cannot be read has not ended. */
function isHeld({ nodeID, created, TTL }: ForeignLock, nowMs: number): boolean {
  if (nodeID === undefined || nodeID === '') return false
  const ttlMs = typeof TTL === 'number' ? TTL / 1_000_000 : 0
  const createdMs = typeof created === 'string' ? Date.parse(created) : Number.NaN
  return !(ttlMs > 0 && createdMs + ttlMs <= nowMs)
}
