import { isDeepStrictEqual } from 'node:util'
import {
  type MaintenanceBudget,
  type MaintenanceBudgetStatus,
  type MaintenanceRequest,
  type MaintenanceRequestStatus,
  verbAnnotations,
  type Waiting,
} from '../api/index.ts'
import {
  clearLifecycleConditions,
  type DaemonSets,
  hasStopTaint,
  isCordonedBy,
  type NodePatch,
  restorePatch,
} from '../drain/index.ts'
import type { NodeObject, PodObject } from '../kube/index.ts'
import { drainPlan } from './decide-drain.ts'
import { decideLedger, type LedgerDecision } from './decide-ledger.ts'
import { isRestored } from './decide-releases.ts'
import { decideRequest } from './decide-request.ts'
import { nodeInfo } from './fixture-world.ts'
import { isTakenBack } from './health.ts'
import { emptyLedger, slotOf, withClaim, withoutSlot, withRelease, withSlot } from './ledger.ts'
import { cordonOwner, finalizer } from './names.ts'
import { unavailability } from './node-facts.ts'
import type { ClaimGates } from './obstacles.ts'
import { isOpen, wantsOut } from './order.ts'
import type { RequestStep, RequestWorld } from './request-steps.ts'
import { settingsOf } from './settings.ts'

/**
 * A cluster in memory with the acting half of the queue in small: every write has the precondition that the real one
 * has, the caches may be behind, a turn may be cut off after its first write, and a write may come late. Only the
 * decisions are real, and they are what is under test.
 */

type Stored = MaintenanceBudget | MaintenanceRequest | NodeObject

/** What a node's machine does besides what its objects say. */
export interface Machine {
  bootID: string
  isAgentAlive: boolean
  lastBeatMs: number
  highest: number
  /** Names of pods that no eviction moves. */
  readonly stubborn: Set<string>
}

/** How a turn goes: to its end, cut off after its first write, or with its last write held back. */
export type Fate = 'whole' | 'cut' | 'late'

interface Turn {
  readonly fate: Fate
  /** The one object that the caches do not hear of before this turn. */
  readonly lag?: string | undefined
}

const whole: Turn = { fate: 'whole' }

export class FixtureCluster {
  nowMs = Date.parse('2026-03-01T12:00:00.000Z')
  freeze: ClaimGates['freeze']
  /** From here on the window is open. */
  windowOpensMs = 0
  blockedNode: string | undefined
  writes = 0
  hasLostLedger = false
  daemonSets: DaemonSets = new Map()
  readonly pods = new Map<string, PodObject[]>()
  readonly machines = new Map<string, Machine>()
  readonly faults: string[] = []
  readonly #live = new Map<string, Stored>()
  readonly #cached = new Map<string, Stored>()
  readonly #late: (() => void)[] = []
  /** How often the script of each request has had its turn. */
  readonly #worked = new Map<string, number>()
  #waiting: LedgerDecision['waiting'] = new Map()
  #version = 1

  get now(): string {
    return new Date(this.nowMs).toISOString()
  }

