import type { KubeClient } from '../kube/index.ts'
import type { Clock } from '../time/index.ts'
import { carryOut, type Outcome } from './carry-out.ts'
import { problemLine } from './declared.ts'
import { parentWritten } from './inventory/parent-written.ts'
import { openInventory } from './inventory/store.ts'
import { withSyncLease } from './inventory/sync-lease.ts'
import { keyId } from './key.ts'
import type { Plan, Step } from './plan/steps.ts'
import { managerOf, type Permits } from './policy.ts'
import { withVerdict } from './record.ts'
import type { GitSource } from './source/open-source.ts'
import { type Survey, type SyncPorts, SyncRejected, type SyncSettings, survey } from './survey.ts'
import { afterwardsText, carefulPace, type Failure, failureOf, mayTryAgain, type RetryPace } from './try-again.ts'
import { verifyMemory } from './verify-memory.ts'

export interface RunParts {
  readonly client: KubeClient
  readonly clock: Clock
  readonly source: GitSource
  readonly settings: SyncSettings
  readonly permits: Permits
  /** Of the program; other tools see who keeps the set. */
  readonly version: string
  readonly report: (line: string) => void
  /** How often the server has asked for patience so far. */
  readonly strain?: () => number
  /** Asked before anything is written; no ends the run with nothing changed. */
  readonly mayCarryOut: (found: Survey) => Promise<boolean>
  /** Only tests are in a hurry. */
  readonly pace?: RetryPace & { readonly lookMs: number }
}

export interface Run {
  readonly found: Survey
  /** Nothing when it was declined. */
  readonly outcome?: Outcome
  /** What becomes of a failure; nobody else tries it again. */
  readonly afterwards?: string
}

/** What one hears of while it goes on. */
export type Told =
  | Run
  | { readonly error: unknown }
  /** What is remembered is not what is there. Nothing was repaired. */
  | { readonly findings: readonly string[] }

/** For whoever only looks; who writes does so in a term of its own. */
export function portsOf(
  { client, clock, source, settings, version, report, strain }: Omit<RunParts, 'mayCarryOut' | 'permits'>,
  term: { readonly epoch?: number } = {},
): SyncPorts {
  const store = openInventory(client, settings.policy, version, term)
  return { client, clock, source, store, report, ...(strain ? { strain } : {}) }
}

/** Git to cluster, once, as the only writer. */
export async function runSyncOnce(parts: RunParts, signal: AbortSignal): Promise<Run> {
  return asWriter(parts, signal, once)
}

/** Again whenever git moves, and now and then because the cluster may have moved. Until the signal aborts. */
export async function runSyncAlways(parts: RunParts, onTold: (told: Told) => void, signal: AbortSignal): Promise<void> {
  const { clock, pace = { ...carefulPace, lookMs: lookAnywayMs } } = parts
  await asWriter(parts, signal, async (fenced, epoch, term) => {
    let failure: Failure | undefined
    let verifyAtMs = clock.monotonic()
    const mayCarryOut = async (found: Survey) =>
      mayTryAgain(found, failure, clock.monotonic()) && (await parts.mayCarryOut(found))
    while (!term.aborted) {
      if (clock.monotonic() >= verifyAtMs) {
        verifyAtMs = clock.monotonic() + verifyEveryMs
        const findings = await findingsOf(fenced, term)
        if (findings.length > 0) onTold({ findings })
      }
      const run: Run | { readonly error: unknown } = await once({ ...fenced, mayCarryOut }, epoch, term, true).catch(
        (error: unknown) => {
          term.throwIfAborted()
          return { error }
        },
      )
      if ('error' in run) onTold(run)
      else if (run.outcome) {
        failure = failureOf(run.found, run.outcome, failure, clock.monotonic(), pace)
        onTold(failure ? { ...run, afterwards: afterwardsText(failure, pace) } : run)
      }
      await untilWorthALook(parts, 'found' in run ? run.found.tip.sha : '', pace.lookMs, term)
    }
    term.throwIfAborted()
  })
}

const verifyEveryMs = 86_400_000

/** A check that fails hinders nobody: what makes it fail is told by the run after it, or is gone. */
async function findingsOf(parts: RunParts, signal: AbortSignal): Promise<readonly string[]> {
  const { client, settings } = parts
  try {
    return (await verifyMemory(client, portsOf(parts).store, settings.policy.namespaces, signal)).found
  } catch (error) {
    signal.throwIfAborted()
    return [`nobody could look: ${error instanceof Error ? error.message : String(error)}`]
  }
}

const lookAnywayMs = 30_000

