/** Long work tells where it is: one line that is redrawn on a terminal, a plain line now and then in a pipe. */
export interface Progress {
  /** What is under way now. Call as often as you like. */
  update(text: string): void
  /** A step is finished; its line stays. */
  done(text: string): void
  /** Takes the moving line away. */
  clear(): void
}

export interface ProgressStream {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const plainEveryMs = 15_000

export function progressOn(stream: ProgressStream, nowMs: () => number): Progress {
  const startedAt = nowMs()
  const elapsed = () => {
    const seconds = Math.round((nowMs() - startedAt) / 1000)
    return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`
  }
  let drawn = false
  let lastPlainAt = Number.NEGATIVE_INFINITY
  const clear = () => {
    if (drawn) stream.write('\r\x1b[2K')
    drawn = false
  }
  return {
    update(text) {
      if (stream.isTTY) {
        clear()
        stream.write(`  … ${text} (${elapsed()})`.slice(0, (stream.columns ?? 80) - 1))
        drawn = true
      } else if (nowMs() - lastPlainAt >= plainEveryMs) {
        lastPlainAt = nowMs()
        stream.write(`  … ${text} (${elapsed()})\n`)
      }
    },
    done(text) {
      clear()
      stream.write(`  ✓ ${text} (${elapsed()})\n`)
      // The next step starts afresh: its first update is always shown.
      lastPlainAt = Number.NEGATIVE_INFINITY
    },
    clear,
  }
}
