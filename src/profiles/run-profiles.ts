import { budgetName } from '../api/index.ts'
import { EvictionPace } from '../drain/index.ts'
import {
  type EventRecorder,
  hasCode,
  isConflict,
  isNotFound,
  type KubeClient,
  type LookAgain,
  type NodeObject,
  resources,
  WorkQueue,
} from '../kube/index.ts'
import {
  controllerManager,
  freezeText,
  podsByNode,
  type QueueViews,
  viewFreezes,
  type WindowViews,
} from '../queue/index.ts'
import type { Clock } from '../time/index.ts'
import { Admissions } from './admissions.ts'
import type { ProfileCounts } from './counts.ts'
import { eventOf, fileEventOf, notSentEventOf, remarkOf, sentInPartEventOf } from './events.ts'
import { GoneNodes } from './gone-nodes.ts'
import { isInMaintenance } from './in-maintenance.ts'
import type { InfoBoard } from './info.ts'
import { LabelLocks } from './label-locks.ts'
import { Lane } from './lane.ts'
import { detailsOf } from './log-details.ts'
import { profileLabel } from './names.ts'
import { messageContext, Outbox } from './outbox.ts'
import type { ClusterView, ProfilesConfig } from './plugin.ts'
import { Refusals } from './refusals.ts'
import { shufflesOf, type WorkloadViews } from './shuffles.ts'
import { giveBack, whyNoSlot } from './slots.ts'
import { draftOf } from './state/draft.ts'
import { messageOf } from './state/evaluate-chain.ts'
import { instanceOf } from './state/notices.ts'
import { type Pass, passOver } from './state/pass.ts'
import { progressAnnotation, readProgress } from './state/progress.ts'
import { refusedPass } from './state/refused-pass.ts'

export interface ProfilesPorts {
  /** Refuses to write once its term as leader is over. */
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: () => number
  readonly log: ProfilesLog
  readonly recorder: Pick<EventRecorder, 'record'>
  readonly views: QueueViews
  readonly windows: Pick<WindowViews, 'freezes'>
  readonly workloads: WorkloadViews
  readonly config: ConfigSource
  readonly board: InfoBoard
  readonly counts: ProfileCounts
  /** Since when no maintenance-controller has led. */
  readonly aloneSinceMs: number
  /** Decides everything and changes nothing. */
  readonly isDryRun: boolean
}

export interface ConfigSource {
  /** The last one that could be read. */
  current(): ProfilesConfig | undefined
  /** Why what is in the file now is not in force. */
  errors?(): readonly string[]
  subscribe(wake: () => void): () => void
}

export interface ProfilesLog {
  readonly info: (fields: object, message: string) => void
  readonly warn: (fields: object, message: string) => void
}

/** Nodes are looked at side by side: most of a look is waiting for the API server. */
const lane = { width: 32, slowAfterMs: 250 }
/** With those that wait for somebody who does not answer. */
const mostAtOnce = 512
const tidyEveryMs = 2_000
/** What can wait is looked at again after this, and waits for so long at most. */
const patience = { lookMs: 500, mostMs: 10_000 }
/** Somebody was faster; by then the view shows it. */
const lateLookMs = 100
/** A drain that is under way is looked at this often, even if no pod goes. */
const workingLookMs = 2_000

/** Takes nodes through their profiles until the signal aborts. */
export async function runProfiles(ports: ProfilesPorts, signal: AbortSignal): Promise<void> {
  await new ProfilesRun(ports, signal).run()
}

class ProfilesRun {
  readonly #ports: ProfilesPorts
  readonly #signal: AbortSignal
  readonly #queue: WorkQueue
  readonly #admissions: Admissions
  readonly #outbox: Outbox
  readonly #cluster: ClusterView
  readonly #evictions: EvictionPace
  readonly #gone = new GoneNodes()
  readonly #lane = new Lane(lane)
  readonly #labelLocks: LabelLocks
  readonly #refusals = new Refusals()
  /** The versions that this process wrote: a cache that does not show them yet is not looked at. */
  readonly #written = new Map<string, bigint>()
  /** Nodes whose triggers wait for pods to go. */
  readonly #working = new Set<string>()
  /** Nodes that are kept out of maintenance by something beside their checks: a freeze, a slot, a missing ledger. */
  readonly #held = new Set<string>()
  /** Since when nodes wait with what can wait. */
  readonly #waitingSince = new Map<string, number>()
  #ledger = ''
  /** What is wrong with a node's label or data, as it was told: once is enough. */
  readonly #remarks = new Map<string, string>()

