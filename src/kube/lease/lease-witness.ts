import type { Clock } from '../../time/index.ts'
import type { ResourceCache } from '../cache/cache.ts'
import type { Lease } from '../kinds.ts'
import type { ObjectRef } from '../resource.ts'
import { type Observation, observe } from './lease-record.ts'

/**
 * Notes by a watch since when a Lease has not changed, for whoever becomes a candidate later: it need not begin then to wait
 * for signs of life that a dead holder stopped giving long ago.
 */
export class LeaseWitness {
  #seen: Observation | undefined

  constructor(leases: Pick<ResourceCache<Lease>, 'subscribe'>, lease: ObjectRef, clock: Pick<Clock, 'monotonic'>) {
    leases.subscribe(({ type, object }) => {
      const { name, namespace } = object.metadata
      if (name !== lease.name || namespace !== lease.namespace) return
      this.#seen = type === 'deleted' ? undefined : observe(this.#seen, object, clock.monotonic())
    })
  }

  /** It may be behind: it counts only for a Lease that is still the same when it is read. */
  seen(): Observation | undefined {
    return this.#seen
  }
}
