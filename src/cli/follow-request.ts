import { type MaintenanceRequest, maintenanceRequests, type Phase } from '../api/index.ts'
import { type ConnectedClient, waitFor } from '../kube/index.ts'
import { systemClock } from '../time/index.ts'
import { type CliContext, CliFault } from './context.ts'
import { progressOn } from './progress.ts'

/** A day: whoever waits longer than that comes back with `fettle queue`. */
const patienceMs = 24 * 60 * 60_000

/** Shows where a request is until it is where it should be. */
export async function followRequest(
  client: ConnectedClient,
  request: MaintenanceRequest,
  goal: Phase,
  context: CliContext,
  /** Said at the end instead of where the request is then. */
  remark?: string,
): Promise<void> {
  const progress = progressOn(context.progress, context.nowMs)
  const { name = '' } = request.metadata
  let last: MaintenanceRequest | undefined
  await waitFor<MaintenanceRequest>(
    client,
    maintenanceRequests,
    { name },
    (seen) => {
      last = seen
      if (!seen) return true
      if (seen.status?.phase === goal || seen.status?.phase === 'Done' || seen.status?.phase === 'Held') return true
      const text = requestText(seen)
      progress.update(text)
      return text
    },
    { signal: context.signal, deadlineMs: patienceMs, clock: systemClock, random: Math.random },
  )
  const phase = last?.status?.phase
  const held = phase === 'Held' ? last?.status?.held : undefined
  if (held) throw new CliFault(`${name} is held, ${held.reason}: ${held.message}; next: ${held.next ?? 'fettle queue'}`)
  if (phase !== goal) throw new CliFault(`${name} ended: ${last ? requestText(last) : 'it was deleted'}`)
  progress.done(remark ?? requestText(last ?? request))
}

/** One line for a person: where it is, and why it is not further. */
export function requestText(request: MaintenanceRequest): string {
  const { nodeName } = request.spec
  const { phase, waiting, drain, outcome, conditions } = request.status ?? {}
  const drained = conditions?.find(({ type }) => type === 'Drained')
  const permitted = conditions?.find(({ type }) => type === 'PermissionGiven')
  switch (phase) {
    case undefined:
      return `${nodeName}: waiting for the controller`
    case 'Queued':
      return waiting ? `${nodeName}: in line at ${waiting.position ?? '?'}: ${waiting.message}` : `${nodeName}: in line`
    case 'Claimed': {
      const blocked = drained?.reason === 'Blocked' ? drained : undefined
      if (!drain) return `${nodeName}: it is its turn`
      if (drained?.reason === 'VolumesAttached') return `${nodeName}: ${drained.message}`
      if (permitted?.reason === 'SharedSlot') return `${nodeName}: ${permitted.message}`
      return `${nodeName}: draining, ${drain.left} of ${drain.total} pods left${blocked ? `; ${drain.blockedBy[0]?.pod ?? ''}: ${blocked.message}` : ''}`
    }
    case 'Granted':
      return `${nodeName}: ${drained?.status === 'False' ? 'not drained' : 'drained'}; the work may begin`
    case 'Finishing':
      return `${nodeName}: is given back`
    case 'Rebooting':
      return `${nodeName}: reboots`
    case 'Held':
      return `${nodeName}: held, ${request.status?.held?.reason ?? ''}: ${request.status?.held?.message ?? ''}`
    case 'Done':
      return `${nodeName}: ${outcome === 'Completed' ? 'back in service' : `ended: ${outcome ?? ''}, ${request.status?.history?.at(-1)?.message ?? ''}`}`
  }
}
