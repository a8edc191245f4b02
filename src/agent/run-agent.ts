import { isDeepStrictEqual } from 'node:util'
import { type MaintenanceRequest, maintenanceRequests } from '../api/index.ts'
import { isAlreadyExists, isNotFound, type KubeClient, type ResourceCache } from '../kube/index.ts'
import type { Clock } from '../time/index.ts'
import type { AgentHost } from './agent-host.ts'
import {
  type AgentAct,
  type AgentRules,
  type AgentWorld,
  decideAgent,
  type Failure,
  heldAt,
  isAtWork,
} from './decide-agent.ts'
import { type HostReport, keepsPermission } from './decide-report.ts'
import { Heartbeat } from './heartbeat.ts'
import type { HostView } from './host-view.ts'
import type { AgentIdentity } from './identity.ts'

export interface AgentPorts {
  readonly node: AgentIdentity
  readonly rules: AgentRules
  readonly host: AgentHost
  readonly client: KubeClient
  /** Requests that name this node. */
  readonly requests: ResourceCache<MaintenanceRequest>
  readonly clock: Clock
  readonly pollMs: number
  readonly log: AgentLog
  /** Hears of each look; for readiness and metrics. */
  readonly onLook?: (view: HostView | undefined, why?: string) => void
  /** Hears of each act before it is done. */
  readonly onAct?: (act: AgentAct) => void
}

export interface AgentLog {
  readonly info: (fields: object, message: string) => void
  readonly warn: (fields: object, message: string) => void
}

const fieldManager = 'fettle-agent'
/** More than any cycle needs in one go; whoever wants more than this goes in a circle. */
const mostActsInARow = 20
/** Changes of files come in groups. */
const settleMs = 20
const longestBackoffMs = 30_000

/** Looks at the machine and at the requests for it, does the one next thing, and looks again; until the signal aborts. */
export async function runAgent(ports: AgentPorts, signal: AbortSignal): Promise<void> {
  const agent = new Agent(ports, signal)
  const heartbeat = new Heartbeat(ports)
  const bell = new Bell()
  ports.requests.subscribe(() => bell.ring())
  ports.host.watch(() => bell.ring(), signal)
  for (let failures = 0; !signal.aborted; ) {
    try {
      await agent.turn()
      heartbeat.set(agent.isAtWork(), signal)
      failures = 0
    } catch (error) {
      if (signal.aborted) break
      failures++
      ports.log.warn({ why: messageOf(error), failures }, 'a turn failed and is tried again')
    }
    const waitMs = failures > 0 ? Math.min(longestBackoffMs, 500 * 2 ** Math.min(failures, 10)) : ports.pollMs
    await bell.wait(waitMs, ports.clock, signal)
  }
  await heartbeat.ended
}

class Agent {
  readonly #ports: AgentPorts
  readonly #signal: AbortSignal
  readonly #failures = new Map<string, Failure>()
  readonly #ordered = new Map<string, string | undefined>()
  /** What was reported and the cache does not show yet. */
  readonly #told = new Map<string, HostReport>()
  /** A request that was made and that the cache does not show yet. */
  #made: MaintenanceRequest[] = []

  constructor(ports: AgentPorts, signal: AbortSignal) {
    this.#ports = ports
    this.#signal = signal
  }

