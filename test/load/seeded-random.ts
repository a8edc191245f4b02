/** Numbers that look random and can be had again: all chance of a run comes from one printed seed. */
export class SeededRandom {
  #state: number

  constructor(seed: number) {
    this.#state = seed | 0
  }

  /** In [0, 1); mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number in [0, below). */
  below(below: number): number {
    return Math.floor(this.next() * below)
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  /** Some of these, in an order of chance. */
  sample<T>(from: readonly T[], count: number): T[] {
    return from
      .map((item) => ({ item, lot: this.next() }))
      .sort((one, other) => one.lot - other.lot)
      .slice(0, count)
      .map(({ item }) => item)
  }

  pick<T>(from: readonly [T, ...T[]]): T {
    return from[this.below(from.length)] ?? from[0]
  }
}
