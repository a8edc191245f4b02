import type { PodObject } from '../../kube/index.ts'
import type { Workload } from './workloads.ts'

/** The least that was ever up of a workload, against what its budget promises. */
export interface Availability {
  readonly name: string
  readonly minAvailable: number
  readonly lowest: number
}

/** Watches how many pods of each workload serve, at every single change. */
export class AvailabilityMeter {
  readonly #lowest = new Map<string, number>()
  readonly #promises = new Map<string, number>()

  constructor(workloads: readonly Workload[]) {
    for (const { name, minAvailable, replicas } of workloads) {
      this.#promises.set(name, minAvailable)
      this.#lowest.set(name, replicas)
    }
  }

  /** From now on the owners promise less. */
  lower(name: string, minAvailable: number): void {
    this.#promises.set(name, minAvailable)
  }

  look(pods: Iterable<PodObject>): void {
    const up = new Map<string, number>()
    for (const pod of pods) {
      const app = pod.metadata.labels?.['app']
      if (app && isServing(pod)) up.set(app, (up.get(app) ?? 0) + 1)
    }
    for (const [name, lowest] of this.#lowest) this.#lowest.set(name, Math.min(lowest, up.get(name) ?? 0))
  }

  result(): Availability[] {
    return [...this.#promises].map(([name, minAvailable]) => ({
      name,
      minAvailable,
      lowest: this.#lowest.get(name) ?? 0,
    }))
  }
}

/** As a PodDisruptionBudget counts: Ready, and not asked to stop. */
function isServing(pod: PodObject): boolean {
  const isReady = pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
  return isReady && pod.metadata.deletionTimestamp === undefined
}
