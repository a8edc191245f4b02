import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentHost, HostView } from '../../src/agent/index.ts'
import { isAlreadyExists, type KubeClient, type KubeObject, resources } from '../../src/kube/index.ts'
import type { Machine } from './two-turns.ts'

type Permission = Parameters<AgentHost['writePermission']>[0]
type Script = HostView['scripts'][number]

/** What the node says of its machine: that it is away, and that it is back, in which boot. */
export interface Kubelet {
  goDown(): Promise<void>
  comeUp(bootID: string): Promise<void>
}

/** Whether a machine runs, and in which boot. */
export class Power {
  bootID: string
  /** How often it came up again. */
  boots = 0
  readonly #kubelet: Kubelet
  readonly #downMs: number
  #on = new AbortController()
  #cycle: Promise<void> | undefined

  constructor(bootID: string, kubelet: Kubelet, downMs = 100) {
    this.bootID = bootID
    this.#kubelet = kubelet
    this.#downMs = downMs
  }

  /** Down and up again, once for all who ask for it meanwhile. What `onBoot` does is done before anything runs. */
  cycle(onBoot: () => Promise<void> | void): Promise<void> {
    this.#cycle ??= this.#goThrough(onBoot).finally(() => {
      this.#cycle = undefined
    })
    return this.#cycle
  }

  /** As a DaemonSet does: whenever the machine runs and no agent does, the next one starts. */
  async keepRunning(agent: (signal: AbortSignal) => Promise<void>, over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      if (!this.#on.signal.aborted) await agent(AbortSignal.any([over, this.#on.signal]))
      await this.#cycle
    }
  }

  async #goThrough(onBoot: () => Promise<void> | void): Promise<void> {
    // Whoever gave the order still lives for a moment.
    await sleep(10)
    this.#on.abort(new Error('the machine went down'))
    await this.#kubelet.goDown()
    await sleep(this.#downMs)
    this.bootID = randomUUID()
    this.boots++
    await onBoot()
    await this.#kubelet.comeUp(this.bootID)
    this.#on = new AbortController()
  }
}

/** The kubelet of a simulated node, faster than a real machine boots. */
export function simulatedKubelet(client: KubeClient, node: string): Kubelet {
  const annotate = async (annotations: Record<string, string | null>) => {
    const body = { metadata: { annotations } }
    await client.patch(resources.nodes, { name: node }, { type: 'merge', body })
  }
  return {
    goDown: () => annotate({ 'simulate.fettle.dev/not-ready': 'the machine reboots' }),
    comeUp: (bootID) => annotate({ 'simulate.fettle.dev/not-ready': null, 'simulate.fettle.dev/boot-id': bootID }),
  }
}

interface MemoryHostOptions {
  readonly power: Power
  /** Hears of an order before it takes effect. */
  readonly onOrder?: () => Promise<void>
}

type Part = 'request' | 'permission' | 'reboot' | 'state' | 'boot'

/** A machine in memory. Agents come and go; what is here stays. */
export class MemoryHost implements AgentHost, Machine {
  readonly power: Power
  /** What cannot be read; without `boot` nothing can. */
  readonly unreadable = new Set<Part>()
  failsWrites = false
  highestToken = 0
  permission: Permission | undefined
  /** Orders to reboot. */
  orders = 0
  readonly #onOrder: () => Promise<void>
  readonly #scripts = new Map<string, Script>()
  readonly #listeners = new Set<() => void>()
  #requestID: string | undefined
  #rebootID: string | undefined
  /** The boot in which it was told to reboot last. */
  #toldIn: string | undefined

  constructor({ power, onOrder = () => Promise.resolve() }: MemoryHostOptions) {
    this.power = power
    this.#onOrder = onOrder
  }

  async look(): Promise<HostView> {
    if (this.unreadable.has('boot')) throw new Error('the boot id cannot be read')
    const [key, why] = ['/var/run/reboot-required', 'it cannot be read']
    const seen = <T extends object>(part: Part, found: T | undefined) => {
      if (this.unreadable.has(part)) return { is: 'Unreadable', why } as const
      return found ? ({ is: 'Present', ...found } as const) : ({ is: 'Absent' } as const)
    }
    const hasState = !this.unreadable.has('state')
    return {
      request: seen('request', this.#requestID === undefined ? undefined : { id: this.#requestID }),
      permission: seen('permission', this.permission && { content: this.permission }),
      reboot: seen('reboot', this.#rebootID === undefined ? undefined : { id: this.#rebootID, key, reason: 'libc6' }),
      bootID: this.power.bootID,
      scripts: hasState ? [...this.#scripts.values()] : [],
      onlyScriptsAsk: hasState,
      highestToken: hasState ? this.highestToken : 0,
      isToldToReboot: hasState && this.#toldIn === this.power.bootID,
      rebootsLastDay: hasState ? this.orders : 0,
      ...(hasState ? {} : { stateProblem: why }),
    }
  }

  async writePermission(permission: Permission): Promise<void> {
    this.#checkDisk()
    this.permission = permission
    this.#tell()
  }

  async deletePermission(): Promise<void> {
    this.#checkDisk()
    this.permission = undefined
    this.#tell()
  }

  async storeHighestToken(token: number): Promise<void> {
    this.#checkDisk()
    this.highestToken = token
  }

  async reboot(): Promise<void> {
    this.#checkDisk()
    this.#toldIn = this.power.bootID
    this.orders++
    await this.#onOrder()
    void this.cyclePower()
  }

  /** By order, or because somebody pulled the plug. */
  cyclePower(): Promise<void> {
    return this.power.cycle(() => {
      this.#rebootID = undefined
    })
  }

  watch(onChange: () => void, signal: AbortSignal): void {
    this.#listeners.add(onChange)
    signal.addEventListener('abort', () => this.#listeners.delete(onChange), { once: true })
  }

  async ask(script: string): Promise<void> {
    this.#scripts.set(script, { name: script, reason: 'test' })
    this.#requestID ??= randomUUID()
    this.#tell()
  }

  async wantReboot(script: string): Promise<void> {
    this.#scripts.set(script, { name: script, reason: 'test', rebootFrom: this.power.bootID })
    this.#tell()
  }

  async finish(script: string): Promise<void> {
    this.#scripts.delete(script)
    if (this.#scripts.size === 0) this.#requestID = undefined
    this.#tell()
  }

  async needReboot(): Promise<void> {
    this.#rebootID = randomUUID()
    this.#tell()
  }

  async isPermitted(): Promise<boolean> {
    return this.permission !== undefined
  }

  async bootID(): Promise<string> {
    return this.power.bootID
  }

  #checkDisk(): void {
    if (this.failsWrites) throw new Error('the disk is read-only')
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }
}

/** Where agents say that they live. */
export async function ensureHeartbeatNamespace(admin: KubeClient): Promise<void> {
  await admin
    .create<KubeObject>(resources.namespaces, { metadata: { name: 'fettle-nodes' } })
    .catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error
    })
}
