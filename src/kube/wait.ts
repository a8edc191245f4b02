import type { Clock } from '../time/index.ts'
import { abortable } from './abortable.ts'
import { backoffMs } from './backoff.ts'
import type { KubeClient } from './door.ts'
import { isNotFound, isRetryable } from './errors.ts'
import { deadlinePassed, withDeadline } from './request/deadline.ts'
import type { KubeObject, ObjectRef, Resource } from './resource.ts'

export interface WaitOptions {
  readonly clock: Clock
  /** In [0, 1), as Math.random. */
  readonly random: () => number
  readonly signal: AbortSignal
  readonly deadlineMs: number
  /** Hears what is still missing, each time that changes. */
  readonly onProgress?: (missing: string) => void
}

export interface GoneOptions extends WaitOptions {
  /** The object that has to go, or `any` for whatever bears the name. */
  readonly uid: string
}

/** True when the wait is over, or a sentence about what is missing. Gets nothing when the object does not exist. */
export type WaitPredicate<T> = (object: T | undefined) => true | string

export type WaitResult<T> =
  | { readonly outcome: 'met'; readonly object: T | undefined }
  | { readonly outcome: 'deadline'; readonly missing: string; readonly object: T | undefined }

export type GoneResult =
  | { readonly outcome: 'gone' }
  | {
      readonly outcome: 'kept'
      /** A sentence for people. */
      readonly reason: string
      readonly finalizers: readonly string[]
      readonly deletionTimestamp: string | undefined
    }

type Reader = Pick<KubeClient, 'list' | 'watch'>

const backoff = { firstMs: 500, longestMs: 10_000 }

/**
 * Waits until the predicate is true of an object. Reads and watches again whenever a watch ends, breaks or falls behind.
 * Throws on errors that waiting cannot cure, such as a missing right, and the signal's reason when it aborts.
 */
export async function waitFor<T extends KubeObject>(
  client: Reader,
  resource: Resource,
  ref: ObjectRef,
  predicate: WaitPredicate<T>,
  options: WaitOptions,
): Promise<WaitResult<T>> {
  const wait = new ObjectWait<T>(client, resource, ref, predicate, options)
  try {
    await withDeadline(options.clock, options.deadlineMs, options.signal, (signal) => wait.untilMet(signal))
    return { outcome: 'met', object: wait.object }
  } catch (error) {
    if (error !== deadlinePassed) throw error
    return { outcome: 'deadline', missing: wait.missing, object: wait.object }
  }
}

/**
 * Waits until the object with this UID is gone. An object of the same name with another UID is another object, and
 * one whose whole resource is gone went with it.
 */
export async function waitUntilGone(
  client: Reader,
  resource: Resource,
  ref: ObjectRef,
  options: GoneOptions,
): Promise<GoneResult> {
  const predicate = (object: KubeObject | undefined) => {
    const isOther = options.uid !== 'any' && object?.metadata.uid !== options.uid
    return object === undefined || isOther ? true : whatKeeps(resource, object)
  }
  const result = await waitFor<KubeObject>(client, resource, ref, predicate, options)
  if (result.outcome === 'met') return { outcome: 'gone' }
  const { finalizers = [], deletionTimestamp } = result.object?.metadata ?? {}
  return { outcome: 'kept', reason: result.missing, finalizers, deletionTimestamp }
}

function whatKeeps(resource: Resource, { metadata }: KubeObject): string {
  const name = `${resource.kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = metadata
  if (deletionTimestamp === undefined) return `${name} exists and nobody has deleted it`
  if (finalizers.length > 0)
    return `${name} is being deleted since ${deletionTimestamp}; waits for ${finalizers.join(', ')}`
  return `${name} is being deleted since ${deletionTimestamp} with ${deletionGracePeriodSeconds} s of grace; no finalizer holds it`
}

class ObjectWait<T extends KubeObject> {
  object: T | undefined
  missing = 'its state could not be read yet'
  readonly #client: Reader
  readonly #resource: Resource
  readonly #selection: { readonly namespace?: string; readonly fieldSelector: string }
  readonly #predicate: WaitPredicate<T>
  readonly #options: WaitOptions
  #fruitlessRounds = 0

  constructor(client: Reader, resource: Resource, ref: ObjectRef, predicate: WaitPredicate<T>, options: WaitOptions) {
    this.#client = client
    this.#resource = resource
    const fieldSelector = `metadata.name=${ref.name}`
    this.#selection = ref.namespace === undefined ? { fieldSelector } : { namespace: ref.namespace, fieldSelector }
    this.#predicate = predicate
    this.#options = options
  }

  async untilMet(signal: AbortSignal): Promise<void> {
    for (;;) {
      this.#fruitlessRounds++
      try {
        if (await this.#round(signal)) return
      } catch (error) {
        signal.throwIfAborted()
        if (!isRetryable(error)) throw error
        this.#tell(`its state cannot be read: ${error instanceof Error ? error.message : String(error)}`)
      }
      const pauseMs = backoffMs(this.#fruitlessRounds, backoff, this.#options.random)
      await this.#options.clock.sleep(pauseMs, signal)
    }
  }

  /** One read and one watch. Answers whether the predicate came true; false when the watch has ended. */
  async #round(signal: AbortSignal): Promise<boolean> {
    const resourceVersion = await abortable(this.#read(signal), signal)
    if (this.#isMet()) return true
    if (resourceVersion === undefined) return false
    const watch = this.#client.watch<T>(this.#resource, { ...this.#selection, resourceVersion, signal })
    const iterator = watch[Symbol.asyncIterator]()
    try {
      for (;;) {
        const { done, value: event } = await abortable(iterator.next(), signal)
        if (done) return false
        if (event.type === 'BOOKMARK') continue
        this.#fruitlessRounds = 0
        this.object = event.type === 'DELETED' ? undefined : event.object
        if (this.#isMet()) return true
      }
    } finally {
      // Not awaited: a connection that hangs must not hold up the answer.
      iterator.return?.().catch(() => undefined)
    }
  }

  /** A list of one, because its version is where a watch may start; an object's own may be too old for that. */
  async #read(signal: AbortSignal): Promise<string | undefined> {
    let resourceVersion: string | undefined
    let object: T | undefined
    try {
      for await (const page of this.#client.list<T>(this.#resource, { ...this.#selection, signal })) {
        resourceVersion = page.resourceVersion
        object = page.items[0] ?? object
      }
    } catch (error) {
      // The resource itself is unknown: its CustomResourceDefinition is gone, or not there yet.
      if (!isNotFound(error)) throw error
    }
    this.object = object
    return resourceVersion
  }

  #isMet(): boolean {
    const verdict = this.#predicate(this.object)
    if (verdict !== true) this.#tell(verdict)
    return verdict === true
  }

  #tell(missing: string): void {
    if (missing === this.missing) return
    this.missing = missing
    this.#options.onProgress?.(missing)
  }
}
