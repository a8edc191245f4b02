import { isDeepStrictEqual } from 'node:util'
import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceBudgetStatus,
  type MaintenanceRequest,
  type Marks,
  maintenanceBudgets,
  maintenanceRequests,
  releaseAnnotations,
  type Slot,
} from '../api/index.ts'
import { type CordonClaim, clearLifecycleConditions, cordonClaim, isCordonedBy, restorePatch } from '../drain/index.ts'
import { isAlreadyExists, isConflict, isNotFound, type KubeClient, type NodeObject, resources } from '../kube/index.ts'
import type { Clock } from '../time/index.ts'
import type { Candidate } from './blockers/index.ts'
import type { Census } from './census.ts'
import { decideLedger, isKept, isOverLimit, type LedgerDecision, mayClaim } from './decide-ledger.ts'
import { isBackInService, isOver, isRestored } from './decide-releases.ts'
import { holdLocks, tidyLocks } from './foreign-lock-turn.ts'
import { gatesNow, staleNow } from './gates.ts'
import { isTakenBack } from './health.ts'
import { emptyLedger, isSoaking } from './ledger.ts'
import { liveNodeOf, liveRequestOf } from './live-reads.ts'
import { controllerManager, cordonOwner, ledgerFinalizer } from './names.ts'
import { type Checked, nextLedger } from './next-ledger.ts'
import { staticPodAilment } from './node-facts.ts'
import type { ClaimGates } from './obstacles.ts'
import { isoNow, type QueuePorts } from './ports.ts'
import { podsByNode } from './views.ts'

const lookAgainMs = 2_000

export interface LedgerTurn {
  /** Requests whose turn came or ended. */
  readonly touched: readonly string[]
  readonly waiting: LedgerDecision['waiting']
  readonly wakeAtMs: number | undefined
  /** What the decision itself took; nobody else could do anything meanwhile. */
  readonly decidedInMs: number
}

