/** Half-open: `[startMs, endMs)` on the absolute time line. */
export interface Interval {
  readonly startMs: number
  readonly endMs: number
}

/** The same set of instants: sorted, disjoint, touching ones made one, empty ones gone. */
export function merge(intervals: readonly Interval[]): Interval[] {
  const sorted = intervals.filter(({ startMs, endMs }) => startMs < endMs).sort((a, b) => a.startMs - b.startMs)
  const merged: Interval[] = []
  for (const next of sorted) {
    const last = merged.at(-1)
    if (last && next.startMs <= last.endMs)
      merged[merged.length - 1] = { startMs: last.startMs, endMs: Math.max(last.endMs, next.endMs) }
    else merged.push(next)
  }
  return merged
}

/** What is in `intervals` and in none of `taken`. Both are merged already. */
export function subtract(intervals: readonly Interval[], taken: readonly Interval[]): Interval[] {
  const left: Interval[] = []
  let first = 0
  for (const { startMs, endMs } of intervals) {
    let from = startMs
    // Whatever ends before this interval begins cannot touch a later one either.
    while ((taken[first]?.endMs ?? Number.POSITIVE_INFINITY) <= startMs) first++
    for (let index = first; from < endMs; index++) {
      const hole = taken[index]
      if (!hole || hole.startMs >= endMs) break
      if (hole.startMs > from) left.push({ startMs: from, endMs: hole.startMs })
      from = hole.endMs
    }
    if (from < endMs) left.push({ startMs: from, endMs })
  }
  return left
}

export function clip(intervals: readonly Interval[], fromMs: number, toMs: number): Interval[] {
  return intervals.flatMap(({ startMs, endMs }) => {
    const clipped = { startMs: Math.max(startMs, fromMs), endMs: Math.min(endMs, toMs) }
    return clipped.startMs < clipped.endMs ? [clipped] : []
  })
}
