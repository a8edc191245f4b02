import type { KubeObject, ObjectRef } from '../resource.ts'

/** The keys under which an index files an object; none if it does not concern it. */
export type IndexKeys<T> = (object: T) => readonly string[] | string | undefined

export type CacheEvent<T> =
  | { readonly type: 'added'; readonly object: T; readonly old?: undefined }
  | { readonly type: 'updated'; readonly object: T; readonly old: T }
  /** `object` is the last state that was seen. */
  | { readonly type: 'deleted'; readonly object: T; readonly old: T }

interface Index<T> {
  readonly keysOf: IndexKeys<T>
  readonly buckets: Map<string, Set<string>>
}

/** Objects by namespace and name, with indexes kept up to date. Pure: each change answers what it meant. */
export class ObjectStore<T extends KubeObject> {
  readonly #objects = new Map<string, T>()
  readonly #indexes = new Map<string, Index<T>>()

  get size(): number {
    return this.#objects.size
  }

  get(key: string): T | undefined {
    return this.#objects.get(key)
  }

  values(): IterableIterator<T> {
    return this.#objects.values()
  }

  keys(): IterableIterator<string> {
    return this.#objects.keys()
  }

  /** Files all objects under a new index. The same name with the same function again is no change. */
  addIndex(name: string, keysOf: IndexKeys<T>): void {
    const known = this.#indexes.get(name)
    if (known) {
      if (known.keysOf !== keysOf) throw new Error(`index "${name}" exists already with another function`)
      return
    }
    const index: Index<T> = { keysOf, buckets: new Map() }
    this.#indexes.set(name, index)
    for (const [key, object] of this.#objects) file(index, key, object)
  }

  byIndex(name: string, indexKey: string): T[] {
    const index = this.#indexes.get(name)
    if (!index) throw new Error(`there is no index "${name}"; it has to be added first`)
    const found: T[] = []
    for (const key of index.buckets.get(indexKey) ?? []) {
      const object = this.#objects.get(key)
      if (object) found.push(object)
    }
    return found
  }

  indexKeys(name: string): IterableIterator<string> {
    const index = this.#indexes.get(name)
    if (!index) throw new Error(`there is no index "${name}"; it has to be added first`)
    return index.buckets.keys()
  }

  /** Puts an object in. Another UID under the same name is another object: one goes, one comes. */
  put(object: T): readonly CacheEvent<T>[] {
    const key = keyOf(object.metadata)
    const old = this.#objects.get(key)
    if (old && old.metadata.uid !== object.metadata.uid) {
      const removed = this.#take(key, old)
      this.#set(key, object)
      return [
        { type: 'deleted', object: removed, old: removed },
        { type: 'added', object },
      ]
    }
    // A relist repeats what is known already; keeping the old object keeps memory and subscribers quiet.
    if (old && old.metadata.resourceVersion === object.metadata.resourceVersion) return []
    if (!old) {
      this.#set(key, object)
      return [{ type: 'added', object }]
    }
    this.#objects.set(key, object)
    for (const index of this.#indexes.values()) refile(index, key, old, object)
    return [{ type: 'updated', object, old }]
  }

  /** Takes an object out, if it is still the same one. `last` is its final state where the server told it. */
  remove(key: string, last?: T): readonly CacheEvent<T>[] {
    const old = this.#objects.get(key)
    if (!old || (last && last.metadata.uid !== old.metadata.uid)) return []
    this.#take(key, old)
    return [{ type: 'deleted', object: last ?? old, old }]
  }

  #set(key: string, object: T): void {
    this.#objects.set(key, object)
    for (const index of this.#indexes.values()) file(index, key, object)
  }

  #take(key: string, object: T): T {
    this.#objects.delete(key)
    for (const index of this.#indexes.values()) unfile(index, key, object)
    return object
  }
}

/** `namespace/name`, or the bare name for what lives in no namespace. */
export function keyOf(ref: ObjectRef | { readonly name?: string; readonly namespace?: string }): string {
  return ref.namespace ? `${ref.namespace}/${ref.name ?? ''}` : (ref.name ?? '')
}

function file<T>(index: Index<T>, key: string, object: T): void {
  for (const indexKey of list(index.keysOf(object))) {
    const bucket = index.buckets.get(indexKey)
    if (bucket) bucket.add(key)
    else index.buckets.set(indexKey, new Set([key]))
  }
}

function unfile<T>(index: Index<T>, key: string, object: T): void {
  for (const indexKey of list(index.keysOf(object))) {
    const bucket = index.buckets.get(indexKey)
    bucket?.delete(key)
    if (bucket?.size === 0) index.buckets.delete(indexKey)
  }
}

/** Most updates change nothing that an index looks at. */
function refile<T>(index: Index<T>, key: string, old: T, object: T): void {
  const before = index.keysOf(old)
  if (!Array.isArray(before) && before === index.keysOf(object)) return
  unfile(index, key, old)
  file(index, key, object)
}

function list(keys: readonly string[] | string | undefined): readonly string[] {
  if (keys === undefined) return []
  return typeof keys === 'string' ? [keys] : keys
}