/** Git moved, a person wrote what is remembered, or it is time. */
async function untilWorthALook(parts: RunParts, sha: string, lookMs: number, signal: AbortSignal): Promise<void> {
  const { client, source, clock, settings } = parts
  const over = new AbortController()
  const either = AbortSignal.any([signal, over.signal])
  const quietly = (promise: Promise<void>) => promise.catch(() => undefined)
  await Promise.race([
    quietly(source.untilMoved(sha, either)),
    quietly(clock.sleep(lookMs, either)),
    parentWritten(client, settings.policy, either),
  ])
  over.abort(new Error('one of them is enough'))
}

async function once(parts: RunParts, epoch: number, signal: AbortSignal, isWatching = false): Promise<Run> {
  const ports = portsOf(parts, { epoch })
  const found = await survey(ports, parts.settings, parts.permits, signal).catch(async (error: unknown) => {
    if (error instanceof SyncRejected && parts.settings.policy.mode !== 'observe') await record(error, ports, signal)
    throw error
  })
  if (!(await parts.mayCarryOut(found))) return { found }
  const superseded = new AbortController()
  const over = new AbortController()
  if (isWatching)
    parts.source.untilMoved(found.tip.sha, AbortSignal.any([signal, over.signal])).then(
      () => superseded.abort(new Error('a newer commit is there')),
      () => undefined,
    )
  try {
    const outcome = await carryOut(found, { ...ports, superseded: superseded.signal }, parts.settings, signal)
    return { found, outcome: await withLateDeletions(outcome, found, parts, ports, signal) }
  } finally {
    over.abort(new Error('the plan is carried out'))
  }
}

/** No commit is without a verdict. What is rejected before the first good one leaves nothing behind. */
async function record(error: SyncRejected, { store, clock }: SyncPorts, signal: AbortSignal): Promise<void> {
  const { memory, commits } = error.judged ?? {}
  const last = memory?.inventory.verdicts.at(-1)
  const isTold = last?.is === 'Rejected' && last.revision === commits?.at(-1)?.sha
  if (!memory || memory.isNew || !commits || isTold) return
  const why = [error.message, ...error.problems.slice(0, 3).map(problemLine)].join('; ').slice(0, 2_000)
  const now = new Date(clock.now()).toISOString()
  await store.save(withVerdict(memory.inventory, commits, 'Rejected', { why }, now), { narrow: false, signal })
}

const mostLooks = 60
const lookEveryMs = 1_000

/** What pods still mounted when the plan was made can go once the last of them has ended. */
async function withLateDeletions(
  outcome: Outcome,
  { plan, tip }: Survey,
  { settings, permits, clock }: RunParts,
  ports: SyncPorts,
  signal: AbortSignal,
): Promise<Outcome> {
  let waits = isHeldByPods(plan)
  let total = outcome
  for (let looks = 0; waits && looks < mostLooks && total.is === 'Applied'; looks++) {
    if (looks > 0) await clock.sleep(lookEveryMs, signal)
    ports.report('waiting until no pod uses what is to be deleted')
    const found = await survey(ports, settings, permits, signal)
    // Nobody was asked about anything else.
    if (found.tip.sha !== tip.sha || !isPartOf(found.plan, plan)) return total
    const late = await carryOut(found, ports, settings, signal)
    waits = isHeldByPods(found.plan)
    total = {
      ...total,
      is: late.is === 'Failed' ? 'Failed' : total.is,
      problems: [...total.problems, ...late.problems],
      gone: [...total.gone, ...late.gone],
      stuck: [...total.stuck, ...late.stuck],
    }
  }
  return total
}

function isHeldByPods({ steps }: Plan): boolean {
  return steps.some(isHeld)
}

function isHeld(step: Step): boolean {
  return step.do === 'wait' && step.waitsFor === 'references'
}

/** Whether all that it does is to delete what pods held before. */
function isPartOf({ steps }: Plan, before: Plan): boolean {
  const held = new Set(before.steps.filter(isHeld).map(({ key }) => keyId(key)))
  return steps.every(({ do: does, key }) => does === 'keep' || does === 'wait' || held.has(keyId(key)))
}

/** With a client that refuses to write once another one may be at work. */
function asWriter<T>(
  parts: RunParts,
  signal: AbortSignal,
  work: (fenced: RunParts, epoch: number, term: AbortSignal) => Promise<T>,
): Promise<T> {
  const { client, clock, settings } = parts
  const { name, namespaces } = settings.policy
  const lease = { name: managerOf(name), namespace: namespaces[0] ?? '' }
  return withSyncLease(client, lease, clock, signal, (fenced, term, { token }) =>
    work({ ...parts, client: fenced }, token, term),
  )
}
