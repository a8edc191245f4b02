import type { Lease } from '../kinds.ts'
import type { ObjectRef } from '../resource.ts'
import { microTime } from './micro-time.ts'

/**
 * Written by a leader that gave the Lease back, with its token as value. An empty holder alone does not prove that:
 * somebody may have emptied the field by hand while the leader is still at work.
 */
export const releasedAnnotation = 'fettle.dev/released-token'

/** What a candidate saw last, and since when by its own clock it has not changed. */
export interface Observation {
  readonly record: string
  readonly sinceMs: number
}

/**
 * Times of different machines are never compared. A candidate only notes, on its own monotonic clock, when it first
 * saw this very record; the leader must have written it before that.
 */
export function observe(before: Observation | undefined, lease: Lease, nowMs: number): Observation {
  const record = recordOf(lease)
  return before?.record === record ? before : { record, sinceMs: nowMs }
}

/** Only what leaders write: a tool that touches labels all the time must not look like a leader that is alive. */
function recordOf(lease: Lease): string {
  const { holderIdentity, renewTime, acquireTime, leaseTransitions, leaseDurationSeconds } = lease.spec ?? {}
  return JSON.stringify([
    lease.metadata.uid,
    holderIdentity,
    renewTime,
    acquireTime,
    leaseTransitions,
    leaseDurationSeconds,
  ])
}

/** How long until the Lease may be taken; 0 is now. */
export function waitBeforeTaking(
  lease: Lease,
  identity: string,
  seen: Observation,
  ownDurationMs: number,
  nowMs: number,
): number {
  if (lease.spec?.holderIdentity === identity || isReleased(lease)) return 0
  // The longer of both: the holder may be configured differently, or a hand may have shortened what it wrote.
  const durationMs = Math.max(ownDurationMs, (lease.spec?.leaseDurationSeconds ?? 0) * 1000)
  return Math.max(0, seen.sinceMs + durationMs - nowMs)
}

function isReleased(lease: Lease): boolean {
  const released = lease.metadata.annotations?.[releasedAnnotation]
  return (lease.spec?.holderIdentity ?? '') === '' && released === String(lease.spec?.leaseTransitions ?? 0)
}

const tokenEpochMs = Date.UTC(2020, 0, 1)
/** leaseTransitions is an int32. Room is left above, so that a clock gone mad does not use the tokens up. */
const highestFloor = 2 ** 31 - 2 ** 24

/**
 * The fencing token of a new term: higher than anything in the Lease or in this candidate's memory. The seconds since
 * 2020 are a floor for the case that neither remembers: the Lease was deleted, and the candidate is new. That case
 * is safe as long as the clocks of the candidates differ by less than the lease duration.
 */
export function nextToken(lease: Lease, highestSeen: number, nowMs: number): number {
  const floor = Math.min(highestFloor, Math.floor((nowMs - tokenEpochMs) / 1000))
  return Math.max(lease.spec?.leaseTransitions ?? 0, highestSeen, floor) + 1
}

/**
 * What a candidate puts in the place of a Lease that is not there: nobody's, but not released either. The Lease may
 * have been deleted under a leader that will notice only at its next renewal, so all have to wait for a lease duration,
 * and they need an object to watch meanwhile: whether a Lease was created and deleted between two looks at nothing,
 * nobody can tell. To start at once on a new cluster, install the Lease with `releasedAnnotation: "0"`.
 */
export function unheldLease(ref: ObjectRef, highestSeen: number): Lease {
  return { metadata: ref, spec: { holderIdentity: '', leaseTransitions: highestSeen } }
}

/** Whether the Lease still says that this very term holds it. */
export function isHeldBy(lease: Lease | undefined, identity: string, token: number): lease is Lease {
  return lease?.spec?.holderIdentity === identity && lease.spec.leaseTransitions === token
}

export interface Holding {
  readonly identity: string
  readonly token: number
  readonly durationMs: number
  readonly acquiredMs: number
  readonly renewedMicros: number
}

/**
 * The Lease as its holder writes it. Everything else in the object is kept, above all uid and resourceVersion: a PUT
 * of a Lease that is gone creates it anew (the API server allows that for Leases), unless it carries the old uid.
 */
export function heldLease(base: Lease, holding: Holding): Lease {
  const { [releasedAnnotation]: _, ...annotations } = base.metadata.annotations ?? {}
  return {
    ...base,
    metadata: { ...base.metadata, annotations },
    spec: {
      ...base.spec,
      holderIdentity: holding.identity,
      leaseDurationSeconds: Math.ceil(holding.durationMs / 1000),
      acquireTime: microTime(holding.acquiredMs * 1000),
      renewTime: microTime(holding.renewedMicros),
      leaseTransitions: holding.token,
    },
  }
}

/** Says that the next one may take the Lease at once. */
export function releasedLease(base: Lease, token: number): Lease {
  const annotations = { ...base.metadata.annotations, [releasedAnnotation]: String(token) }
  return { ...base, metadata: { ...base.metadata, annotations }, spec: { ...base.spec, holderIdentity: '' } }
}