  get keys(): string[] {
    return [...this.#live.keys()]
  }

  get budget(): MaintenanceBudget {
    return this.#live.get('budget') as MaintenanceBudget
  }

  get requests(): MaintenanceRequest[] {
    return this.#of<MaintenanceRequest>(this.#live, 'request/')
  }

  get nodes(): NodeObject[] {
    return this.#of<NodeObject>(this.#live, 'node/')
  }

  request(name: string): MaintenanceRequest | undefined {
    return this.#live.get(`request/${name}`) as MaintenanceRequest | undefined
  }

  node(name: string): NodeObject | undefined {
    return this.#live.get(`node/${name}`) as NodeObject | undefined
  }

  put(key: string, object: Stored): void {
    this.#live.set(key, {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(this.#version++) },
    } as Stored)
    this.writes++
  }

  drop(key: string): void {
    this.#live.delete(key)
  }

  /** Held back writes arrive now; those whose object has changed meanwhile fail, as they do at the API server. */
  deliver(): void {
    for (const write of this.#late.splice(0)) write()
  }

  /** Answers when time alone may change something. */
  ledgerTurn({ fate, lag }: Turn = whole): number | undefined {
    this.#sync(lag)
    const budget = this.#cached.get('budget') as MaintenanceBudget
    const nodes = this.#of<NodeObject>(this.#cached, 'node/')
    const requests = this.#of<MaintenanceRequest>(this.#cached, 'request/')
    const decision = decideLedger({ budget, requests, nodes, gates: this.#gates(), now: this.now })
    this.#waiting = decision.waiting
    for (const { node: name, nodeUID } of decision.toRestore) {
      const node = this.node(name)
      if (node?.metadata.uid !== nodeUID) continue
      const [cleared, restored] = [clearLifecycleConditions(node), restorePatch(node, cordonOwner, budget.spec.marks)]
      if (cleared) this.#patchConditions(node, cleared)
      const again = this.node(name)
      if (restored && again) this.#patchNode(again, restored)
    }
    for (const node of decision.forgotten) {
      const [cleared, restored] = [clearLifecycleConditions(node), restorePatch(node, cordonOwner, budget.spec.marks)]
      if (cleared) this.#patchConditions(node, cleared)
      const again = this.node(node.metadata.name ?? '')
      if (restored && again?.metadata.uid === node.metadata.uid) this.#patchNode(again, restored)
    }
    if (fate === 'cut') return decision.wakeAtMs
    const stored = budget.status ?? emptyLedger
    const next = this.#checkedLedger(stored, decision)
    if (budget.status && isDeepStrictEqual(next, stored)) return decision.wakeAtMs
    const write = () => {
      if (this.budget.metadata.resourceVersion !== budget.metadata.resourceVersion) return
      this.#checkLimits(next, decision)
      this.put('budget', { ...budget, status: next })
    }
    if (fate === 'late') this.#late.push(write)
    else write()
    return decision.wakeAtMs
  }

  requestTurn(name: string, { fate, lag }: Turn = whole): RequestStep | undefined {
    this.#sync(lag)
    const request = this.#cached.get(`request/${name}`) as MaintenanceRequest | undefined
    if (!request) return undefined
    const world = this.#worldOf(request)
    const step = decideRequest(world)
    const act = () => this.#carryOut(world, step, fate)
    if (fate === 'late') this.#late.push(act)
    else act()
    return step
  }

  /** What the agent of the request's node does next; it looks at the request itself, not at a cache. */
  agentTurn(name: string): void {
    const request = this.request(name)
    const { nodeName, nodeUID, work } = request?.spec ?? {}
    const machine = this.machines.get(nodeName ?? '')
    const node = this.node(nodeName ?? '')
    if (!request || !machine?.isAgentAlive || node?.metadata.uid !== nodeUID || work === 'External') return
    machine.lastBeatMs = this.nowMs
    const { phase, slot, host: old = {} } = request.status ?? {}
    const report = { request: 'Present', permission: 'Absent', ...old, bootID: machine.bootID } as const
    const token = slot?.token ?? 0
    const mayBegin = phase === 'Granted' && token >= machine.highest
    let host: NonNullable<MaintenanceRequestStatus['host']> = report
    if (
      old.rebootIntent &&
      (phase === 'Granted' || phase === 'Rebooting') &&
      old.rebootIntent.fromBootID === machine.bootID
    ) {
      this.#reboot(request, machine)
      host = { ...report, bootID: machine.bootID, ...(work === 'Reboot' ? { request: 'Absent' } : {}) }
    } else if (mayBegin && work === 'Reboot' && old.request !== 'Absent') {
      machine.highest = token
      host = { ...report, tokens: { highest: token }, rebootIntent: { token, fromBootID: machine.bootID } }
    } else if (mayBegin && work === 'Host') {
      machine.highest = token
      const turns = (this.#worked.get(name) ?? 0) + 1
      this.#worked.set(name, turns)
      // Work that goes on is no rest.
      this.writes++
      const isDone = turns > 3
      host = {
        ...report,
        permission: 'Present',
        tokens: { inFile: token, highest: token },
        ...(isDone ? { request: 'Absent' } : {}),
      }
    } else if (phase === 'Finishing') host = { ...report, permission: 'Absent', request: 'Absent' }
    else if (phase === 'Done') return
    if (machine.highest > 0) host = { ...host, tokens: { ...host.tokens, highest: machine.highest } }
    this.report(name, host)
  }

  /** The agent's report has no precondition: nobody else writes it. */
  report(name: string, host: NonNullable<MaintenanceRequestStatus['host']>): void {
    const request = this.request(name)
    if (!request || isDeepStrictEqual(request.status?.host, host)) return
    this.put(`request/${name}`, { ...request, status: { phase: 'Queued', ...request.status, host } })
  }

  #reboot(request: MaintenanceRequest, machine: Machine): void {
    machine.bootID = `${machine.bootID}+`
    const node = this.node(request.spec.nodeName)
    const cutOff = this.requests.find(
      ({ metadata, spec, status }) =>
        metadata.name !== request.metadata.name &&
        spec.nodeUID === request.spec.nodeUID &&
        spec.work === 'Host' &&
        status?.phase === 'Granted' &&
        status.host?.permission === 'Present',
    )
    if (cutOff) this.faults.push(`${request.metadata.name} rebooted the node under the work of ${cutOff.metadata.name}`)
    const conditions = node?.status?.conditions?.map((one) =>
      one.type === 'Ready' ? { ...one, lastTransitionTime: this.now } : one,
    )
    if (node)
      this.put(`node/${node.metadata.name}`, {
        ...node,
        status: { ...node.status, nodeInfo: nodeInfo(machine.bootID), ...(conditions ? { conditions } : {}) },
      })
  }

  #gates(): ClaimGates {
    return {
      ...(this.freeze ? { freeze: this.freeze } : {}),
      windowOf: (names) =>
        names.length === 0 || this.nowMs >= this.windowOpensMs
          ? { isOpen: true }
          : { isOpen: false, opensAtMs: this.windowOpensMs },
      blockerOf: ({ metadata }) =>
        metadata.name === this.blockedNode ? { message: 'an alert is firing', next: 'look at it' } : undefined,
    }
  }

  #worldOf(request: MaintenanceRequest): RequestWorld {
    const { nodeName, nodeUID } = request.spec
    const budget = this.#cached.get('budget') as MaintenanceBudget
    const node = this.#cached.get(`node/${nodeName}`) as NodeObject | undefined
    const waiting: Omit<Waiting, 'since'> | undefined = this.#waiting.get(request.metadata.name ?? '')
    return {
      request,
      requests: this.#of<MaintenanceRequest>(this.#cached, 'request/').filter(({ spec }) => spec.nodeUID === nodeUID),
      settings: settingsOf(request, budget.spec),
      ledgerUID: budget.metadata.uid ?? '',
      isExclusivityBroken:
        budget.status?.conditions?.some(({ type, status }) => type === 'ExclusivityBroken' && status === 'True') ??
        false,
      slot: slotOf(budget.status, request.metadata.name ?? ''),
      node: node?.metadata.uid === nodeUID ? node : undefined,
      podsOnNode: this.pods.get(nodeName) ?? [],
      daemonSets: this.daemonSets,
      budgets: [],
      silentMs: this.nowMs - (this.machines.get(nodeName)?.lastBeatMs ?? this.nowMs),
      waiting,
      now: this.now,
    }
  }

  #carryOut(world: RequestWorld, step: RequestStep, fate: Fate): void {
    const { request } = world
    const key = `request/${request.metadata.name}`
    const isSame = this.#live.get(key)?.metadata.resourceVersion === request.metadata.resourceVersion
    const others = (request.metadata.finalizers ?? []).filter((one) => one !== finalizer)
    switch (step.do) {
      case 'nothing':
        return
      case 'addFinalizer':
        if (isSame) this.put(key, { ...request, metadata: { ...request.metadata, finalizers: [...others, finalizer] } })
        return
      case 'removeFinalizer':
        if (isSame) this.drop(key)
        this.writes++
        return
      case 'removeVerb': {
        const { [verbAnnotations.verb]: _, ...annotations } = request.metadata.annotations ?? {}
        if (isSame) this.put(key, { ...request, metadata: { ...request.metadata, annotations } })
        return
      }
      case 'writeStatus':
        if (isSame && this.#isTrueLive(world, step.status)) this.#putStatus(request, step.status)
        return
      case 'patchNode':
        this.#patchNode(world.node, step.patch)
        return
      case 'patchNodeStatus':
        if (world.node) this.#patchConditions(world.node, step.patch)
        return
      case 'drain': {
        if (!isDeepStrictEqual(step.status.drain, request.status?.drain)) {
          if (!isSame) return
          this.#putStatus(request, step.status)
        }
        if (fate === 'cut') return
        if (!this.hasLostLedger && !this.budget.status?.slots.some(({ nodeUID }) => nodeUID === request.spec.nodeUID))
          this.faults.push(`${request.metadata.name} drains a node without a slot`)
        const { nodeName } = request.spec
        const stubborn = this.machines.get(nodeName)?.stubborn
        const gone = step.plan.askNow.filter(
          ({ pod, how }) =>
            !this.#startsAnew(pod, nodeName) && (how === 'delete' || !stubborn?.has(pod.metadata.name ?? '')),
        )
        const names = new Set(gone.map(({ pod }) => pod.metadata.name))
        this.pods.set(
          nodeName,
          (this.pods.get(nodeName) ?? []).filter(({ metadata }) => !names.has(metadata.name)),
        )
        return
      }
    }
  }

  /** As the controller of DaemonSets does, unless the node keeps it from that. */
  #startsAnew({ metadata: { ownerReferences } }: PodObject, nodeName: string): boolean {
    const node = this.node(nodeName)
    const isOfDaemonSet = ownerReferences?.some(({ kind }) => kind === 'DaemonSet') ?? false
    return isOfDaemonSet && node !== undefined && !hasStopTaint(node, cordonOwner)
  }

  #isTrueLive(world: RequestWorld, { phase, outcome }: MaintenanceRequestStatus): boolean {
    const { request, node } = world
    const { nodeName, nodeUID, service } = request.spec
    if (outcome === 'NodeGone') return this.node(nodeName)?.metadata.uid !== nodeUID
    const isGrant = phase === 'Granted' && request.status?.phase === 'Claimed'
    if (!isGrant) return true
    if (!this.hasLostLedger && !slotOf(this.budget.status, request.metadata.name ?? ''))
      this.faults.push(`${request.metadata.name} is granted without a slot`)
    const isForced = world.settings.drain.onDeadline === 'Continue'
    return !service.drain || isForced || !node || drainPlan(world, node).left.length === 0
  }

  #putStatus(request: MaintenanceRequest, status: MaintenanceRequestStatus): void {
    this.put(`request/${request.metadata.name}`, { ...request, status })
  }

  #patchNode(seen: NodeObject | undefined, { metadata, spec }: NodePatch): void {
    const live = this.node(seen?.metadata.name ?? '')
    if (!live || live.metadata.resourceVersion !== metadata.resourceVersion || live.metadata.uid !== metadata.uid)
      return
    if (spec?.unschedulable === null) this.#checkGivenBack(live)
    const merged = (of: 'annotations' | 'labels') => {
      const pairs = Object.entries({ ...live.metadata[of], ...metadata[of] })
      return Object.fromEntries(pairs.filter((pair): pair is [string, string] => pair[1] !== null))
    }
    const { unschedulable: _, ...rest } = live.spec ?? {}
    const { unschedulable = live.spec?.unschedulable, taints = live.spec?.taints } = spec ?? {}
    this.put(`node/${live.metadata.name}`, {
      ...live,
      metadata: { ...live.metadata, annotations: merged('annotations'), labels: merged('labels') },
      spec: { ...rest, ...(unschedulable ? { unschedulable } : {}), ...(taints ? { taints } : {}) },
    })
  }

  #patchConditions(seen: NodeObject, patch: Extract<RequestStep, { do: 'patchNodeStatus' }>['patch']): void {
    const live = this.node(seen.metadata.name ?? '')
    if (!live || live.metadata.resourceVersion !== patch.metadata.resourceVersion) return
    const changes = patch.status.conditions as readonly { readonly type: string; readonly $patch?: string }[]
    const kept = (live.status?.conditions ?? []).filter(({ type }) => !changes.some((change) => change.type === type))
    const added = changes.filter(({ $patch }) => $patch === undefined) as unknown as typeof kept
    this.put(`node/${live.metadata.name}`, { ...live, status: { ...live.status, conditions: [...kept, ...added] } })
  }

  /** Nobody may be at work on a node that takes pods again. */
  #checkGivenBack({ metadata: { uid, name } }: NodeObject): void {
    const worker = this.requests.find(
      ({ spec, status }) =>
        spec.nodeUID === uid && spec.service.cordon && (status?.phase === 'Granted' || status?.phase === 'Rebooting'),
    )
    if (worker) this.faults.push(`${name} is given back while ${worker.metadata.name} is at work`)
  }

  /** The live looks before the ledger is written, as the real one has them. */
  #checkedLedger(stored: MaintenanceBudgetStatus, decision: LedgerDecision): MaintenanceBudgetStatus {
    const isThere = (name: string, nodeUID: string) => this.node(name)?.metadata.uid === nodeUID
    const isCordoned = (name: string) => {
      const node = this.node(name)
      return node !== undefined && isCordonedBy(node, cordonOwner)
    }
    const isBack = (name: string) => {
      const node = this.node(name)
      return node === undefined || isRestored(node)
    }
    const claims = decision.claims.filter(({ request: name, node, nodeUID }) => {
      const request = this.request(name)
      return isThere(node, nodeUID) && request !== undefined && wantsOut(request)
    })
    const releases = decision.releases.filter(({ request: name, node, nodeUID, isLast }) => {
      if (!isThere(node, nodeUID)) return true
      const request = this.request(name)
      const phase = request?.status?.phase
      if (!request || (phase !== 'Finishing' && phase !== 'Done')) return false
      return !isLast || (isBack(node) && (phase === 'Done' || isTakenBack(request)))
    })
    const putBack = decision.putBack.filter(({ node, nodeUID, requests }) => {
      const holds = requests.some((name) => {
        const request = this.request(name)
        return request !== undefined && isOpen(request) && request.status?.slot !== undefined
      })
      return isThere(node, nodeUID) && (holds || (requests.length === 0 && isCordoned(node)))
    })
    const ended = decision.ended.filter(({ node, nodeUID }) => !isThere(node, nodeUID) || isBack(node))
    const checked = { claims, releases, putBack, ended }
    const parts = ['claims', 'releases', 'putBack', 'ended'] as const
    if (parts.every((part) => checked[part].length === decision[part].length)) return decision.next
    const hasRoom = releases.length === decision.releases.length && ended.length === decision.ended.length
    let ledger = ended.reduce((status, { nodeUID }) => withoutSlot(status, nodeUID), stored)
    ledger = releases.reduce((status, { request, soakUntil }) => withRelease(status, request, soakUntil), ledger)
    ledger = putBack.reduce(withSlot, ledger)
    return (hasRoom ? claims : []).reduce((status, claim) => withClaim(status, claim, this.now), ledger)
  }

  /** A new slot fits into the budget that is stored in the same object; tokens and nodes are there once. */
  #checkLimits(next: MaintenanceBudgetStatus, { putBack }: LedgerDecision): void {
    const before = new Map((this.budget.status?.slots ?? []).map((slot) => [slot.nodeUID, slot]))
    const isPutBack = new Set(putBack.map(({ nodeUID }) => nodeUID))
    // One that is out already costs no place.
    const wasIn = new Set(
      this.#of<NodeObject>(this.#cached, 'node/').flatMap((node) =>
        unavailability(this.budget.spec, node) ? [] : [node.metadata.uid],
      ),
    )
    const added = next.slots.filter(
      ({ nodeUID }) => !before.has(nodeUID) && !isPutBack.has(nodeUID) && wasIn.has(nodeUID),
    )
    const { max } = this.budget.spec
    if (added.length > 0 && typeof max === 'number' && next.slots.length > max)
      this.faults.push(`${next.slots.length} slots by a claim, and ${max} are allowed`)
    for (const field of ['token', 'nodeUID'] as const)
      if (new Set(next.slots.map((slot) => slot[field])).size < next.slots.length)
        this.faults.push(`two slots have the same ${field}`)
    for (const { token } of next.slots) if (token >= next.nextToken) this.faults.push(`token ${token} is given again`)
    const listed = new Set(next.slots.flatMap(({ requests }) => requests))
    for (const name of [...before.values()].flatMap(({ requests }) => requests)) {
      const { spec, status } = this.request(name) ?? {}
      const isAtWork = status?.host?.permission === 'Present' && !status.released && status.phase !== 'Done'
      if (isAtWork && !listed.has(name) && this.node(spec?.nodeName ?? '')?.metadata.uid === spec?.nodeUID)
        this.faults.push(`the slot of ${name} is freed while its permission lies on the host`)
    }
  }

  #sync(lag: string | undefined): void {
    for (const key of new Set([...this.#live.keys(), ...this.#cached.keys()])) {
      if (key === lag && this.#cached.has(key)) continue
      const live = this.#live.get(key)
      if (live) this.#cached.set(key, live)
      else this.#cached.delete(key)
    }
  }

  #of<T extends Stored>(objects: ReadonlyMap<string, Stored>, prefix: string): T[] {
    return [...objects].flatMap(([key, object]) => (key.startsWith(prefix) ? [object as T] : []))
  }
}
