import type { Clock } from '../../time/index.ts'
import { noLongerNeeded } from '../abortable.ts'

/** The reason with which a call's own signal aborts when its time is up. */
export const deadlinePassed: unique symbol = Symbol('deadline passed')

/** Runs with a signal that aborts when the caller's does or when the time is up, and leaves no timer behind. */
export async function withDeadline<T>(
  clock: Clock,
  deadlineMs: number,
  parent: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  parent?.throwIfAborted()
  const call = new AbortController()
  const timer = new AbortController()
  const onParentAbort = () => call.abort(parent?.reason)
  parent?.addEventListener('abort', onParentAbort, { once: true })
  clock.sleep(deadlineMs, timer.signal).then(
    () => call.abort(deadlinePassed),
    () => undefined,
  )
  try {
    return await run(call.signal)
  } finally {
    timer.abort(noLongerNeeded)
    parent?.removeEventListener('abort', onParentAbort)
  }
}
