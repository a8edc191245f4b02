import type { ReadSecretKey } from '../kube/index.ts'
import type { Clock } from '../time/index.ts'

/**
 * How it ended, with a remark if it went and somebody has to know something all the same. A sentence never holds an
 * address, a password, a token, or words of the other side.
 */
export type Delivery =
  | { readonly isDelivered: true; readonly remark?: string }
  | { readonly isDelivered: false; readonly why: string; readonly isWorthRetry: boolean }

export const delivered: Delivery = { isDelivered: true }

export function undelivered(why: string, isWorthRetry: boolean): Delivery {
  return { isDelivered: false, why, isWorthRetry }
}

/** What those who send need of the outside. */
export interface SendDoors {
  readonly clock: Clock
  readonly readSecret: ReadSecretKey
}

const deadlineMs = 10_000

/** Runs it to its end or for ten seconds. Throws only when the signal aborts. */
export async function inTime(
  send: (signal: AbortSignal) => Promise<Delivery>,
  clock: Clock,
  signal: AbortSignal,
): Promise<Delivery> {
  signal.throwIfAborted()
  const over = new AbortController()
  const stop = () => over.abort()
  signal.addEventListener('abort', stop, { once: true })
  const tooLate = clock
    .sleep(deadlineMs, over.signal)
    .then(() => undelivered(`no answer within ${deadlineMs / 1_000} s`, true))
  try {
    return await Promise.race([send(over.signal), tooLate])
  } catch (error) {
    signal.throwIfAborted()
    return undelivered(`it cannot be reached: ${codeOf(error)}`, true)
  } finally {
    over.abort()
    await tooLate.catch(() => undefined)
    signal.removeEventListener('abort', stop)
  }
}

/** The message of such an error may hold the whole address, or a header. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if ('code' in error && typeof error.code === 'string') return error.code
  // Ports of other services, such as 25, that fetch never asks.
  if (error.message === 'bad port') return error.message
  return error.cause instanceof Error ? codeOf(error.cause) : error.name
}
