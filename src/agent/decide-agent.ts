import { isDeepStrictEqual } from 'node:util'
import type { MaintenanceRequest, MaintenanceRequestSpec } from '../api/index.ts'
import {
  type HostReport,
  highestToken,
  isFileWork,
  isPermittedBy,
  isStateLost,
  keepsPermission,
  reportOn,
  scriptsWantReboot,
} from './decide-report.ts'
import type { HostView } from './host-view.ts'

export interface AgentRules {
  /** The file by which scripts ask, as the host names it; the key of the requests that it makes. */
  readonly requestFile: string
  /** Whether this agent reboots its machine at all. */
  readonly mayReboot: boolean
  readonly maxRebootsPerDay: number
}

/** Something that this process tried in vain for a request, in the phase that began at `since`. */
export interface Failure {
  readonly since: string | undefined
  readonly failed: NonNullable<HostReport['failed']>
  readonly text: string
}

/** Everything that the next act on this machine depends on. */
export interface AgentWorld {
  readonly node: { readonly name: string; readonly uid: string }
  readonly rules: AgentRules
  readonly view: HostView
  /** All requests that name this node, those of an earlier node of the same name included. */
  readonly requests: readonly MaintenanceRequest[]
  /** Whether the API server is heard. Without it nothing begins and nothing that is there goes. */
  readonly hasContact: boolean
  /** By UID of the request. */
  readonly failures: ReadonlyMap<string, Failure>
  /**
   * Requests whose reboot this process has ordered, with when they were held last: an order is repeated only after it
   * was held in vain and a person said so.
   */
  readonly ordered: ReadonlyMap<string, string | undefined>
}

/** The one next thing to do. After it the machine is looked at again. */
export type AgentAct =
  | { readonly do: 'nothing'; readonly why: string }
  | { readonly do: 'report'; readonly request: MaintenanceRequest; readonly host: HostReport }
  | { readonly do: 'create'; readonly name: string; readonly spec: NewRequestSpec }
  | { readonly do: 'writePermission'; readonly request: MaintenanceRequest; readonly token: number }
  | { readonly do: 'deletePermission'; readonly why: string }
  | { readonly do: 'reboot'; readonly request: MaintenanceRequest; readonly token: number }
  | { readonly do: 'fail'; readonly request: MaintenanceRequest; readonly failure: Failure }

/** What an agent may say of a request that it makes; everything else is the budget's to say. */
export type NewRequestSpec = Pick<MaintenanceRequestSpec, 'nodeName' | 'nodeUID' | 'source' | 'reason' | 'work'>

/** Pure and level-triggered, at the start as at any other time. The truth is told before anything begins. */
export function decideAgent(world: AgentWorld): AgentAct {
  if (!world.hasContact) return { do: 'nothing', why: 'the API server is not heard: nothing begins, nothing goes' }
  return (
    staleReport(world) ??
    permissionToDelete(world) ??
    permissionToWrite(world) ??
    rebootLoop(world) ??
    rebootToOrder(world) ??
    requestToCreate(world) ?? { do: 'nothing', why: waitsFor(world) }
  )
}

/** Whether the node has a slot on behalf of something that happens on this machine: then the controller listens for it. */
export function isAtWork(world: Pick<AgentWorld, 'requests' | 'node'>): boolean {
  return openRequests(world).some(({ spec, status }) => spec.work !== 'External' && status?.slot !== undefined)
}

export function openRequests({ requests, node }: Pick<AgentWorld, 'requests' | 'node'>): MaintenanceRequest[] {
  return requests.filter(({ spec, status }) => spec.nodeUID === node.uid && status?.phase !== 'Done')
}

function staleReport(world: AgentWorld): AgentAct | undefined {
  for (const request of openRequests(world)) {
    if (request.spec.work === 'External') continue
    const host = intendsReboot(world, request) ?? reportOn(world, request)
    if (!isDeepStrictEqual(host, request.status?.host)) return { do: 'report', request, host }
  }
  return undefined
}

