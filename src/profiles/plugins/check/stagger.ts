import { optional, required } from '../../fields.ts'
import type { PassContext } from '../../plugin.ts'
import { answer, checkPlugin } from './check-plugin.ts'
import { isTakenBy, readLease, type StaggerLeases, type Taker, takeLease, takenForMs } from './stagger-leases.ts'
import { wholeSeconds } from './wait.ts'

/** Each means that another node was faster; as many at once can only be a fault. */
const mostAttempts = 20

/** Each is read at every look. */
const mostLeases = 1_000

export const stagger = checkPlugin({
  type: 'stagger',
  about: 'Of all nodes only so many pass within a duration. The transition takes one of the Leases that count it.',
  fields: {
    duration: required('duration', 'how long nobody else gets the Lease that a node has taken'),
    leaseName: required('text', 'the Leases are called like this, with -0, -1 and so on'),
    leaseNamespace: required('text', 'where the Leases are'),
    parallel: optional('integer', 'how many Leases there are', 1),
  },
  problems: ({ parallel }) =>
    parallel > mostLeases
      ? [{ field: 'parallel', message: `${parallel} is too many; write at most ${mostLeases}` }]
      : [],
  warnings: ({ duration, parallel }) => [
    ...(parallel < 1 ? [{ field: 'parallel', message: `with parallel ${parallel} the check never passes` }] : []),
    ...(duration < 1_000
      ? [{ field: 'duration', message: 'a Lease lasts at least 1s, so less than that counts as 1s' }]
      : []),
  ],
  create({ duration, leaseName, leaseNamespace, parallel }) {
    const names = Array.from({ length: Math.max(0, parallel) }, (_, index) => `${leaseName}-${index}`)
    const durationMs = Math.max(1_000, duration)
    const leasesOf = ({ doors }: PassContext): StaggerLeases => ({
      client: doors.client,
      namespace: leaseNamespace,
      names,
      durationMs,
    })
    return {
      // Only looks: a Lease that nobody has taken yet comes into being when it is taken.
      async check(context) {
        const leases = leasesOf(context)
        const availableInSec: number[] = []
        for (const name of names) {
          const lease = await readLease(leases, name, context.signal)
          const leftMs = takenForMs(lease, context.nowMs, durationMs)
          if (leftMs < 0 || isTakenBy(lease, takerOf(context))) return answer(true)
          availableInSec.push(wholeSeconds(leftMs))
        }
        return answer(false, { availableInSec })
      },
      async take(context) {
        const leases = leasesOf(context)
        for (let attempt = 0; attempt < mostAttempts; attempt++) if (await tryToTake(leases, context)) return
        throw new Error(`Leases ${leaseNamespace}/${leaseName}-* change faster than one of them can be taken`)
      },
    }
  },
})

/** False: somebody was faster, and it is worth another look. Throws when nothing is free. */
async function tryToTake(leases: StaggerLeases, { node, nowMs, signal, ...context }: PassContext): Promise<boolean> {
  const taker = takerOf({ node, ...context })
  let free: { readonly name: string; readonly lease: Awaited<ReturnType<typeof readLease>> } | undefined
  for (const name of leases.names) {
    const lease = await readLease(leases, name, signal)
    const isFree = takenForMs(lease, nowMs, leases.durationMs) < 0
    if (!isFree && isTakenBy(lease, taker)) return true
    if (isFree) free ??= { name, lease }
  }
  if (!free)
    throw new Error(
      `other nodes have taken all Leases of ${leases.namespace} that were free: ${leases.names.join(', ')}`,
    )
  return takeLease(leases, free.name, free.lease, taker, nowMs, signal)
}

/** The transition out of the state that the profile came into at that moment: there is only one. */
function takerOf({ node, profile, transitionMs }: Pick<PassContext, 'node' | 'profile' | 'transitionMs'>): Taker {
  return { node: node.name, errand: `${node.uid} ${profile} ${transitionMs}` }
}
