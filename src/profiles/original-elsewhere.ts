import type { Lease, ResourceCache } from '../kube/index.ts'
import { Heartbeats } from '../queue/index.ts'
import type { Clock } from '../time/index.ts'

/** In the lease of maintenance-controller, which takes what stands before the first _ for the name of the leader's pod. */
export function leaseIdentity(pod: string): string {
  return `${pod}_fettle`
}

/** If the lease does not say how long it lasts: as long as those of maintenance-controller do. */
const usualLeaseSeconds = 15

type Leases = Pick<ResourceCache<Lease>, 'values' | 'subscribe'>

export interface LeadsElsewhere {
  readonly program: 'maintenance-controller' | 'Fettle'
  readonly namespace: string
  readonly holder: string
}

/**
 * A maintenance-controller that leads in another namespace than the one whose lease is held here. It knows nothing of us, so it
 * is for us to stop. Of two Fettles that were installed the one goes on whose namespace comes first.
 */
export class OriginalElsewhere {
  readonly #leases: Leases
  readonly #ownNamespace: string
  readonly #signs: Heartbeats

  constructor(leases: Leases, ownNamespace: string, clock: Clock) {
    this.#leases = leases
    this.#ownNamespace = ownNamespace
    this.#signs = new Heartbeats(clock)
    // Whoever only stands by notes signs of life as well, and need not begin with it when it leads.
    leases.subscribe(() => this.find())
  }

  /** To be asked again and again: one that left without giving its lease back is noticed by its silence. */
  find(): LeadsElsewhere | undefined {
    for (const lease of this.#leases.values()) {
      const { namespace = '' } = lease.metadata
      const { holderIdentity: holder = '', leaseDurationSeconds = usualLeaseSeconds } = lease.spec ?? {}
      const silentMs = this.#signs.silentMs(namespace, lease)
      if (namespace === this.#ownNamespace || holder === '' || silentMs >= leaseDurationSeconds * 1_000) continue
      if (!isFettle(holder)) return { program: 'maintenance-controller', namespace, holder }
      if (namespace < this.#ownNamespace) return { program: 'Fettle', namespace, holder }
    }
    return undefined
  }
}

/** Whether a lease of that name says that Fettle had it. */
export function isFettle(holder: string): boolean {
  const [pod = ''] = holder.split('_', 1)
  // Behind it comes what makes the identity unique.
  return holder.startsWith(leaseIdentity(pod))
}
