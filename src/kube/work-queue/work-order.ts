import { type Link, LinkedList } from '../linked-list.ts'

/** A key that is ready to run and waits for a free worker. */
export interface WaitingKey {
  readonly key: string
  readonly group: string
  readonly priority: number
  /** When it became ready, on the queue's monotonic clock. */
  readonly since: number
}

/** One queue per group; the groups take turns. */
class Rotation {
  readonly #lines = new Map<string, Link<LinkedList<WaitingKey>>>()
  readonly #turns = new LinkedList<LinkedList<WaitingKey>>()

  get isEmpty(): boolean {
    return this.#turns.size === 0
  }

  push(item: WaitingKey): Link<WaitingKey> {
    let line = this.#lines.get(item.group)
    if (!line) {
      line = this.#turns.push(new LinkedList())
      this.#lines.set(item.group, line)
    }
    return line.value.push(item)
  }

  remove(link: Link<WaitingKey>): void {
    const line = this.#lines.get(link.value.group)
    if (!line) return
    line.value.remove(link)
    if (line.value.size > 0) return
    this.#turns.remove(line)
    this.#lines.delete(link.value.group)
  }

  /** The oldest of the group whose turn it is; that group goes to the end of the round. */
  next(): WaitingKey | undefined {
    const line = this.#turns.first
    const item = line?.value.first?.value
    if (!line || !item) return undefined
    this.#turns.remove(line)
    this.#lines.set(item.group, this.#turns.push(line.value))
    return item
  }

  *heads(): Generator<WaitingKey> {
    for (let line = this.#turns.first; line; line = line.next) {
      if (line.value.first) yield line.value.first.value
    }
  }
}

interface Place {
  item: WaitingKey
  byPriority: Link<WaitingKey>
  readonly byAge: Link<WaitingKey>
}

/**
 * Decides whose turn it is among the ready keys.
 *
 * Most picks go to the highest priority, groups taking turns within it. Each `patience`-th pick goes to the longest
 * waiting key of the next group, whatever its priority. So nothing starves: a key with `a` older keys in its own
 * group starts within `patience × G × (a + 1)` picks, G being the most groups that waited at once meanwhile.
 * The bound counts picks, not time, so that it holds under any load. Priorities should be few distinct numbers.
 */
export class WorkOrder {
  readonly #patience: number
  readonly #places = new Map<string, Place>()
  readonly #levels = new Map<number, Rotation>()
  readonly #ages = new Rotation()
  #picks = 0

  constructor(patience: number) {
    if (!Number.isInteger(patience) || patience < 1) throw new RangeError(`patience must be 1 or more, not ${patience}`)
    this.#patience = patience
  }

  get size(): number {
    return this.#places.size
  }

  /** A key that already waits keeps its place; only its priority may rise. */
  add(item: WaitingKey): void {
    const place = this.#places.get(item.key)
    if (!place) {
      this.#places.set(item.key, {
        item,
        byPriority: this.#level(item.priority).push(item),
        byAge: this.#ages.push(item),
      })
    } else if (item.priority > place.item.priority) {
      this.#leaveLevel(place)
      place.item = { ...place.item, priority: item.priority }
      place.byPriority = this.#level(item.priority).push(place.item)
    }
  }

  take(): WaitingKey | undefined {
    if (this.#places.size === 0) return undefined
    this.#picks++
    const isPatiencePick = this.#picks % this.#patience === 0
    const rotation = isPatiencePick ? this.#ages : this.#levels.get(Math.max(...this.#levels.keys()))
    const place = this.#places.get(rotation?.next()?.key ?? '')
    if (!place) return undefined
    this.#leaveLevel(place)
    this.#ages.remove(place.byAge)
    this.#places.delete(place.item.key)
    return place.item
  }

  /** When the longest waiting key became ready. */
  oldestSince(): number | undefined {
    let oldest: number | undefined
    for (const { since } of this.#ages.heads()) oldest = Math.min(oldest ?? since, since)
    return oldest
  }

  clear(): void {
    for (const place of [...this.#places.values()]) {
      this.#leaveLevel(place)
      this.#ages.remove(place.byAge)
    }
    this.#places.clear()
  }

  #level(priority: number): Rotation {
    let level = this.#levels.get(priority)
    if (!level) {
      level = new Rotation()
      this.#levels.set(priority, level)
    }
    return level
  }

  #leaveLevel(place: Place): void {
    const level = this.#levels.get(place.item.priority)
    level?.remove(place.byPriority)
    if (level?.isEmpty) this.#levels.delete(place.item.priority)
  }
}
