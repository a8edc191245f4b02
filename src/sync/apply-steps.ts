import type { Resource } from '../kube/index.ts'
import type { Clock } from '../time/index.ts'
import { type Applied, applyObject } from './apply/apply-object.ts'
import { ApplyFault } from './apply/fault.ts'
import { replaceObject, replaceRuleOf } from './apply/replace.ts'
import { applyLayers, type LayersOutcome } from './apply-layers.ts'
import { ApplyPace } from './apply-pace.ts'
import type { DeclaredObject } from './declared.ts'
import { isObject } from './json.ts'
import { type Key, keyId, keyText } from './key.ts'
import { type KnownCatalog, readCatalog } from './observe/catalog.ts'
import type { Observation, ObservedObject } from './observed.ts'
import { isReplacement, whyNotReplaced } from './plan/allowed.ts'
import { weightOf } from './plan/budget.ts'
import { annotationsOf, waveOf } from './plan/explicit-edges.ts'
import type { ApplyStep } from './plan/steps.ts'
import { managerOf } from './policy.ts'
import { unproven } from './record.ts'
import { type Survey, type SyncPorts, type SyncSettings, servedAs } from './survey.ts'
import { waitUnlessSuperseded } from './wait-unless-superseded.ts'

const mostAtATime = 32
const servedWithinMs = 30_000
const lookAgainMs = 100

/** Brings what a plan writes to the server, in its order. */
export class StepApplier {
  /** Worth knowing, and no failure. */
  readonly remarks: string[] = []
  /** Objects that were deleted and made anew. */
  replaced = 0
  /** Those of them that the plan did not know, and what they count in the budget. */
  #unplanned = { count: 0, weight: 0 }
  readonly #found: Survey
  readonly #ports: SyncPorts
  readonly #settings: SyncSettings
  readonly #signal: AbortSignal
  readonly #live: ReadonlyMap<string, ObservedObject>
  readonly #declared: ReadonlyMap<string, DeclaredObject>
  /** What an earlier run changed, and nobody has seen healthy. */
  readonly #unproven: readonly Key[]
  /** What was waited for, by the ids of keys. */
  readonly #met = new Map<string, Promise<void>>()
  #catalog: KnownCatalog
  /** One look for all that wait for it. */
  #reading: Promise<KnownCatalog> | undefined

  constructor(found: Survey, ports: SyncPorts, settings: SyncSettings, signal: AbortSignal) {
    this.#found = found
    this.#ports = ports
    this.#settings = settings
    this.#signal = signal
    this.#catalog = found.catalog
    this.#declared = new Map(found.set.objects.map((object) => [keyId(object.key), object]))
    const open = unproven(found.memory.inventory, found.commits)
    this.#unproven = open.map(({ key }) => key).filter((key) => this.#declared.has(keyId(key)))
    this.#live = new Map(found.observed.objects.map((object) => [keyId(object.key), object]))
  }

