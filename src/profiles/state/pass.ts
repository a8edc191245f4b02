import type { NodeObject } from '../../kube/index.ts'
import { forgetCordons } from '../cordon-draft.ts'
import {
  dataAnnotation,
  isState,
  logDetailsLabel,
  profileLabel,
  profileSeparator,
  type State,
  stateLabel,
  states,
} from '../names.ts'
import type { ClusterView, NodeDraft, PassContext, PluginDoors, Profile, ProfilesConfig } from '../plugin.ts'
import { type ProfileData, readData, writeData } from './data.ts'
import { draftOf, patchOf, remember } from './draft.ts'
import { type GoTime, goTimeOf } from './go-time.ts'
import { addDue, addOverdue, instanceOf, letGo, noteSent, only, type Sent } from './notices.ts'
import {
  addHistory,
  type HistoryEntry,
  historyAnnotation,
  type InFlight,
  type Pending,
  type Progress,
  progressAnnotation,
  readProgress,
  writeProgress,
} from './progress.ts'
import type { PassEvent, PassResult, ProfileResult } from './result.ts'
import { selectProfiles } from './select.ts'
import { runTriggers, type Turn, type TurnPorts, takeTurn } from './turn.ts'
import { abortAnnotation, abortReasonAnnotation, abortsOf, pauseAnnotation } from './verbs.ts'

export interface PassPorts extends TurnPorts {
  readonly config: ProfilesConfig
  readonly cluster: ClusterView
  readonly doors: PluginDoors
  readonly nowMs: number
  /** Since when no maintenance-controller has led: it knows nothing of our ways, and people have gone by what it did. */
  readonly aloneSinceMs: number
  /** What would happen is found out, and nothing outside is touched. */
  readonly isDryRun: boolean
  /** Messages of this node that were sent since. */
  readonly sent: readonly Sent[]
  readonly signal: AbortSignal
}

export interface Pass {
  readonly result: PassResult
  /** What has to be written, if anything. Nothing below counts before it is stored. */
  readonly patch: object | undefined
  /** All that is new is that a state was seen in which there is nothing to do. That can wait for what moves nodes. */
  readonly canWait: boolean
  /** It takes a label that other nodes ask for: it holds only if none of them took it meanwhile. */
  readonly takesLabel: boolean
  readonly events: readonly PassEvent[]
  /** Messages that wait to be sent, once the pass is stored. None are sent while there is a problem: nobody would note it. */
  readonly pending: readonly Pending[]
  /** Profiles that have the node in maintenance, or are on their way there. */
  readonly occupants: readonly string[]
  /** Those of them that have it from this pass on: nothing has made pods leave yet. */
  readonly entering: readonly string[]
  readonly isInMaintenance: boolean
  readonly isDetailed: boolean
  /** The newest change of a state on the node. */
  readonly lastTransition: { readonly profile: string; readonly at: GoTime } | undefined
}

/** One look at a node: each of its profiles has a turn, and all that comes of it is one patch. */
export async function passOver(node: NodeObject, ports: PassPorts): Promise<Pass> {
  const draft = draftOf(node)
  const read = readData(draft.annotations[dataAnnotation])
  const paused = draft.annotations[pauseAnnotation]
  if ('problem' in read) {
    const problem = `annotation ${dataAnnotation} cannot be read: ${read.problem}; repair it, or begin anew with \`fettle profiles abort ${draft.name}\``
    return untouched({ problem, isUnreadable: true }, draft)
  }
  if (paused !== undefined) return untouched({ problem: `paused: ${paused}` }, draft)
  return new PassOfNode(draft, ports).run(read.data)
}

function untouched(why: Pick<PassResult, 'problem' | 'isUnreadable'>, draft: NodeDraft): Pass {
  return {
    result: { profiles: [], unknown: [], ...why },
    patch: undefined,
    canWait: false,
    takesLabel: false,
    events: [],
    pending: readProgress(draft.annotations[progressAnnotation]).pending,
    occupants: [],
    entering: [],
    isInMaintenance: draft.labels[stateLabel] === 'in-maintenance',
    isDetailed: isDetailed(draft),
    lastTransition: undefined,
  }
}

function isDetailed(draft: NodeDraft): boolean {
  return draft.labels[logDetailsLabel] === 'true'
}

