import { hasCode, type KubeClient, type KubeObject, type Resource, resources } from '../../src/kube/index.ts'
import type { Clock } from '../../src/time/index.ts'
import type { SeededRandom } from './seeded-random.ts'

export interface Population {
  readonly nodes: number
  readonly pods: number
  readonly configMaps: number
}

export interface MutationCounts {
  create: number
  update: number
  relabel: number
  delete: number
  /** Deleted and created again at once: the same name, another object. */
  renew: number
  /** Refused or lost, for instance while the API server was down. */
  failed: number
}

export const colourLabel = 'soak.fettle.dev/colour'
const colours = ['red', 'green', 'blue'] as const

interface Slot {
  readonly resource: Resource
  readonly ref: { readonly name: string; readonly namespace?: string }
  readonly make: () => KubeObject
}

/** Creates the objects of a soak, then changes them at random. Every slot is one name that may hold an object or not. */
export class Mutator {
  readonly counts: MutationCounts = { create: 0, update: 0, relabel: 0, delete: 0, renew: 0, failed: 0 }
  readonly #client: KubeClient
  readonly #random: SeededRandom
  readonly #clock: Clock
  readonly #namespace: string
  readonly #slots: readonly [Slot, ...Slot[]]
  #serial = 0

  constructor(client: KubeClient, random: SeededRandom, clock: Clock, namespace: string, population: Population) {
    this.#client = client
    this.#random = random
    this.#clock = clock
    this.#namespace = namespace
    const slots = [
      ...numbers(population.nodes).map((index) => this.#nodeSlot(index)),
      ...numbers(population.pods).map((index) => this.#podSlot(index, population.nodes)),
      ...numbers(population.configMaps).map((index) => this.#configMapSlot(index)),
    ]
    const [first, ...rest] = slots
    if (!first) throw new RangeError('a soak needs objects')
    this.#slots = [first, ...rest]
  }

  async populate(): Promise<void> {
    const namespace = this.#namespace
    await ignoring(['AlreadyExists'], this.#client.create(resources.namespaces, { metadata: { name: namespace } }))
    // No pod is admitted without it, and where no controller manager runs, nobody makes it.
    const account = { metadata: { name: 'default', namespace } }
    await ignoring(['AlreadyExists'], this.#client.create(resources.serviceAccounts, account))
    await this.#forEachSlot((slot) => ignoring(['AlreadyExists'], this.#client.create(slot.resource, slot.make())))
  }

  async cleanUp(): Promise<void> {
    await this.#forEachSlot((slot) => ignoring(['NotFound'], this.#delete(slot)))
    await this.#client.delete(resources.namespaces, { name: this.#namespace }, { uid: 'any' })
  }

  /** Several at a time, until the signal aborts; what has begun is finished. */
  async run(workers: number, signal: AbortSignal): Promise<void> {
    const work = async () => {
      while (!signal.aborted) {
        await this.#mutate(this.#random.pick(this.#slots))
        await this.#clock.sleep(this.#random.between(0, 200), signal).catch(() => undefined)
      }
    }
    await Promise.all(numbers(workers).map(work))
  }

  async #mutate(slot: Slot): Promise<void> {
    const chance = this.#random.next()
    // Of all slots, 12 in 15 are taken in the long run.
    const kind =
      chance < 0.5
        ? 'update'
        : chance < 0.75
          ? 'relabel'
          : chance < 0.85
            ? 'renew'
            : chance < 0.97
              ? 'create'
              : 'delete'
    try {
      if (kind === 'update' || kind === 'relabel') await this.#patch(slot, kind)
      if (kind === 'delete' || kind === 'renew') await this.#delete(slot)
      if (kind === 'create' || kind === 'renew') await this.#client.create(slot.resource, slot.make())
      this.counts[kind]++
    } catch (error) {
      // The slot was empty, or taken already: that is no failure, the dice just said so.
      if (!hasCode(error, 'NotFound', 'AlreadyExists')) this.counts.failed++
    }
  }

  #delete(slot: Slot): Promise<void> {
    return this.#client.delete(slot.resource, slot.ref, { uid: 'any', gracePeriodSeconds: 0 })
  }

  async #patch(slot: Slot, kind: 'update' | 'relabel'): Promise<void> {
    const metadata =
      kind === 'relabel'
        ? { labels: { [colourLabel]: this.#random.pick(colours) } }
        : { annotations: { 'soak.fettle.dev/serial': String(++this.#serial) } }
    await this.#client.patch(slot.resource, slot.ref, { type: 'merge', body: { metadata } })
  }

  async #forEachSlot(work: (slot: Slot) => Promise<unknown>): Promise<void> {
    const left = [...this.#slots]
    await Promise.all(
      numbers(16).map(async () => {
        for (let slot = left.pop(); slot; slot = left.pop()) await work(slot)
      }),
    )
  }

  #labels(): Record<string, string> {
    return { [colourLabel]: this.#random.pick(colours) }
  }

  #nodeSlot(index: number): Slot {
    const ref = { name: `${this.#namespace}-node-${index}` }
    return { resource: resources.nodes, ref, make: () => ({ metadata: { ...ref, labels: this.#labels() } }) }
  }

  #configMapSlot(index: number): Slot {
    const ref = { name: `map-${index}`, namespace: this.#namespace }
    const make = () => ({ metadata: { ...ref, labels: this.#labels() }, data: { text: 'x'.repeat(500) } })
    return { resource: resources.configMaps, ref, make }
  }

  /** Bound from birth, so that no scheduler is needed, and to nodes where no kubelet interferes. */
  #podSlot(index: number, nodes: number): Slot {
    const ref = { name: `pod-${index}`, namespace: this.#namespace }
    const spec = {
      nodeName: `${this.#namespace}-node-${index % Math.max(1, nodes)}`,
      terminationGracePeriodSeconds: 0,
      automountServiceAccountToken: false,
      tolerations: [{ operator: 'Exists' }],
      containers: [{ name: 'main', image: 'registry.example/none:1' }],
    }
    return { resource: resources.pods, ref, make: () => ({ metadata: { ...ref, labels: this.#labels() }, spec }) }
  }
}

async function ignoring(codes: readonly ('AlreadyExists' | 'NotFound')[], call: Promise<unknown>): Promise<void> {
  try {
    await call
  } catch (error) {
    if (!hasCode(error, ...codes)) throw error
  }
}

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}
