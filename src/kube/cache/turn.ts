/** Tells long loops when to let others run, so that no turn of the event loop burns more than a few milliseconds. */
export class TurnKeeper {
  readonly #sliceMs: number
  #startedAt = performance.now()

  constructor(sliceMs = 10) {
    this.#sliceMs = sliceMs
  }

  get isOver(): boolean {
    return performance.now() - this.#startedAt > this.#sliceMs
  }

  async yield(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve))
    this.#startedAt = performance.now()
  }
}
