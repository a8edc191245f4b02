import { isDeepStrictEqual } from 'node:util'
import {
  budgetName,
  type MaintenanceBudget,
  type MaintenanceBudgetStatus,
  maintenanceBudgets,
  type Waiting,
} from '../api/index.ts'
import { isCordonedBy } from '../drain/index.ts'
import { isAlreadyExists, isNotFound, type KubeClient } from '../kube/index.ts'
import { decideLedger, type LedgerDecision } from './decide-ledger.ts'
import { emptyLedger, withClaim, withRelease } from './ledger.ts'
import { liveNodeOf, liveRequestOf } from './live-reads.ts'
import { controllerManager, cordonOwner } from './names.ts'
import { isoNow, type QueuePorts } from './ports.ts'
import { staleView } from './views.ts'

export interface LedgerTurn {
  /** Requests whose turn came or ended. */
  readonly touched: readonly string[]
  readonly waiting: ReadonlyMap<string, Omit<Waiting, 'since'>>
}

/** Looks at the whole line once and writes the ledger at most once, by compare-and-swap. */
export async function takeLedgerTurn(ports: QueuePorts, signal: AbortSignal): Promise<LedgerTurn> {
  const { client, views, clock } = ports
  const budget = views.budgets.get({ name: budgetName }) ?? (await makeBudget(client, signal))
  const now = isoNow(clock)
  const stale = staleView(views)
  const decision = decideLedger({
    budget,
    requests: [...views.requests.values()],
    nodes: [...views.nodes.values()],
    ...(stale ? { staleView: stale } : {}),
    now,
  })
  const checked = await checkLive(client, decision, signal)
  const stored = budget.status ?? emptyLedger
  const next = nextLedger(stored, checked, decision, now)
  if (budget.status && isDeepStrictEqual(next, stored)) return { touched: [], waiting: decision.waiting }
  // The version that the decision was made from: whoever wrote in between makes this fail, and it is decided anew.
  await client.replace<MaintenanceBudget>(
    maintenanceBudgets,
    { ...budget, status: next },
    { subresource: 'status', fieldManager: controllerManager, signal },
  )
  for (const claim of checked.claims) ports.log.info({ request: claim.request, node: claim.node }, 'slot claimed')
  for (const release of checked.releases) ports.log.info({ request: release.request, node: release.node }, 'slot freed')
  const touched = [...checked.claims, ...checked.releases].map(({ request }) => request)
  return { touched, waiting: decision.waiting }
}

async function makeBudget(client: KubeClient, signal: AbortSignal): Promise<MaintenanceBudget> {
  const ref = { name: budgetName }
  try {
    return await client.get<MaintenanceBudget>(maintenanceBudgets, ref, { signal })
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
  try {
    const made = { metadata: ref, spec: {} } as MaintenanceBudget
    return await client.create(maintenanceBudgets, made, { fieldManager: controllerManager, signal })
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
    return client.get<MaintenanceBudget>(maintenanceBudgets, ref, { signal })
  }
}

type Checked = Pick<LedgerDecision, 'claims' | 'releases'>

/** The caches may be behind. What is about to be written is looked at once more, at the source. */
async function checkLive(client: KubeClient, decision: LedgerDecision, signal: AbortSignal): Promise<Checked> {
  const claims = await keep(decision.claims, async ({ request, nodeUID, node, token }) => {
    const [liveNode, liveRequest] = await Promise.all([
      liveNodeOf(client, node, signal),
      liveRequestOf(client, request, signal),
    ])
    if (liveNode?.metadata.uid !== nodeUID || liveRequest?.spec.nodeUID !== nodeUID) return false
    // A slot that is put back belongs to a request that may long be on its way home.
    return (
      token !== undefined || (liveRequest.spec.want === 'Out' && liveRequest.metadata.deletionTimestamp === undefined)
    )
  })
  const releases = await keep(decision.releases, async ({ request, nodeUID, node, isLast }) => {
    const [liveNode, liveRequest] = await Promise.all([
      liveNodeOf(client, node, signal),
      liveRequestOf(client, request, signal),
    ])
    if (liveNode?.metadata.uid !== nodeUID) return true
    if (liveRequest?.status?.phase !== 'Finishing') return false
    return !isLast || !isCordonedBy(liveNode, cordonOwner)
  })
  // New claims count on the room that the releases make. If one of those was not true, neither is the room.
  const hasRoom = releases.length === decision.releases.length
  return { claims: hasRoom ? claims : claims.filter(({ token }) => token !== undefined), releases }
}

async function keep<T>(items: readonly T[], isRight: (item: T) => Promise<boolean>): Promise<T[]> {
  const answers = await Promise.all(items.map(isRight))
  return items.filter((_, index) => answers[index])
}

function nextLedger(
  stored: MaintenanceBudgetStatus,
  checked: Checked,
  { limits }: LedgerDecision,
  now: string,
): MaintenanceBudgetStatus {
  let ledger = checked.releases.reduce((status, { request }) => withRelease(status, request), stored)
  ledger = checked.claims.reduce((status, claim) => withClaim(status, claim, now), ledger)
  return { ...ledger, limits }
}
