import type { MaintenanceRequest, MaintenanceRequestStatus } from '../api/index.ts'
import { ApiError, type KubeClient, type KubeErrorCode, type ResourceCache } from '../kube/index.ts'
import type { Clock } from '../time/index.ts'
import type { AgentHost } from './agent-host.ts'
import { node, requestFile, request as requestOf } from './fixture-world.ts'
import type { HostView, ScriptRequest } from './host-view.ts'
import type { Permission } from './permission.ts'
import { runAgent } from './run-agent.ts'

/**
 * A machine, the requests for it, and its agent, in memory. The agent is the real one, and can die at each of its acts;
 * what it sees may be old, and anything may happen while it waits for an answer. The queue is played in small: it moves
 * requests from phase to phase by the rules of the real one, and it alone knows the truth.
 */

type Status = MaintenanceRequestStatus
type Phase = Status['phase']

/** How one turn of the agent goes. */
interface Turn {
  /** The number of the act that it dies at, and whether the act is still done. */
  readonly diesAt?: number
  readonly isDone?: boolean
  /** A request that the cache does not hear of before it. */
  readonly lag?: string | undefined
  /** Happens before this call of the client, behind the agent's back. */
  readonly interruptAt?: number
  readonly interrupt?: () => void
}

export class FixtureCycle {
  readonly faults: string[] = []
  /** `watch`: the watch still seems open, but no call is answered. */
  contact: 'full' | 'none' | 'watch' = 'full'
  /** What the agent did since the last turn began, heartbeats apart. */
  acts: string[] = []
  /** Changes of any kind. */
  changes = 0

  // The machine.
  bootID = 'boot-0'
  file: { readonly id: string; readonly isByScripts: boolean } | undefined
  readonly scripts = new Map<string, ScriptRequest>()
  need: string | undefined
  permission: { readonly content?: Permission } | undefined
  readonly unreadable = new Set<'request' | 'permission' | 'reboot' | 'state'>()
  failsWrites = false
  hasOrder = false
  #orders = 0
  #highest = 0
  #highestWritten = 0

  // The source.
  readonly requests = new Map<string, MaintenanceRequest>()
  nextToken = 1
  #token: number | undefined
  #count = 0