  constructor(ports: ProfilesPorts, signal: AbortSignal) {
    const { client, clock, random, views, log } = ports
    this.#ports = ports
    this.#signal = signal
    this.#evictions = new EvictionPace(random)
    this.#cluster = {
      nodes: () => views.nodes.values(),
      podsOn: (node) => views.pods.byIndex(podsByNode, node),
      gone: () => this.#gone.all(),
      disruptionBudgets: () => views.disruptionBudgets.values(),
    }
    this.#labelLocks = new LabelLocks(views.nodes)
    this.#queue = new WorkQueue({
      clock,
      random,
      concurrency: mostAtOnce,
      groupOf: () => '',
      backoff: { firstMs: 100, longestMs: 30_000 },
      runDeadlineMs: 120_000,
      onFailure: ({ key, error, attempt }) => {
        if (attempt > 2) log.warn({ node: key, attempt, why: messageOf(error) }, 'a look at a node failed')
      },
    })
    this.#admissions = new Admissions({
      client,
      budgets: views.budgets,
      nodes: views.nodes,
      cluster: this.#cluster,
      clock,
      signal,
      isDryRun: ports.isDryRun,
    })
    this.#outbox = new Outbox({
      doors: { client, clock },
      random,
      signal,
      onSent: (node) => this.#queue.add(node),
      onFailure: (failure) => {
        const { node, profile, instance, attempt, cause, needsPerson } = failure
        ports.counts.notSent(profile, instance)
        log.warn({ node: node.metadata.name, profile, instance, attempt, why: cause }, 'a message was not sent')
        if (attempt === 1 || needsPerson) ports.recorder.record(notSentEventOf(failure))
      },
      onRemark: (about) => {
        const { node, profile, instance, remark } = about
        log.warn({ node: node.metadata.name, profile, instance, why: remark }, 'a message did not reach everybody')
        ports.recorder.record(sentInPartEventOf(about))
      },
    })
  }

  async run(): Promise<void> {
    const { views, config, clock } = this.#ports
    const stops = [
      views.nodes.subscribe(({ type, object }) => {
        const { name = '' } = object.metadata
        if (type === 'deleted') {
          this.#gone.note(object, clock.now())
          this.#forget(name)
          this.#outbox.keepOnly(object.metadata.uid ?? '', [])
        }
        this.#queue.add(name)
      }),
      views.pods.subscribe(({ type, object }) => {
        const { nodeName = '' } = object.spec ?? {}
        if (type === 'deleted' && this.#working.has(nodeName)) this.#queue.add(nodeName)
      }),
      ...this.#wakeHeld(),
      config.subscribe(() => {
        this.#refusals.clear()
        this.#tellFile()
        this.#lookAtAll()
      }),
    ]
    try {
      this.#tellFile()
      this.#queue.start((name, { signal }) =>
        // Those who wait for others to hurry must not be the crowd that they wait for.
        this.#lane.run(() => this.#look(name, signal), { isPatient: this.#waitingSince.has(name) }),
      )
      await this.#keepTidy()
    } finally {
      for (const stop of stops) stop()
      await this.#queue.drain(AbortSignal.timeout(5_000))
    }
  }

  /** Whoever is held is looked at when that is over: `requeue` may be long, and a slot is not to be had for nothing. */
  #wakeHeld(): readonly (() => void)[] {
    const { views, windows } = this.#ports
    const wakeAll = () => {
      for (const name of this.#held) this.#queue.add(name)
    }
    return [
      windows.freezes.subscribe(wakeAll),
      views.budgets.subscribe(({ object: { metadata, status } }) => {
        // Not at every entry in the ledger: each of those who wait would look at all of them.
        const seen = `${metadata.uid} ${metadata.generation} ${status !== undefined}`
        if (seen !== this.#ledger) wakeAll()
        this.#ledger = seen
      }),
      views.requests.subscribe(({ object: { spec, status } }) => {
        const isDecided = status?.phase === 'Granted' || status?.phase === 'Done'
        if (isDecided && this.#held.has(spec.nodeName)) this.#queue.add(spec.nodeName)
      }),
    ]
  }

  #tellFile(): void {
    const { config, views, recorder, isDryRun } = this.#ports
    const errors = config.errors?.() ?? []
    if (errors.length > 0 && !isDryRun) recorder.record(fileEventOf(views.budgets.get({ name: budgetName }), errors))
  }

  #lookAtAll(): void {
    for (const { metadata } of this.#ports.views.nodes.values()) this.#queue.add(metadata.name ?? '')
  }

  async #keepTidy(): Promise<void> {
    const { clock, log, isDryRun } = this.#ports
    while (!this.#signal.aborted) {
      await clock.sleep(tidyEveryMs, this.#signal).catch(() => undefined)
      if (this.#signal.aborted) return
      if (isDryRun) continue
      this.#evictions.forgetOld(clock.now())
      await this.#admissions.tidy().catch((error: unknown) => {
        log.warn({ why: messageOf(error) }, 'admissions could not be tidied')
      })
    }
  }

  async #look(name: string, signal: AbortSignal): Promise<LookAgain | undefined> {
    const { views, config: source, board, clock, counts, isDryRun } = this.#ports
    const node = views.nodes.get({ name })
    const config = source.current()
    // Also what a look left behind that ended after its node: the last finalizer goes with our own write.
    if (!node) this.#forget(name)
    if (!node || !config) return undefined
    if (versionOf(node) < (this.#written.get(name) ?? 0n)) return undefined
    const lockedSince = this.#labelLocks.look()
    const pass = await this.#pass(node, config, signal)
    this.#logDetails(name, pass)
    const isWorking = pass.result.profiles.some(
      ({ waitsFor, transitions }) => waitsFor !== undefined && transitions.length === 0,
    )
    if (isWorking) this.#working.add(name)
    else this.#working.delete(name)
    for (const { name: profile, failure } of pass.result.profiles) if (failure) counts.failed(profile)
    const overdue = pass.result.profiles.flatMap((profile) => (profile.isOverdue ? [profile.name] : []))
    counts.overdue(node, overdue)
    const waitMs = pass.canWait ? this.#mayWaitMs(name) : 0
    if (waitMs > 0) return { requeueAfterMs: waitMs }
    this.#waitingSince.delete(name)
    const store = () => this.#store(node, pass, signal)
    const storing = pass.takesLabel && !isDryRun ? this.#labelLocks.store(lockedSince, store) : store()
    const stored = await storing.catch((error: unknown) => {
      if (hasCode(error, 'Invalid', 'Forbidden', 'BadRequest', 'TooLarge'))
        this.#refused(node, pass, config, messageOf(error))
      throw error
    })
    if (stored === 'Late') return { requeueAfterMs: lateLookMs }
    board.publish(stored ?? node, pass, config.labelFilter, clock.now())
    if (stored && !isDryRun) {
      if (pass.occupants.length > 0) this.#refusals.delete(name)
      this.#tell(node, pass)
      this.#remark(node, pass)
      if (pass.result.problem === undefined) this.#offer(stored, pass, config)
      else this.#outbox.hold(stored.metadata.uid ?? '')
      await this.#giveBack(stored, pass)
    }
    return { requeueAfterMs: isWorking ? Math.min(workingLookMs, config.requeueMs) : config.requeueMs }
  }

  #forget(name: string): void {
    this.#ports.board.forget(name)
    this.#ports.counts.forget(name)
    const all = [this.#written, this.#remarks, this.#working, this.#held, this.#waitingSince, this.#refusals]
    for (const known of all) known.delete(name)
  }

  #logDetails(node: string, { isDetailed, result }: Pass): void {
    if (!isDetailed) return
    for (const { fields, message } of detailsOf(result)) this.#ports.log.info({ node, ...fields }, message)
  }

  /** The API server takes the change from nobody as it is: that is told wherever people look, and tried again. */
  #refused(node: NodeObject, pass: Pass, config: ProfilesConfig, cause: string): void {
    const { board, clock, counts, recorder } = this.#ports
    const { name = '', uid = '' } = node.metadata
    if (pass.occupants.length > 0 && !isInMaintenance(node, config.profiles)) {
      // Others get their turn: this one may never come in.
      this.#admissions.giveUp(uid)
      this.#refusals.note(name, cause, clock.now(), config.requeueMs)
    }
    const refused = refusedPass(pass, cause)
    for (const { profile } of refused.events) counts.failed(profile)
    for (const event of refused.events) recorder.record(eventOf(node, event))
    board.publish(node, refused, config.labelFilter, clock.now())
  }

  /** Others who are on their way are in a hurry; but nobody waits for ever. Each look is later than the one before it. */
  #mayWaitMs(name: string): number {
    const nowMs = this.#ports.clock.monotonic()
    const sinceMs = this.#waitingSince.get(name) ?? nowMs
    this.#waitingSince.set(name, sinceMs)
    const waitedMs = nowMs - sinceMs
    if (!this.#lane.isCrowded || waitedMs >= patience.mostMs) return 0
    return Math.max(patience.lookMs, Math.min(waitedMs, patience.mostMs - waitedMs))
  }

  #pass(node: NodeObject, config: ProfilesConfig, signal: AbortSignal): Promise<Pass> {
    const { client, clock, windows, aloneSinceMs, isDryRun, recorder } = this.#ports
    const { name = '', uid = '', annotations } = node.metadata
    const { pending } = readProgress(annotations?.[progressAnnotation])
    this.#held.delete(name)
    const held = (why: string | undefined) => {
      if (why !== undefined) this.#held.add(name)
      return why
    }
    return passOver(node, {
      config,
      cluster: this.#cluster,
      doors: { client, clock, events: recorder, evictions: this.#evictions },
      nowMs: clock.now(),
      aloneSinceMs,
      sent: this.#outbox.sentOf(uid, pending),
      signal,
      whyNot: async (profile) => {
        const freeze = freezeText(viewFreezes(windows.freezes.values(), clock.now()))
        if (freeze !== undefined || isDryRun) return held(freeze)
        const refused = this.#refusals.whyNot(name, clock.now())
        if (refused !== undefined) return refused
        return held(await whyNoSlot({ client, views: this.#ports.views, signal }, node, profile))
      },
      admit: async (profile, passes) => held(await this.#admissions.admit(draftOf(node), profile, passes)),
      isDryRun,
    })
  }

  /** The node as it is now; nothing when somebody else changed it meanwhile: then it is looked at again. */
  async #store(node: NodeObject, { patch }: Pass, signal: AbortSignal): Promise<NodeObject | undefined> {
    const { client, isDryRun, log } = this.#ports
    const { name = '' } = node.metadata
    if (!patch) return node
    if (isDryRun) {
      log.info({ node: name, patch }, 'dry run: this would be written')
      return undefined
    }
    try {
      // The patch holds only for the version that was read, so all that it does not touch is known already.
      const options = {
        fieldManager: controllerManager,
        signal,
        ...('spec' in patch ? {} : { answer: 'metadata' as const }),
      }
      const answer = await client.patch<NodeObject>(resources.nodes, { name }, { type: 'merge', body: patch }, options)
      const stored = 'spec' in patch ? answer : { ...node, metadata: answer.metadata }
      this.#written.set(name, versionOf(stored))
      return stored
    } catch (error) {
      if (isNotFound(error)) return undefined
      // The watch brings the newer version, and with it the next look.
      if (isConflict(error)) return undefined
      throw error
    }
  }

  #tell(node: NodeObject, { events, entering, result }: Pass): void {
    const { recorder, counts, workloads, log } = this.#ports
    const { name = '', labels = {} } = node.metadata
    for (const event of events) {
      recorder.record(eventOf(node, event))
      if (event.is !== 'Changed') continue
      counts.changed(event.profile, event.to)
      log.info({ node: name, profile: event.profile, from: event.from, to: event.to }, 'state changed')
    }
    // Who has no label goes nowhere, but for a profile called default: a series for each owner would be too many.
    if ((labels[profileLabel] ?? '') === '' && entering.length === 0) return
    const shuffles = shufflesOf(this.#cluster.podsOn(name), workloads)
    for (const { name: profile } of result.profiles)
      counts.shuffled(profile, shuffles, entering.includes(profile) ? 1 : 0)
  }

  #remark(node: NodeObject, { result }: Pass): void {
    const { name = '' } = node.metadata
    const note = remarkOf(node, result)
    if (note && note.note !== this.#remarks.get(name)) this.#ports.recorder.record(note)
    if (note) this.#remarks.set(name, note.note)
    else this.#remarks.delete(name)
  }

  #offer(node: NodeObject, pass: Pass, config: ProfilesConfig): void {
    const { uid = '' } = node.metadata
    this.#outbox.keepOnly(uid, pass.pending)
    for (const pending of pass.pending) {
      const instance = instanceOf(config, pending)
      if (!instance) continue
      this.#outbox.offer({ node, pending, instance, context: messageContext(node, pending, pass) })
    }
  }

  async #giveBack(node: NodeObject, { occupants, result }: Pass): Promise<void> {
    const { client, views, clock } = this.#ports
    // Nothing was decided: whoever has a slot may still need it.
    if (result.problem !== undefined) return
    const isRefused = this.#refusals.whyNot(node.metadata.name ?? '', clock.now()) !== undefined
    // Whoever waits for a slot has a transition that passed.
    const waiting = isRefused
      ? []
      : result.profiles.flatMap(({ name, transitions }) =>
          transitions.some(({ target, chain }) => target === 'in-maintenance' && chain.isPassed) ? [name] : [],
        )
    await giveBack({ client, views, signal: this.#signal }, node, new Set([...occupants, ...waiting]))
  }
}

function versionOf({ metadata }: NodeObject): bigint {
  return BigInt(metadata.resourceVersion ?? 0)
}
