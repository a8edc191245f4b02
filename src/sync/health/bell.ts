import type { Clock } from '../../time/index.ts'

export interface Bell {
  readonly ring: () => void
  /** Resolves when it rang since the last time, or when the time is up. */
  rung(clock: Clock, ms: number, signal: AbortSignal): Promise<void>
}

/** Lets many events wake one loop. */
export function newBell(): Bell {
  let hasRung = false
  let wake: () => void = () => undefined
  return {
    ring: () => {
      hasRung = true
      wake()
    },
    rung: async (clock, ms, signal) => {
      const timer = new AbortController()
      const onAbort = () => timer.abort(signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      try {
        if (!hasRung) {
          await Promise.race([
            new Promise<void>((resolve) => {
              wake = resolve
            }),
            clock.sleep(ms, timer.signal).catch(() => undefined),
          ])
        }
        signal.throwIfAborted()
        hasRung = false
      } finally {
        signal.removeEventListener('abort', onAbort)
        timer.abort()
      }
    },
  }
}
