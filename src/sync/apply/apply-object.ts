import { hasCode, isNotFound, type KubeClient, type KubeObject, type Resource } from '../../kube/index.ts'
import type { DeclaredObject } from '../declared.ts'
import type { Reference } from '../inventory-record.ts'
import type { JsonObject } from '../json.ts'
import type { ObservedObject } from '../observed.ts'
import type { Policy } from '../policy.ts'
import { applyRulesOf } from './annotations.ts'
import { appliedOf, untouched } from './applied.ts'
import { holderIn, verdictOf } from './conflicts.ts'
import { conflictRulesOf, type Draft, draftOf, isFailing, onlyNew, withMetadata } from './draft.ts'
import { ApplyFault, conflictCauses, conflictText, faultOf, isFieldConflict, isOfOldVersion } from './fault.ts'
import { pathText, readableServerText, serverText, valueAt } from './field-path.ts'
import { entriesOf, isOwnEntry } from './field-set.ts'
import { memberLabel } from './member-label.ts'
import { adoptedEntries, reversionedEntries, uidOf, unsharedEntries, writeEntries } from './migrate.ts'
import { liveObject } from './projection.ts'

/** What became of an object. */
export interface Applied {
  readonly outcome: 'created' | 'changed' | 'unchanged'
  /** Empty if git says to leave the object alone, and there is none. */
  readonly uid: string
  readonly resourceVersion: string
  readonly reference: Reference | undefined
  readonly object: JsonObject
  /** What is worth telling: fields that were left to others, taken from them, or stored with another value. */
  readonly remarks: readonly string[]
}

export interface ApplyObjectStep {
  readonly declared: DeclaredObject
  readonly live?: ObservedObject
  /** It was there before and becomes ours: fields that other programs applied are moved to us. */
  readonly isAdopted: boolean
}

export interface ApplyObjectOptions {
  readonly manager: string
  /** The value of our label on members. */
  readonly setId: string
  readonly hashKey: Buffer
  readonly policy: Policy
  readonly signal: AbortSignal
  /** Whether an autoscaler steers the replicas today. One that is gone still stands in managedFields. Default yes. */
  readonly isAutoscaled?: boolean
}

const mostAttempts = 5

/** Makes the server hold what is declared. One request in the normal case; throws an ApplyFault. */
export async function applyObject(
  client: KubeClient,
  resource: Resource,
  step: ApplyObjectStep,
  options: ApplyObjectOptions,
): Promise<Applied> {
  const { mode, problems } = applyRulesOf(step.declared.body)
  if (problems.length > 0) {
    throw new ApplyFault(step.declared, { code: 'Invalid', isPermanent: true, what: problems.join('; ') })
  }
  const isLeftAlone = mode === 'ignore' || (mode === 'ifNotPresent' && step.live !== undefined)
  if (isLeftAlone) return untouched(step.live && wholeOf(step.live), `fettle.dev/apply: ${mode}`)
  try {
    return await new Application(client, resource, step, options).run()
  } catch (error) {
    throw faultOf(error, step.declared)
  }
}

/** As much of it as is known. */
function wholeOf(live: ObservedObject): JsonObject {
  return { ...live.body, metadata: { uid: live.uid, ...live.metadata } as unknown as JsonObject }
}

/** One object on its way to the server, until it is there or a person has to decide. */
class Application {
  readonly #client: KubeClient
  readonly #resource: Resource
  readonly #step: ApplyObjectStep
  readonly #options: ApplyObjectOptions
  /** Unknown as long as nobody needs it. */
  #live: JsonObject | undefined
  /** Of the object that is written to; nothing if there is none. */
  #uid: string | undefined
  #mustForce = false
  #hasReversioned = false

  constructor(client: KubeClient, resource: Resource, step: ApplyObjectStep, options: ApplyObjectOptions) {
    this.#client = client
    this.#resource = resource
    this.#step = step
    this.#options = options
    this.#live = step.live?.body === undefined ? undefined : liveObject(step.live)
    this.#uid = step.live?.uid
  }

