import { isDeepStrictEqual } from 'node:util'
import { budgetName, type MaintenanceRequest, maintenanceRequests } from '../api/index.ts'
import { EvictionPace } from '../drain/index.ts'
import { isNotFound, WorkQueue } from '../kube/index.ts'
import { Census } from './census.ts'
import { takeLedgerTurn } from './ledger-turn.ts'
import { LineNews } from './line-news.ts'
import { namedPlaces } from './lock-places.ts'
import { bearsOurs, takeNodeTurn } from './node-turn.ts'
import { isOpen } from './order.ts'
import type { QueuePorts } from './ports.ts'
import { ReportPace } from './report-pace.ts'
import { takeRequestTurn } from './request-turn.ts'
import { expiredRequests, isByAgent } from './retention.ts'
import { requestsOfNode } from './views.ts'
import { mattersToLedger, mattersToLine } from './what-matters.ts'

const ledgerKey = 'ledger'
const tidyKey = 'tidy'
const requestPrefix = 'request/'
const nodePrefix = 'node/'
/** Even if every event were lost, the line is looked at this often. */
const lookAnywayMs = 30_000
const tidyEveryMs = 600_000
/** An agent has ten names for its requests: one that is over must not keep its name for long. */
const tidySoonMs = 1_000
/** A look at thousands of nodes leaves this many times its own length to those whose turn has come. */
const restFactor = 2
/** What people are told of their place goes out one after the other, and after everything else: it moves nobody. */
const telling = { everyMs: 20, priority: -1 }

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
  const census = new Census()
  const news = new LineNews(clock)
  const pace = new EvictionPace(random)
  const reports = new ReportPace()
  const wakeRequest = (request: MaintenanceRequest) => queue.add(`${requestPrefix}${request.metadata.name}`)
  const wakeNode = (nodeName: string | undefined) => {
    const node = nodeName ? views.nodes.get({ name: nodeName }) : undefined
    if (node)
      for (const request of requestsOfNode(views, node.metadata.uid ?? '')) if (isOpen(request)) wakeRequest(request)
  }
  const wakeNodeItself = (nodeName: string | undefined) => queue.add(`${nodePrefix}${nodeName}`)
  /** DaemonSets with locks that we hold, which were there and are not any more. */
  const gone = new Set<string>()
  const noteGone = (namespace: string, name: string, isGone: boolean) => {
    const entries = views.budgets.get({ name: budgetName })?.spec.foreignLocks
    const isHeld = namedPlaces(entries).some((place) => place.namespace === namespace && place.name === name)
    if (isGone && isHeld) gone.add(`${namespace}/${name}`)
    else gone.delete(`${namespace}/${name}`)
  }
  let restsUntilMs = 0
  let decidedInMs = 0
  const wakeLedger = () => queue.add(ledgerKey)
  const holdsSlots = () => (views.budgets.get({ name: budgetName })?.status?.slots.length ?? 0) > 0
  const stops = [
    views.requests.subscribe(({ type, object, old }) => {
      wakeRequest(object)
      // Whoever waits may be marked for it.
      wakeNodeItself(object.spec.nodeName)
      if (type === 'updated' && !mattersToLine(object, old)) return
      wakeLedger()
      const hasEnded = !isOpen(object) && (old === undefined || isOpen(old))
      if (hasEnded && isByAgent(object)) queue.addAfter(tidyKey, tidySoonMs)
      // Those that share its slot wait for what it does.
      for (const request of requestsOfNode(views, object.spec.nodeUID)) if (isOpen(request)) wakeRequest(request)
    }),
    views.budgets.subscribe(({ object, old }) => {
      wakeLedger()
      if (old === undefined || !isDeepStrictEqual(object.spec.marks, old.spec.marks)) {
        for (const request of views.requests.values()) wakeNodeItself(request.spec.nodeName)
        for (const node of views.nodes.values()) if (bearsOurs(node)) wakeNodeItself(node.metadata.name)
      }
      // The others hear through the line; a thousand of them need not look at every slot that comes and goes.
      const isAbout = new Set(
        [object, old].flatMap((budget) => budget?.status?.slots.flatMap((slot) => slot.requests) ?? []),
      )
      for (const request of views.requests.values()) {
        // Without a ledger nothing is done for anybody, so a new one concerns them all.
        const isConcerned = old === undefined || request.status?.slot !== undefined
        if (isAbout.has(request.metadata.name ?? '') || (isOpen(request) && isConcerned)) wakeRequest(request)
      }
    }),
    views.nodes.subscribe(({ type, object, old }) => {
      const requests = requestsOfNode(views, object.metadata.uid ?? '')
      for (const request of requests) wakeRequest(request)
      if (requests.length > 0 || bearsOurs(object)) wakeNodeItself(object.metadata.name)
      if (type === 'updated' && !mattersToLedger(object, old)) return
      if (views.requests.size > 0 || holdsSlots()) wakeLedger()
    }),
    views.pods.subscribe(({ object }) => {
      wakeNode(object.spec?.nodeName)
      // Many pods change all the time; who waits for one of them can wait a second longer.
      if (news.waitsFor('Blocker')) queue.addAfter(ledgerKey, 1_000)
    }),
    views.disruptionBudgets.subscribe(() => {
      for (const request of views.requests.values()) if (request.status?.phase === 'Claimed') wakeRequest(request)
    }),
    views.daemonSets.subscribe(({ type, object: { metadata } }) => {
      noteGone(metadata.namespace ?? '', metadata.name ?? '', type === 'deleted')
      wakeLedger()
    }),
    views.heartbeats.subscribe(({ object }) => wakeNode(object.metadata.name)),
    ports.windows.subscribe(wakeLedger),
    ports.blockers.subscribe(wakeLedger),
  ]
  queue.start(async (key, context) => {
    if (key === tidyKey) {
      await tidy(ports, context.signal)
      pace.forgetOld(clock.monotonic())
      reports.forgetOld(clock.monotonic())
      return { requeueAfterMs: tidyEveryMs }
    }
    if (key.startsWith(nodePrefix)) {
      await takeNodeTurn(ports, key.slice(nodePrefix.length), context.signal)
      return undefined
    }
    if (key !== ledgerKey) {
      const name = key.slice(requestPrefix.length)
      const again = await takeRequestTurn({ ports, pace, reports, waiting: news.of(name) }, name, context.signal)
      return again && { requeueAfterMs: again.lookAgainMs }
    }
    const restMs = restsUntilMs - clock.monotonic()
    if (restMs > 0) return { requeueAfterMs: restMs }
    const turn = await takeLedgerTurn(ports, census, gone, context.signal)
    // The shorter of two: a machine that stood still during one of them made it no more work.
    restsUntilMs = clock.monotonic() + restFactor * Math.min(turn.decidedInMs, decidedInMs)
    decidedInMs = turn.decidedInMs
    for (const name of turn.touched) queue.add(`${requestPrefix}${name}`)
    for (const [place, name] of news.take(turn.waiting).entries())
      queue.addAfter(`${requestPrefix}${name}`, place * telling.everyMs, telling)
    const dueInMs = (turn.wakeAtMs ?? Number.POSITIVE_INFINITY) - clock.now()
    const wakeInMs = Math.min(dueInMs, news.nextMs - clock.monotonic())
    return {
      requeueAfterMs: Math.max(0, Math.min(lookAnywayMs, wakeInMs, ports.blockers.nextChangeMs() ?? lookAnywayMs)),
    }
  })
  wakeLedger()
  queue.add(tidyKey)
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
  for (const stop of stops) stop()
  await queue.drain(AbortSignal.timeout(5_000))
}

/** Finished requests that nobody needs any more go. */
async function tidy({ client, views, clock, log }: QueuePorts, signal: AbortSignal): Promise<void> {
  for (const { metadata } of expiredRequests(views.requests.values(), clock.now())) {
    const { name = '', uid = '' } = metadata
    try {
      await client.delete(maintenanceRequests, { name }, { uid, signal })
      log.info({ request: name }, 'a finished request is old enough to go')
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
  }
}
