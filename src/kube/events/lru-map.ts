import { type Link, LinkedList } from '../linked-list.ts'

/** Remembers the most recently used entries and forgets the rest. */
export class LruMap<K, V> {
  readonly #most: number
  readonly #links = new Map<K, Link<readonly [K, V]>>()
  readonly #order = new LinkedList<readonly [K, V]>()

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#links.size
  }

  /** Counts as a use. */
  get(key: K): V | undefined {
    const link = this.#links.get(key)
    if (!link) return undefined
    this.#order.remove(link)
    this.#links.set(key, this.#order.push(link.value))
    return link.value[1]
  }

  set(key: K, value: V): void {
    this.delete(key)
    this.#links.set(key, this.#order.push([key, value]))
    const oldest = this.#order.first
    if (oldest && this.#links.size > this.#most) this.delete(oldest.value[0])
  }

  delete(key: K): void {
    const link = this.#links.get(key)
    if (!link) return
    this.#order.remove(link)
    this.#links.delete(key)
  }

  *values(): Generator<V> {
    for (let link = this.#order.first; link; link = link.next) yield link.value[1]
  }
}
