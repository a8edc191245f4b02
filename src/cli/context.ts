import type { DevReport } from '../dev/index.ts'
import { type ProgressStream, progressOn } from './progress.ts'

/** What a command may touch of the outside; tests pass their own. */
export interface CliContext {
  /** What the command is asked for; goes to stdout. */
  readonly out: (text: string) => void
  /** Remarks for a person; goes to stderr. */
  readonly err: (text: string) => void
  readonly progress: ProgressStream
  readonly nowMs: () => number
  /** Puts a question to the person at the terminal; undefined when nobody is there. */
  readonly ask?: (question: string) => Promise<string | undefined>
  /** Aborts on Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal
  /** Sets what the process returns; the last call counts. */
  readonly exitCode: (code: number) => void
}

/** Said to a person as it is, without a stack. */
export class CliFault extends Error {
  readonly code = 'CliFault'
}

export function devReport(context: CliContext): DevReport {
  const progress = progressOn(context.progress, context.nowMs)
  return { working: (text) => progress.update(text), finished: (text) => progress.done(text) }
}
