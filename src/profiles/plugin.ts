import type { EvictionPace } from '../drain/index.ts'
import type { EventRecorder, KubeClient, NodeObject, PodDisruptionBudget, PodObject } from '../kube/index.ts'
import type { Clock } from '../time/index.ts'
import type { ConfigOf, Fields } from './fields.ts'
import type { State } from './names.ts'

/** A plugin of one kind. `create` is called once per instance in the file, when the file is read. */
export interface Plugin<Instance, F extends Fields = Fields> {
  /** As it is written in the file; case matters. */
  readonly type: string
  /** One sentence for the reference. */
  readonly about: string
  readonly fields: F
  /** What is wrong with values that are right one by one: sentences that say what to write. */
  problems?(config: ConfigOf<F>): readonly FieldProblem[]
  /** What is allowed and hardly meant. */
  warnings?(config: ConfigOf<F>): readonly FieldProblem[]
  create(config: ConfigOf<F>): Instance
}

export interface FieldProblem {
  readonly field: string
  readonly message: string
}

/**
 * The node as the pass over its profiles sees and changes it. All profiles of a node share one, so that what one
 * profile's triggers change is seen by the checks of the next. One write takes it all to the API server at the end.
 */
export interface NodeDraft {
  readonly name: string
  readonly uid: string
  readonly labels: Record<string, string>
  readonly annotations: Record<string, string>
  finalizers: string[]
  isUnschedulable: boolean
  /** As it was read. */
  readonly stored: NodeObject
}

/** What is known of the cluster without asking it. */
export interface ClusterView {
  nodes(): Iterable<NodeObject>
  podsOn(node: string): Iterable<PodObject>
  /** In the order in which they went; a command that only looks does not know of them. */
  gone?(): Iterable<GoneNode>
  /** Whoever drains lists them otherwise. */
  disruptionBudgets?(): Iterable<PodDisruptionBudget>
}

/** A node that was deleted while it was in maintenance, as it was seen last. */
export interface GoneNode {
  readonly node: NodeObject
  readonly atMs: number
}

/** What plugins that ask or tell somebody need. Every call takes the signal, which carries the deadline. */
export interface PluginDoors {
  readonly client: KubeClient
  readonly clock: Clock
  /** Tells people what happens to pods and nodes. */
  readonly events?: Pick<EventRecorder, 'record'>
  /** Which pods were asked to leave, and what the answer was. */
  readonly evictions?: EvictionPace
}

/** Those that the file has. */
export type ProfileNames = Pick<ReadonlySet<string>, 'has'>

/** Whose turn it is in the pass. */
export interface PassContext {
  readonly profile: string
  readonly state: State
  readonly node: NodeDraft
  /** When the profile came into its state on this node, in milliseconds since 1970; with fractions. */
  readonly transitionMs: number
  readonly nowMs: number
  readonly inFile: ProfileNames
  readonly cluster: ClusterView
  readonly doors: PluginDoors
  readonly signal: AbortSignal
}

export interface Label {
  readonly key: string
  readonly value: string
}

/** For the page and for `fettle profiles explain`. */
export type CheckInfo = Readonly<Record<string, unknown>>

export interface CheckAnswer {
  readonly isPassed: boolean
  readonly info: CheckInfo
}

/** Throws when it cannot tell; its message is shown, so it holds no secret. */
export interface Check {
  check(context: PassContext): CheckAnswer | Promise<CheckAnswer>
  /** Takes what the check found free, because the transition is really carried out now; throws if it is no longer free. */
  take?(context: PassContext): Promise<void>
  /** Its answer depends on what other nodes do: passing it and entering maintenance must not happen twice at once. */
  readonly isShared?: boolean
  /** A label that all nodes are asked for; with any value, if it is empty. */
  readonly asksForLabel?: Label
}

export type TriggerOutcome = 'done' | { readonly retry: string }

export interface Trigger {
  /** Changes the draft, or something outside. Runs again after `retry`, and after a crash: it must not mind. */
  run(context: TriggerContext): TriggerOutcome | Promise<TriggerOutcome>
  /** Acts on more than the draft: what is about to happen is stored before it runs. */
  readonly isOutside: boolean
  /** A label that the node has after it. */
  readonly setsLabel?: Label
}

export interface TriggerContext extends PassContext {
  /** When this trigger began on this node; the same over retries and crashes. */
  readonly sinceMs: number
  /** Names who cordons: `profile-<name>`. */
  readonly cordonOwner: string
}

/** What a message is about; also what its template sees. */
export interface NotifyContext {
  readonly profile: string
  readonly state: State
  readonly lastProfile: string
  readonly isInMaintenance: boolean
  readonly lastTransitionMs: number
  /** The same as it is stored, to the nanosecond; templates show this one if it is given. */
  readonly lastTransitionText?: string
  readonly isDetailed: boolean
  readonly node: NodeObject
}

/**
 * Throws when nothing was sent; its message is shown, so it holds no secret and no words of the other side. Answers what
 * somebody has to know though it was sent: that it did not reach everybody.
 */
export interface Notifier {
  send(context: NotifyContext, doors: PluginDoors, signal: AbortSignal): Promise<string | undefined>
}

export interface ScheduleContext {
  readonly nowMs: number
  readonly current: State
  readonly previous: State
  /** Zero and below: never. */
  readonly transitionMs: number
  readonly lastSentMs: number | undefined
}

export interface Schedule {
  isDue(context: ScheduleContext): boolean
}

// What the file declares, made of the above.

export interface Named<T> {
  readonly name: string
  readonly type: string
  readonly instance: T
}

export interface NotifyInstance extends Named<Notifier> {
  readonly schedule: Schedule
}

/** A boolean expression over checks. */
export interface CheckChain {
  readonly expression: string
  /** In the order of the text; a name written twice is here twice. */
  readonly checks: readonly Named<Check>[]
  /** With the answers in the same order. */
  evaluate(answers: readonly boolean[]): boolean
}

export interface Transition {
  readonly next: State
  readonly check: CheckChain
  readonly trigger: readonly Named<Trigger>[]
}

export interface ProfileState {
  readonly enter: readonly Named<Trigger>[]
  readonly notify: readonly NotifyInstance[]
  readonly transitions: readonly Transition[]
  /** How long a node may stay in the state before `overdue` is told; ours, the original ignores both keys. */
  readonly deadlineMs: number | undefined
  readonly overdue: readonly NotifyInstance[]
}

export interface Profile {
  readonly name: string
  readonly states: Readonly<Record<State, ProfileState>>
  /** What runs when a person aborts the profile on a node, before it is operational again; ours. */
  readonly abort: readonly Named<Trigger>[]
}

/** Transitions that take a label as a lock, and after how many of their steps it shows: triggers, and then the state. */
export type LabelTakers = ReadonlyMap<Transition, number>

export interface ProfilesConfig {
  readonly requeueMs: number
  /** Keys of node labels that the info API shows. */
  readonly labelFilter: readonly string[]
  /** With `default`, which always exists. */
  readonly profiles: ReadonlyMap<string, Profile>
  readonly labelTakers: LabelTakers
}

/** Something about the file. Lines and columns begin with 1. */
export interface ConfigProblem {
  readonly severity: 'error' | 'warning'
  readonly line: number
  readonly column: number
  /** Such as `instances.check[2].config.max`. */
  readonly path: string
  readonly message: string
}
