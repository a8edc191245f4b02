import type { Resource } from '../kube/index.ts'
import type { Clock } from '../time/index.ts'
import { type Applied, applyObject } from './apply/apply-object.ts'
import { ApplyFault } from './apply/fault.ts'
import { replaceObject, replaceRuleOf } from './apply/replace.ts'
import { applyLayers, type LayersOutcome } from './apply-layers.ts'
import { type DeclaredObject, provenanceText } from './declared.ts'
import { waitHealthy } from './health/wait-healthy.ts'
import type { InventoryStore } from './inventory/store.ts'
import type { Inventory, VerdictIs } from './inventory-record.ts'
import { type Key, keyId, keyText } from './key.ts'
import { type KnownCatalog, readCatalog } from './observe/catalog.ts'
import type { ObservedObject } from './observed.ts'
import { allowedDeletions, allowedWrites } from './plan/allowed.ts'
import type { ApplyStep, DeleteStep, Plan } from './plan/steps.ts'
import { managerOf } from './policy.ts'
import { type PruneOutcome, pruneAll } from './prune/prune.ts'
import { announced, inForce, unproven, waiting, withApplied, withDeletions, without, withVerdict } from './record.ts'
import { remembered, type Survey, type SyncPorts, type SyncSettings, servedAs } from './survey.ts'

/** What came of a plan. */
export interface Outcome {
  /** Quiet: there was nothing to do, and nothing was written. */
  readonly is: VerdictIs | 'Quiet'
  /** Sentences about what went wrong. */
  readonly problems: readonly string[]
  /** Worth knowing, and no failure. */
  readonly remarks: readonly string[]
  readonly created: readonly Key[]
  readonly changed: readonly Key[]
  readonly gone: readonly PruneOutcome[]
  readonly stuck: readonly PruneOutcome[]
}

