const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
}

/** Go counts nanoseconds in 63 bits. */
export const longestDurationMs = 2 ** 63 / 1e6

/** Milliseconds of `1h15m30s`, `-1.5h` or `0`; undefined when it is no such duration. */
export function goDurationMs(text: string): number | undefined {
  if (/^[+-]?0$/.test(text)) return 0
  const [, sign, groups = ''] = /^([+-]?)((?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$/.exec(text) ?? []
  if (sign === undefined) return undefined
  const parts = [...groups.matchAll(/([\d.]+)(ns|us|µs|μs|ms|s|m|h)/g)]
  const ms = parts.reduce((sum, [, count = '', unit = '']) => sum + Number(count) * (unitMs[unit] ?? 0), 0)
  if (ms >= longestDurationMs) return undefined
  return sign === '-' && ms !== 0 ? -ms : ms
}
