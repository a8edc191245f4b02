import type { Applied } from './apply/apply-object.ts'
import { ApplyFault } from './apply/fault.ts'
import type { LayersOutcome } from './apply-layers.ts'
import { StepApplier } from './apply-steps.ts'
import { provenanceText } from './declared.ts'
import type { InventoryStore } from './inventory/store.ts'
import type { Inventory, VerdictIs } from './inventory-record.ts'
import { type Key, keyId, keyText } from './key.ts'
import { allowedDeletions, allowedWrites, heldReplacements, isReplacement } from './plan/allowed.ts'
import type { ApplyStep, DeleteStep, Plan } from './plan/steps.ts'
import { type PruneOutcome, pruneAll } from './prune/prune.ts'
import {
  announced,
  earlierDeletions,
  inForce,
  unproven,
  waiting,
  withApplied,
  withDeletions,
  without,
  withVerdict,
} from './record.ts'
import { remembered, type Survey, type SyncPorts, type SyncSettings } from './survey.ts'
import { Superseded, waitUnlessSuperseded } from './wait-unless-superseded.ts'

/** What came of a plan. */
export interface Outcome {
  /** Quiet: there was nothing to do, and nothing was written. */
  readonly is: VerdictIs | 'Quiet'
  /** Sentences about what went wrong. */
  readonly problems: readonly string[]
  /** All of it is refused again until git, or a person, says something else. */
  readonly isPermanent?: true
  /** Worth knowing, and no failure. */
  readonly remarks: readonly string[]
  readonly created: readonly Key[]
  readonly changed: readonly Key[]
  readonly gone: readonly PruneOutcome[]
  readonly stuck: readonly PruneOutcome[]
}

export async function carryOut(
  found: Survey,
  ports: SyncPorts,
  settings: SyncSettings,
  signal: AbortSignal,
): Promise<Outcome> {
  return new CarryingOut(found, ports, settings, signal).run()
}

/** One plan, from the first write to the verdict. */
class CarryingOut {
  readonly #found: Survey
  readonly #ports: SyncPorts
  readonly #settings: SyncSettings
  readonly #signal: AbortSignal
  readonly #applier: StepApplier
  readonly #startedMs: number
  /** Deletions of earlier plans. */
  readonly #earlier: readonly string[]
  #inventory: Inventory
  #hashKey: Buffer
  /** Deletions of this plan that were begun, besides replacements. */
  #begun = 0

  constructor(found: Survey, ports: SyncPorts, settings: SyncSettings, signal: AbortSignal) {
    this.#found = found
    this.#ports = ports
    this.#settings = settings
    this.#signal = signal
    this.#applier = new StepApplier(found, ports, settings, signal)
    this.#inventory = found.memory.inventory
    this.#earlier = earlierDeletions(found.memory.inventory, found.plan)
    this.#hashKey = found.memory.hashKey
    this.#startedMs = ports.clock.now()
  }

