import { backoffMs } from '../backoff.ts'
import type { KubeErrorCode } from '../errors.ts'

/** How one attempt failed, as far as retrying is concerned. */
export interface Attempt {
  /** Attempts made so far, this one included. */
  readonly number: number
  readonly code: KubeErrorCode
  /** False only when the server certainly saw nothing of the request. */
  readonly wasSent: boolean
  readonly retryAfterMs?: number | undefined
  /** Sending it twice is the same as once: reads, server-side apply, deletes by UID, dry runs. */
  readonly isRepeatable: boolean
  /** The server has answered before, and the caller rather waits for it until the deadline than fails. */
  readonly isWaitedFor?: boolean
}

export type RetryDecision =
  | { readonly retry: true; readonly afterMs: number }
  /** `code` replaces the attempt's own where a write is left in doubt. */
  | { readonly retry: false; readonly code: KubeErrorCode }

const backoff = { firstMs: 100, longestMs: 5_000 }
const longestRetryAfterMs = 30_000
const mostConnectionAttempts = 5
const mostAskedAttempts = 10

/** Whether to try again. A write whose outcome is unknown is never repeated blindly: it may have happened. */
export function decideRetry(attempt: Attempt, random: () => number): RetryDecision {
  if (isInDoubt(attempt)) return { retry: false, code: 'UnknownOutcome' }
  if (attempt.number >= mostAttempts(attempt)) return { retry: false, code: attempt.code }
  return again(attempt, random)
}

function isInDoubt({ code, isRepeatable, wasSent }: Attempt): boolean {
  if (isRepeatable) return false
  return code === 'ServerTimeout' || (wasSent && (code === 'Unreachable' || code === 'Timeout'))
}

function mostAttempts({ code, isRepeatable, isWaitedFor, retryAfterMs }: Attempt): number {
  const isAsked = retryAfterMs !== undefined
  // With Retry-After a 503 says that nothing was done. Without, it may be a proxy that lost the server half-way.
  if (code === 'TooManyRequests' || (code === 'Unavailable' && isAsked)) return mostAskedAttempts
  if (code === 'Unreachable') return isWaitedFor ? Number.POSITIVE_INFINITY : mostConnectionAttempts
  if (!isRepeatable) return 1
  if (code === 'Unavailable') return mostConnectionAttempts
  return isAsked && (code === 'Server' || code === 'ServerTimeout') ? mostConnectionAttempts : 1
}

function again(attempt: Attempt, random: () => number): RetryDecision {
  const { retryAfterMs } = attempt
  const own = backoffMs(attempt.number, backoff, random)
  if (retryAfterMs === undefined) return { retry: true, afterMs: own }
  // The jitter goes on top: everybody was told the same second.
  return { retry: true, afterMs: Math.min(retryAfterMs, longestRetryAfterMs) + Math.round(random() * 100) }
}
