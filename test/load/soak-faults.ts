import type { Clock } from '../../src/time/index.ts'
import type { SeededRandom } from './seeded-random.ts'

/** What can be broken between a cache and the API server, and in the server itself. What is missing is not tried. */
export interface SoakFaults {
  /** Ends every open watch without a word. */
  cutWatches(): void | Promise<void>
  /** The connections stay open for that long, but nothing arrives. */
  stallWatches?(ms: number): void | Promise<void>
  /** The next `count` requests are answered with this status; 410 only where a server would, on watches. */
  injectStatus?(status: 410 | 429 | 500, count: number): void | Promise<void>
  /** Nothing gets through for that long. */
  blackout?(ms: number): void | Promise<void>
  /** Kills it and waits until it is ready again. */
  restartApiServer?(): Promise<void>
  /** Kills it and waits until it is ready again. */
  restartEtcd?(): Promise<void>
}

const stall = 'stall watches'

interface Fault {
  readonly kind: string
  readonly run: () => void | Promise<void>
}

/** Breaks something every few seconds until the signal aborts. Answers how often which fault was used. */
export async function injectFaults(
  faults: SoakFaults,
  random: SeededRandom,
  clock: Clock,
  log: (line: string) => void,
  signal: AbortSignal,
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {}
  let mayStallAt = 0
  for (;;) {
    await clock.sleep(random.between(2_000, 8_000), signal).catch(() => undefined)
    if (signal.aborted) return counts
    // A stall is noticed after 20 s. The next one must not hit the new connection, or silence would have no bound.
    const { kind, run } = nextFault(faults, random, clock.monotonic() >= mayStallAt)
    if (kind === stall) mayStallAt = clock.monotonic() + 45_000
    log(`fault: ${kind}`)
    counts[kind] = (counts[kind] ?? 0) + 1
    await run()
  }
}

/** Cheap faults often, restarts of a whole server seldom: they cost ten seconds in which nothing else is tested. */
function nextFault(faults: SoakFaults, random: SeededRandom, mayStall: boolean): Fault {
  const cut: Fault = { kind: 'cut watches', run: () => faults.cutWatches() }
  const choices: [Fault, ...Fault[]] = [cut, cut]
  const stallMs = random.between(1_000, 40_000)
  const darkMs = random.between(500, 8_000)
  const count = random.between(1, 10)
  if (faults.stallWatches && mayStall) choices.push({ kind: stall, run: () => faults.stallWatches?.(stallMs) })
  if (faults.injectStatus) {
    for (const status of [410, 429, 500] as const) {
      choices.push({ kind: `answer ${status}`, run: () => faults.injectStatus?.(status, count) })
    }
  }
  if (faults.blackout) choices.push({ kind: 'blackout', run: () => faults.blackout?.(darkMs) })
  const restarts: Fault[] = []
  if (faults.restartApiServer) restarts.push({ kind: 'restart API server', run: () => faults.restartApiServer?.() })
  if (faults.restartEtcd) restarts.push({ kind: 'restart etcd', run: () => faults.restartEtcd?.() })
  const [first, ...others] = restarts
  return first && random.next() < 0.1 ? random.pick([first, ...others]) : random.pick(choices)
}