class PassOfNode {
  readonly #draft: NodeDraft
  readonly #ports: PassPorts
  readonly #events: PassEvent[] = []
  readonly #history: HistoryEntry[] = []
  #profiles = new Map<string, ProfileData>()
  /** Those that the label names and the file has; what is stored of others is kept, and counts for nothing. */
  #selected = new Set<string>()
  #times = new Map<string, GoTime>()
  /** The states before, of profiles that found nothing to do when they entered theirs. */
  readonly #before = new Map<string, string>()
  #takesLabel = false
  /** Before this pass changed anything: that is what messages of the pass tell. */
  #wasInMaintenance = false
  #progress: Progress

  constructor(draft: NodeDraft, ports: PassPorts) {
    this.#draft = draft
    this.#ports = ports
    this.#progress = readProgress(draft.annotations[progressAnnotation])
  }

  async run(stored: Parameters<typeof selectProfiles>[2]): Promise<Pass> {
    const { config, nowMs, sent } = this.#ports
    const { profiles, unknown, data, dropped } = selectProfiles(this.#draft.labels[profileLabel], config, stored, nowMs)
    this.#profiles = new Map(data.profiles)
    this.#times = new Map(data.notifications)
    const kept = letGo(
      only(this.#progress, new Set(data.profiles.keys()), this.#times),
      this.#times,
      (one) => instanceOf(config, one) !== undefined,
    )
    this.#progress = noteSent(kept, this.#times, sent, this.#profiles)
    this.#selected = new Set(profiles.map(({ name }) => name))
    this.#wasInMaintenance = profiles.some(({ name }) => this.#profiles.get(name)?.current === 'in-maintenance')
    for (const [profile, way] of Object.entries(this.#progress.inFlight)) {
      const why = this.#whyLost(profile, way)
      if (why === undefined) continue
      this.#forget(profile)
      this.#events.push({ is: 'Lost', profile, next: way.next, why })
    }
    for (const { name, state } of dropped)
      if (state === 'in-maintenance') this.#events.push({ is: 'Dropped', profile: name, state })
    // Of a profile that the label no longer names there is nothing to abort: it would hit the next one of that name.
    this.#dropAborts((name) => !data.profiles.has(name))
    // The file no longer says what is to be run for it. Kept for later, it would hit whatever the profile does then.
    for (const name of abortsOf(this.#draft.annotations[abortAnnotation]))
      if (!this.#selected.has(name)) this.#endAbort(name, data.profiles.get(name)?.current ?? 'operational')
    forgetCordons(this.#draft, data.profiles.keys())
    const before = this.#withNode()
    const results: ProfileResult[] = []
    for (const profile of profiles) results.push(await this.#turnOf(profile))
    this.#write(profiles)
    const occupants = [...this.#selected].filter((name) => this.#isOccupant(name))
    return {
      result: { profiles: results, unknown },
      patch: patchOf(this.#draft),
      canWait: this.#canWait(),
      takesLabel: this.#takesLabel,
      events: this.#events,
      pending: this.#progress.pending.map((one) => this.#withTransition(one)),
      occupants,
      entering: this.#withNode().filter((name) => !before.includes(name)),
      isInMaintenance: this.#draft.labels[stateLabel] === 'in-maintenance',
      isDetailed: isDetailed(this.#draft),
      lastTransition: [...this.#profiles]
        .map(([profile, { transition }]) => ({ profile, at: transition }))
        .sort((one, other) => other.at.ms - one.at.ms)[0],
    }
  }

  #whyLost(profile: string, { since }: InFlight): string | undefined {
    if (!this.#selected.has(profile)) return 'the file no longer has the profile'
    return Date.parse(since) < this.#ports.aloneSinceMs ? 'maintenance-controller has led meanwhile' : undefined
  }

  /** Messages of versions before this one do not say which change they are about; the newest of their profile it is then. */
  #withTransition(pending: Pending): Pending {
    const transition = pending.transition ?? this.#profiles.get(pending.profile)?.transition.text
    return transition === undefined ? pending : { ...pending, transition }
  }

  async #turnOf(profile: Profile): Promise<ProfileResult> {
    const { name } = profile
    const data = this.#profiles.get(name) as ProfileData
    const { current: state } = data
    let undo = remember(this.#draft)
    // First: it is also the way out of a state that nobody knows.
    if (abortsOf(this.#draft.annotations[abortAnnotation]).includes(name)) return this.#abort(profile, data, undo)
    if (!isState(state)) {
      const remedy = `\`fettle profiles abort ${this.#draft.name} --profile ${name}\` makes it operational`
      const failure = { stage: 'state', cause: `${JSON.stringify(state)} is no state; ${remedy}` } as const
      this.#events.push({ is: 'Failed', profile: name, state, failure })
      return { name, state, next: state, transitions: [], failure }
    }
    const context = this.#contextOf(profile, state, data)
    const about = { ...data, isInMaintenance: this.#wasInMaintenance }
    const overdue = addOverdue(this.#progress, profile.states[state], name, about, context.nowMs)
    this.#progress = overdue.progress
    if (overdue.isNew) this.#events.push({ is: 'Overdue', profile: name, state, since: data.transition.text })
    const turn = await takeTurn(
      {
        profile,
        state,
        hasChanged: data.previous !== state,
        inFlight: this.#progress.inFlight[name],
        occupiedBy: this.#occupantBeside(name, state),
        labelTakers: this.#ports.config.labelTakers,
        context,
        isDryRun: this.#ports.isDryRun,
        onEntered: () => {
          // What entering did stays, also if a check cannot tell now: it is not done twice, and people are told once.
          this.#notify(profile, state, data)
          this.#profiles.set(name, { ...data, previous: state })
          if (profile.states[state].enter.length === 0) this.#before.set(name, data.previous)
          undo = remember(this.#draft)
        },
      },
      this.#ports,
    )
    // After a change the enter chain runs first, and people are told when it is done.
    if (data.previous === state) this.#notify(profile, state, data)
    const result = this.#settle(profile, state, data, turn, undo)
    return overdue.isOverdue ? { ...result, isOverdue: true } : result
  }

  #notify(profile: Profile, state: State, data: ProfileData): void {
    const { notify } = profile.states[state]
    const about = { ...data, isInMaintenance: this.#wasInMaintenance }
    this.#progress = addDue(this.#progress, this.#times, notify, profile.name, about, this.#ports.nowMs)
  }

  #settle(profile: Profile, state: State, data: ProfileData, turn: Turn, undo: () => void): ProfileResult {
    const { name } = profile
    const { outcome, transitions } = turn
    const result = { name, state, next: state, transitions }
    this.#takesLabel ||= turn.takesLabel ?? false
    switch (outcome.is) {
      case 'Failed':
        undo()
        this.#events.push({ is: 'Failed', profile: name, state, failure: outcome.failure })
        return { ...result, failure: outcome.failure }
      case 'Lost':
        undo()
        this.#forget(name)
        this.#events.push({ is: 'Lost', profile: name, next: outcome.next, why: outcome.why })
        return { ...result, waitsFor: `the way to ${outcome.next} was given up: ${outcome.why}` }
      case 'Entering':
        return { ...result, waitsFor: outcome.waitsFor }
      case 'InFlight': {
        const inFlight = { ...this.#progress.inFlight, [name]: outcome.inFlight }
        this.#progress = { ...this.#progress, inFlight }
        this.#profiles.set(name, { ...data, previous: state })
        const waitsFor = outcome.waitsFor ?? `the way to ${outcome.inFlight.next} begins`
        return { ...result, next: state, waitsFor }
      }
      case 'Settled': {
        this.#forget(name)
        this.#move(name, state, outcome.next, outcome.why ?? '')
        const { next, waitsFor } = outcome
        if (next !== state) this.#events.push({ is: 'Changed', profile: name, from: state, to: next })
        return { ...result, next, ...(waitsFor === undefined ? {} : { waitsFor }) }
      }
    }
  }

  /** Back to operational, with what the file says for that. */
  async #abort(profile: Profile, data: ProfileData, undo: () => void): Promise<ProfileResult> {
    const { name } = profile
    const { current: state } = data
    const { isDryRun, nowMs } = this.#ports
    this.#forget(name)
    const { [name]: since = new Date(nowMs).toISOString(), ...otherAborts } = this.#progress.aborting
    const context = this.#contextOf(profile, isState(state) ? state : 'operational', data)
    const ran = await runTriggers(profile.abort, { sinceMs: Date.parse(since), isDryRun }, context)
    const result = { name, state, next: state, transitions: [] }
    if (ran.is === 'Retry') {
      this.#progress = { ...this.#progress, aborting: { ...otherAborts, [name]: since } }
      return { ...result, waitsFor: ran.why }
    }
    if (ran.is === 'Failed') {
      undo()
      const failure = { stage: 'trigger', cause: ran.cause } as const
      this.#events.push({ is: 'Failed', profile: name, state, failure })
      return { ...result, failure }
    }
    this.#endAbort(name, state)
    return { ...result, next: 'operational' }
  }

  #endAbort(name: string, from: string): void {
    const { [abortReasonAnnotation]: reason } = this.#draft.annotations
    this.#dropAborts((other) => other === name)
    this.#move(name, from, 'operational', reason === undefined ? 'aborted' : `aborted: ${reason}`)
    this.#events.push({ is: 'Aborted', profile: name, from })
  }

  #dropAborts(isOver: (name: string) => boolean): void {
    const { annotations } = this.#draft
    const named = abortsOf(annotations[abortAnnotation])
    const left = named.filter((name) => !isOver(name))
    if (left.length > 0) annotations[abortAnnotation] = left.join(profileSeparator)
    else if (named.length > 0) for (const key of [abortAnnotation, abortReasonAnnotation]) delete annotations[key]
    const aborting = Object.entries(this.#progress.aborting).filter(([name]) => left.includes(name))
    this.#progress = { ...this.#progress, aborting: Object.fromEntries(aborting) }
  }

  #move(name: string, state: string, next: State, why: string): void {
    const data = this.#profiles.get(name) as ProfileData
    const at = goTimeOf(this.#ports.nowMs)
    this.#profiles.set(name, {
      transition: next === state ? data.transition : at,
      current: next,
      previous: state,
    })
    if (next === state) return
    this.#history.push({ at: at.text, profile: name, from: state, to: next, why })
  }

  #forget(name: string): void {
    const { [name]: _, ...inFlight } = this.#progress.inFlight
    this.#progress = { ...this.#progress, inFlight }
  }

  /** Only one profile may have a node in maintenance; who is on the way there has it already. */
  #isOccupant(name: string): boolean {
    return (
      this.#profiles.get(name)?.current === 'in-maintenance' || this.#progress.inFlight[name]?.next === 'in-maintenance'
    )
  }

  /** Who has the node, or has what it needs for the way there: whoever is late for a Lease gives the way up again. */
  #withNode(): readonly string[] {
    return [...this.#selected].filter((name) => {
      const { next, isTaken } = this.#progress.inFlight[name] ?? {}
      return this.#profiles.get(name)?.current === 'in-maintenance' || (next === 'in-maintenance' && isTaken)
    })
  }

  #occupantBeside(name: string, state: State): string | undefined {
    const other = [...this.#selected].find((each) => each !== name && this.#isOccupant(each))
    return other ?? (state === 'in-maintenance' ? name : undefined)
  }

  #contextOf(profile: Profile, state: State, data: ProfileData): PassContext {
    const { config, cluster, doors, nowMs, signal } = this.#ports
    const { ms: transitionMs } = data.transition
    const { profiles: inFile } = config
    return { profile: profile.name, state, node: this.#draft, transitionMs, nowMs, inFile, cluster, doors, signal }
  }

  #canWait(): boolean {
    if (this.#before.size === 0 || this.#events.length > 0) return false
    const profiles = new Map(
      [...this.#profiles].map(([name, data]) => [name, { ...data, previous: this.#before.get(name) ?? data.previous }]),
    )
    const unseen = writeData({ profiles, notifications: this.#times })
    return (
      patchOf({ ...this.#draft, annotations: { ...this.#draft.annotations, [dataAnnotation]: unseen } }) === undefined
    )
  }

  /** What the controller itself keeps on the node, whatever triggers wrote there. */
  #write(profiles: readonly Profile[]): void {
    const { annotations, labels } = this.#draft
    const now = profiles.flatMap(({ name }) => this.#profiles.get(name)?.current ?? [])
    labels[stateLabel] = [...states].reverse().find((state) => now.includes(state)) ?? 'operational'
    annotations[dataAnnotation] = writeData({ profiles: this.#profiles, notifications: this.#times })
    const progress = writeProgress(this.#progress)
    if (progress === undefined) delete annotations[progressAnnotation]
    else annotations[progressAnnotation] = progress
    if (this.#history.length > 0)
      annotations[historyAnnotation] = addHistory(annotations[historyAnnotation], this.#history)
  }
}
