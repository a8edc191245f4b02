import type { MaintenanceRequest, Waiting } from '../api/index.ts'
import { WorkQueue } from '../kube/index.ts'
import { EvictionPace } from './eviction-pace.ts'
import { takeLedgerTurn } from './ledger-turn.ts'
import { isOpen } from './order.ts'
import type { QueuePorts } from './ports.ts'
import { takeRequestTurn } from './request-turn.ts'
import { requestsOfNode } from './views.ts'

const ledgerKey = 'ledger'
const requestPrefix = 'request/'
/** Even if every event were lost, the line is looked at this often. */
const lookAnywayMs = 30_000

/** Runs the queue until the signal aborts: every change wakes what it may concern, and each turn looks at all of it anew. */
export async function runQueue(ports: QueuePorts, signal: AbortSignal): Promise<void> {
  const { views, clock, random, log } = ports
  const queue = new WorkQueue({
    clock,
    random,
    concurrency: 8,
    backoff: { firstMs: 50, longestMs: 10_000 },
    runDeadlineMs: 120_000,
    onFailure: ({ key, error, attempt }) => {
      const why = error instanceof Error ? error.message : String(error)
      // A first conflict is how compare-and-swap works, not news.
      if (attempt > 2) log.warn({ key, attempt, why }, 'a turn failed and is tried again')
    },
  })
  let waiting: ReadonlyMap<string, Omit<Waiting, 'since'>> = new Map()
  const pace = new EvictionPace(random)
  const wakeRequest = (request: MaintenanceRequest) => queue.add(`${requestPrefix}${request.metadata.name}`)
  const wakeNode = (nodeName: string | undefined) => {
    const node = nodeName ? views.nodes.get({ name: nodeName }) : undefined
    if (node)
      for (const request of requestsOfNode(views, node.metadata.uid ?? '')) if (isOpen(request)) wakeRequest(request)
  }
  const wakeAll = () => {
    for (const request of views.requests.values()) if (isOpen(request)) wakeRequest(request)
  }
  const stops = [
    views.requests.subscribe(({ object }) => {
      queue.add(ledgerKey)
      wakeRequest(object)
    }),
    views.budgets.subscribe(() => {
      queue.add(ledgerKey)
      wakeAll()
    }),
    views.nodes.subscribe(({ object }) => {
      for (const request of requestsOfNode(views, object.metadata.uid ?? '')) wakeRequest(request)
      if (views.requests.size > 0) queue.add(ledgerKey)
    }),
    views.pods.subscribe(({ object }) => wakeNode(object.spec?.nodeName)),
    views.disruptionBudgets.subscribe(() => {
      for (const request of views.requests.values()) if (request.status?.phase === 'Claimed') wakeRequest(request)
    }),
  ]
  queue.start(async (key, context) => {
    if (key !== ledgerKey) {
      const name = key.slice(requestPrefix.length)
      const again = await takeRequestTurn({ ports, pace, waiting: waiting.get(name) }, name, context.signal)
      return again && { requeueAfterMs: again.lookAgainMs }
    }
    const turn = await takeLedgerTurn(ports, context.signal)
    const changed = [...turn.waiting.keys()].filter(
      (name) =>
        waiting.get(name)?.message !== turn.waiting.get(name)?.message ||
        waiting.get(name)?.position !== turn.waiting.get(name)?.position,
    )
    waiting = turn.waiting
    for (const name of [...turn.touched, ...changed]) queue.add(`${requestPrefix}${name}`)
    pace.forgetAllBut(new Set([...views.pods.values()].map((pod) => pod.metadata.uid ?? '')))
    return { requeueAfterMs: lookAnywayMs }
  })
  queue.add(ledgerKey)
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
  for (const stop of stops) stop()
  await queue.drain(AbortSignal.timeout(5_000))
}
