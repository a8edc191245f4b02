import type { KubeClient } from '../../src/kube/index.ts'
import { interceptWrites } from './intercepted-client.ts'

/** The process dies before a write is sent, or after the API server has stored it and before it answers. */
export interface CrashPoint {
  /** The number of the write, from 1, or what it does. */
  readonly at: number | string
  readonly when: 'before it is sent' | 'before the answer is seen'
}

/** Both sides of each write. */
export function crashPointsOf(writes: readonly string[]): readonly CrashPoint[] {
  return (['before it is sent', 'before the answer is seen'] as const).flatMap((when) =>
    writes.map((_, index) => ({ at: index + 1, when })),
  )
}

export interface Doomed {
  readonly client: KubeClient
  /** What was written, or would have been by the write it died at. */
  readonly writes: readonly string[]
  /** Aborts at the point: from then on nothing leaves the process. */
  readonly death: AbortSignal
  /** It ends in another way than by its death. */
  readonly end: () => void
}

/** A client whose process dies at one of its writes. */
export function doomedClient(
  client: KubeClient,
  point: CrashPoint | undefined,
  around: <T>(write: string, send: () => Promise<T>) => Promise<T> = (_, send) => send(),
): Doomed {
  const writes: string[] = []
  const crash = new AbortController()
  const doomed = interceptWrites(client, async (write, send) => {
    crash.signal.throwIfAborted()
    writes.push(write)
    if (!point || (point.at !== writes.length && point.at !== write)) return around(write, send)
    // Also a refusal is an answer that nobody sees any more.
    if (point.when === 'before the answer is seen') await around(write, send).catch(() => undefined)
    crash.abort(new Error('the process died'))
    throw crash.signal.reason
  })
  return { client: doomed, writes, death: crash.signal, end: () => crash.abort(new Error('nobody died')) }
}
