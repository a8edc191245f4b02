import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeClient, KubeObject, Resource, WatchEvent, WatchOptions } from '../../src/kube/index.ts'
import { interceptWrites } from '../support/intercepted-client.ts'
import type { SeededRandom } from './seeded-random.ts'

/** How often what goes wrong, each between 0 and 1. */
export interface FaultRates {
  /** A write is lost on its way. */
  readonly lost: number
  /** A write is stored, and its answer is lost. */
  readonly unanswered: number
  readonly delayed: number
  /** A watch ends without a word; counted per event. */
  readonly cut: number
  /** A watch stands still for a moment, so that one cache is behind the others; counted per event. */
  readonly lagging: number
}

export interface Doom {
  /** Dies at this write, counted from 1. */
  readonly atWrite: number
  readonly isStored: boolean
  readonly die: () => void
}

/** A client through which everything goes wrong now and then, and whose process may die at a write. */
export function faultyClient(client: KubeClient, random: SeededRandom, rates: FaultRates, doom?: Doom): KubeClient {
  let writes = 0
  const slow = async () => {
    if (random.next() < rates.delayed) await sleep(random.between(1, 25))
  }
  const writing = interceptWrites(client, async (what, send) => {
    writes++
    await slow()
    if (doom && writes >= doom.atWrite) {
      if (doom.isStored) await send().catch(() => undefined)
      doom.die()
      throw new Error(`the process died at ${what}`)
    }
    if (random.next() < rates.lost) throw new Error(`${what} was lost`)
    const answer = await send()
    if (random.next() < rates.unanswered) throw new Error(`nobody knows how ${what} ended`)
    return answer
  })
  return {
    ...writing,
    get: async (resource, ref, options) => {
      await slow()
      if (random.next() < rates.lost) throw new Error(`${resource.plural}/${ref.name} could not be read`)
      return client.get(resource, ref, options)
    },
    watch: <T extends KubeObject>(resource: Resource, options: WatchOptions) =>
      unsteady(client.watch<T>(resource, options), random, rates),
  }
}

async function* unsteady<T>(
  events: AsyncIterable<WatchEvent<T>>,
  random: SeededRandom,
  rates: FaultRates,
): AsyncGenerator<WatchEvent<T>> {
  for await (const event of events) {
    if (random.next() < rates.lagging) await sleep(random.between(5, 120))
    yield event
    // Not in the middle of a first list: it would only be asked for again.
    if (event.type !== 'BOOKMARK' && random.next() < rates.cut) return
  }
}
