const unitMs = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const

/** Milliseconds of a duration such as 1h30m (GEP-2257). The API server has checked its form already. */
export function durationMs(text: string): number {
  const parts = [...text.matchAll(/([0-9]+)(ms|h|m|s)/g)]
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text)
    throw new RangeError(`"${text}" is not a duration; write for example 30m or 1h30m`)
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * unitMs[unit as keyof typeof unitMs], 0)
}

/** As short as it can be said exactly to the second: 5400000 is 1h30m. */
export function durationText(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  const parts = [
    [Math.floor(seconds / 3_600), 'h'],
    [Math.floor((seconds % 3_600) / 60), 'm'],
    [seconds % 60, 's'],
  ] as const
  const text = parts.flatMap(([count, unit]) => (count > 0 ? [`${count}${unit}`] : [])).join('')
  return text === '' ? '0s' : text
}
