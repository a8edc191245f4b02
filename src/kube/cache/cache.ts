import { type Clock, systemClock } from '../../time/index.ts'
import type { KubeObject, ObjectRef } from '../resource.ts'
import { Reflector } from './reflector.ts'
import type { ListWatch, ReflectorStats, ReflectorTimes, Selection } from './reflector-options.ts'
import { type CacheEvent, type IndexKeys, keyOf, ObjectStore } from './store.ts'
import { type CacheHandler, Subscriber } from './subscriber.ts'
import { type Trim, trimFor } from './trim.ts'
import { TurnKeeper } from './turn.ts'

export interface CacheOptions<T extends KubeObject> extends Selection, ReflectorTimes {
  readonly client: ListWatch
  /** Ends the cache. */
  readonly signal: AbortSignal
  /** Default: what `kinds.ts` declares for nodes and pods; all but managedFields for the rest. */
  readonly trim?: Trim<T>
  readonly indexes?: Readonly<Record<string, IndexKeys<T>>>
  readonly pageSize?: number
  /** Failures of the connection (which is then retried) and of handlers. Default: none is told. */
  readonly onError?: (error: unknown) => void
  readonly clock?: Clock
  readonly random?: () => number
}

export interface CacheStats extends ReflectorStats {
  readonly objects: number
  readonly isSynced: boolean
}

/** A local copy of one collection that follows the server until its signal aborts. Objects are shared: never change them. */
export class ResourceCache<T extends KubeObject> {
  readonly selection: Selection
  /** Resolves when the cache has ended, after its signal. */
  readonly ended: Promise<void>
  readonly #store = new ObjectStore<T>()
  readonly #subscribers = new Set<Subscriber<T>>()
  readonly #reflector: Reflector<T>
  readonly #onError: (error: unknown) => void
  #isSynced = false
  #whenSynced: (() => void)[] = []

  constructor(options: CacheOptions<T>) {
    const { resource, namespace, labelSelector, fieldSelector, clock = systemClock, random = Math.random } = options
    this.selection = {
      resource,
      ...(namespace === undefined ? {} : { namespace }),
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    }
    this.#onError = (error) => {
      try {
        options.onError?.(error)
      } catch {
        // Whoever reports errors must not be able to stop the cache with one of its own.
      }
    }
    for (const [name, keysOf] of Object.entries(options.indexes ?? {})) this.#store.addIndex(name, keysOf)
    const trim = options.trim ?? (trimFor(resource) as unknown as Trim<T>)
    this.#reflector = new Reflector<T>(
      { ...options, selection: this.selection, clock, random, onError: this.#onError },
      {
        put: (object) => this.#put(object, trim),
        remove: (object) => this.#remove(keyOf(object.metadata), trim(object)),
        retain: (keys) => this.#retain(keys),
      },
    )
    this.ended = this.#reflector.run()
  }

  get size(): number {
    return this.#store.size
  }

  /** Whether the whole state has been read once. It may be behind; see `stats`. */
  get isSynced(): boolean {
    return this.#isSynced
  }

  get(ref: ObjectRef): T | undefined {
    return this.#store.get(keyOf(ref))
  }

  /** All objects, in no order. Walk it in one go: it does not hold still. */
  values(): IterableIterator<T> {
    return this.#store.values()
  }

  addIndex(name: string, keysOf: IndexKeys<T>): void {
    this.#store.addIndex(name, keysOf)
  }

  byIndex(name: string, key: string): T[] {
    return this.#store.byIndex(name, key)
  }

  indexKeys(name: string): IterableIterator<string> {
    return this.#store.indexKeys(name)
  }

  /** Calls the handler for each object there is, then for each change. Handlers should only note and return. Answers how to stop. */
  subscribe(handler: CacheHandler<T>): () => void {
    const subscriber = new Subscriber(handler, this.#onError)
    this.#subscribers.add(subscriber)
    const turn = new TurnKeeper()
    subscriber
      .replay(
        this.#store.keys(),
        (key) => this.#store.get(key),
        () => turn.yield(),
      )
      .catch(this.#onError)
    return () => {
      this.#subscribers.delete(subscriber)
      subscriber.close()
    }
  }

  /** The readiness gate: resolves after the first whole list. Rejects with the signal's reason. */
  async waitForSync(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#isSynced) return
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        this.#whenSynced = this.#whenSynced.filter((one) => one !== onSync)
        reject(signal.reason)
      }
      const onSync = () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      this.#whenSynced.push(onSync)
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  stats(): CacheStats {
    return { ...this.#reflector.stats(), objects: this.#store.size, isSynced: this.#isSynced }
  }

  #put(object: T, trim: Trim<T>): string {
    const key = keyOf(object.metadata)
    const known = this.#store.get(key)
    const { uid, resourceVersion } = object.metadata
    // A relist repeats tens of thousands of known objects: do not even trim them.
    if (known?.metadata.uid === uid && known?.metadata.resourceVersion === resourceVersion) return key
    this.#emit(key, this.#store.put(trim(object)))
    return key
  }

  #remove(key: string, last?: T): void {
    this.#emit(key, this.#store.remove(key, last))
  }

  #retain(keys: ReadonlySet<string>): void {
    for (const key of this.#store.keys()) if (!keys.has(key)) this.#remove(key)
    this.#isSynced = true
    const waiting = this.#whenSynced
    this.#whenSynced = []
    for (const wake of waiting) wake()
  }

  #emit(key: string, events: readonly CacheEvent<T>[]): void {
    for (const event of events) for (const subscriber of this.#subscribers) subscriber.tell(key, event)
  }
}
