/** How much is sent at a time: half as much when the server asks for patience, and slowly more when it no longer does. */
export class ApplyPace {
  readonly #most: number
  /** How often the server asked for patience so far. */
  readonly #strain: () => number
  #seen: number
  #width: number
  #calm = 0

  constructor(most: number, strain: () => number) {
    this.#most = most
    this.#strain = strain
    this.#seen = strain()
    this.#width = most
  }

  /** Asked each time that something has ended. */
  width(): number {
    const strain = this.#strain()
    if (strain > this.#seen) {
      this.#width = Math.max(1, Math.floor(this.#width / 2))
      this.#calm = 0
      this.#seen = strain
    } else if (++this.#calm >= this.#width && this.#width < this.#most) {
      this.#width++
      this.#calm = 0
    }
    return this.#width
  }
}
