/** Why a timer is stopped that nobody waits for any more. Made once: a reason of its own would cost more than the timer. */
export const noLongerNeeded: unique symbol = Symbol('no longer needed')

/** Settles as the promise does, or rejects with the signal's reason, whichever comes first. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    // The listener must go: a signal that lives as long as the process would collect one for each call.
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
