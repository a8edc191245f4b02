/** Something that waits for its time. The heap writes `slot`; nobody else may. */
export interface Due {
  dueAt: number
  /** Index in the heap, -1 outside of it. */
  slot: number
}

/**
 * Earliest first, with removal from the middle. Leaving outdated entries in place would be shorter, but a key that is
 * looked at each second and asks each time to be looked at again in an hour would then hold 3,600 of them.
 */
export class DueHeap<T extends Due> {
  readonly #items: T[] = []

  get size(): number {
    return this.#items.length
  }

  peek(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    item.slot = this.#items.length
    this.#items.push(item)
    this.#rise(item)
  }

  remove(item: T): void {
    const slot = item.slot
    if (slot < 0) return
    item.slot = -1
    const last = this.#items.pop()
    if (!last || last === item) return
    this.#put(last, slot)
    this.#rise(last)
    this.#sink(last)
  }

  #put(item: T, slot: number): void {
    this.#items[slot] = item
    item.slot = slot
  }

  #rise(item: T): void {
    for (;;) {
      const slot = item.slot
      const parent = this.#items[(slot - 1) >> 1]
      if (slot === 0 || !parent || parent.dueAt <= item.dueAt) return
      this.#put(parent, slot)
      this.#put(item, (slot - 1) >> 1)
    }
  }

  #sink(item: T): void {
    for (;;) {
      const slot = item.slot
      const left = this.#items[2 * slot + 1]
      const right = this.#items[2 * slot + 2]
      const child = left && right && right.dueAt < left.dueAt ? right : left
      if (!child || child.dueAt >= item.dueAt) return
      const childSlot = child.slot
      this.#put(child, slot)
      this.#put(item, childSlot)
    }
  }
}