/** The intention is stored before the act: whoever looks at a machine that went down knows why. */
function intendsReboot(world: AgentWorld, request: MaintenanceRequest): HostReport | undefined {
  const { view } = world
  const token = request.status?.slot?.token
  if (token === undefined || hasIntent(world, request) || !mayRebootFor(world, request)) return undefined
  if (hasRebootedTooOften(world)) return undefined
  return { ...reportOn(world, request), rebootIntent: { token, fromBootID: view.bootID } }
}

function hasIntent({ view }: AgentWorld, { status }: MaintenanceRequest): boolean {
  const intent = status?.host?.rebootIntent
  if (intent === undefined || intent.takenBack) return false
  return intent.token === status?.slot?.token && intent.fromBootID === view.bootID
}

/** Its turn has come, it still wants the reboot, and nobody works on the machine who does not want it as well. */
function mayRebootFor(world: AgentWorld, request: MaintenanceRequest): boolean {
  const { rules, view, failures } = world
  const { work, want } = request.spec
  if (!rules.mayReboot || request.status?.phase !== 'Granted' || want !== 'Out') return false
  if (request.metadata.deletionTimestamp !== undefined || isStateLost(world)) return false
  if ((request.status.slot?.token ?? 0) < highestToken(world)) return false
  const failure = failures.get(request.metadata.uid ?? '')
  if (failure && failure.since === request.status.since) return false
  if (work === 'Host') return view.permission.is === 'Present' && isFileWork(request) && scriptsWantReboot(view)
  return reportOn(world, request).request === 'Present' && !isScriptAtWork(world)
}

/** A script may work, or is about to be let: the machine must not go down under it. */
function isScriptAtWork(world: AgentWorld): boolean {
  const { view } = world
  const isLet = openRequests(world).some(
    ({ spec, status }) =>
      spec.work === 'Host' &&
      status?.slot !== undefined &&
      (status.phase === 'Granted' || (view.permission.is !== 'Absent' && status.phase !== 'Queued')),
  )
  return isLet && !scriptsWantReboot(view)
}

/** A permission goes when its maintenance is over, and when it never was one of this node. */
function permissionToDelete(world: AgentWorld): AgentAct | undefined {
  const { view, node } = world
  if (view.permission.is !== 'Present' || isStateLost(world)) return undefined
  const { content } = view.permission
  const open = openRequests(world)
  if (!content) {
    if (open.some(({ spec }) => spec.source.kind === 'Imported')) return undefined
    return { do: 'deletePermission', why: 'nobody knows who gave this permission' }
  }
  if (content.nodeUID !== node.uid) {
    // Another node has this name now, but the machine has not rebooted: work may still be going on.
    if (content.bootID === view.bootID) return undefined
    return { do: 'deletePermission', why: 'the permission was given to an earlier node of this name' }
  }
  const holders = open.filter(
    (request) =>
      request.spec.work === 'Host' &&
      isPermittedBy(request, content.requestUID, content.token) &&
      keepsPermission(request),
  )
  if (holders.length > 0) return undefined
  return { do: 'deletePermission', why: `the maintenance of ${content.request} is over` }
}

function permissionToWrite(world: AgentWorld): AgentAct | undefined {
  const { view, failures, node } = world
  if (view.permission.is === 'Unreadable' || isStateLost(world)) return undefined
  const open = openRequests(world)
  // The machine is about to go down.
  if (open.some((request) => hasIntent(world, request))) return undefined
  for (const request of open) {
    const { work, want } = request.spec
    const { phase, slot, since } = request.status ?? {}
    if (work !== 'Host' || phase !== 'Granted' || want !== 'Out' || !slot) continue
    if (request.metadata.deletionTimestamp !== undefined || slot.token < highestToken(world)) continue
    if (isFileWork(request) && view.request.is !== 'Present') continue
    if (failures.get(request.metadata.uid ?? '')?.since === since && since !== undefined) continue
    const has = view.permission.is === 'Present' ? view.permission.content : undefined
    // Not over somebody else's: that one goes first, or a person decides about it.
    if (view.permission.is === 'Present' && has?.nodeUID !== node.uid) continue
    if (has && has.token >= slot.token) continue
    return { do: 'writePermission', request, token: slot.token }
  }
  return undefined
}

