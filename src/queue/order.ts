import type { MaintenanceRequest } from '../api/index.ts'

/** How long others may go first, because they fit where this one does not. */
export const patienceMs = 3_600_000

/**
 * Who has been passed for too long first; then higher priority, who came first by the server's clock, and whose zone
 * misses the fewest nodes. The UID makes it the same for everybody.
 */
export function inOrder(
  requests: readonly MaintenanceRequest[],
  about: { readonly nowMs?: number; readonly outInZone?: (request: MaintenanceRequest) => number } = {},
): MaintenanceRequest[] {
  const { nowMs, outInZone = () => 0 } = about
  // Once for each request: a thousand of them are compared ten thousand times.
  const entries = requests.map((request) => ({
    request,
    starves: nowMs !== undefined && isStarving(request, nowMs) ? 1 : 0,
    priority: request.spec.priority,
    madeAt: request.metadata.creationTimestamp,
    out: outInZone(request),
    uid: request.metadata.uid,
  }))
  entries.sort(
    (a, b) =>
      b.starves - a.starves ||
      b.priority - a.priority ||
      compare(a.madeAt, b.madeAt) ||
      a.out - b.out ||
      compare(a.uid, b.uid),
  )
  return entries.map(({ request }) => request)
}

/**
 * Others have gone first for so long that nobody who needs the same may do so any more. What it waits for at this moment
 * does not matter: a freeze, a closed window or somebody who starves as well would begin the hour anew each time.
 */
export function isStarving(request: MaintenanceRequest, nowMs: number): boolean {
  return starvesAtMs(request) <= nowMs
}

/** When its patience ends; never for who was not passed by anybody. */
export function starvesAtMs({ status }: MaintenanceRequest): number {
  const passedSince = status?.waiting?.passedSince
  return passedSince === undefined ? Number.POSITIVE_INFINITY : Date.parse(passedSince) + patienceMs
}

export function isOpen(request: MaintenanceRequest): boolean {
  return request.status?.phase !== 'Done'
}

/** Deleting a request says the same as wanting the node back. */
export function wantsOut(request: MaintenanceRequest): boolean {
  return request.spec.want === 'Out' && request.metadata.deletionTimestamp === undefined
}

/** The older open request for the same thing on the same node, if there is one. */
export function olderTwin(
  request: MaintenanceRequest,
  requests: readonly MaintenanceRequest[],
): MaintenanceRequest | undefined {
  const mine = sameThing(request)
  const first = firstOfEach(requests.filter((other) => sameThing(other) === mine)).get(mine)
  return first?.metadata.uid === request.metadata.uid ? undefined : first
}

/** Names of the open requests that have an older twin. */
export function youngerTwins(requests: readonly MaintenanceRequest[]): ReadonlySet<string> {
  const firsts = firstOfEach(requests)
  const twins = requests.filter(
    (request) => stillAsks(request) && firsts.get(sameThing(request))?.metadata.uid !== request.metadata.uid,
  )
  return new Set(twins.map(({ metadata }) => metadata.name ?? ''))
}

function firstOfEach(requests: readonly MaintenanceRequest[]): ReadonlyMap<string, MaintenanceRequest> {
  const firsts = new Map<string, MaintenanceRequest>()
  for (const request of requests) {
    const first = firsts.get(sameThing(request))
    if (stillAsks(request) && (!first || isOlder(request, first))) firsts.set(sameThing(request), request)
  }
  return firsts
}

/** Taken back or on its way home it asks for nothing any more: whoever asks again now means a new turn. */
function stillAsks(request: MaintenanceRequest): boolean {
  const { phase, host } = request.status ?? {}
  return isOpen(request) && phase !== 'Finishing' && wantsOut(request) && host?.request !== 'Absent'
}

/** None of it can be changed, so it is put together once. */
const things = new WeakMap<MaintenanceRequest, string>()

function sameThing(request: MaintenanceRequest): string {
  const known = things.get(request)
  if (known !== undefined) return known
  const { nodeUID, source } = request.spec
  const thing = `${nodeUID}\n${source.kind}\n${source.key}`
  things.set(request, thing)
  return thing
}

/** Who has begun comes first: creation times are whole seconds, and among equals the UID might prefer the latecomer. */
function isOlder(a: MaintenanceRequest, b: MaintenanceRequest): boolean {
  if (hasBegun(a) !== hasBegun(b)) return hasBegun(a)
  const byTime = compare(a.metadata.creationTimestamp, b.metadata.creationTimestamp)
  return (byTime || compare(a.metadata.uid, b.metadata.uid)) < 0
}

function hasBegun({ status }: MaintenanceRequest): boolean {
  return status !== undefined && status.phase !== 'Queued'
}

function compare(a = '', b = ''): number {
  return a < b ? -1 : a > b ? 1 : 0
}
