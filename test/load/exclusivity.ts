import { setTimeout as sleep } from 'node:timers/promises'
import {
  type MaintenanceBudget,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
} from '../../src/api/index.ts'
import {
  fencedClient,
  type KubeClient,
  type KubeObject,
  type NodeObject,
  type Resource,
  resources,
  runAsLeader,
} from '../../src/kube/index.ts'
import { type Clock, systemClock } from '../../src/time/index.ts'
import { type Interceptor, interceptWrites } from '../support/intercepted-client.ts'
import { openInstance, runInstance } from '../support/queue-instance.ts'
import { type FaultRates, faultyClient } from './faulty-client.ts'
import { LedgerJudge } from './ledger-judge.ts'
import { MomentJudge } from './moment-judge.ts'
import { Schedule, type World, zoneLabel } from './schedule.ts'
import { SeededRandom } from './seeded-random.ts'
import { Witness } from './witness.ts'

export interface ExclusivityOptions {
  readonly admin: KubeClient
  readonly seed: number
  readonly schedules: number
  /** Ready nodes that nothing else uses; half of them are in each of two zones. */
  readonly nodes: readonly string[]
  readonly signal?: AbortSignal
  readonly log?: (line: string) => void
}

export interface ExclusivityReport {
  readonly schedules: number
  readonly requests: number
  readonly kills: number
  /** How often one of them began to lead. */
  readonly terms: number
  readonly ledgerVersions: number
  readonly mostOut: number
  /** Versions of requests that were at work, each held against the ledger of its moment. */
  readonly atWork: number
  readonly mostAtWork: number
  readonly cordons: number
  readonly seconds: number
  readonly problems: readonly string[]
}

const replicas = 3
/** In the first of so many batches nobody asks who leads. */
const unledEvery = 2
/** Short, so that somebody else leads soon after a death. */
const leaseTimes = { leaseDurationMs: 1_000, renewDeadlineMs: 650, renewEveryMs: 200 }
const batchSize = 25

/**
 * Three controllers that die, lose writes and answers, see old worlds, and whose clocks disagree by minutes. Half of
 * the time they take turns by a Lease that lasts a second, and half of it they all believe to lead, which is the worst that
 * leader election could ever let through. The budget has to hold all the same.
 */
export async function runExclusivity(options: ExclusivityOptions): Promise<ExclusivityReport> {
  const { admin, seed, schedules, signal = new AbortController().signal, log = () => undefined } = options
  const startedAt = Date.now()
  const end = new AbortController()
  const ended = AbortSignal.any([end.signal, signal])
  const counts = { requests: 0, kills: 0, terms: 0 }
  const problems: string[] = []
  const zoneOf = new Map(options.nodes.map((name, index) => [name, `z${index % 2}`]))
  const [ledgerJudge, momentJudge] = [new LedgerJudge(zoneOf), new MomentJudge(zoneOf)]
  for (const [name, zone] of zoneOf)
    await admin.patch(
      resources.nodes,
      { name },
      { type: 'merge', body: { metadata: { labels: { [zoneLabel]: zone } } } },
    )
  const world: World = {
    ledger: new Witness<MaintenanceBudget>(admin, maintenanceBudgets, ended, (budget, isGone) => {
      if (!isGone) ledgerJudge.judge(budget)
      momentJudge.noteLedger(budget, isGone)
    }),
    requests: new Witness<MaintenanceRequest>(admin, maintenanceRequests, ended, (request, isGone) =>
      momentJudge.noteRequest(request, isGone),
    ),
    nodes: new Witness<NodeObject>(admin, resources.nodes, ended, (node, isGone) => momentJudge.noteNode(node, isGone)),
  }
  const random = new SeededRandom(seed)
  let done = 0
  try {
    for (const name of options.nodes) await world.nodes.until(name, (node) => node !== undefined, 60_000)
    while (done < schedules && problems.length === 0) {
      // A rest is measured by wall clocks, so with clocks that are minutes apart it would last for minutes.
      const mood = random.next() < 0.5 ? { skewMs: 600_000, rests: 0 } : { skewMs: 300, rests: 0.3 }
      // Not by chance: no run may be without them.
      const isLed = (done / batchSize) % unledEvery !== 0
      const batch = new AbortController()
      const batchEnded = AbortSignal.any([ended, batch.signal])
      const replica = { admin, skewMs: mood.skewMs, isLed, signal: batchEnded, counts }
      const fleet = Array.from({ length: replicas }, () =>
        runReplica({ ...replica, random: new SeededRandom(random.below(2 ** 31)) }),
      )
      try {
        const last = Math.min(schedules, done + batchSize)
        for (; done < last && problems.length === 0; done++) {
          ended.throwIfAborted()
          const ofItsOwn = new SeededRandom(random.below(2 ** 31))
          const schedule = new Schedule({ ...options, world, random: ofItsOwn, rests: mood.rests })
          const found = [...(await schedule.run()), ...ledgerJudge.takeProblems(), ...momentJudge.takeProblems()]
          counts.requests += schedule.requests
          problems.push(...found.map((problem) => `schedule ${done}: ${problem}`))
        }
      } finally {
        batch.abort(new Error('the batch is over'))
        await Promise.all(fleet)
      }
      log(`${done} schedules, ${counts.requests} requests, ${counts.kills} kills`)
    }
    await untilAllIsHeard(admin, momentJudge)
    problems.push(...ledgerJudge.takeProblems(), ...momentJudge.takeLastProblems())
  } finally {
    end.abort(new Error('the schedules are over'))
    await Promise.all([world.ledger.ended, world.requests.ended, world.nodes.ended])
  }
  const { versions, mostOut } = ledgerJudge
  const { atWork, mostAtWork, cordons } = momentJudge
  const seconds = (Date.now() - startedAt) / 1000
  return {
    schedules: done,
    ...counts,
    ledgerVersions: versions,
    mostOut,
    atWork,
    mostAtWork,
    cordons,
    seconds,
    problems,
  }
}