function hasRebootedTooOften({ rules, view }: AgentWorld): boolean {
  return view.rebootsLastDay >= rules.maxRebootsPerDay
}

/** Something wants the machine down again and again. A person has to look at it. */
function rebootLoop(world: AgentWorld): AgentAct | undefined {
  const { rules, view } = world
  const request = openRequests(world).find((one) => !hasIntent(world, one) && mayRebootFor(world, one))
  if (!request || !hasRebootedTooOften(world)) return undefined
  const text = `it was told to reboot ${view.rebootsLastDay} times within a day, and may be ${rules.maxRebootsPerDay} times`
  return { do: 'fail', request, failure: { since: request.status?.since, failed: 'RebootLoop', text } }
}

function rebootToOrder(world: AgentWorld): AgentAct | undefined {
  const { ordered, failures } = world
  for (const request of openRequests(world)) {
    const { phase, slot, since } = request.status ?? {}
    const uid = request.metadata.uid ?? ''
    if (!slot || !hasIntent(world, request) || (phase !== 'Granted' && phase !== 'Rebooting')) continue
    if (slot.token < highestToken(world) || failures.get(uid)?.since === since) continue
    if (ordered.has(uid) && ordered.get(uid) === heldAt(request)) continue
    return { do: 'reboot', request, token: slot.token }
  }
  return undefined
}

export function heldAt({ status }: MaintenanceRequest): string | undefined {
  return status?.conditions?.find(({ type }) => type === 'Held')?.lastTransitionTime
}

function requestToCreate(world: AgentWorld): AgentAct | undefined {
  const { view, rules, node } = world
  const own = world.requests.filter(({ spec }) => spec.nodeUID === node.uid)
  const asksByFile = ({ spec }: MaintenanceRequest) =>
    spec.source.kind === 'File' && spec.source.key === rules.requestFile
  if (view.request.is === 'Present' && !isStateLost(world)) {
    const { id } = view.request
    if (
      !own.some(
        (request) => isFileWork(request) && (isOpenFor(request) || (asksByFile(request) && isAbout(request, id))),
      )
    )
      return create(world, 'file', {
        source: { kind: 'File', key: rules.requestFile },
        reason: reasonOf(view, rules),
        work: 'Host',
      })
  }
  if (view.reboot.is === 'Present' && rules.mayReboot) {
    const { id, key, reason } = view.reboot
    const isKnown = (request: MaintenanceRequest) => isOpenFor(request) || isAbout(request, id)
    if (!own.some((request) => request.spec.work === 'Reboot' && isKnown(request)))
      return create(world, 'reboot', { source: { kind: 'Reboot', key }, reason: reason.slice(0, 256), work: 'Reboot' })
  }
  return undefined
}

/** On its way home as well: who asks again gets a new turn once this one has ended. */
function isOpenFor({ status }: MaintenanceRequest): boolean {
  return status?.phase !== 'Done'
}

/** What a person skipped stays skipped for as long as the same file lies there. */
function isAbout({ status }: MaintenanceRequest, id: string): boolean {
  return status?.host?.requestID === id
}

function reasonOf({ scripts }: HostView, { requestFile }: AgentRules): string {
  const said = scripts.map(({ name, reason }) => (reason ? `${name}: ${reason}` : name)).join('; ')
  return (said || `the host asks by ${requestFile}`).slice(0, 256)
}

function create(
  { requests, node }: AgentWorld,
  kind: 'file' | 'reboot',
  about: Omit<NewRequestSpec, 'nodeName' | 'nodeUID'>,
): AgentAct | undefined {
  const taken = new Set(requests.map(({ metadata }) => metadata.name))
  const name = Array.from({ length: 10 }, (_, digit) => `${node.name}-${kind}-${digit}`).find((one) => !taken.has(one))
  // Ten at a time is all that a node may have; finished ones go within seconds.
  return name === undefined
    ? undefined
    : { do: 'create', name, spec: { nodeName: node.name, nodeUID: node.uid, ...about } }
}

function waitsFor(world: AgentWorld): string {
  const [request] = openRequests(world)
  if (!request) return 'nobody asks for anything'
  return `${request.metadata.name} is ${request.status?.phase ?? 'Queued'}`
}
