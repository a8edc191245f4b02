/** What every bench takes and gives, and the arithmetic they share. */

export interface Peer {
  readonly name: string
  readonly path: string
}

export interface BenchOptions {
  readonly runs: number
  readonly peers: readonly Peer[]
  /** Sizes given on the command line, by flag. */
  readonly numbers: Readonly<Record<string, number>>
  readonly log: (line: string) => void
}

export type Metrics = Readonly<Record<string, number>>

export interface BenchResult {
  readonly bench: string
  readonly work: Readonly<Record<string, string | number>>
  readonly ours: Metrics
  /** The bare requests with no logic, where such a thing exists. */
  readonly floor?: Metrics
  readonly peers: Readonly<Record<string, Metrics>>
  /** Above 1 means that we are better. */
  readonly ratios: Readonly<Record<string, Metrics>>
  /** The same metrics at a quarter, a half and all of the work. */
  readonly growth: Readonly<Record<'0.25' | '0.5' | '1', Metrics>>
}

export type Bench = (options: BenchOptions) => Promise<BenchResult>

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[middle]]
  return (low + high) / 2
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Median of each metric over several runs. */
export function medians(runs: readonly Metrics[]): Metrics {
  const names = Object.keys(runs[0] ?? {})
  return Object.fromEntries(names.map((name) => [name, round(median(runs.map((run) => run[name] ?? Number.NaN)))]))
}

/** Metrics of which more is better; of all others less is. */
const moreIsBetter = new Set(['eventsPerSecond'])

export function ratios(ours: Metrics, peers: Readonly<Record<string, Metrics>>): Readonly<Record<string, Metrics>> {
  return Object.fromEntries(
    Object.entries(peers).map(([peer, metrics]) => [
      peer,
      Object.fromEntries(
        Object.entries(metrics)
          .filter(([name]) => ours[name] !== undefined)
          .map(([name, theirs]) => {
            const mine = ours[name] ?? Number.NaN
            return [name, round(moreIsBetter.has(name) ? mine / theirs : theirs / mine)]
          }),
      ),
    ]),
  )
}

export function round(value: number): number {
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3))
}

export function formatResult(result: BenchResult): string {
  const columns: [string, Metrics][] = [
    ['ours', result.ours],
    ...(result.floor ? [['floor', result.floor] as [string, Metrics]] : []),
    ...Object.entries(result.peers),
    ...Object.entries(result.ratios).map(([peer, metrics]) => [`× ${peer}`, metrics] as [string, Metrics]),
    ...Object.entries(result.growth).map(([share, metrics]) => [`at ${share}`, metrics] as [string, Metrics]),
  ]
  const header = ['', ...columns.map(([name]) => name)]
  const rows = Object.keys(result.ours).map((metric) => [
    metric,
    ...columns.map(([, metrics]) => String(metrics[metric] ?? '')),
  ])
  const table = [header, ...rows]
  const widths = header.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)))
  return `\n${table.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).join('\n')}\n`
}
