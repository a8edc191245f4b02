/** Progress is written at most this often: a hundred pods must not become a hundred writes. */
const everyMs = 1_000
const forgetAfterMs = 15 * 60_000

/** Remembers when the progress of each request was told, by a clock that never jumps back. Losing it costs a write. */
export class ReportPace {
  readonly #toldAt = new Map<string, number>()

  /** True, and remembered, when the progress of a request may be written now. */
  mayReport(request: string, nowMs: number): boolean {
    if (nowMs - (this.#toldAt.get(request) ?? Number.NEGATIVE_INFINITY) < everyMs) return false
    this.#toldAt.set(request, nowMs)
    return true
  }

  forgetOld(nowMs: number): void {
    for (const [request, atMs] of this.#toldAt) if (nowMs - atMs > forgetAfterMs) this.#toldAt.delete(request)
  }
}