  async run(): Promise<Outcome> {
    const { plan, tip } = this.#found
    const { policy } = this.#settings
    const { forgets, conflicts } = parted(plan)
    if (policy.mode === 'observe') return this.#outcome('Quiet', [])
    if (conflicts.length > 0) return { ...(await this.#fail(conflicts)), isPermanent: true }
    const halted = plan.halts.map(({ message, remedy }) => `${message}; ${remedy}`)
    const applies = allowedWrites(plan, policy)
    const removes = allowedDeletions(plan, policy)
    const held = heldReplacements(plan).map(heldText)
    if (applies.length + removes.length + forgets.length === 0)
      return held.length > 0 ? this.#fail([...held, ...halted]) : this.#settle(halted)
    if (
      removes.length > 0 ||
      applies.some((step) => step.do !== 'update' || step.replaces) ||
      this.#found.memory.isNew
    ) {
      const deletions = removes.length + applies.filter(isReplacement).length
      await this.#save(announced(this.#inventory, plan, tip.sha, this.#now(), deletions))
    }
    if (this.#found.memory.isNew) await this.#learnKey()
    const applied = await this.#applier.apply(applies, this.#hashKey)
    const outage = outageOf(applied)
    if (outage) throw outage
    this.#inventory = this.#counted(withApplied(this.#inventory, applied.done, tip.sha))
    if (applied.failed.length > 0 && applied.failed.every(isSuperseded)) return this.#giveWay(applied)
    const failures = applied.failed.map(({ step, error }) => failureText(step, error))
    if (failures.length > 0) {
      const left = applied.left.length > 0 ? [`not begun: ${objectCount(applied.left.length)} of later layers`] : []
      const outcome = await this.#fail([...failures, ...left], applied)
      return applied.failed.every(isPermanent) ? { ...outcome, isPermanent: true } : outcome
    }
    // Whatever comes first: a commit that is not healthy has failed.
    const early = policy.deletion.pruneAfter === 'healthy' ? undefined : await this.#prune(removes)
    const unhealthy = await this.#untilHealthy(applied)
    if (unhealthy === 'superseded') return this.#giveWay(applied, early)
    if (unhealthy.length > 0) return this.#fail([...stuckTexts(early ?? []), ...unhealthy], applied, early)
    const pruned = early ?? (await this.#prune(removes))
    this.#inventory = without(this.#inventory, forgets)
    const problems = [...stuckTexts(pruned), ...held]
    if (problems.length > 0) return this.#fail([...problems, ...halted], applied, pruned)
    await this.#conclude(halted, pruned.length > 0, applied)
    return this.#outcome('Applied', halted, applied, pruned)
  }

  /** What was announced is replaced by what was done. */
  #counted(inventory: Inventory): Inventory {
    return withDeletions(inventory, this.#earlier, this.#applier.replaced + this.#begun, this.#ports.clock.now())
  }

  /** Nothing to do; a new commit is remembered all the same, and so are countdowns. */
  async #settle(halted: readonly string[]): Promise<Outcome> {
    const { plan, commits, memory } = this.#found
    const next = waiting(this.#inventory, plan)
    const isWaitingNew = JSON.stringify(next) !== JSON.stringify(this.#inventory)
    const isSettled = commits.length === 0 && this.#inventory.underway === undefined && !this.#isTipFailed
    if (isSettled && !isWaitingNew && !memory.isNew) return this.#outcome('Quiet', halted)
    const unhealthy = await this.#untilHealthy()
    if (unhealthy === 'superseded') return this.#giveWay()
    if (unhealthy.length > 0) return this.#fail(unhealthy)
    this.#inventory = next
    await this.#conclude(halted, false)
    return this.#outcome(commits.length > 0 ? 'NoChange' : 'Quiet', halted)
  }

  async #conclude(halted: readonly string[], isNarrowed: boolean, applied?: LayersOutcome<Applied>): Promise<void> {
    const { commits, tip, set, plan } = this.#found
    const named = commits.length === 0 && this.#isTipFailed ? [tip] : commits
    const is = applied ? 'Applied' : 'NoChange'
    const notes = [...halted, ...failedBefore(this.#inventory, tip)]
    const verdict = { ...this.#figures(applied), ...(notes.length > 0 ? { why: notes.join('; ') } : {}) }
    const told = withVerdict(
      inForce(waiting(this.#inventory, plan), tip.sha, set, plan),
      named,
      is,
      verdict,
      this.#now(),
    )
    await this.#save(told, isNarrowed)
  }

  /** A newer commit is there, and is a whole truth by itself: it decides what becomes of this one, and has its health to prove. */
  async #giveWay(applied?: LayersOutcome<Applied>, pruned: readonly PruneOutcome[] = []): Promise<Outcome> {
    const { commits, tip } = this.#found
    const why = 'a newer commit came before it was seen to be healthy'
    const verdict = { why, ...this.#figures(applied) }
    const { underway: _, ...ended } = this.#inventory
    await this.#save(withVerdict(ended, commits.length > 0 ? commits : [tip], 'Superseded', verdict, this.#now()))
    return this.#outcome('Superseded', [], applied, pruned)
  }

  /** What was applied stays, nothing is deleted, and the commit has its verdict. */
  async #fail(
    problems: readonly string[],
    applied?: LayersOutcome<Applied>,
    pruned: readonly PruneOutcome[] = [],
  ): Promise<Outcome> {
    const { commits, tip } = this.#found
    const named = commits.length > 0 ? commits : [tip]
    const verdict = { why: problems.join('; ').slice(0, 2_000), ...this.#figures(applied) }
    const { underway: _, ...ended } = this.#inventory
    await this.#save(withVerdict(ended, named, 'Failed', verdict, this.#now()))
    return this.#outcome('Failed', problems, applied, pruned)
  }

  /** What was changed now, and what an earlier run changed and nobody saw healthy. */
  async #untilHealthy(applied?: LayersOutcome<Applied>): Promise<readonly string[] | 'superseded'> {
    const { healthTimeoutMs } = this.#settings
    const changed = [...(applied?.done.values() ?? [])]
      .filter(({ result }) => result.outcome !== 'unchanged' && result.uid !== '')
      .map(({ step, result }) => ({
        key: step.key,
        resource: this.#applier.resourceOf(step.declared),
        uid: result.uid,
      }))
    const known = new Set(changed.map(({ key }) => keyId(key)))
    const open = new Set(unproven(this.#inventory, this.#found.commits).map(({ key }) => keyId(key)))
    const left = this.#found.set.objects
      .filter(({ key }) => open.has(keyId(key)) && !known.has(keyId(key)))
      .map((declared) => ({
        key: declared.key,
        resource: this.#applier.resourceOf(declared),
        uid: this.#applier.uidOf(declared.key),
      }))
    const targets = [...changed, ...left]
    if (targets.length === 0) return []
    const options = { deadlineMs: healthTimeoutMs, signal: this.#signal, onProgress: this.#ports.report }
    try {
      const { waited } = await waitUnlessSuperseded(this.#ports, targets, options)
      return waited
        .filter(({ health }) => health.is !== 'Current')
        .map(({ key, health }) => `${keyText(key)} is not healthy: ${health.message}`)
    } catch (error) {
      if (error instanceof Superseded) return 'superseded'
      throw error
    }
  }

  async #prune(steps: readonly DeleteStep[]): Promise<readonly PruneOutcome[]> {
    if (steps.length === 0) return []
    const { client, clock, report } = this.#ports
    const targets = steps.map((step) => ({ ...step, resource: this.#applier.resourceOf(step) }))
    const outcomes = await pruneAll(client, targets, {
      clock,
      setId: this.#found.memory.setId,
      timeoutMs: this.#settings.deleteTimeoutMs,
      signal: this.#signal,
      mayGoOn: () => this.#store.whyStop(this.#signal),
      onGone: (key) => report(`gone: ${keyText(key)}`),
      onProgress: report,
    })
    this.#begun += outcomes.filter(({ is }) => is === 'Gone' || is === 'Stuck').length
    const gone = outcomes.filter(({ is }) => is === 'Gone').map(({ key }) => key)
    this.#inventory = this.#counted(without(this.#inventory, gone))
    return outcomes
  }

  get #isTipFailed(): boolean {
    const last = this.#inventory.verdicts.at(-1)
    return last?.is === 'Failed' && last.revision === this.#found.tip.sha
  }

  async #save(next: Inventory, narrow = false): Promise<void> {
    await this.#store.save(next, { narrow, signal: this.#signal })
    this.#inventory = next
  }

  get #store(): InventoryStore {
    return this.#ports.store
  }

  /** The first write made it. */
  async #learnKey(): Promise<void> {
    const { hashKey } = await remembered(this.#store, this.#settings.policy, this.#signal)
    this.#hashKey = hashKey
  }

  #now(): string {
    return new Date(this.#ports.clock.now()).toISOString()
  }

  #figures(applied: LayersOutcome<Applied> | undefined) {
    const { plan } = this.#found
    const seconds = Math.round((this.#ports.clock.now() - this.#startedMs) / 100) / 10
    const outcomes = [...(applied?.done.values() ?? [])].map(({ result }) => result.outcome)
    const count = (is: Applied['outcome']) => outcomes.filter((one) => one === is).length
    const counts = { created: count('created'), changed: count('changed'), unchanged: plan.unchanged }
    return { seconds, planHash: plan.hash, counts }
  }

  #outcome(
    is: Outcome['is'],
    problems: readonly string[],
    applied?: LayersOutcome<Applied>,
    pruned: readonly PruneOutcome[] = [],
  ): Outcome {
    const keysOf = (outcome: Applied['outcome']) =>
      [...(applied?.done.values() ?? [])].filter(({ result }) => result.outcome === outcome).map(({ step }) => step.key)
    return {
      is,
      problems,
      remarks: this.#applier.remarks,
      created: keysOf('created'),
      changed: keysOf('changed'),
      gone: pruned.filter((one) => one.is === 'Gone'),
      stuck: pruned.filter((one) => one.is !== 'Gone'),
    }
  }
}

/** A quota, a missing right or namespace, or a need that is not healthy may be another tomorrow. */
function isPermanent({ error }: { readonly error: unknown }): boolean {
  return error instanceof ApplyFault && error.isPermanent
}

function isSuperseded({ error }: { readonly error: unknown }): boolean {
  return error instanceof Superseded
}

function objectCount(count: number): string {
  return count === 1 ? '1 object' : `${count} objects`
}

function parted({ steps }: Plan) {
  const forgets: Key[] = []
  const conflicts: string[] = []
  for (const step of steps)
    if (step.do === 'forget') forgets.push(step.key)
    else if (step.do === 'conflict') conflicts.push(`${keyText(step.key)}: ${step.why}`)
  return { forgets, conflicts }
}

/** The server cannot be asked any more. That says nothing about the commit: its verdict stays open, and the next run goes on. */
function outageOf({ failed }: LayersOutcome<Applied>): unknown {
  const isOutage = ({ error }: { readonly error: unknown }) =>
    error instanceof ApplyFault && error.code === 'Unavailable'
  return failed.length > 0 && failed.every(isOutage) ? failed[0]?.error : undefined
}

/** A good commit does not make the bad one before it undone. */
function failedBefore({ verdicts }: Inventory, tip: Survey['tip']): readonly string[] {
  const last = verdicts.at(-1)
  if (!last || last.revision === tip.sha || (last.is !== 'Failed' && last.is !== 'Rejected')) return []
  return [`${last.revision.slice(0, 12)} before it was ${last.is === 'Failed' ? 'a failure' : 'rejected'}`]
}

function failureText({ key, declared }: ApplyStep, error: unknown): string {
  // It names the object and its file itself.
  if (error instanceof ApplyFault) return error.message
  const why = error instanceof Error ? error.message : String(error)
  return `${keyText(key)} (${provenanceText(declared.from)}): ${why}`
}

function stuckTexts(pruned: readonly PruneOutcome[]): readonly string[] {
  return pruned.filter(({ is }) => is !== 'Gone').map(({ key, why }) => `${keyText(key)} is not gone: ${why}`)
}

function heldText({ key, declared }: ApplyStep): string {
  return `${keyText(key)} (${provenanceText(declared.from)}) is as it was: it is deleted and made anew instead of changed, and nothing may be deleted now`
}
