export interface BackoffOptions {
  readonly firstMs: number
  readonly longestMs: number
}

/** Doubling waits with jitter, so that many clients cut off at once do not come back at once. Never gives up. */
export function backoffMs(failures: number, options: BackoffOptions, random: () => number): number {
  const full = Math.min(options.longestMs, options.firstMs * 2 ** Math.min(Math.max(failures - 1, 0), 30))
  return Math.round(full / 2 + (full / 2) * random())
}