  isAtWork(): boolean {
    return isAtWork({ requests: this.#requests(), node: this.#ports.node })
  }

  async turn(): Promise<void> {
    const { onAct, log } = this.#ports
    for (let acts = 0; acts < mostActsInARow && !this.#signal.aborted; acts++) {
      const world = await this.#world()
      const act = decideAgent(world)
      if (act.do === 'nothing') return
      onAct?.(act)
      log.info({ act: act.do, ...aboutOf(act) }, whyOf(act))
      if (!(await this.#carryOut(act, world))) return
    }
  }

  async #world(): Promise<AgentWorld> {
    const { node, rules, host, requests, onLook } = this.#ports
    const known = this.#requests()
    try {
      const view = await host.look()
      onLook?.(view)
      const { isConnected } = requests.stats()
      const hasContact = requests.isSynced && isConnected
      return { node, rules, view, requests: known, hasContact, failures: this.#failures, ordered: this.#ordered }
    } catch (error) {
      // Not even the boot is known: nothing can be said, and so nothing is done.
      onLook?.(undefined, messageOf(error))
      throw error
    }
  }

  /** The cache, with what this process itself has written since. */
  #requests(): MaintenanceRequest[] {
    const cached = [...this.#ports.requests.values()]
    const uids = new Set(cached.map(({ metadata }) => metadata.uid))
    const names = new Set(cached.map(({ metadata }) => metadata.name))
    this.#made = this.#made.filter(({ metadata }) => !uids.has(metadata.uid) && !names.has(metadata.name))
    return [...cached, ...this.#made].map((request) => {
      const uid = request.metadata.uid ?? ''
      const told = this.#told.get(uid)
      if (!told) return request
      if (isDeepStrictEqual(told, request.status?.host)) {
        this.#told.delete(uid)
        return request
      }
      return { ...request, status: { phase: 'Queued' as const, ...request.status, host: told } }
    })
  }

  /** Answers whether it is worth to look again at once. */
  async #carryOut(act: Exclude<AgentAct, { do: 'nothing' }>, world: AgentWorld): Promise<boolean> {
    switch (act.do) {
      case 'report':
        return this.#report(act.request, act.host)
      case 'create':
        return this.#create(act)
      case 'deletePermission':
        return this.#deletePermission(world)
      case 'writePermission':
        return this.#writePermission(act, world)
      case 'reboot':
        return this.#reboot(act, world)
      case 'fail':
        this.#fail(act.request, act.failure.failed, act.failure.text)
        return true
    }
  }

  async #report({ metadata: { name = '', uid = '' } }: MaintenanceRequest, host: HostReport): Promise<boolean> {
    const said = { metadata: { name, uid }, status: { host } } as unknown as MaintenanceRequest
    try {
      await this.#ports.client.apply(maintenanceRequests, said, {
        fieldManager,
        force: true,
        subresource: 'status',
        signal: this.#signal,
      })
      this.#told.set(uid, host)
      return true
    } catch (error) {
      // It has just been deleted, and the cache will say so.
      if (!isNotFound(error)) throw error
      this.#made = this.#made.filter(({ metadata }) => metadata.uid !== uid)
      return false
    }
  }

  async #create({ name, spec }: Extract<AgentAct, { do: 'create' }>): Promise<boolean> {
    try {
      const made = await this.#ports.client.create<MaintenanceRequest>(
        maintenanceRequests,
        { metadata: { name }, spec } as unknown as MaintenanceRequest,
        { fieldManager, signal: this.#signal },
      )
      this.#made.push(made)
      return true
    } catch (error) {
      // Made by an earlier life of this agent, or by an earlier node of this name: the watch brings it.
      if (!isAlreadyExists(error)) throw error
      return false
    }
  }

  /** The cache may be behind: what it calls over may have been granted a moment ago. */
  async #deletePermission({ view }: AgentWorld): Promise<boolean> {
    const content = view.permission.is === 'Present' ? view.permission.content : undefined
    if (content) {
      const live = await this.#live(content.request)
      if (live?.metadata.uid === content.requestUID && keepsPermission(live)) return false
    }
    await this.#ports.host.deletePermission()
    return true
  }

  async #writePermission(
    { request, token }: Extract<AgentAct, { do: 'writePermission' }>,
    { view, node }: AgentWorld,
  ): Promise<boolean> {
    const { host, clock } = this.#ports
    const live = await this.#live(request.metadata.name ?? '')
    if (!isStillGranted(live, request, token, ['Granted'])) return false
    // The file may have gone while we asked: then nobody waits for the permission any more.
    if ((await host.look()).request.is !== view.request.is) return true
    try {
      await host.storeHighestToken(token)
      await host.writePermission({
        request: request.metadata.name ?? '',
        requestUID: request.metadata.uid ?? '',
        nodeUID: node.uid,
        token,
        bootID: view.bootID,
        grantedAt: new Date(clock.now()).toISOString(),
      })
      this.#failures.delete(request.metadata.uid ?? '')
    } catch (error) {
      this.#fail(request, 'Permission', `the permission could not be written: ${messageOf(error)}`)
    }
    return true
  }

  async #reboot({ request, token }: Extract<AgentAct, { do: 'reboot' }>, { view }: AgentWorld): Promise<boolean> {
    const { host, log } = this.#ports
    const live = await this.#live(request.metadata.name ?? '')
    const intent = live?.status?.host?.rebootIntent
    const isStored = intent?.token === token && intent.fromBootID === view.bootID && !intent.takenBack
    if (!isStored || !isStillGranted(live, request, token, ['Granted', 'Rebooting'])) return false
    // A script may have taken its wish back while we asked: the last look before the order decides.
    const now = decideAgent(await this.#world())
    if (now.do !== 'reboot' || now.request.metadata.uid !== request.metadata.uid) return true
    this.#ordered.set(request.metadata.uid ?? '', heldAt(request))
    try {
      await host.storeHighestToken(token)
      await host.reboot()
      log.info({ request: request.metadata.name, token }, 'the machine was told to reboot')
    } catch (error) {
      this.#ordered.delete(request.metadata.uid ?? '')
      this.#fail(request, 'RebootOrder', `the order to reboot failed: ${messageOf(error)}`)
    }
    return true
  }

  #fail(request: MaintenanceRequest, failed: Failure['failed'], text: string): void {
    this.#ports.log.warn({ request: request.metadata.name, failed }, text)
    // A failure that a person has dismissed is told by its words: the next one must not have the same.
    const told = `${text} (${new Date(this.#ports.clock.now()).toISOString()})`
    this.#failures.set(request.metadata.uid ?? '', { since: request.status?.since, failed, text: told })
  }

  async #live(name: string): Promise<MaintenanceRequest | undefined> {
    try {
      return await this.#ports.client.get<MaintenanceRequest>(maintenanceRequests, { name }, { signal: this.#signal })
    } catch (error) {
      if (!isNotFound(error)) throw error
      return undefined
    }
  }
}

