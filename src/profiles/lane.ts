export interface LaneOptions {
  /** How much is under way side by side. */
  readonly width: number
  /** Whoever takes longer goes on beside the lane, and somebody else has its place. */
  readonly slowAfterMs: number
}

/** Lets so many work at once; but somebody who waits for an answer that does not come holds up nobody. */
export class Lane {
  readonly #options: LaneOptions
  readonly #waiting: (() => void)[] = []
  #taken = 0
  /** Of those who wait, how many are in a hurry. */
  #hurrying = 0

  constructor(options: LaneOptions) {
    this.#options = options
  }

  /** Everybody has his turn in the order in which they came; who is patient does not count as a crowd. */
  async run<T>(work: () => Promise<T>, { isPatient = false } = {}): Promise<T> {
    const { width, slowAfterMs } = this.#options
    if (this.#taken < width) this.#taken++
    else {
      if (!isPatient) this.#hurrying++
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
      if (!isPatient) this.#hurrying--
    }
    let isInside = true
    const leave = () => {
      if (isInside) this.#leave()
      isInside = false
    }
    const timer = setTimeout(leave, slowAfterMs)
    try {
      return await work()
    } finally {
      clearTimeout(timer)
      leave()
    }
  }

  /** Somebody who is in a hurry waits for a place. */
  get isCrowded(): boolean {
    return this.#hurrying > 0
  }

  /** The place goes to the next one, if somebody waits. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#taken--
  }
}
