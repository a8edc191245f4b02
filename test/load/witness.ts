import type { KubeClient, KubeObject, Resource } from '../../src/kube/index.ts'

/** Sees every version of every object of a kind that is stored from now on, and lets others wait for one of them. */
export class Witness<T extends KubeObject> {
  readonly ended: Promise<void>
  readonly #latest = new Map<string, T>()
  readonly #waiting = new Set<() => void>()
  readonly #signal: AbortSignal
  readonly #onVersion: (object: T, isGone: boolean) => void
  /** Why it sees nothing any more; then nothing that it says is worth anything. */
  failure: string | undefined

  constructor(
    client: KubeClient,
    resource: Resource,
    signal: AbortSignal,
    onVersion: (object: T, isGone: boolean) => void = () => undefined,
  ) {
    this.#onVersion = onVersion
    this.#signal = signal
    this.ended = this.#follow(client, resource, signal)
  }

  get(name: string): T | undefined {
    return this.#latest.get(name)
  }

  /** Whether a version came in time that is as wanted. Throws when nobody looks any more. */
  async until(name: string, isWanted: (object: T | undefined) => boolean, withinMs: number): Promise<boolean> {
    const endAt = Date.now() + withinMs
    while (!isWanted(this.#latest.get(name))) {
      if (this.failure !== undefined) throw new Error(this.failure)
      this.#signal.throwIfAborted()
      const leftMs = endAt - Date.now()
      if (leftMs <= 0) return false
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer)
          this.#waiting.delete(wake)
          resolve()
        }
        const timer = setTimeout(wake, leftMs)
        this.#waiting.add(wake)
      })
    }
    return true
  }

  async #follow(client: KubeClient, resource: Resource, signal: AbortSignal): Promise<void> {
    let resourceVersion: string | undefined
    while (!signal.aborted)
      try {
        const from = resourceVersion === undefined ? {} : { resourceVersion }
        for await (const event of client.watch<T>(resource, { signal, ...from })) {
          if (event.type === 'BOOKMARK') continue
          const { name = '', resourceVersion: version } = event.object.metadata
          resourceVersion = version ?? resourceVersion
          const isGone = event.type === 'DELETED'
          if (isGone) this.#latest.delete(name)
          else this.#latest.set(name, event.object)
          this.#onVersion(event.object, isGone)
          for (const wake of [...this.#waiting]) wake()
        }
      } catch (error) {
        if (!signal.aborted) this.failure = `the witness of ${resource.plural} lost sight: ${String(error)}`
        break
      }
    for (const wake of [...this.#waiting]) wake()
  }
}
