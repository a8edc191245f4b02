import { type MaintenanceRequest, maintenanceRequests, type Outcome, type Phase } from '../api/index.ts'
import { type ConnectedClient, waitFor } from '../kube/index.ts'
import { systemClock } from '../time/index.ts'
import { type CliContext, CliFault } from './context.ts'
import { type Progress, progressOn } from './progress.ts'
import { untilHeard } from './until-heard.ts'

/** A day: whoever waits longer than that comes back with `fettle queue`. */
const patienceMs = 24 * 60 * 60_000

/** How far a request is followed, and what the person who follows it wants to come of it. */
export interface Journey {
  readonly goal: Phase
  /** With which outcomes it ends as asked; where the goal comes before the end, none. */
  readonly outcomes: readonly Outcome[] | 'any'
  /** It was told to give its node back: then only a stop on the way home does not end by itself. */
  readonly isReturn?: boolean
  /** Said at the end instead of where the request is then. */
  readonly remark?: string | undefined
}

export const untilGranted: Journey = { goal: 'Granted', outcomes: [] }
/** Whatever else it may end with, nobody has proven that the node has rebooted and is well. */
export const untilRebooted: Journey = { goal: 'Done', outcomes: ['Completed'] }
/** Who gives a node back has no more use for it, whether its turn had come or not. */
export const untilReturned: Journey = { goal: 'Done', outcomes: ['Completed', 'Withdrawn', 'NodeGone'], isReturn: true }

/** Shows where a request is until it is where it should be. */
export async function followRequest(
  client: ConnectedClient,
  request: MaintenanceRequest,
  journey: Journey,
  context: CliContext,
): Promise<void> {
  const progress = progressOn(context.progress, context.nowMs)
  const { name = '' } = request.metadata
  let last = await untilThere(client, name, journey.goal, context, progress)
  while (last && passesByItself(last, journey)) {
    const stop = last
    await untilHeard(client, stop, (seen) => isSameStop(seen, stop), context)
    last = await untilThere(client, name, journey.goal, context, progress)
  }
  const { phase, outcome, held } = last?.status ?? {}
  if (phase === 'Held' && held)
    throw new CliFault(`${name} is held, ${held.reason}: ${held.message}; next: ${held.next ?? 'fettle queue'}`)
  const isAsAsked = phase === 'Done' ? outcome && isWanted(outcome, journey) : phase === journey.goal
  if (!isAsAsked) throw new CliFault(last ? endText(last) : `${name} ended: it was deleted`)
  progress.done(journey.remark ?? requestText(last ?? request))
}

/** The request as it is when it got there, is over or held; undefined when it was deleted. */
async function untilThere(
  client: ConnectedClient,
  name: string,
  goal: Phase,
  context: CliContext,
  progress: Progress,
): Promise<MaintenanceRequest | undefined> {
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
  return last
}

/** The controller ends such a stop as soon as it has seen that nobody wants the node any more. */
function passesByItself({ status }: MaintenanceRequest, { isReturn }: Journey): boolean {
  return isReturn === true && status?.phase === 'Held' && status.held?.from !== 'Finishing'
}

function isSameStop({ status }: MaintenanceRequest, stop: MaintenanceRequest): boolean {
  return status?.phase === 'Held' && status.since === stop.status?.since
}

function isWanted(outcome: Outcome, { outcomes }: Journey): boolean {
  return outcomes === 'any' || outcomes.includes(outcome)
}

/** It is over, and not as the person wanted it; or nobody has the patience to wait for its end. */
function endText(request: MaintenanceRequest): string {
  const { metadata, spec, status } = request
  const { name } = metadata
  if (status?.phase !== 'Done')
    return `${name} is not there after a day: ${requestText(request)}; next: fettle explain ${name}`
  const { outcome = 'Done', history } = status
  const why = history?.at(-1)?.message
  return `${name} ended as ${outcome}${why ? `: ${why}` : ''}; next: ${remedyFor(outcome, spec.nodeName)}`
}

function remedyFor(outcome: Outcome | 'Done', nodeName: string): string {
  if (outcome === 'Duplicate') return '`fettle queue` shows where the other request is'
  if (outcome === 'NodeGone') return '`kubectl get nodes` lists the nodes that there are'
  return `\`fettle node history ${nodeName}\` tells who ended it; ask anew if you still want it`
}

/** One line for a person: where it is, and why it is not further. */
export function requestText(request: MaintenanceRequest): string {
  const { nodeName } = request.spec
  const { phase, waiting, drain, outcome, conditions } = request.status ?? {}
  const drained = conditions?.find(({ type }) => type === 'Drained')
  const permitted = conditions?.find(({ type }) => type === 'PermissionGiven')
  const refused = conditions?.find(({ type }) => type === 'NodeRefused')
  if (refused && phase !== 'Held' && phase !== 'Done')
    return `${nodeName}: is ${phase}; the API server refuses to change it: ${refused.message}`
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