/** Looks at the whole line once and writes the ledger at most once, by compare-and-swap. */
export async function takeLedgerTurn(
  ports: QueuePorts,
  census: Census,
  /** DaemonSets that were there and are not any more. */
  gone: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<LedgerTurn> {
  const { client, views, clock } = ports
  const budget = views.budgets.get({ name: budgetName }) ?? (await makeBudget(client, signal))
  if (await keepFinalizer(client, budget, signal))
    return { touched: [], waiting: new Map(), wakeAtMs: undefined, decidedInMs: 0 }
  const now = isoNow(clock)
  const { decision, decidedInMs } = await decideAsking(ports, census, budget, gone, now, signal)
  const isOutrun = await restoreNodes(ports, budget, decision, signal)
  const { waiting, wakeAtMs } = isOutrun ? soon(decision, clock) : decision
  const stored = budget.status ?? emptyLedger
  const checked = await checkLive(client, stored, decision, signal)
  const isTooMany = (slots: readonly Slot[]) => isOverLimit(ledgerOf(ports, budget), slots, census)
  const next = nextLedger(stored, checked, decision, isTooMany, now)
  if (budget.status && isDeepStrictEqual(next, stored)) {
    await removeOrder(client, budget, decision, signal)
    await tidyLocks(ports, budget, stored.slots, gone, signal)
    return { touched: [], waiting, wakeAtMs, decidedInMs }
  }
  // The version that the decision was made from: whoever wrote in between makes this fail, and it is decided anew.
  await client.replace<MaintenanceBudget>(
    maintenanceBudgets,
    { ...budget, status: next },
    { subresource: 'status', fieldManager: controllerManager, signal },
  )
  tell(ports, checked)
  await tidyLocks(ports, budget, next.slots, gone, signal)
  const requests = [...checked.claims, ...checked.releases].map(({ request }) => request)
  const touched = [...requests, ...checked.putBack.flatMap((slot) => slot.requests)]
  return { touched, waiting, wakeAtMs, decidedInMs }
}

function ledgerOf({ views }: QueuePorts, budget: MaintenanceBudget) {
  return {
    budget,
    controlPlaneAilment: ({ metadata: { name = '' } }: NodeObject) =>
      staticPodAilment(views.pods.byIndex(podsByNode, name)),
  }
}

/** Decides, asks outside about those whose turn it would be, and decides again with the answers. */
async function decideAsking(
  ports: QueuePorts,
  census: Census,
  budget: MaintenanceBudget,
  gone: ReadonlySet<string>,
  now: string,
  signal: AbortSignal,
): Promise<{ readonly decision: LedgerDecision; readonly decidedInMs: number }> {
  const { views, blockers, clock } = ports
  let decidedInMs = 0
  const decide = (changed: (gates: ClaimGates) => ClaimGates = (gates) => gates) => {
    const startedMs = clock.monotonic()
    const world = {
      ...ledgerOf(ports, budget),
      requests: [...views.requests.values()],
      nodes: [...views.nodes.values()],
      gates: changed(gatesNow(ports, budget, gone)),
      now,
    }
    const decided = decideLedger(world, census)
    decidedInMs += clock.monotonic() - startedMs
    return decided
  }
  let decision = decide()
  // Each round asks about others than the one before, because those who are blocked let others pass. What takes longer
  // than a few rounds is heard of later.
  for (let round = 0; round < 3 && decision.unasked.length > 0; round++) {
    await blockers.ask(candidatesOf(ports, decision.unasked), budget.spec.blockers ?? [], signal)
    decision = decide()
  }
  if (decision.claims.length > 0) {
    const { wasAsked, stale } = await staleNow(ports, signal)
    if (stale !== undefined)
      decision = soon(
        decide((gates) => ({ ...gates, staleView: stale })),
        clock,
      )
    // While the question was on its way, the view may have come to show something else.
    else if (wasAsked) decision = decide()
  }
  const refusal = await holdLocks(ports, budget, decision.claims, gone, signal)
  // Decided anew instead of left out: whoever waits hears why, and no token is spent.
  if (refusal !== undefined) decision = decide((gates) => withRefusal(gates, refusal, budget))
  return { decision, decidedInMs }
}

/** A view that catches up need not wake anybody by it. */
function soon(decision: LedgerDecision, clock: Pick<Clock, 'now'>): LedgerDecision {
  return { ...decision, wakeAtMs: Math.min(decision.wakeAtMs ?? Number.POSITIVE_INFINITY, clock.now() + lookAgainMs) }
}

/** Nobody goes out for whom a lock would be needed; whoever joins a node that is out needs none. */
function withRefusal(gates: ClaimGates, refusal: string, { status }: MaintenanceBudget): ClaimGates {
  const out = new Set(status?.slots.flatMap((slot) => (isSoaking(slot) ? [] : [slot.nodeUID])))
  const isOut = ({ spec }: MaintenanceRequest) => out.has(spec.nodeUID)
  return { ...gates, foreignLock: (request) => gates.foreignLock?.(request) ?? (isOut(request) ? undefined : refusal) }
}

function candidatesOf({ views }: QueuePorts, requests: readonly MaintenanceRequest[]): Candidate[] {
  return requests.flatMap((request) => {
    const node = views.nodes.get({ name: request.spec.nodeName })
    return node ? [{ node, request }] : []
  })
}

async function makeBudget(client: KubeClient, signal: AbortSignal): Promise<MaintenanceBudget> {
  const ref = { name: budgetName }
  try {
    return await client.get<MaintenanceBudget>(maintenanceBudgets, ref, { signal })
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  try {
    const made = { metadata: { ...ref, finalizers: [ledgerFinalizer] }, spec: {} } as unknown as MaintenanceBudget
    return await client.create(maintenanceBudgets, made, { fieldManager: controllerManager, signal })
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
    return client.get<MaintenanceBudget>(maintenanceBudgets, ref, { signal })
  }
}

/** The ledger goes only while no slot is held. Answers whether it was written. */
async function keepFinalizer(client: KubeClient, budget: MaintenanceBudget, signal: AbortSignal): Promise<boolean> {
  const { resourceVersion, uid, finalizers = [], deletionTimestamp } = budget.metadata
  const has = finalizers.includes(ledgerFinalizer)
  const wants = deletionTimestamp === undefined || (budget.status?.slots.length ?? 0) > 0
  // The API server takes no new finalizer once an object is being deleted.
  if (has === wants || (wants && deletionTimestamp !== undefined)) return false
  const others = finalizers.filter((one) => one !== ledgerFinalizer)
  const body = { metadata: { resourceVersion, uid, finalizers: wants ? [...others, ledgerFinalizer] : others } }
  await patchBudget(client, body, signal)
  return true
}

async function patchBudget(client: KubeClient, body: object, signal: AbortSignal): Promise<void> {
  const options = { fieldManager: controllerManager, signal }
  await client.patch(maintenanceBudgets, { name: budgetName }, { type: 'merge', body }, options)
}

/**
 * What nobody else takes care of: nodes whose slot a person frees, and nodes with marks of a turn that is over. One that
 * cannot be written to, because a webhook refuses it say, is tried again at a later turn: a slot goes only once its node is
 * seen to be bare, and all others must not wait for that. Answers whether somebody else wrote to one of them meanwhile.
 */
async function restoreNodes(
  { client, log }: QueuePorts,
  { spec: { marks } }: MaintenanceBudget,
  { toRestore, forgotten }: LedgerDecision,
  signal: AbortSignal,
): Promise<boolean> {
  let isOutrun = false
  const attempt = async (node: string | undefined, work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      signal.throwIfAborted()
      if (isConflict(error)) isOutrun = true
      else log.warn({ node, why: messageOf(error) }, 'the node cannot be given back; it is tried again')
    }
  }
  for (const node of forgotten)
    await attempt(node.metadata.name, async () => {
      await restore(client, node, marks, signal)
      log.warn({ node: node.metadata.name }, 'the node bore marks of a turn that is over')
    })
  for (const slot of toRestore)
    await attempt(slot.node, async () => {
      const node = await liveNodeOf(client, slot.node, signal)
      if (node?.metadata.uid !== slot.nodeUID) return
      await restore(client, node, marks, signal)
      log.info({ node: slot.node, token: slot.token }, 'a person frees the slot; the node is given back')
    })
  return isOutrun
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Both hold only for the version of the node that was looked at; what the first changes is looked at again. */
async function restore(
  client: KubeClient,
  node: NodeObject,
  marks: Marks | undefined,
  signal: AbortSignal,
): Promise<void> {
  const ref = { name: node.metadata.name ?? '' }
  const options = { fieldManager: controllerManager, signal }
  const silenced = clearLifecycleConditions(node)
  const seen = silenced
    ? await client.patch<NodeObject>(
        resources.nodes,
        ref,
        { type: 'strategic', body: silenced },
        { ...options, subresource: 'status' },
      )
    : node
  const body = restorePatch(seen, cordonOwner, marks)
  if (body) await client.patch(resources.nodes, ref, { type: 'merge', body }, options)
}

/** The order is carried out, or was about a slot that does not exist. */
async function removeOrder(
  client: KubeClient,
  budget: MaintenanceBudget,
  { next, toRestore }: LedgerDecision,
  signal: AbortSignal,
): Promise<void> {
  const { annotations, resourceVersion, uid } = budget.metadata
  const ordered = annotations?.[releaseAnnotations.slot]
  if (ordered === undefined || toRestore.length > 0) return
  // Requests that still exist are ended by their own verb.
  if (next.slots.some(({ nodeUID, requests }) => nodeUID === ordered && requests.length === 0)) return
  const none = Object.fromEntries(Object.values(releaseAnnotations).map((key) => [key, null]))
  await patchBudget(client, { metadata: { resourceVersion, uid, annotations: none } }, signal)
}

/** The caches may be behind. What is about to be written is looked at once more, at the source. */
async function checkLive(
  client: KubeClient,
  stored: MaintenanceBudgetStatus,
  decision: LedgerDecision,
  signal: AbortSignal,
): Promise<Checked> {
  const claiming = keep(decision.claims, async ({ request, nodeUID, node }) => {
    const [liveNode, liveRequest] = await Promise.all([
      liveNodeOf(client, node, signal),
      liveRequestOf(client, request, signal),
    ])
    if (liveNode?.metadata.uid !== nodeUID || liveRequest?.spec.nodeUID !== nodeUID) return false
    return mayClaim(liveRequest) && isKept(liveRequest)
  })
  const releasing = keep(decision.releases, async ({ request, nodeUID, node, isLast }) => {
    const [liveNode, liveRequest] = await Promise.all([
      liveNodeOf(client, node, signal),
      liveRequestOf(client, request, signal),
    ])
    if (liveNode?.metadata.uid !== nodeUID) return true
    if (liveRequest?.status?.phase !== 'Finishing' && liveRequest?.status?.phase !== 'Done') return false
    if (!isLast) return true
    return isBackInService(liveNode, liveRequest) && (liveRequest.status.phase === 'Done' || isTakenBack(liveRequest))
  })
  const puttingBack = keep(decision.putBack, async ({ node, nodeUID, requests }) => {
    const liveNode = await liveNodeOf(client, node, signal)
    if (liveNode?.metadata.uid !== nodeUID) return false
    if (requests.length === 0)
      return (
        isCordonedBy(liveNode, cordonOwner) && !(await isKnownLive(client, cordonClaim(liveNode, cordonOwner), signal))
      )
    const listed = stored.slots.find((slot) => slot.nodeUID === nodeUID)?.requests ?? []
    const added = requests.filter((name) => !listed.includes(name))
    const live = await Promise.all(added.map((name) => liveRequestOf(client, name, signal)))
    // On its way home its slot is freed before it is Done: then what is known here is old.
    return live.every((request) => request?.status?.slot && !isOver(request))
  })
  const ending = keep(decision.ended, async ({ node, nodeUID }) => {
    const liveNode = await liveNodeOf(client, node, signal)
    return liveNode?.metadata.uid !== nodeUID || isRestored(liveNode)
  })
  // All at once: most turns free one slot and give it to the next, and whoever waits for it waits for these answers.
  const [claims, releases, putBack, ended] = await Promise.all([claiming, releasing, puttingBack, ending])
  // New claims count on the room that the others make. If one of those was not true, neither is the room.
  const hasRoom = releases.length === decision.releases.length && ended.length === decision.ended.length
  return { claims: hasRoom ? claims : [], releases, putBack, ended }
}

/** Whoever the cordon stands for still exists: it says itself whether it holds a slot, or is done with it. */
async function isKnownLive(client: KubeClient, claim: CordonClaim | undefined, signal: AbortSignal): Promise<boolean> {
  for await (const { items } of client.list<MaintenanceRequest>(maintenanceRequests, { signal }))
    if (items.some(({ metadata }) => metadata.uid === claim?.request)) return true
  return false
}

async function keep<T>(items: readonly T[], isRight: (item: T) => Promise<boolean>): Promise<T[]> {
  const answers = await Promise.all(items.map(isRight))
  return items.filter((_, index) => answers[index])
}

function tell({ log }: QueuePorts, { claims, releases, putBack, ended }: Checked): void {
  for (const { request, node } of claims) log.info({ request, node }, 'slot claimed')
  for (const { request, node } of releases) log.info({ request, node }, 'slot freed')
  for (const { node, token } of putBack) log.warn({ node, token }, 'a slot that the ledger had lost is put back')
  for (const { node, token } of ended) log.info({ node, token }, 'slot ended')
}
