/** One place in a list. Holding it makes removal from the middle cheap. */
export interface Link<T> {
  readonly value: T
  previous: Link<T> | undefined
  next: Link<T> | undefined
}

/**
 * First in, first out, with removal anywhere in constant time.
 * A Map in insertion order looks like the same thing, but V8 keeps deleted entries at its head and walks over them
 * on each look at the first: taking 50,000 keys off one cost 0.4 s in Node 20.
 */
export class LinkedList<T> {
  #first: Link<T> | undefined
  #last: Link<T> | undefined
  #size = 0

  get first(): Link<T> | undefined {
    return this.#first
  }

  get size(): number {
    return this.#size
  }

  push(value: T): Link<T> {
    const link: Link<T> = { value, previous: this.#last, next: undefined }
    if (this.#last) this.#last.next = link
    else this.#first = link
    this.#last = link
    this.#size++
    return link
  }

  /** The link must be in this list. */
  remove(link: Link<T>): void {
    if (link.previous) link.previous.next = link.next
    else this.#first = link.next
    if (link.next) link.next.previous = link.previous
    else this.#last = link.previous
    link.previous = undefined
    link.next = undefined
    this.#size--
  }
}