  // The agent.
  readonly #clock: Clock
  readonly #cached = new Map<string, MaintenanceRequest>()
  /** The phase before, for whoever starts on a copy that is behind. */
  readonly #past = new Map<string, MaintenanceRequest>()
  #life: { readonly end: AbortController; readonly ended: Promise<void> } | undefined
  #turn: Turn = {}
  #calls = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The agent looks as often as the clock says; it is started if none runs. */
  begin(turn: Turn): void {
    this.#turn = turn
    this.#calls = 0
    this.acts = []
    if (this.contact === 'full') this.#sync(turn.lag)
    const past = this.#past.get(turn.lag ?? '')
    if (!this.#life && past) this.#cached.set(turn.lag ?? '', past)
    this.#life ??= this.#start()
  }

  /** Kills whatever runs. */
  async die(): Promise<void> {
    this.#life?.end.abort(new Error('it died'))
    await this.#life?.ended
    this.#life = undefined
  }

  /** By order, or because somebody pulled the plug. What lies in /run is gone. */
  async cyclePower(): Promise<void> {
    await this.die()
    this.bootID = `boot-${++this.#count}`
    this.need = undefined
    this.hasOrder = false
    this.changes++
  }

  newID(): string {
    return `id-${++this.#count}`
  }

  get open(): MaintenanceRequest[] {
    return [...this.requests.values()].filter(({ status }) => status?.phase !== 'Done')
  }

  /** Somebody else asks for the node. */
  askFor(work: 'Host' | 'Reboot' | 'External'): void {
    const name = `n1-person-${++this.#count}`
    this.#put(requestOf(name, {}, { source: { kind: 'Person', key: name }, work }, { uid: `uid-${this.#count}` }))
  }

  edit(name: string, change: (request: MaintenanceRequest) => MaintenanceRequest): void {
    const found = this.requests.get(name)
    if (found) this.#put(change(found))
  }

  /** What the queue does next for a request, by the table of phases. */
  moveOn(name: string): void {
    const found = this.requests.get(name)
    if (!found) return
    const next = this.#next(found, found.status ?? { phase: 'Queued' })
    if (next) this.#enter(found, next)
  }

  /** A person's word. */
  say(name: string, verb: 'retry' | 'release'): void {
    const found = this.requests.get(name)
    const { status } = found ?? {}
    if (!found || !status || status.phase === 'Done') return
    const dismissed = status.host?.failure ? { dismissedFailure: status.host.failure } : {}
    if (verb === 'retry' && status.held) this.#enter(found, { ...this.#retried(found, status), ...dismissed })
    if (verb === 'release')
      this.#enter(found, {
        phase: status.slot ? 'Finishing' : 'Done',
        released: { as: 'Released', reason: 'test' },
      })
  }

  hold(name: string, reason: NonNullable<Status['held']>['reason']): void {
    const found = this.requests.get(name)
    if (found?.status?.slot && ['Granted', 'Rebooting'].includes(found.status.phase))
      this.#enter(found, held(found.status.phase, reason))
  }

  #retried({ spec }: MaintenanceRequest, { held: was, host }: Status): Partial<Status> & Pick<Status, 'phase'> {
    const isNewTry = spec.work === 'Reboot' && was?.reason === 'StillRequired'
    if (!isNewTry) return { phase: was?.from ?? 'Granted' }
    return { phase: 'Granted', reboots: { count: 0, bootIDAfter: host?.bootID ?? this.bootID } }
  }

  #next(found: MaintenanceRequest, status: Status): (Partial<Status> & Pick<Status, 'phase'>) | undefined {
    const { spec, metadata } = found
    const { host, slot, reboots } = status
    const isBack = metadata.deletionTimestamp !== undefined || (spec.work !== 'External' && host?.request === 'Absent')
    if (status.phase === 'Queued') {
      if (isBack || this.#hasTwin(found)) return { phase: 'Done' }
      this.#token ??= this.nextToken++
      return { phase: 'Claimed', slot: { token: this.#token, ledgerUID: 'l', takenAt: this.#now() } }
    }
    if (status.phase === 'Finishing') {
      const isTaken = !hasBegun(status) || status.released || spec.work === 'External' || host?.permission === 'Absent'
      return isTaken ? { phase: 'Done' } : undefined
    }
    if (isBack && status.phase !== 'Rebooting' && status.held?.from !== 'Finishing') return { phase: 'Finishing' }
    if (slot && (host?.tokens?.highest ?? 0) > slot.token) return this.#outrun(host?.tokens?.highest ?? 0, status)
    const trouble = spec.work === 'External' || status.phase === 'Held' ? undefined : troubleOf(status)
    if (trouble) return held(status.phase, trouble)
    if (status.phase === 'Claimed')
      return this.#isInTheWay(found)
        ? undefined
        : { phase: 'Granted', reboots: { count: 0, bootIDAfter: host?.bootID ?? this.bootID } }
    const known = reboots?.bootIDAfter
    if (status.phase === 'Granted' && spec.work !== 'External') {
      const intent = host?.rebootIntent
      const isOrdered = intent?.token === slot?.token && !intent?.takenBack && intent?.fromBootID === known
      if (!isOrdered && (host?.bootID === undefined || host.bootID === known)) return undefined
      return { phase: 'Rebooting', reboots: { count: (reboots?.count ?? 0) + 1, bootIDBefore: known ?? '' } }
    }
    if (status.phase === 'Rebooting') {
      const before = reboots?.bootIDBefore
      if (before !== undefined && host?.bootID === before && host.rebootIntent?.takenBack && this.bootID === before)
        return { phase: 'Granted', reboots: { count: (reboots?.count ?? 1) - 1, bootIDAfter: before } }
      if (host?.bootID !== this.bootID || this.bootID === reboots?.bootIDBefore) return undefined
      if (spec.work === 'Reboot' && host.request === 'Present') return held('Rebooting', 'StillRequired')
      const phase = spec.work === 'Host' ? 'Granted' : 'Finishing'
      return { phase, reboots: { count: reboots?.count ?? 1, bootIDAfter: this.bootID } }
    }
    return undefined
  }

  /** The ledger was restored from an old copy: the slot gets a number above what the machine has obeyed. */
  #outrun(highest: number, { phase }: Status): Partial<Status> & Pick<Status, 'phase'> {
    const token = highest + 1
    this.#token = token
    this.nextToken = Math.max(this.nextToken, token + 1)
    for (const one of this.open)
      if (one.status?.slot) this.#put({ ...one, status: { ...one.status, slot: { ...one.status.slot, token } } })
    return { phase, slot: { token, ledgerUID: 'l', takenAt: this.#now() } }
  }

  #hasTwin({ metadata, spec: { source } }: MaintenanceRequest): boolean {
    const isSame = (other: MaintenanceRequest) =>
      other.spec.source.kind === source.kind && other.spec.source.key === source.key
    return this.open.some(
      (other) =>
        other.metadata.uid !== metadata.uid &&
        isSame(other) &&
        other.status?.phase !== 'Finishing' &&
        other.status?.host?.request !== 'Absent' &&
        (hasBegun(other.status) || (other.metadata.uid ?? '') < (metadata.uid ?? '')),
    )
  }

  /** No reboot under work, no work before a reboot. */
  #isInTheWay({ metadata, spec }: MaintenanceRequest): boolean {
    return this.open.some((other) => {
      if (other.metadata.uid === metadata.uid || !other.status?.slot) return false
      const isEnding = other.status.phase === 'Finishing'
      if (spec.work === 'Reboot')
        return other.spec.work !== 'Reboot' && !(isEnding && other.status.host?.permission === 'Absent')
      return other.spec.work === 'Reboot' && hasBegun(other.status) && !isEnding
    })
  }

  #enter(found: MaintenanceRequest, next: Partial<Status> & Pick<Status, 'phase'>): void {
    const { held: _, slot, ...status } = found.status ?? { phase: 'Queued' }
    const since = next.phase === found.status?.phase ? found.status.since : this.#now()
    const isOver = next.phase === 'Done'
    this.#put({
      ...found,
      status: { ...status, ...(isOver || !slot ? {} : { slot }), ...next, ...(since ? { since } : {}) },
    })
    if (!this.open.some(({ status: one }) => one?.slot)) this.#token = undefined
    if (isOver) this.#tidy(found)
  }

  /** As the queue does: the names of an agent's requests are few. */
  #tidy({ metadata, spec: { source } }: MaintenanceRequest): void {
    const done = [...this.requests.values()].filter(
      ({ spec, status }) => status?.phase === 'Done' && spec.source.kind === source.kind,
    )
    const isDeleted = this.requests.get(metadata.name ?? '')?.metadata.deletionTimestamp !== undefined
    if (isDeleted) this.requests.delete(metadata.name ?? '')
    for (const { metadata: old } of done.slice(0, -5)) this.requests.delete(old.name ?? '')
  }

  #put(request: MaintenanceRequest): void {
    const { name = '' } = request.metadata
    const before = this.requests.get(name)
    if (before && before.status?.phase !== request.status?.phase) this.#past.set(name, before)
    // The youngest comes last.
    if (!this.requests.has(name) || request.status?.phase === 'Done') this.requests.delete(name)
    this.requests.set(name, request)
    this.changes++
  }

  /** A new moment each time: two phases never began at the same one. */
  #now(): string {
    return `2026-03-01T12:00:00.${String(++this.#count).padStart(9, '0')}Z`
  }

  #sync(lag: string | undefined): void {
    for (const name of this.#cached.keys()) if (!this.requests.has(name) && name !== lag) this.#cached.delete(name)
    for (const [name, request] of this.requests) if (name !== lag) this.#cached.set(name, request)
  }

  #start(): { readonly end: AbortController; readonly ended: Promise<void> } {
    const end = new AbortController()
    const cache = {
      isSynced: true,
      stats: () => ({ isConnected: this.contact !== 'none' }),
      values: () => [...this.#cached.values()].values(),
      subscribe: () => undefined,
    }
    const ended = runAgent(
      {
        node,
        rules: { requestFile, mayReboot: true, maxRebootsPerDay: 3 },
        host: this.#host(end),
        client: this.#client(end),
        requests: cache as unknown as ResourceCache<MaintenanceRequest>,
        clock: this.#clock,
        pollMs: 30_000,
        log: { info: () => undefined, warn: () => undefined },
      },
      end.signal,
    )
    return { end, ended }
  }

  /** One act of the agent: done, or the moment of its death. */
  #act<T>(end: AbortController, name: string, act: () => T): T {
    end.signal.throwIfAborted()
    this.acts.push(name)
    const isLast = this.acts.length === this.#turn.diesAt
    if (!isLast || this.#turn.isDone) this.changes++
    const answer = isLast && !this.#turn.isDone ? undefined : act()
    if (!isLast) return answer as T
    end.abort(new Error('it died'))
    this.#life = undefined
    throw end.signal.reason
  }

  /** Before each call something else may happen. */
  #call(end: AbortController): void {
    end.signal.throwIfAborted()
    if (++this.#calls === this.#turn.interruptAt) this.#turn.interrupt?.()
    if (this.contact !== 'full') throw refusal('Unreachable')
  }

  #client(end: AbortController): KubeClient {
    const isLease = (resource: { readonly plural: string }) => resource.plural === 'leases'
    return {
      get: async (resource: { readonly plural: string }, { name }: { readonly name: string }) => {
        if (isLease(resource)) return { metadata: { name } }
        this.#call(end)
        const found = this.requests.get(name)
        if (!found) throw refusal('NotFound')
        return found
      },
      replace: async (_: unknown, lease: unknown) => lease,
      create: async (_: unknown, { metadata, spec }: MaintenanceRequest) => {
        this.#call(end)
        return this.#act(end, 'create', () => {
          const { name = '' } = metadata
          if (this.requests.has(name)) throw refusal('AlreadyExists')
          const made = requestOf(name, {}, spec, { uid: `uid-${++this.#count}` })
          this.#put(made)
          return made
        })
      },
      apply: async (_: unknown, { metadata, status }: MaintenanceRequest) => {
        this.#call(end)
        return this.#act(end, 'report', () => this.#store(metadata, status?.host ?? {}))
      },
    } as unknown as KubeClient
  }

  #store({ name = '', uid }: MaintenanceRequest['metadata'], host: NonNullable<Status['host']>): MaintenanceRequest {
    const found = this.requests.get(name)
    if (!found) throw refusal('NotFound')
    if (found.metadata.uid !== uid) throw refusal('Conflict')
    const isFile = found.spec.source.kind === 'File'
    if (
      this.unreadable.has('request') &&
      isFile &&
      host.request === 'Absent' &&
      found.status?.host?.request !== 'Absent'
    )
      this.faults.push(`${name} is said to be over, but nobody could read the file`)
    const stored = { ...found, status: { phase: 'Queued' as const, ...found.status, host } }
    this.#put(stored)
    return stored
  }

  #host(end: AbortController): AgentHost {
    const disk = () => {
      if (this.failsWrites) throw new Error('the disk is read-only')
    }
    const act = async (name: string, work: () => void): Promise<void> => {
      // Nothing at the source speaks of a permission that somebody else made.
      const isForeign = name === 'deletePermission' && this.permission?.content === undefined
      if (this.contact === 'none' || (this.contact === 'watch' && !isForeign))
        this.faults.push(`${name} without contact`)
      this.#act(end, name, work)
    }
    return {
      watch: () => undefined,
      look: async () => {
        end.signal.throwIfAborted()
        return this.#view()
      },
      storeHighestToken: (token) =>
        act('storeHighestToken', () => {
          disk()
          if (token < this.#highest) this.faults.push(`token ${token} is kept, after ${this.#highest}`)
          this.#highest = token
        }),
      writePermission: (permission) =>
        act('writePermission', () => {
          disk()
          this.#judgePermission(permission)
          this.permission = { content: permission }
        }),
      deletePermission: () =>
        act('deletePermission', () => {
          disk()
          this.#judgeDeletion()
          this.permission = undefined
        }),
      reboot: () =>
        act('reboot', () => {
          this.#orders++
          this.#judgeReboot()
          this.hasOrder = true
        }),
    }
  }

  #view(): HostView {
    const seen = <T extends object>(part: 'request' | 'permission' | 'reboot', found: T | undefined) => {
      if (this.unreadable.has(part)) return { is: 'Unreadable', why: 'test' } as const
      return found ? ({ is: 'Present', ...found } as const) : ({ is: 'Absent' } as const)
    }
    const hasState = !this.unreadable.has('state')
    return {
      request: seen('request', this.file && { id: this.file.id }),
      permission: seen('permission', this.permission),
      reboot: seen('reboot', this.need === undefined ? undefined : { id: this.need, key: '/run/b', reason: 'libc6' }),
      bootID: this.bootID,
      scripts: hasState ? [...this.scripts.values()] : [],
      onlyScriptsAsk: hasState && this.file?.isByScripts === true,
      highestToken: hasState ? this.#highest : 0,
      isToldToReboot: hasState && this.hasOrder,
      rebootsLastDay: hasState ? this.#orders : 0,
      ...(hasState ? {} : { stateProblem: 'test' }),
    }
  }

  #judgePermission({ request: name, requestUID, token }: Permission): void {
    const { metadata, spec, status } = this.requests.get(name) ?? {}
    const isGranted = metadata?.uid === requestUID && status?.phase === 'Granted' && status.slot?.token === token
    const say = (what: string) => this.faults.push(`permission ${token} of ${name}: ${what}`)
    if (!isGranted || spec?.want !== 'Out' || metadata?.deletionTimestamp) say(`it is ${status?.phase} at the source`)
    if (this.#highest < token) say('its token was not kept first')
    if (token < this.#highestWritten) say(`one with ${this.#highestWritten} was written before`)
    const intents = this.open.flatMap(({ status: one }) =>
      one?.slot && one.host?.rebootIntent ? [one.host.rebootIntent] : [],
    )
    if (intents.some(({ fromBootID, takenBack }) => fromBootID === this.bootID && !takenBack))
      say('the machine is about to go down')
    if (spec?.source.kind === 'File' && (!this.file || this.unreadable.has('request'))) say('nobody asks for it')
    this.#highestWritten = Math.max(this.#highestWritten, token)
  }

  #judgeDeletion(): void {
    const { content } = this.permission ?? {}
    if (!content) return
    const { metadata, status } = this.requests.get(content.request) ?? {}
    const isSame = metadata?.uid === content.requestUID && status?.slot?.token === content.token
    if (isSame && ['Granted', 'Rebooting', 'Held'].includes(status?.phase ?? ''))
      this.faults.push(`the permission of ${content.request} goes, and it is ${status?.phase} at the source`)
  }

  #judgeReboot(): void {
    const isFounded = this.open.some(({ status, metadata }) => {
      const { phase, slot, host } = status ?? {}
      const isTurn = (phase === 'Granted' || phase === 'Rebooting') && metadata.deletionTimestamp === undefined
      const { token, fromBootID, takenBack } = host?.rebootIntent ?? {}
      return isTurn && token === slot?.token && fromBootID === this.bootID && !takenBack
    })
    if (!isFounded) this.faults.push(`the machine is told to leave ${this.bootID}, and nobody stored why`)
    const scripts = [...this.scripts.values()]
    const isLet = this.open.some(
      ({ spec, status }) => spec.work === 'Host' && status?.slot && status.phase !== 'Finishing',
    )
    const areWaiting = scripts.length > 0 && scripts.every(({ rebootFrom }) => rebootFrom === this.bootID)
    if (this.permission && isLet && !areWaiting)
      this.faults.push('the machine is told to go down under a script at work')
  }
}

function hasBegun(status: Status | undefined): boolean {
  return status?.reboots !== undefined
}

function held(from: Phase, reason: NonNullable<Status['held']>['reason']): Partial<Status> & Pick<Status, 'phase'> {
  return { phase: 'Held', held: { from, reason, message: 'test', next: 'test' } }
}

/** What the host reports that stops everything. */
function troubleOf({ host, dismissedFailure }: Status): NonNullable<Status['held']>['reason'] | undefined {
  if (host?.request === 'Unreadable' || host?.permission === 'Unreadable') return 'HostUnreadable'
  if (host?.permission === 'Orphan') return 'OrphanGrant'
  if (!host?.failure || host.failure === dismissedFailure) return undefined
  return host.failed === 'RebootLoop'
    ? 'RebootLoop'
    : host.failed === 'Script'
      ? 'ScriptFailed'
      : 'PermissionNotWritable'
}

function refusal(code: KubeErrorCode): ApiError {
  return new ApiError({ code, method: 'GET', path: '/', seen: code })
}
