/**
 * Thrown by a work handler to say that no retry can help until the object itself changes.
 * An ApiError's `kind: 'terminal'` does not say that: it speaks of one request. A right that is missing now may be
 * granted in an hour, and nothing would wake the key up then. So giving up has to be said, with this.
 */
export class TerminalError extends Error {
  override readonly name = 'TerminalError'
  readonly code = 'Terminal'
  readonly kind = 'terminal'
  readonly doNotRequeue = true
}

export interface FailureHint {
  readonly isTerminal: boolean
  /** At least this long until the next run. */
  readonly retryAfterMs: number | undefined
}

/** Reads what an error says about its own retry: `doNotRequeue: true`, `retryAfterMs: number`. */
export function readFailure(error: unknown): FailureHint {
  if (typeof error !== 'object' || error === null) return { isTerminal: false, retryAfterMs: undefined }
  const { doNotRequeue, retryAfterMs } = error as { doNotRequeue?: unknown; retryAfterMs?: unknown }
  return {
    isTerminal: doNotRequeue === true,
    retryAfterMs: typeof retryAfterMs === 'number' && retryAfterMs > 0 ? retryAfterMs : undefined,
  }
}
