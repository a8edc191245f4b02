import type { Clock } from '../../time/index.ts'
import type { KubeObject } from '../resource.ts'
import { ResourceCache } from './cache.ts'
import type { ListWatch, ReflectorTimes, Selection } from './reflector-options.ts'
import type { IndexKeys } from './store.ts'
import type { Trim } from './trim.ts'

export interface SharedCachesOptions extends ReflectorTimes {
  readonly client: ListWatch
  /** Ends all caches. */
  readonly signal: AbortSignal
  readonly onError?: (error: unknown, selection: Selection) => void
  readonly clock?: Clock
  readonly random?: () => number
}

export interface CacheRequest<T extends KubeObject> extends Selection {
  /** Only the first to ask for a selection can choose. */
  readonly trim?: Trim<T>
  readonly indexes?: Readonly<Record<string, IndexKeys<T>>>
}

/** One cache per collection and selector, whoever asks: a watch and a copy in memory are paid for once. */
export class SharedCaches {
  readonly #options: SharedCachesOptions
  readonly #caches = new Map<string, { readonly cache: ResourceCache<KubeObject>; readonly trim: unknown }>()

  constructor(options: SharedCachesOptions) {
    this.#options = options
  }

  /** The cache of a selection, started on first use. Indexes are added to it. */
  of<T extends KubeObject>(request: CacheRequest<T>): ResourceCache<T> {
    const key = selectionKey(request)
    const known = this.#caches.get(key)
    if (!known) {
      const cache = this.#start(request)
      this.#caches.set(key, { cache: cache as unknown as ResourceCache<KubeObject>, trim: request.trim })
      return cache
    }
    if (request.trim !== undefined && request.trim !== known.trim) {
      throw new Error(`the cache of ${key} exists already with another trim; ask for it with trim first, or without`)
    }
    const cache = known.cache as unknown as ResourceCache<T>
    for (const [name, keysOf] of Object.entries(request.indexes ?? {})) cache.addIndex(name, keysOf)
    return cache
  }

  /** All caches that were asked for, by selection; for readiness and metrics. */
  all(): ReadonlyMap<string, ResourceCache<KubeObject>> {
    return new Map([...this.#caches].map(([key, { cache }]) => [key, cache]))
  }

  /** Resolves when every cache that was asked for so far has its first list. */
  async waitForSync(signal: AbortSignal): Promise<void> {
    for (const { cache } of this.#caches.values()) await cache.waitForSync(signal)
  }

  #start<T extends KubeObject>(request: CacheRequest<T>): ResourceCache<T> {
    const { onError, ...options } = this.#options
    return new ResourceCache<T>({
      ...options,
      ...request,
      ...(onError ? { onError: (error) => onError(error, request) } : {}),
    })
  }
}

/** `apps/v1/deployments in default where app=x`. */
export function selectionKey(selection: Selection): string {
  const { group, version, plural } = selection.resource
  const name = group === '' ? `${version}/${plural}` : `${group}/${version}/${plural}`
  const place = selection.namespace ? ` in ${selection.namespace}` : ''
  const labels = selection.labelSelector ? ` where ${selection.labelSelector}` : ''
  const fields = selection.fieldSelector ? ` with ${selection.fieldSelector}` : ''
  return `${name}${place}${labels}${fields}`
}
