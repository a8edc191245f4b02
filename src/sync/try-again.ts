import { createHash } from 'node:crypto'
import type { Outcome } from './carry-out.ts'
import { keyId } from './key.ts'
import type { Survey } from './survey.ts'

/** How often something that failed is tried again. */
export interface RetryPace {
  readonly firstMs: number
  /** Each pause is twice the one before, up to this. */
  readonly mostMs: number
}

export const carefulPace: RetryPace = { firstMs: 30_000, mostMs: 600_000 }

/** What of the last attempt decides about the next one. */
export interface Failure {
  readonly sha: string
  readonly planHash: string
  /** Versions of the objects that git declares, since one may be what others wait for, and what only a person can lift. */
  readonly around: string
  /** Of one and the same plan. */
  readonly attempts: number
  readonly isPermanent: boolean
  readonly againAtMs: number
}

type Found = Pick<Survey, 'tip' | 'plan' | 'set' | 'observed'>

/** Undefined when it did not fail. */
export function failureOf(
  found: Found,
  { is, isPermanent }: Pick<Outcome, 'is' | 'isPermanent'>,
  before: Failure | undefined,
  nowMs: number,
  { firstMs, mostMs }: RetryPace = carefulPace,
): Failure | undefined {
  if (is !== 'Failed') return undefined
  const attempts = isSame(found, before) ? before.attempts + 1 : 1
  const pauseMs = Math.min(mostMs, firstMs * 2 ** Math.min(attempts - 1, 20))
  const { tip, plan } = found
  return {
    sha: tip.sha,
    planHash: plan.hash,
    around: aroundOf(found),
    attempts,
    isPermanent: isPermanent === true,
    againAtMs: nowMs + pauseMs,
  }
}

/**
 * What the server refused for good it refuses again, unless the object became another one. All else may succeed later: at
 * its time, or as soon as something of the set changed, or a person lifted a halt. A commit whose objects are merely not
 * healthy has nothing left to write, and is looked at each time.
 */
export function mayTryAgain(found: Found, failure: Failure | undefined, nowMs: number): boolean {
  if (!isSame(found, failure)) return true
  const isTime = nowMs >= failure.againAtMs
  const hasMoved = aroundOf(found) !== failure.around
  if (failure.isPermanent) return isTime && hasMoved
  return isTime || hasMoved || !found.plan.steps.some((step) => 'declared' in step)
}

function isSame({ tip, plan }: Found, failure: Failure | undefined): failure is Failure {
  return tip.sha === failure?.sha && plan.hash === failure.planHash
}

function aroundOf({ plan, set, observed }: Found): string {
  const declared = new Set(set.objects.map(({ key }) => keyId(key)))
  const versions = observed.objects
    .filter(({ key }) => declared.has(keyId(key)))
    .map(({ key, uid, metadata }) => `${keyId(key)} ${uid} ${metadata.resourceVersion ?? ''}`)
  const halts = plan.halts.map(({ reason }) => reason)
  return createHash('sha256')
    .update([...versions, ...halts].sort().join('\n'))
    .digest('hex')
}

/** What becomes of a failure, for people. It is the same each time, so that it is said once. */
export function afterwardsText({ isPermanent }: Failure, { firstMs, mostMs }: RetryPace = carefulPace): string {
  if (isPermanent) return 'it would be refused again, so it is not tried until git, or what is refused, changes'
  const [first, most] = [firstMs, mostMs].map((ms) => `${ms / 1_000} s`)
  return `it is tried again: after ${first} at first, then less and less often, at least every ${most}`
}