  async run(): Promise<Applied> {
    const { declared, live, isAdopted } = this.#step
    const { ignored, mode } = applyRulesOf(declared.body)
    const needsLive = isAdopted || ignored.length > 0
    if (live !== undefined && this.#live === undefined && needsLive) await this.#lookAgain()
    if (isAdopted) await this.#adopt()
    for (let attempt = 1; ; attempt++) {
      const draft = draftOf(declared, this.#live, this.#options, this.#mustForce)
      try {
        const answer = await this.#unshared(await this.#send(draft), draft)
        return appliedOf(answer, draft, this.#step, this.#options)
      } catch (error) {
        if (attempt >= mostAttempts || !(await this.#mayTryAgain(error))) throw error
        if (mode === 'ifNotPresent' && this.#live !== undefined)
          return untouched(this.#live, `fettle.dev/apply: ${mode}`)
      }
    }
  }

  /** To the very object that was looked at, or, if there was none, to one that is made by it. */
  async #send({ body, isForced }: Draft): Promise<JsonObject> {
    const { manager: fieldManager, signal } = this.#options
    const aimed = this.#uid === undefined ? onlyNew(body) : withMetadata(body, { uid: this.#uid })
    const object = aimed as unknown as KubeObject
    const answer = await this.#client.apply(this.#resource, object, {
      fieldManager,
      fieldValidation: 'Strict',
      ...(isForced ? { force: true } : {}),
      signal,
    })
    return answer as unknown as JsonObject
  }

  /** Looks at the live object and decides anew. Answers no if that cannot change anything. */
  async #mayTryAgain(error: unknown): Promise<boolean> {
    if (isFieldConflict(error)) {
      await this.#lookAgain()
      this.#mustForce = !this.#isOnlyMade && this.#isTaken(error)
      return true
    }
    if (hasCode(error, 'Conflict', 'UnknownOutcome')) {
      await this.#lookAgain()
      this.#mustForce = false
      return true
    }
    if (isOfOldVersion(error) && !this.#hasReversioned) return this.#reversion()
    // A UID in the body that is no longer the object's is called invalid.
    const fault = faultOf(error, this.#step.declared)
    if (!(fault instanceof ApplyFault && fault.code === 'Stale')) return false
    await this.#lookAgain()
    return true
  }

  /** Whether fields may be taken by force. Throws if one of them is held by somebody of whom nobody has decided. */
  #isTaken(error: Parameters<typeof conflictCauses>[0]): boolean {
    const { declared } = this.#step
    const rules = conflictRulesOf(declared, this.#options)
    const { contests } = draftOf(declared, this.#live, this.#options)
    const yielded = new Set(contests.filter(({ verdict }) => verdict === 'yield').map(({ path }) => serverText(path)))
    const verdicts = conflictCauses(error).map((cause) => {
      const verdict = verdictOf(cause.field ?? '', holderIn(cause.message ?? ''), rules)
      // What cannot be found in our body cannot be left out of it either.
      return { cause, verdict: verdict === 'yield' && !yielded.has(cause.field ?? '') ? ('fail' as const) : verdict }
    })
    const failing = verdicts.filter(({ verdict }) => verdict === 'fail').map(({ cause }) => cause)
    if (failing.length > 0 || contests.some(isFailing)) {
      const fields = [
        ...failing.map(({ field = '' }) => readableServerText(field)),
        ...contests.filter(isFailing).map(({ path }) => pathText(path)),
      ]
      const what = conflictText(failing.length > 0 ? failing : conflictCauses(error))
      throw new ApplyFault(declared, { code: 'Conflict', isPermanent: true, fields: [...new Set(fields)], what })
    }
    return verdicts.some(({ verdict }) => verdict === 'take')
  }

  async #adopt(): Promise<void> {
    const { declared } = this.#step
    const { manager, policy } = this.#options
    if (this.#live === undefined || applyRulesOf(declared.body).mode === 'merge') return
    const rules = { manager, adoptFrom: policy.adoptFrom, apiVersion: declared.apiVersion }
    await this.#write(this.#live, (live) => adoptedEntries(live, declared.body, rules))
  }

  /** Only needed when an object had lost its managedFields, or never had any. */
  async #unshared(answer: JsonObject, { body }: Draft): Promise<JsonObject> {
    if (applyRulesOf(body).mode === 'merge' || unsharedEntries(answer, body) === undefined) return answer
    return writeEntries(
      this.#client,
      this.#resource,
      this.#ref,
      answer,
      (live) => unsharedEntries(live, body),
      this.#options,
    )
  }

  async #reversion(): Promise<boolean> {
    this.#hasReversioned = true
    await this.#lookAgain()
    const { apiVersion } = this.#step.declared
    if (this.#live === undefined || reversionedEntries(this.#live, apiVersion) === undefined) return false
    await this.#write(this.#live, (live) => reversionedEntries(live, apiVersion))
    return true
  }

  async #write(live: JsonObject, entriesFor: Parameters<typeof writeEntries>[4]): Promise<void> {
    this.#live = await writeEntries(this.#client, this.#resource, this.#ref, live, entriesFor, this.#options)
  }

  /** What took its name after the plan was made is only written to if an earlier try of ours made it. */
  async #lookAgain(): Promise<void> {
    await this.#read()
    if (
      this.#live === undefined ||
      this.#isOnlyMade ||
      this.#uid === this.#step.live?.uid ||
      this.#isMadeByUs(this.#live)
    )
      return
    throw new ApplyFault(this.#step.declared, {
      code: 'Stale',
      isPermanent: false,
      what: 'somebody else made it after the plan was made; look again, and the next plan says what becomes of it',
    })
  }

  /** Controllers copy labels; that we applied it is in its managedFields alone. */
  #isMadeByUs(live: JsonObject): boolean {
    const { manager, setId } = this.#options
    const label = valueAt(live, ['f:metadata', 'f:labels', `f:${memberLabel}`])
    return label === setId && entriesOf(live).some((entry) => isOwnEntry(entry, manager))
  }

  get #isOnlyMade(): boolean {
    return applyRulesOf(this.#step.declared.body).mode === 'ifNotPresent'
  }

  async #read(): Promise<void> {
    const { signal } = this.#options
    try {
      this.#live = (await this.#client.get(this.#resource, this.#ref, { signal })) as unknown as JsonObject
    } catch (error) {
      if (!isNotFound(error)) throw error
      this.#live = undefined
    }
    this.#uid = this.#live && uidOf(this.#live)
  }

  get #ref() {
    const { name, namespace } = this.#step.declared.key
    return namespace === '' ? { name } : { name, namespace }
  }
}
