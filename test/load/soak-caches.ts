import {
  type CacheEvent,
  type KubeClient,
  type KubeObject,
  keyOf,
  ResourceCache,
  type Selection,
  selectionKey,
} from '../../src/kube/index.ts'

export interface CacheFigures {
  readonly name: string
  readonly objects: number
  readonly events: number
  readonly reconnects: number
  readonly relists: number
  /** The longest time without a word from the server. */
  readonly longestStaleMs: number
  /** The first few differences to the server, as sentences. None means equal. */
  readonly differences: readonly string[]
}

const fewest = 5
/** With many changes a second, so long a silence means a dead connection. The default of 150 s would outlast a short soak. */
const inactivityMs = 20_000
/** A fault every few seconds lets no connection grow old enough to be trusted; the default's half a minute would add up. */
const backoff = { firstMs: 500, longestMs: 5_000 }

/** A cache under watch: its events are replayed into a second copy, and its silences are measured. */
export class WatchedCache {
  readonly name: string
  readonly #selection: Selection
  readonly #cache: ResourceCache<KubeObject>
  /** Key to `uid version`, built from nothing but the events. */
  readonly #replayed = new Map<string, string>()
  readonly #impossible: string[] = []
  #longestStaleMs = 0

  constructor(client: KubeClient, selection: Selection, signal: AbortSignal) {
    this.name = selectionKey(selection)
    this.#selection = selection
    this.#cache = new ResourceCache<KubeObject>({ client, ...selection, signal, inactivityMs, backoff })
    this.#cache.subscribe((event) => this.#replay(event))
  }

  get ended(): Promise<void> {
    return this.#cache.ended
  }

  waitForSync(signal: AbortSignal): Promise<void> {
    return this.#cache.waitForSync(signal)
  }

  /** To be called often: the age is known only while it lasts. */
  measure(): void {
    this.#longestStaleMs = Math.max(this.#longestStaleMs, this.#cache.stats().lastContactAgeMs ?? 0)
  }

  /** Compares with the server, and the replayed events with the cache. */
  async differences(client: KubeClient): Promise<readonly string[]> {
    const server = new Map<string, string>()
    const { resource, ...where } = this.#selection
    for await (const page of client.list<KubeObject>(resource, where)) {
      for (const object of page.items) server.set(keyOf(object.metadata), versionOf(object))
    }
    const cached = new Map<string, string>()
    for (const object of this.#cache.values()) cached.set(keyOf(object.metadata), versionOf(object))
    return [
      ...this.#impossible,
      ...compare('the server', server, 'the cache', cached),
      ...compare('the cache', cached, 'the replayed events', this.#replayed),
    ].slice(0, fewest)
  }

  figures(differences: readonly string[]): CacheFigures {
    const { objects, events, reconnects, relists } = this.#cache.stats()
    const { name } = this
    return { name, objects, events, reconnects, relists, longestStaleMs: Math.round(this.#longestStaleMs), differences }
  }

  /** An event that cannot follow from those before it is a fault, even if the end result is right. */
  #replay(event: CacheEvent<KubeObject>): void {
    const key = keyOf(event.object.metadata)
    const known = this.#replayed.get(key)
    const isKnownOne = known?.split(' ')[0] === event.object.metadata.uid
    if (event.type === 'added' ? known !== undefined : !isKnownOne) {
      this.#impossible.push(`${event.type} ${key} ${versionOf(event.object)} came when ${known ?? 'nothing'} was there`)
    }
    if (event.type === 'deleted') this.#replayed.delete(key)
    else this.#replayed.set(key, versionOf(event.object))
  }
}

function versionOf({ metadata }: KubeObject): string {
  return `${metadata.uid} ${metadata.resourceVersion}`
}

function compare(
  leftName: string,
  left: ReadonlyMap<string, string>,
  rightName: string,
  right: ReadonlyMap<string, string>,
): string[] {
  const keys = new Set([...left.keys(), ...right.keys()])
  return [...keys].flatMap((key) => {
    const [mine, theirs] = [left.get(key), right.get(key)]
    return mine === theirs ? [] : [`${key}: ${leftName} has ${mine ?? 'nothing'}, ${rightName} ${theirs ?? 'nothing'}`]
  })
}
