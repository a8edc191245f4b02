import { type KubeClient, resources, type Selection } from '../../src/kube/index.ts'
import { type Clock, systemClock } from '../../src/time/index.ts'
import { SeededRandom } from './seeded-random.ts'
import { type CacheFigures, WatchedCache } from './soak-caches.ts'
import { injectFaults, type SoakFaults } from './soak-faults.ts'
import { colourLabel, type MutationCounts, Mutator } from './soak-mutations.ts'

export interface SoakOptions {
  /** What the caches use: the way that the faults are on. */
  readonly watcher: KubeClient
  /** What changes objects and tells the truth in the end: a way that the proxy's faults are not on. */
  readonly mutator: KubeClient
  readonly faults: SoakFaults
  readonly minutes: number
  readonly seed: number
  /** Default 500. */
  readonly nodes?: number
  /** Default 200 each. */
  readonly pods?: number
  readonly configMaps?: number
  /** No cache may go without a word from the server for longer. Default 90 s. */
  readonly mostStaleMs?: number
  readonly log: (line: string) => void
  readonly clock?: Clock
  readonly signal?: AbortSignal
}

export interface SoakReport {
  readonly seed: number
  readonly minutes: number
  readonly mutations: Readonly<MutationCounts>
  readonly faults: Readonly<Record<string, number>>
  readonly reconnects: number
  readonly relists: number
  readonly longestStaleMs: number
  /** How long after the last fault and mutation every cache was right. */
  readonly settledMs: number | undefined
  /** Every cache equals the server, and its events add up to it. */
  readonly equal: boolean
  readonly caches: readonly CacheFigures[]
  /** What is wrong, as sentences. None means passed. */
  readonly problems: readonly string[]
}

/** A stalled watch is noticed after 20 s, and then the API server may be asked again only after a back-off. */
const settleWithinMs = 120_000
const workers = 8

/**
 * Changes hundreds of objects at random while the way to the server breaks at random, then lets both stop and proves
 * that every cache equals the server. Chance comes from the seed alone; timing is the machine's own, so a seed
 * repeats the choices, not the run.
 */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const { clock = systemClock, log, seed, minutes, signal } = options
  const namespace = `soak-${seed}`
  const population = { nodes: options.nodes ?? 500, pods: options.pods ?? 200, configMaps: options.configMaps ?? 200 }
  const mutator = new Mutator(options.mutator, new SeededRandom(seed), clock, namespace, population)
  log(`soak: seed ${seed}, ${minutes} minutes, ${population.nodes} nodes`)
  await mutator.populate()

  const end = new AbortController()
  const onStop = () => end.abort(signal?.reason)
  signal?.addEventListener('abort', onStop, { once: true })
  const caches = selectionsOf(namespace).map((selection) => new WatchedCache(options.watcher, selection, end.signal))
  try {
    for (const cache of caches) await cache.waitForSync(end.signal)
    const measuring = measure(caches, clock, end.signal)
    const faults = await disturb(options, mutator, clock, end.signal)
    log('soak: all quiet; comparing every cache with the server')
    const settled = await settle(options.mutator, caches, clock, end.signal)
    end.abort()
    await measuring
    return report(options, { ...mutator.counts }, faults, settled)
  } finally {
    end.abort()
    signal?.removeEventListener('abort', onStop)
    await Promise.all(caches.map((cache) => cache.ended))
    await mutator.cleanUp().catch((error: unknown) => log(`soak: could not clean up: ${String(error)}`))
  }
}

/** Whole collections, one namespace, and selectors that objects enter and leave when they change colour. */
function selectionsOf(namespace: string): Selection[] {
  const labelSelector = `${colourLabel}=red`
  return [
    { resource: resources.nodes, labelSelector: colourLabel },
    { resource: resources.nodes, labelSelector },
    { resource: resources.pods, namespace },
    { resource: resources.pods, labelSelector },
    { resource: resources.configMaps, namespace },
    { resource: resources.configMaps, namespace, labelSelector },
  ]
}

async function disturb(
  options: SoakOptions,
  mutator: Mutator,
  clock: Clock,
  end: AbortSignal,
): Promise<Readonly<Record<string, number>>> {
  const over = new AbortController()
  const faults = injectFaults(options.faults, new SeededRandom(options.seed + 1), clock, options.log, over.signal)
  const mutations = mutator.run(workers, over.signal)
  const time = clock.sleep(options.minutes * 60_000, end)
  // A fault that cannot be injected ends the soak at once: a test that breaks nothing proves nothing.
  await Promise.race([time, faults]).finally(() => over.abort())
  await mutations
  return faults
}

async function measure(caches: readonly WatchedCache[], clock: Clock, end: AbortSignal): Promise<void> {
  while (!end.aborted) {
    for (const cache of caches) cache.measure()
    await clock.sleep(250, end).catch(() => undefined)
  }
}

interface Settled {
  /** Undefined when it never was. */
  readonly afterMs: number | undefined
  readonly caches: readonly CacheFigures[]
}

/** Others in the cluster may still write, so one moment of equality is enough; without any within the time, it failed. */
async function settle(
  client: KubeClient,
  caches: readonly WatchedCache[],
  clock: Clock,
  end: AbortSignal,
): Promise<Settled> {
  const startedAt = clock.monotonic()
  const figures = new Map<string, CacheFigures>()
  let left = caches
  for (;;) {
    const different: WatchedCache[] = []
    for (const cache of left) {
      const differences = await cache.differences(client)
      figures.set(cache.name, cache.figures(differences))
      if (differences.length > 0) different.push(cache)
    }
    left = different
    const afterMs = Math.round(clock.monotonic() - startedAt)
    if (left.length === 0) return { afterMs, caches: [...figures.values()] }
    if (afterMs > settleWithinMs) return { afterMs: undefined, caches: [...figures.values()] }
    await clock.sleep(1_000, end)
  }
}

function report(
  { seed, minutes, mostStaleMs = 90_000 }: SoakOptions,
  mutations: MutationCounts,
  faults: Readonly<Record<string, number>>,
  { afterMs, caches }: Settled,
): SoakReport {
  const sum = (figure: (cache: CacheFigures) => number) => caches.reduce((total, cache) => total + figure(cache), 0)
  const problems = caches.flatMap((cache) => cache.differences.map((difference) => `${cache.name}: ${difference}`))
  for (const { name, longestStaleMs } of caches) {
    if (longestStaleMs > mostStaleMs) problems.push(`${name}: no word from the server for ${longestStaleMs} ms`)
  }
  if (sum((cache) => cache.events) === 0) problems.push('no cache saw any event: nothing was tested')
  return {
    seed,
    minutes,
    mutations,
    faults,
    reconnects: sum((cache) => cache.reconnects),
    relists: sum((cache) => cache.relists),
    longestStaleMs: Math.max(...caches.map((cache) => cache.longestStaleMs)),
    settledMs: afterMs,
    equal: caches.every((cache) => cache.differences.length === 0),
    caches,
    problems,
  }
}