/** Of several that ran side by side. */
export function sumOf(reports: readonly ExclusivityReport[]): ExclusivityReport {
  const sum = (of: (report: ExclusivityReport) => number) => reports.reduce((total, report) => total + of(report), 0)
  const most = (of: (report: ExclusivityReport) => number) => Math.max(...reports.map(of))
  return {
    schedules: sum(({ schedules }) => schedules),
    requests: sum(({ requests }) => requests),
    kills: sum(({ kills }) => kills),
    terms: sum(({ terms }) => terms),
    ledgerVersions: sum(({ ledgerVersions }) => ledgerVersions),
    mostOut: most(({ mostOut }) => mostOut),
    atWork: sum(({ atWork }) => atWork),
    mostAtWork: most(({ mostAtWork }) => mostAtWork),
    cordons: sum(({ cordons }) => cordons),
    seconds: most(({ seconds }) => seconds),
    problems: reports.flatMap(({ problems }) => problems),
  }
}

/** Nobody writes any more, so the newest version of each kind is the last that its witness has to tell. */
async function untilAllIsHeard(admin: KubeClient, judge: MomentJudge): Promise<void> {
  const kinds = { ledger: maintenanceBudgets, requests: maintenanceRequests, nodes: resources.nodes } as const
  for (const kind of ['ledger', 'requests', 'nodes'] as const)
    for (const endAt = Date.now() + 30_000; !(await hasHeardAll(admin, kinds[kind], kind, judge)); await sleep(20))
      if (Date.now() > endAt) throw new Error(`the witness of ${kind} does not tell what is stored`)
}

async function hasHeardAll(
  admin: KubeClient,
  resource: Resource,
  kind: 'ledger' | 'requests' | 'nodes',
  judge: MomentJudge,
): Promise<boolean> {
  for await (const { items } of admin.list<KubeObject>(resource))
    if (items.some(({ metadata }) => !judge.hasHeard(kind, metadata.resourceVersion))) return false
  return true
}

interface ReplicaOptions {
  readonly admin: KubeClient
  readonly random: SeededRandom
  readonly skewMs: number
  readonly isLed: boolean
  readonly signal: AbortSignal
  readonly counts: { kills: number; terms: number }
}

/** Lives, dies at some write, and lives again with another clock. */
async function runReplica({ admin, random, skewMs, isLed, signal, counts }: ReplicaOptions): Promise<void> {
  while (!signal.aborted) {
    const death = new AbortController()
    const rates: FaultRates = { lost: 0.02, unanswered: 0.03, delayed: 0.1, cut: 0.003, lagging: 0.02 }
    const doom = {
      atWrite: random.between(5, 500),
      isStored: random.next() < 0.5,
      die: () => {
        counts.kills++
        death.abort(new Error('killed'))
      },
    }
    const client = faultyClient(admin, random, rates, doom)
    const [life, clock] = [AbortSignal.any([signal, death.signal]), skewed(random.between(-skewMs, skewMs))]
    if (isLed) await campaign(client, life, clock, death.signal, () => counts.terms++)
    else await runInstance({ client, signal: life, clock })
    await sleep(random.between(0, 200))
  }
}

/** Watches all the time and writes while it leads, as the controller does. */
async function campaign(
  client: KubeClient,
  signal: AbortSignal,
  clock: Clock,
  death: AbortSignal,
  begun: () => void,
): Promise<void> {
  const instance = openInstance({ client, signal, clock })
  const alive: Interceptor = (_, send) => (death.aborted ? Promise.reject(new Error('it is dead')) : send())
  await runAsLeader(
    {
      // Whoever was killed gives no Lease back: the others have to wait until it has run out.
      client: interceptWrites(client, alive),
      clock,
      random: Math.random,
      lease: { namespace: 'default', name: 'exclusivity' },
      identity: 'replica',
      ...leaseTimes,
      signal,
    },
    async (term) => {
      begun()
      const lead = AbortSignal.any([term.signal, signal])
      await instance.run(fencedClient(client, term), lead).catch((error: unknown) => {
        if (!lead.aborted) throw error
      })
    },
  )
}

function skewed(ms: number): Clock {
  return { ...systemClock, now: () => systemClock.now() + ms }
}