/** At the source: the same request, still its turn, with the same number. */
function isStillGranted(
  live: MaintenanceRequest | undefined,
  { metadata }: MaintenanceRequest,
  token: number,
  phases: readonly string[],
): boolean {
  const { status, spec } = live ?? {}
  const isSame = live?.metadata.uid === metadata.uid && live?.metadata.deletionTimestamp === undefined
  return isSame && spec?.want === 'Out' && phases.includes(status?.phase ?? '') && status?.slot?.token === token
}

function aboutOf(act: AgentAct): object {
  if ('request' in act) return { request: act.request.metadata.name, phase: act.request.status?.phase }
  return act.do === 'create' ? { request: act.name } : {}
}

function whyOf(act: Exclude<AgentAct, { do: 'nothing' }>): string {
  switch (act.do) {
    case 'report':
      return `request ${act.host.request}, permission ${act.host.permission}${act.host.rebootIntent && !act.host.rebootIntent.takenBack ? ', about to reboot' : ''}`
    case 'create':
      return act.spec.reason
    case 'deletePermission':
      return act.why
    case 'writePermission':
      return `the work may begin with token ${act.token}`
    case 'reboot':
      return `the machine reboots with token ${act.token}`
    case 'fail':
      return act.failure.text
  }
}

/** Wakes a sleeper; what rings while nobody sleeps is heard at once by the next one. */
class Bell {
  #isRung = false
  #wake: (() => void) | undefined

  ring(): void {
    this.#isRung = true
    this.#wake?.()
  }

  async wait(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
    const over = new AbortController()
    const rung = new Promise<void>((resolve) => {
      this.#wake = resolve
      if (this.#isRung) resolve()
    })
    const slept = clock.sleep(ms, AbortSignal.any([signal, over.signal])).catch(() => undefined)
    await Promise.race([rung, slept])
    over.abort()
    this.#wake = undefined
    if (this.#isRung && !signal.aborted) await clock.sleep(settleMs, signal).catch(() => undefined)
    this.#isRung = false
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
