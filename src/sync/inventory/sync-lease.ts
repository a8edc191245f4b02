import { hostname } from 'node:os'
import {
  ApiError,
  fencedClient,
  isAlreadyExists,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type LeaderTerm,
  type Lease,
  resources,
  runAsLeader,
} from '../../kube/index.ts'
import type { Clock } from '../../time/index.ts'
import { InventoryFault } from './inventory-fault.ts'
import { labelValue, syncLabel } from './inventory-secrets.ts'

const times = { leaseDurationMs: 15_000, renewEveryMs: 2_000, renewDeadlineMs: 10_000 }
/** A Lease that says so may be taken at once; one that merely is new has to be watched first. */
const releasedAnnotation = 'fettle.dev/released-token'
/** For taking a Lease that nobody holds. */
const patienceMs = 5_000
/** A sign of life older than this is no sign of life, whatever the difference of two clocks. */
const staleMs = 20_000

/** Another writer is at work on the same Sync. */
export class SyncLeaseHeld extends Error {
  override readonly name = 'SyncLeaseHeld'
  readonly code = 'SyncLeaseHeld'
  readonly holder: string
  readonly since: string | undefined

  constructor(lease: Lease | undefined, ref: LeaseRef) {
    const { holderIdentity, acquireTime, renewTime } = lease?.spec ?? {}
    const holder = holderIdentity || 'somebody else'
    const since = acquireTime === undefined ? '' : ` since ${acquireTime}`
    const life = renewTime === undefined ? '' : ` (last sign of life ${renewTime})`
    super(
      `${holder} is at work on this Sync${since}${life}: it holds the Lease ${ref.namespace}/${ref.name}. ` +
        'Wait until it has ended; if it was killed, try again 15 s after its last sign of life',
    )
    this.holder = holder
    this.since = acquireTime
  }
}

/** It was taken under the work, or could not be renewed in time. */
export class SyncLeaseLost extends Error {
  override readonly name = 'SyncLeaseLost'
  readonly code = 'SyncLeaseLost'

  constructor({ namespace, name }: LeaseRef) {
    super(
      `the Lease ${namespace}/${name} was lost: another writer may be at work on this Sync, so this one has stopped, and writes ` +
        'nothing more. Run it again: what is left to do is done then',
    )
  }
}

export interface LeaseRef {
  readonly namespace: string
  readonly name: string
}

export interface SyncLeaseOptions {
  /** Wait for as long as another writer is at work, instead of refusing at once. */
  readonly wait?: boolean
  /** Who this is, for people. Default: machine and process. */
  readonly identity?: string
  readonly random?: () => number
}

/**
 * Runs the work as the only writer, in one term: when the Lease is lost, the signal of the work aborts, its client
 * refuses every write, and it does not begin again. The client given to the work is the only one that may write.
 */
export async function withSyncLease<T>(
  client: KubeClient,
  lease: LeaseRef,
  clock: Clock,
  signal: AbortSignal,
  run: (client: KubeClient, signal: AbortSignal, term: Pick<LeaderTerm, 'token'>) => Promise<T>,
  { wait = false, identity = `${hostname()}-${process.pid}`, random = Math.random }: SyncLeaseOptions = {},
): Promise<T> {
  const { heldBy, longestMs } = await lookAt(client, lease, clock, signal)
  if (heldBy && !wait) throw new SyncLeaseHeld(heldBy, lease)
  const over = new AbortController()
  const acquired = new AbortController()
  let outcome: { readonly value: T } | { readonly error: unknown } | undefined
  const candidacy = runAsLeader(
    {
      client,
      clock,
      random,
      lease,
      identity,
      signal: AbortSignal.any([signal, over.signal]),
      ...times,
      onEvent: (event) => {
        if (event.type !== 'trouble' || acquired.signal.aborted) return
        // A missing permission does not come by itself; an answer that is late may.
        if (!(event.error instanceof ApiError) || event.error.kind !== 'terminal') return
        outcome = { error: event.error }
        over.abort(event.error)
      },
    },
    async (term) => {
      acquired.abort()
      try {
        outcome = { value: await run(fencedClient(client, term), term.signal, term) }
      } catch (error) {
        // Whatever failed then, failed because of that.
        outcome = { error: term.isSafe() || signal.aborted ? error : new SyncLeaseLost(lease) }
      }
      // Lost under way: there is no second term.
      if (!term.isSafe()) over.abort(term.signal.reason)
    },
  )
  if (!wait)
    clock.sleep(longestMs, acquired.signal).then(
      () => over.abort(new Error('the Lease was not to be had in time')),
      () => undefined,
    )
  await candidacy
  acquired.abort()
  if (outcome && 'value' in outcome) return outcome.value
  if (outcome) throw outcome.error
  signal.throwIfAborted()
  throw new SyncLeaseHeld(await readLease(client, lease, new AbortController().signal), lease)
}

interface Look {
  /** The Lease, if its holder gave a sign of life a moment ago. */
  readonly heldBy?: Lease
  /** So long it may take to get it, if nobody else does. */
  readonly longestMs: number
}

async function lookAt(client: KubeClient, ref: LeaseRef, clock: Clock, signal: AbortSignal): Promise<Look> {
  const lease = await readLease(client, ref, signal)
  const watched = { longestMs: times.leaseDurationMs + 2 * times.renewEveryMs + patienceMs }
  if (!lease) return (await createIfFirst(client, ref, signal)) ? { longestMs: patienceMs } : watched
  const { holderIdentity = '', renewTime = '' } = lease.spec ?? {}
  if (holderIdentity === '')
    return releasedAnnotation in (lease.metadata.annotations ?? {}) ? { longestMs: patienceMs } : watched
  // Of two machines' clocks only a rough difference is trusted; one that is silent for long has died, or is watched to.
  const isAlive = Math.abs(clock.now() - Date.parse(renewTime)) < staleMs
  return isAlive ? { ...watched, heldBy: lease } : watched
}

async function readLease(client: KubeClient, ref: LeaseRef, signal: AbortSignal): Promise<Lease | undefined> {
  return orUndefined(isNotFound, () => client.get<Lease>(resources.leases, ref, { signal }))
}

/**
 * The very first writer need not wait. That it is the first is known from the parent of the inventory, which has the
 * same name: with it there, the Lease was deleted, and whoever holds it may not know yet.
 */
async function createIfFirst(client: KubeClient, ref: LeaseRef, signal: AbortSignal): Promise<boolean> {
  const parent = await orUndefined(isNotFound, () => client.get<KubeObject>(resources.secrets, ref, { signal }))
  if (parent) return false
  const name = labelValue(ref.name.replace(/^fettle-sync-/, ''))
  const metadata = { ...ref, labels: { [syncLabel]: name }, annotations: { [releasedAnnotation]: '0' } }
  try {
    await orUndefined(isAlreadyExists, () => client.create<Lease>(resources.leases, { metadata }, { signal }))
  } catch (error) {
    if (!isNotFound(error)) throw error
    const remedy = `create it first (kubectl create namespace ${ref.namespace}), also if git declares it`
    const message = `namespace ${ref.namespace}, where the Sync remembers what it did, is not there: ${remedy}`
    throw new InventoryFault('NoNamespace', message, { cause: error })
  }
  return true
}

async function orUndefined<T>(isExpected: (error: unknown) => boolean, call: () => Promise<T>): Promise<T | undefined> {
  try {
    return await call()
  } catch (error) {
    if (isExpected(error)) return undefined
    throw error
  }
}