const width = 32
const servedWithinMs = 30_000
const lookAgainMs = 100

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
  readonly #live: ReadonlyMap<string, ObservedObject>
  readonly #startedMs: number
  readonly #remarks: string[] = []
  #catalog: KnownCatalog
  /** One look for all that wait for it. */
  #reading: Promise<KnownCatalog> | undefined
  #inventory: Inventory
  #hashKey: Buffer

  constructor(found: Survey, ports: SyncPorts, settings: SyncSettings, signal: AbortSignal) {
    this.#found = found
    this.#ports = ports
    this.#settings = settings
    this.#signal = signal
    this.#catalog = found.catalog
    this.#inventory = found.memory.inventory
    this.#hashKey = found.memory.hashKey
    this.#live = new Map(found.observed.objects.map((object) => [keyId(object.key), object]))
    this.#startedMs = ports.clock.now()
  }

  async run(): Promise<Outcome> {
    const { plan, tip } = this.#found
    const { policy } = this.#settings
    const { forgets, conflicts } = parted(plan)
    if (policy.mode === 'observe') return this.#outcome('Quiet', [])
    if (conflicts.length > 0) return this.#fail(conflicts)
    const halted = plan.halts.map(({ message, remedy }) => `${message}; ${remedy}`)
    const applies = allowedWrites(plan, policy)
    const removes = allowedDeletions(plan, policy)
    if (applies.length + removes.length + forgets.length === 0) return this.#settle(halted)
    if (removes.length > 0 || applies.some((step) => step.do !== 'update') || this.#found.memory.isNew)
      await this.#save(announced(this.#inventory, plan, tip.sha, this.#now()))
    if (this.#found.memory.isNew) await this.#learnKey()
    const applied = await this.#apply(applies)
    this.#inventory = withApplied(this.#inventory, applied.done, tip.sha)
    // Told to leave it to others, and nobody has made it.
    const absent = [...applied.done.values()].filter(({ result }) => result.uid === '').map(({ step }) => step.key)
    this.#inventory = without(this.#inventory, absent)
    const failures = applied.failed.map(({ step, error }) => failureText(step, error))
    if (failures.length > 0) {
      const left = applied.left.length > 0 ? [`not begun: ${objectCount(applied.left.length)} of later layers`] : []
      return this.#fail([...failures, ...left], applied)
    }
    const unhealthy = await this.#untilHealthy(removes.length > 0, applied)
    if (unhealthy.length > 0) return this.#fail(unhealthy, applied)
    const pruned = await this.#prune(removes)
    const stuck = pruned.filter(({ is }) => is !== 'Gone')
    const begun = pruned.filter(({ is }) => is === 'Gone' || is === 'Stuck')
    this.#inventory = without(this.#inventory, [
      ...forgets,
      ...pruned.filter(({ is }) => is === 'Gone').map(({ key }) => key),
    ])
    this.#inventory = withDeletions(this.#inventory, begun.length, this.#ports.clock.now())
    if (stuck.length > 0) return this.#fail(stuck.map(stuckText), applied, pruned)
    await this.#conclude(halted, pruned.length > 0, applied)
    return this.#outcome('Applied', halted, applied, pruned)
  }

  /** Nothing to do; a new commit is remembered all the same, and so are countdowns. */
  async #settle(halted: readonly string[]): Promise<Outcome> {
    const { plan, commits, memory } = this.#found
    const next = waiting(this.#inventory, plan)
    const isWaitingNew = JSON.stringify(next) !== JSON.stringify(this.#inventory)
    const isSettled = commits.length === 0 && this.#inventory.underway === undefined && !this.#isTipFailed
    if (isSettled && !isWaitingNew && !memory.isNew) return this.#outcome('Quiet', halted)
    const unhealthy = await this.#untilHealthy(false)
    if (unhealthy.length > 0) return this.#fail(unhealthy)
    this.#inventory = next
    await this.#conclude(halted, false)
    return this.#outcome(commits.length > 0 ? 'NoChange' : 'Quiet', halted)
  }

  async #conclude(halted: readonly string[], isNarrowed: boolean, applied?: LayersOutcome<Applied>): Promise<void> {
    const { commits, tip, set, plan } = this.#found
    const named = commits.length === 0 && this.#isTipFailed ? [tip] : commits
    const is = applied ? 'Applied' : 'NoChange'
    const verdict = { ...this.#figures(applied), ...(halted.length > 0 ? { why: halted.join('; ') } : {}) }
    const told = withVerdict(inForce(waiting(this.#inventory, plan), tip.sha, set), named, is, verdict, this.#now())
    await this.#save(told, isNarrowed)
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

  async #apply(steps: readonly ApplyStep[]): Promise<LayersOutcome<Applied>> {
    const { report } = this.#ports
    let count = 0
    return applyLayers(steps, {
      width,
      signal: this.#signal,
      ready: (step) => this.#untilNeedsAreMet(step),
      apply: async (step) => {
        const result = await this.#applyOne(step)
        for (const remark of result.remarks) this.#remarks.push(`${keyText(step.key)}: ${remark}`)
        report(`applied ${++count} of ${steps.length}`)
        return result
      },
    })
  }

  async #applyOne(step: ApplyStep): Promise<Applied> {
    const { policy } = this.#settings
    const { declared } = step
    const live = this.#live.get(keyId(step.key))
    const options = {
      manager: managerOf(policy.name),
      setId: this.#found.memory.setId,
      hashKey: this.#hashKey,
      policy,
      signal: this.#signal,
    }
    const { client, clock } = this.#ports
    const resource = await this.#resourceSoon(declared)
    const anew = { ...options, clock, random: Math.random, deadlineMs: this.#settings.deleteTimeoutMs }
    const rule = replaceRuleOf(declared).when
    if (live && rule === 'always') return replaceObject(client, resource, { declared, live }, anew)
    try {
      const target = { declared, ...(live ? { live } : {}), isAdopted: step.do === 'adopt' }
      return await patiently(clock, this.#signal, () => applyObject(client, resource, target, options))
    } catch (error) {
      if (!live || !(error instanceof ApplyFault) || error.code !== 'Immutable' || rule === 'never') throw error
      this.#remarks.push(`${keyText(step.key)} is replaced: ${error.message}`)
      return replaceObject(client, resource, { declared, live }, anew)
    }
  }

  /** What a step names as its need has to work, not only to exist; so has the kind that it is of. */
  async #untilNeedsAreMet(step: ApplyStep): Promise<void> {
    const isAsked = 'config.kubernetes.io/depends-on' in annotationsOf(step)
    const needs = step.after.filter(({ kind }) => isAsked || kind === 'CustomResourceDefinition')
    if (needs.length === 0) return
    const { client, clock } = this.#ports
    const targets = needs.flatMap((key) => {
      const declared = this.#found.set.objects.find((object) => keyId(object.key) === keyId(key))
      const resource = declared && servedAs(this.#catalog, declared.apiVersion, key.kind)
      return resource ? [{ key, resource, uid: this.#uidOf(key) }] : []
    })
    const { outcome, waited } = await waitHealthy(client, targets, {
      clock,
      deadlineMs: this.#settings.healthTimeoutMs,
      signal: this.#signal,
    })
    if (outcome === 'healthy') return
    const ill = waited.find(({ health }) => health.is !== 'Current')
    throw new Error(
      `what it depends on is not healthy: ${ill ? `${keyText(ill.key)}: ${ill.health.message}` : outcome}`,
    )
  }

  #uidOf(key: Key): string {
    return this.#live.get(keyId(key))?.uid ?? 'any'
  }

  /** What was changed now, and what an earlier run changed and nobody saw healthy. */
  async #untilHealthy(hasDeletes: boolean, applied?: LayersOutcome<Applied>): Promise<readonly string[]> {
    const { policy, healthTimeoutMs } = this.#settings
    if (hasDeletes && policy.deletion.pruneAfter !== 'healthy') return []
    const changed = [...(applied?.done.values() ?? [])]
      .filter(({ result }) => result.outcome !== 'unchanged' && result.uid !== '')
      .map(({ step, result }) => ({ key: step.key, resource: this.#resourceOf(step.declared), uid: result.uid }))
    const known = new Set(changed.map(({ key }) => keyId(key)))
    const open = new Set(unproven(this.#inventory, this.#found.commits).map(({ key }) => keyId(key)))
    const left = this.#found.set.objects
      .filter(({ key }) => open.has(keyId(key)) && !known.has(keyId(key)))
      .map((declared) => ({ key: declared.key, resource: this.#resourceOf(declared), uid: this.#uidOf(declared.key) }))
    const targets = [...changed, ...left]
    if (targets.length === 0) return []
    const { client, clock, report } = this.#ports
    const { outcome, waited } = await waitHealthy(client, targets, {
      clock,
      deadlineMs: healthTimeoutMs,
      signal: this.#signal,
      onProgress: report,
    })
    if (outcome === 'healthy') return []
    return waited
      .filter(({ health }) => health.is !== 'Current')
      .map(({ key, health }) => `${keyText(key)} is not healthy: ${health.message}`)
  }

  async #prune(steps: readonly DeleteStep[]): Promise<readonly PruneOutcome[]> {
    if (steps.length === 0) return []
    const { client, clock, report } = this.#ports
    const targets = steps.map((step) => {
      const resource = servedAs(this.#catalog, step.apiVersion, step.key.kind)
      if (!resource)
        throw new Error(`${keyText(step.key)} cannot be deleted: the server does not know ${step.apiVersion}`)
      return { ...step, resource }
    })
    return pruneAll(client, targets, {
      clock,
      timeoutMs: this.#settings.deleteTimeoutMs,
      signal: this.#signal,
      mayGoOn: () => this.#store.whyStop(this.#signal),
      onGone: (key) => report(`gone: ${keyText(key)}`),
      onProgress: report,
    })
  }

  /** Kinds that an earlier layer brought are served a moment after their definition is established. */
  async #resourceSoon(declared: DeclaredObject): Promise<Resource> {
    const { client, clock } = this.#ports
    const { apiVersion, key } = declared
    const untilMs = clock.monotonic() + servedWithinMs
    while (!servedAs(this.#catalog, apiVersion, key.kind) && clock.monotonic() < untilMs) {
      this.#reading ??= clock
        .sleep(lookAgainMs, this.#signal)
        .then(() => readCatalog(client, this.#signal))
        .finally(() => {
          this.#reading = undefined
        })
      this.#catalog = await this.#reading
    }
    return this.#resourceOf(declared)
  }

  #resourceOf({ apiVersion, key }: Pick<DeclaredObject, 'apiVersion' | 'key'>): Resource {
    const resource = servedAs(this.#catalog, apiVersion, key.kind)
    if (resource) return resource
    throw new Error(`the server does not know ${apiVersion} ${key.kind}`)
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
      remarks: this.#remarks,
      created: keysOf('created'),
      changed: keysOf('changed'),
      gone: pruned.filter((one) => one.is === 'Gone'),
      stuck: pruned.filter((one) => one.is !== 'Gone'),
    }
  }
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

function annotationsOf({ declared }: ApplyStep): object {
  const { metadata } = declared.body as { readonly metadata?: { readonly annotations?: object } }
  return metadata?.annotations ?? {}
}

const mostAttempts = 4

/** A server that fails once may have changed its store's leader. The client itself repeats only what it was told to. */
async function patiently<T>(clock: Clock, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ApplyFault) || error.code !== 'Unavailable' || attempt >= mostAttempts) throw error
      await clock.sleep(250 * 2 ** attempt, signal)
    }
  }
}

function failureText({ key, declared }: ApplyStep, error: unknown): string {
  // It names the object and its file itself.
  if (error instanceof ApplyFault) return error.message
  const why = error instanceof Error ? error.message : String(error)
  return `${keyText(key)} (${provenanceText(declared.from)}): ${why}`
}

function stuckText({ key, why }: PruneOutcome): string {
  return `${keyText(key)} is not gone: ${why}`
}
