import { isDetected, type MaintenanceRequest, type MaintenanceRequestStatus } from '../api/index.ts'
import type { AgentWorld } from './decide-agent.ts'
import type { HostView } from './host-view.ts'

export type HostReport = NonNullable<MaintenanceRequestStatus['host']>

/** What the agent says of one open request: the machine as it is, and what it is about to do. */
export function reportOn(world: AgentWorld, request: MaintenanceRequest): HostReport {
  const { view } = world
  const before = request.status?.host
  // Once it was said, the controller acts on it: whoever asks again after that means a new turn.
  const isOver = before?.request === 'Absent'
  const isAsked = isOver ? 'Absent' : askedFor(world, request)
  const id = (isOver ? undefined : idOf(view, request)) ?? before?.requestID
  const token = view.permission.is === 'Present' ? view.permission.content?.token : undefined
  const highest = highestToken(world)
  const tokens = { ...(token === undefined ? {} : { inFile: token }), ...(highest > 0 ? { highest } : {}) }
  const failure = failureOf(world, request)
  return {
    request: isAsked,
    ...(id === undefined ? {} : { requestID: id }),
    permission: permissionFor(world, request),
    ...(Object.keys(tokens).length > 0 ? { tokens } : {}),
    bootID: view.bootID,
    ...standingIntent(world, request),
    ...(failure ?? {}),
  }
}

/** What was announced stands until the machine is in another boot, or until nobody wants it and nobody gave the order. */
function standingIntent({ view }: AgentWorld, { metadata, spec, status }: MaintenanceRequest): Partial<HostReport> {
  const rebootIntent = status?.host?.rebootIntent
  if (!rebootIntent) return {}
  const isPast = rebootIntent.fromBootID !== view.bootID
  const isWanted = spec.want === 'Out' && metadata.deletionTimestamp === undefined
  const isStanding = isWanted && (spec.work === 'Reboot' || scriptsWantReboot(view))
  const isUnknown = view.stateProblem !== undefined
  if (isPast || isUnknown || view.isToldToReboot || isStanding) return { rebootIntent }
  return { rebootIntent: { ...rebootIntent, takenBack: true } }
}

/** Every script that works here has asked for it. One that only made the file by hand cannot ask. */
export function scriptsWantReboot({ scripts, onlyScriptsAsk, bootID }: HostView): boolean {
  return onlyScriptsAsk && scripts.length > 0 && scripts.every(({ rebootFrom }) => rebootFrom === bootID)
}

/** Tokens that finished requests tell of count as well: a machine that was set up anew still obeys none of the past. */
export function highestToken({ view, requests, node }: AgentWorld): number {
  const told = requests
    .filter(({ spec }) => spec.nodeUID === node.uid)
    .map(({ status }) => status?.host?.tokens?.highest ?? 0)
  return Math.max(view.highestToken, ...told)
}

/**
 * What this machine stored for a request that is still open is not there any more: another file system lies in its place.
 * Then nothing that seems absent is known to be.
 */
export function isStateLost({ view, requests, node }: AgentWorld): boolean {
  if (view.stateProblem !== undefined) return true
  return requests.some(
    ({ spec, status }) =>
      spec.nodeUID === node.uid && status?.phase !== 'Done' && (status?.host?.tokens?.highest ?? 0) > view.highestToken,
  )
}

/** Whether what made this request is still there. */
function askedFor(world: AgentWorld, request: MaintenanceRequest): 'Present' | 'Absent' | 'Unreadable' {
  const { view } = world
  const { work } = request.spec
  if (isStateLost(world)) return 'Unreadable'
  if (isFileWork(request)) return view.request.is
  if (work === 'Host') return 'Present'
  if (isDetected(request)) return view.reboot.is
  // Somebody else wants the reboot: it is over when the machine is in another boot than it was told to leave, or than its
  // turn came in. Who shares the slot may have been faster to reboot, and one boot is enough for both.
  const { host, reboots, slot } = request.status ?? {}
  const left = host?.rebootIntent?.fromBootID ?? (slot && (reboots?.bootIDBefore ?? reboots?.bootIDAfter))
  return left !== undefined && left !== view.bootID ? 'Absent' : 'Present'
}

/** The file on the host speaks for this one: its own request, and a maintenance that was taken over from another program. */
export function isFileWork({ spec: { source, work } }: MaintenanceRequest): boolean {
  return source.kind === 'File' || (source.kind === 'Imported' && work === 'Host')
}

function idOf(view: HostView, request: MaintenanceRequest): string | undefined {
  if (isFileWork(request)) return view.request.is === 'Present' ? view.request.id : undefined
  return isDetected(request) && view.reboot.is === 'Present' ? view.reboot.id : undefined
}

function permissionFor(world: AgentWorld, request: MaintenanceRequest): NonNullable<HostReport['permission']> {
  const { view, node } = world
  // Who reboots needs no file.
  if (request.spec.work === 'Reboot') return 'Absent'
  if (isStateLost(world)) return 'Unreadable'
  const { permission } = view
  if (permission.is !== 'Present') return permission.is
  const { content } = permission
  // Made by another program, which has let its script work; or a leftover that is about to go.
  if (!content) return request.spec.source.kind === 'Imported' ? 'Present' : 'Absent'
  if (content.nodeUID !== node.uid) return content.bootID === view.bootID ? 'Orphan' : 'Absent'
  if (!isPermittedBy(request, content.requestUID, content.token)) return 'Absent'
  // On its way home it has given it back, even if the file stays for somebody who shares the slot.
  const isKeptByOthers = world.requests.some(
    (other) =>
      other !== request &&
      other.spec.nodeUID === node.uid &&
      other.spec.work === 'Host' &&
      keepsPermission(other) &&
      isPermittedBy(other, content.requestUID, content.token),
  )
  return request.status?.phase === 'Finishing' && isKeptByOthers ? 'Absent' : 'Present'
}

export function keepsPermission({ status }: MaintenanceRequest): boolean {
  return status?.slot !== undefined && ['Granted', 'Rebooting', 'Held'].includes(status.phase)
}

/** Requests that share a slot share its permission. */
export function isPermittedBy({ metadata, status }: MaintenanceRequest, requestUID: string, token: number): boolean {
  return metadata.uid === requestUID || (status?.slot !== undefined && status.slot.token === token)
}

function failureOf(
  { view, failures }: AgentWorld,
  request: MaintenanceRequest,
): Pick<HostReport, 'failure' | 'failed'> | undefined {
  const own = failures.get(request.metadata.uid ?? '')
  if (own && (own.since === request.status?.since || request.status?.phase === 'Held'))
    return { failure: own.text.slice(0, 1024), failed: own.failed }
  const script = isFileWork(request) ? view.scripts.find(({ failed }) => failed !== undefined) : undefined
  return script && { failure: `${script.name}: ${script.failed}`.slice(0, 1024), failed: 'Script' }
}
