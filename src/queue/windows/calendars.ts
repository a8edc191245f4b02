import type { MaintenanceWindow } from '../../api/index.ts'
import { type KubeObject, type ListWatch, ResourceCache, resources } from '../../kube/index.ts'
import { type Clock, systemClock } from '../../time/index.ts'
import { staleView } from '../views.ts'
import type { CalendarOf, CalendarRef } from './decide-window.ts'

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>
}

export interface CalendarOptions {
  readonly client: ListWatch
  /** Where a ConfigMap lies that is named without namespace: the controller's own. */
  readonly namespace: string
  /** Ends everything. */
  readonly signal: AbortSignal
  readonly clock?: Clock
  readonly random?: () => number
}

interface Followed {
  readonly cache: ResourceCache<ConfigMap>
  readonly stop: AbortController
  /** It was read once, and has not been heard of for too long. Noted, so that every change of it is told. */
  isLost: boolean
}

/** That a calendar is lost, or found again with nothing new in it, shows by the passing of time alone. */
const betweenLooksMs = 10_000

/**
 * Follows the ConfigMaps that windows name, each by a watch of its own: nobody should have to let us read all of them. They
 * are no part of the shared caches, because one that may not be read must not keep the controller from being ready.
 */
export class Calendars {
  readonly #options: CalendarOptions
  readonly #onChange: () => void
  readonly #followed = new Map<string, Followed>()
  #version = 0

  constructor(options: CalendarOptions, onChange: () => void) {
    this.#options = options
    this.#onChange = onChange
  }

  /** Another number means that some calendar may read differently. */
  get version(): number {
    return this.#version
  }

  /** Starts and ends watches, so that what these windows name is followed and nothing else. */
  follow(windows: Iterable<MaintenanceWindow>): void {
    const wanted = new Map(
      [...windows]
        .flatMap(({ spec }) => spec.exclusions ?? [])
        .flatMap(({ ics }) => (ics ? [[this.#keyOf(ics.configMapRef), ics.configMapRef] as const] : [])),
    )
    for (const [key, { stop }] of this.#followed)
      if (!wanted.has(key)) {
        this.#followed.delete(key)
        stop.abort(new Error('no window names it any more'))
      }
    for (const [key, ref] of wanted) if (!this.#followed.has(key)) this.#followed.set(key, this.#start(ref))
  }

  readonly calendarOf: CalendarOf = (ref) => {
    const key = this.#keyOf(ref)
    const { cache, isLost } = this.#followed.get(key) ?? {}
    if (!cache?.isSynced || isLost) {
      const why = cache?.stats().lastError
      const what = isLost ? 'cannot be read any more' : 'has not been read yet'
      return { problem: `ConfigMap ${key} ${what}${why === undefined ? '' : `: ${why}`}` }
    }
    const found = cache.get({ name: ref.name, namespace: this.#namespaceOf(ref) })
    return calendarIn(found, key, ref.key)
  }

  #start(ref: CalendarRef): Followed {
    const { client, signal, clock = systemClock, random } = this.#options
    const stop = new AbortController()
    const ends = AbortSignal.any([signal, stop.signal])
    const cache = new ResourceCache<ConfigMap>({
      client,
      resource: resources.configMaps,
      namespace: this.#namespaceOf(ref),
      fieldSelector: `metadata.name=${ref.name}`,
      signal: ends,
      clock,
      ...(random ? { random } : {}),
      onError: () => this.#changed(),
    })
    cache.subscribe(() => this.#changed())
    // A ConfigMap that does not exist is never told of; that it does not is news all the same.
    cache.waitForSync(stop.signal).then(
      () => this.#changed(),
      () => undefined,
    )
    const followed = { cache, stop, isLost: false }
    this.#lookAfter(followed, clock, ends).catch(() => undefined)
    return followed
  }

  async #lookAfter(followed: Followed, clock: Clock, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(betweenLooksMs, signal)
      const isLost = followed.cache.isSynced && staleView({ calendars: followed.cache }) !== undefined
      if (isLost === followed.isLost) continue
      followed.isLost = isLost
      this.#changed()
    }
  }

  #changed(): void {
    this.#version++
    this.#onChange()
  }

  #namespaceOf({ namespace }: CalendarRef): string {
    return namespace ?? this.#options.namespace
  }

  #keyOf(ref: CalendarRef): string {
    return `${this.#namespaceOf(ref)}/${ref.name}`
  }
}

export function calendarIn(
  configMap: ConfigMap | undefined,
  where: string,
  key: string,
): { readonly text: string } | { readonly problem: string } {
  if (!configMap) return { problem: `ConfigMap ${where} does not exist` }
  const text = configMap.data?.[key]
  return text === undefined ? { problem: `ConfigMap ${where} has no key ${key}` } : { text }
}
