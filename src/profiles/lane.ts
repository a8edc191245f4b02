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

  constructor(options: LaneOptions) {
    this.#options = options
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    const { width, slowAfterMs } = this.#options
    if (this.#taken < width) this.#taken++
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
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

  get isCrowded(): boolean {
    return this.#waiting.length > 0
  }

  /** The place goes to the next one, if somebody waits. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#taken--
  }
}