  async apply(steps: readonly ApplyStep[], hashKey: Buffer): Promise<LayersOutcome<Applied>> {
    const { report } = this.#ports
    const pace = new ApplyPace(mostAtATime, this.#ports.strain ?? (() => 0))
    let count = 0
    return applyLayers(steps, {
      width: () => pace.width(),
      signal: this.#signal,
      ready: (step) => this.#untilNeedsAreMet(step),
      apply: async (step) => {
        const result = await this.#applyOne(step, hashKey)
        for (const remark of result.remarks) this.remarks.push(`${keyText(step.key)}: ${remark}`)
        report(`applied ${++count} of ${steps.length}`)
        return result
      },
    })
  }

  resourceOf({ apiVersion, key }: { readonly apiVersion: string; readonly key: Key }): Resource {
    const resource = servedAs(this.#catalog, apiVersion, key.kind)
    if (resource) return resource
    throw new Error(`${keyText(key)}: the server does not know ${apiVersion} ${key.kind}`)
  }

  uidOf(key: Key): string {
    return this.#live.get(keyId(key))?.uid ?? 'any'
  }

  async #applyOne(step: ApplyStep, hashKey: Buffer): Promise<Applied> {
    const { policy } = this.#settings
    const { declared } = step
    const live = this.#live.get(keyId(step.key))
    const options = {
      manager: managerOf(policy.name),
      setId: this.#found.memory.setId,
      hashKey,
      policy,
      signal: this.#signal,
      isAutoscaled: isAutoscaled(step.key, this.#found.observed),
    }
    const { client, clock } = this.#ports
    const resource = await this.#resourceSoon(declared)
    const anew = { ...options, clock, random: Math.random, deadlineMs: this.#settings.deleteTimeoutMs }
    const replace = (old: ObservedObject) => {
      this.replaced++
      return replaceObject(client, resource, { declared, live: old }, anew)
    }
    if (live && isReplacement(step)) return replace(live)
    try {
      const target = { declared, ...(live ? { live } : {}), isAdopted: step.do === 'adopt' }
      return await patiently(clock, this.#signal, () => applyObject(client, resource, target, options))
    } catch (error) {
      const isRefused = error instanceof ApplyFault && error.code === 'Immutable'
      if (!live || !isRefused || replaceRuleOf(declared).when === 'never') throw error
      const why = whyNotReplaced(this.#found.plan, step.key, this.#unplanned)
      if (why !== undefined) throw notReplaced(declared, error, why)
      const { count, weight } = this.#unplanned
      this.#unplanned = { count: count + 1, weight: weight + weightOf(step.key) }
      this.remarks.push(`${keyText(step.key)} is replaced: ${error.message}`)
      return replace(live)
    }
  }

  /** What a step names as its need, or as an earlier wave, has to work, not only to exist; so has the kind that it is of. */
  async #untilNeedsAreMet({ declared, after }: ApplyStep): Promise<void> {
    const annotations = annotationsOf(declared.body)
    const wave = waveOf(annotations) ?? 0
    const isAsked = 'config.kubernetes.io/depends-on' in annotations
    const isEarlier = (key: Key) => this.#waveOf(key) < wave
    const needs = [
      ...after.filter((key) => isAsked || key.kind === 'CustomResourceDefinition' || isEarlier(key)),
      // An earlier run may have brought it, and have ended before it worked.
      ...this.#unproven.filter(isEarlier),
    ]
    if (needs.length === 0) return
    // A whole wave has the same needs.
    const ids = [...new Set(needs.map(keyId))]
    const id = ids.join('\n')
    const met = this.#met.get(id) ?? this.#untilHealthy(ids)
    this.#met.set(id, met)
    await met
  }

  #waveOf(key: Key): number {
    const declared = this.#declared.get(keyId(key))
    return (declared && waveOf(annotationsOf(declared.body))) ?? 0
  }

  async #untilHealthy(ids: readonly string[]): Promise<void> {
    const targets = ids.flatMap((id) => {
      const declared = this.#declared.get(id)
      const resource = declared && servedAs(this.#catalog, declared.apiVersion, declared.key.kind)
      return resource ? [{ key: declared.key, resource, uid: this.uidOf(declared.key) }] : []
    })
    const { outcome, waited } = await waitUnlessSuperseded(this.#ports, targets, {
      deadlineMs: this.#settings.healthTimeoutMs,
      signal: this.#signal,
    })
    if (outcome === 'healthy') return
    const ill = waited.find(({ health }) => health.is !== 'Current')
    throw new Error(
      `what it depends on is not healthy: ${ill ? `${keyText(ill.key)}: ${ill.health.message}` : outcome}`,
    )
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
    return this.resourceOf(declared)
  }
}

/** Whether an autoscaler steers it today. One that is gone still stands in managedFields; one that cannot be seen may be there. */
export function isAutoscaled({ kind, name, namespace }: Key, { objects, unknown }: Observation): boolean {
  if (unknown.some(({ group, kind: unseen }) => group === 'autoscaling' && (unseen ?? scaler) === scaler)) return true
  return objects.some(({ key, body }) => {
    if (key.kind !== scaler || key.group !== 'autoscaling' || key.namespace !== namespace) return false
    const target = isObject(body?.['spec']) ? body['spec']['scaleTargetRef'] : undefined
    return !isObject(target) || (target['kind'] === kind && target['name'] === name)
  })
}

const scaler = 'HorizontalPodAutoscaler'

function notReplaced(declared: DeclaredObject, { what, fields }: ApplyFault, why: string): ApplyFault {
  const whole = `${what}. To make it anew is to delete it, and ${why}`
  // An hour passes, and so do most halts.
  return new ApplyFault(declared, { code: 'Immutable', isPermanent: false, fields, what: whole })
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
