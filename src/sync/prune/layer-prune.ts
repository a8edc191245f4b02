import { ApiError, isConflict, isNotFound, type KubeClient, type KubeObject } from '../../kube/index.ts'
import { type Key, keyText } from '../key.ts'
import { inParallel } from '../observe/in-parallel.ts'
import { dependantsOf, hasDependants } from './dependants.ts'
import { watchGone } from './gone-watch.ts'
import type { PruneOptions, PruneOutcome, PruneStep } from './prune.ts'
import { refusalOf } from './refusals.ts'
import { whyNotOurs } from './still-ours.ts'
import { explainStuck } from './stuck.ts'

const width = 32
/** A status may move more than once while we look; five times in a row it hardly does. */
const mostConflicts = 5

/** The deletions of one layer, all at a time. */
export class LayerPrune {
  readonly #client: KubeClient
  readonly #options: PruneOptions
  readonly #isLast: boolean
  readonly #askedAt = new Map<string, number>()
  readonly #goneAt = new Map<string, number>()
  readonly #allGone: Promise<void>
  #onAllGone: () => void = () => undefined
  /** Deleted and not gone yet. */
  readonly #pending = new Map<string, PruneStep>()
  #isAsking = true
  #signal: AbortSignal

  constructor(client: KubeClient, options: PruneOptions, isLast: boolean) {
    this.#client = client
    this.#options = options
    this.#isLast = isLast
    this.#signal = options.signal
    this.#allGone = new Promise((resolve) => {
      this.#onAllGone = resolve
    })
  }

  async run(steps: readonly PruneStep[]): Promise<readonly PruneOutcome[]> {
    const { signal } = this.#options
    const end = new AbortController()
    const onAbort = () => end.abort(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    this.#signal = end.signal
    try {
      const watches = this.#openWatches(steps)
      const answers = await inParallel(steps, width, (step) => this.#ask(step, watches.get(collectionOf(step))))
      this.#isAsking = false
      await this.#untilGone()
      return await inParallel(
        steps.map((step, at) => [step, answers[at]] as const),
        width,
        ([step, answer]) =>
          answer === undefined || this.#goneAt.has(step.uid) ? this.#conclude(step) : Promise.resolve(answer),
      )
    } finally {
      signal.removeEventListener('abort', onAbort)
      end.abort(new Error('the layer is done'))
    }
  }

  /** Before the first request, so that no deletion can be missed. */
  #openWatches(steps: readonly PruneStep[]): ReadonlyMap<string, Promise<void>> {
    const opened = new Map<string, Promise<void>>()
    for (const [id, here] of byCollection(steps)) {
      const [first] = here
      if (!first) continue
      const byUid = new Map(here.map((step) => [step.uid, step]))
      const targets = here.map(({ uid, key }) => ({ uid, name: key.name }))
      const { opened: isOpen } = watchGone(this.#client, first.resource, first.key.namespace, targets, {
        clock: this.#options.clock,
        signal: this.#signal,
        onGone: (uid) => this.#leave(byUid.get(uid)),
        onSeen: (uid, object) => this.#tellHeld(byUid.get(uid), object),
      })
      opened.set(id, this.#inTime(isOpen, first))
    }
    return opened
  }

  /** Nothing is deleted whose going nobody could see. */
  #inTime(isOpen: Promise<void>, { resource }: PruneStep): Promise<void> {
    const { clock, timeoutMs } = this.#options
    const tooLate = clock.sleep(timeoutMs, this.#signal).then(() => {
      throw new Error(`not begun: ${resource.plural} could not be watched within ${timeoutMs / 1_000} s; try again`)
    })
    const inTime = Promise.race([isOpen, tooLate])
    inTime.catch(() => undefined)
    return inTime
  }

  /** An outcome if that is all there is to it; nothing when the object is on its way. */
  async #ask(step: PruneStep, opened: Promise<void> | undefined): Promise<PruneOutcome | undefined> {
    const { key, uid } = step
    this.#askedAt.set(uid, this.#now())
    try {
      const refusal = await refusalOf(this.#client, key, this.#signal)
      if (refusal !== undefined) return this.#outcome(step, 'Refused', refusal)
      const seenVersion = step.isStranger ? await this.#readAgain(step) : step.resourceVersion
      const resourceVersion = step.resourceVersion ?? seenVersion
      if (step.isStranger && seenVersion !== resourceVersion) return this.#outcome(step, 'Changed', changedWhy)
      await opened
      this.#askedAt.set(uid, this.#now())
      if (!this.#goneAt.has(uid)) this.#pending.set(uid, step)
      return await this.#delete(step, resourceVersion)
    } catch (error) {
      this.#signal.throwIfAborted()
      this.#pending.delete(uid)
      if (isNotFound(error) || error instanceof AnotherObject) {
        this.#leave(step)
        return undefined
      }
      return this.#outcome(step, 'Refused', faultText(key, error))
    }
  }

  /** A version that is no longer current is refused by the server: then it is looked at once more what changed. */
  async #delete(step: PruneStep, version: string | undefined): Promise<PruneOutcome | undefined> {
    const { key, uid, resource } = step
    let resourceVersion = version
    for (let tries = 1; ; tries++) {
      // What changes all the time goes by its UID in the end, right after the last look at it.
      const isLastTry = !step.isStranger && tries >= mostConflicts
      try {
        await this.#client.delete(resource, refOf(key), {
          uid,
          ...(resourceVersion === undefined || isLastTry ? {} : { resourceVersion }),
          // What lies below waits for the pods too: they may still mount it. In the last layer nothing does.
          propagationPolicy: !this.#isLast && hasDependants(key) ? 'Foreground' : 'Background',
          signal: this.#signal,
        })
        return undefined
      } catch (error) {
        if (!isConflict(error)) throw error
        const { metadata } = await this.#client.get(resource, refOf(key), { signal: this.#signal })
        if (metadata.uid !== uid) throw new AnotherObject()
        const why = step.isStranger ? changedWhy : whyNotOurs(step, metadata, this.#options.setId)
        if (why !== undefined) {
          this.#pending.delete(uid)
          return this.#outcome(step, 'Changed', why)
        }
        if (tries >= mostConflicts) throw error
        resourceVersion = metadata.resourceVersion
      }
    }
  }

  /** Strangers are read once more, past every cache: the plan may be older than what somebody did to them since. */
  async #readAgain({ key, uid, resource }: PruneStep): Promise<string | undefined> {
    const { metadata } = await this.#client.get(resource, refOf(key), { signal: this.#signal })
    if (metadata.uid !== uid) throw new AnotherObject()
    return metadata.resourceVersion
  }

  async #untilGone(): Promise<void> {
    if (this.#pending.size === 0) return
    const { clock, timeoutMs } = this.#options
    const timer = new AbortController()
    const onAbort = () => timer.abort()
    this.#signal.addEventListener('abort', onAbort, { once: true })
    try {
      await Promise.race([this.#allGone, clock.sleep(timeoutMs, timer.signal).catch(() => undefined)])
      this.#signal.throwIfAborted()
    } finally {
      this.#signal.removeEventListener('abort', onAbort)
      timer.abort()
    }
  }

  /** Gone, or why not. What the watch has not seen go is looked at once more. */
  async #conclude(step: PruneStep): Promise<PruneOutcome> {
    const { key, uid, resource } = step
    if (this.#goneAt.has(uid)) return this.#outcome(step, 'Gone', step.why)
    try {
      const object = await this.#client.get(resource, refOf(key), { signal: this.#signal })
      if (object.metadata.uid === uid) {
        const dependants = await dependantsOf(this.#client, key, uid, this.#signal)
        const { why, finalizers } = explainStuck(object, resource, dependants)
        return { ...this.#outcome(step, 'Stuck', why), finalizers }
      }
    } catch (error) {
      this.#signal.throwIfAborted()
      if (!isNotFound(error))
        return this.#outcome(step, 'Stuck', `whether it is gone is not known: ${faultText(key, error)}`)
    }
    this.#leave(step)
    return this.#outcome(step, 'Gone', step.why)
  }

  #leave(step: PruneStep | undefined): void {
    if (!step || this.#goneAt.has(step.uid)) return
    this.#goneAt.set(step.uid, this.#now())
    this.#pending.delete(step.uid)
    this.#options.onGone(step.key)
    if (this.#pending.size === 0 && !this.#isAsking) this.#onAllGone()
  }

  #tellHeld(step: PruneStep | undefined, { metadata }: KubeObject): void {
    const { deletionTimestamp, finalizers = [] } = metadata
    if (!step || deletionTimestamp === undefined || finalizers.length === 0) return
    this.#options.onProgress?.(`${keyText(step.key)} waits for ${finalizers.join(', ')}`)
  }

  #outcome({ key, uid }: PruneStep, is: PruneOutcome['is'], why: string): PruneOutcome {
    const endedAt = this.#goneAt.get(uid) ?? this.#now()
    return { key, is, seconds: Math.max(0, endedAt - (this.#askedAt.get(uid) ?? endedAt)) / 1_000, why }
  }

  #now(): number {
    return this.#options.clock.monotonic()
  }
}

/** The name belongs to somebody else by now: what was meant is gone. */
class AnotherObject extends Error {
  override readonly name = 'AnotherObject'
}

const changedWhy = 'somebody changed it after the plan was made, and it is not ours; plan again'

function byCollection(steps: readonly PruneStep[]): ReadonlyMap<string, readonly PruneStep[]> {
  const groups = new Map<string, PruneStep[]>()
  for (const step of steps) {
    const here = groups.get(collectionOf(step))
    if (here) here.push(step)
    else groups.set(collectionOf(step), [step])
  }
  return groups
}

const refOf = ({ namespace, name }: Key) => (namespace === '' ? { name } : { namespace, name })

const collectionOf = ({ resource, key }: PruneStep): string =>
  `${resource.group}/${resource.version}/${resource.plural} ${key.namespace}`

/** A refusal may quote the object; of a Secret only the code is told. */
function faultText(key: Key, error: unknown): string {
  if (key.kind === 'Secret' && error instanceof ApiError)
    return `the server answered ${error.code} (${error.status ?? 'no status'})`
  return error instanceof Error ? error.message : String(error)
}
