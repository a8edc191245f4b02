import { type HealthTarget, type WaitHealthyResult, waitHealthy } from './health/wait-healthy.ts'
import type { SyncPorts } from './survey.ts'

/** A newer commit is there: whatever waited for the health of this one was not done, and did not fail either. */
export class Superseded extends Error {
  override readonly name = 'Superseded'

  constructor() {
    super('a newer commit is there')
  }
}

/** Waits until all are healthy. Throws Superseded when that is no longer of interest. */
export async function waitUnlessSuperseded(
  { client, clock, superseded }: SyncPorts,
  targets: readonly HealthTarget[],
  options: {
    readonly deadlineMs: number
    readonly signal: AbortSignal
    readonly onProgress?: (line: string) => void
  },
): Promise<WaitHealthyResult> {
  const signal = superseded ? AbortSignal.any([options.signal, superseded]) : options.signal
  try {
    return await waitHealthy(client, targets, { ...options, clock, signal })
  } catch (error) {
    options.signal.throwIfAborted()
    throw superseded?.aborted ? new Superseded() : error
  }
}
