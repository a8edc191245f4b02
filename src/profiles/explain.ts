import type { NodeObject, PodObject } from '../kube/index.ts'
import { type Admission, stillNeeded, withAdmitted } from './admissions.ts'
import { dataAnnotation, profileLabel, stateLabel } from './names.ts'
import type { CheckChain, ClusterView, PassContext, Profile, ProfilesConfig } from './plugin.ts'
import { type ProfileData, readData } from './state/data.ts'
import { draftOf } from './state/draft.ts'
import { type PassPorts, passOver } from './state/pass.ts'
import {
  type HistoryEntry,
  historyAnnotation,
  type Pending,
  progressAnnotation,
  readHistory,
  readProgress,
} from './state/progress.ts'
import type { ProfileResult, TransitionResult } from './state/result.ts'
import { wayOf } from './state/turn.ts'
import { pauseAnnotation } from './state/verbs.ts'

/** Where a node stands in its profiles, and why: what the controller would find if it looked now. */
export interface NodeExplanation {
  readonly node: string
  /** The value of the label that names profiles; null if there is none, and so `default` counts. */
  readonly label: string | null
  readonly state: string
  /** Why nothing is decided about the node. What follows then holds as soon as somebody resumes it. */
  readonly paused?: string
  readonly problem?: string
  /** Why no node at all is taken into maintenance. */
  readonly frozen?: string
  /** What the controller told of it lately, and a look from outside does not find: that it may not write to the node. */
  readonly warnings?: readonly Warning[]
  /** Names in the label that the file does not know, and those that it knows. */
  readonly unknown: readonly string[]
  readonly known: readonly string[]
  readonly profiles: readonly ProfileExplanation[]
  readonly pending: readonly Pending[]
  readonly history: readonly HistoryEntry[]
}

export interface Warning {
  readonly note: string
  readonly times: number
  readonly at: string
}

export interface ProfileExplanation extends Omit<ProfileResult, 'next' | 'transitions'> {
  readonly since: string | null
  readonly inFlight?: WayExplanation
  readonly transitions: readonly TransitionExplanation[]
  /** What happens next, in words. */
  readonly next: string
}

/** A transition that has begun and whose triggers are not all done. */
export interface WayExplanation {
  readonly to: string
  readonly since: string
  /** The trigger that runs now, which of them it is, and its type. */
  readonly trigger: string
}

export interface TransitionExplanation extends TransitionResult {
  /** When its checks pass if nothing but the time changes; null when time alone does not do it. */
  readonly passesAt?: string | null
}

export interface ExplainPorts extends Omit<PassPorts, 'isDryRun' | 'aloneSinceMs' | 'sent' | 'admit'> {
  readonly frozen: string | undefined
  /** Those that the ledger has let into maintenance, and that do not show it themselves yet. */
  readonly admissions: readonly Admission[]
}

/** Changes nothing: a dry run of the controller's own look. */
export async function explainNode(node: NodeObject, given: ExplainPorts): Promise<NodeExplanation> {
  const ports = { ...given, cluster: asAdmitted(node, given) }
  const { name = '', labels = {}, annotations = {} } = node.metadata
  const { [pauseAnnotation]: paused, ...rest } = annotations
  const progress = readProgress(annotations[progressAnnotation])
  const read = readData(annotations[dataAnnotation])
  const resumed = { ...node, metadata: { ...node.metadata, annotations: rest } }
  const { result, pending } = await passOver(resumed, {
    ...ports,
    isDryRun: true,
    aloneSinceMs: 0,
    sent: [],
    admit: () => Promise.resolve(undefined),
  })
  const stored = 'data' in read ? read.data.profiles : new Map<string, ProfileData>()
  return {
    node: name,
    label: labels[profileLabel] ?? null,
    state: labels[stateLabel] ?? 'operational',
    ...(paused === undefined ? {} : { paused }),
    ...(result.problem === undefined ? {} : { problem: result.problem }),
    ...(ports.frozen === undefined ? {} : { frozen: ports.frozen }),
    unknown: result.unknown,
    known: [...ports.config.profiles.keys()],
    profiles: result.profiles.map((one) => {
      const data = stored.get(one.name)
      const way = progress.inFlight[one.name]
      const profile = ports.config.profiles.get(one.name)
      const context = contextOf(resumed, one, data?.transition.ms ?? ports.nowMs, ports)
      return profileOf(one, profile, data, way, context, ports)
    }),
    pending,
    history: readHistory(annotations[historyAnnotation]),
  }
}

/** Its own admission does not count against a node: as in the controller, whoever has it may go on. */
function asAdmitted({ metadata }: NodeObject, { cluster, admissions, nowMs }: ExplainPorts): ClusterView {
  const byName = new Map([...cluster.nodes()].map((node) => [node.metadata.name, node]))
  const seen = { get: ({ name }: { readonly name: string }) => byName.get(name), isSynced: true }
  const others = admissions.filter(({ nodeUID }) => nodeUID !== metadata.uid)
  return withAdmitted(cluster, stillNeeded(others, seen, nowMs))
}

function contextOf(
  node: NodeObject,
  { name: profile, state }: ProfileResult,
  transitionMs: number,
  { config, nowMs, cluster, doors, signal }: ExplainPorts,
): PassContext {
  return {
    profile,
    state: state as PassContext['state'],
    node: draftOf(node),
    transitionMs,
    nowMs,
    inFile: config.profiles,
    cluster,
    doors,
    signal,
  }
}

function profileOf(
  result: ProfileResult,
  profile: Profile | undefined,
  data: ProfileData | undefined,
  way: ReturnType<typeof readProgress>['inFlight'][string] | undefined,
  context: PassContext,
  { config, cluster }: ExplainPorts,
): ProfileExplanation {
  const here = profile?.states[context.state]
  const triggers = way && here && wayOf(here, way)?.trigger
  const now = way && triggers?.[way.trigger]
  const transitions = result.transitions.map((transition, index): TransitionExplanation => {
    const chain = here?.transitions[index]?.check
    if (transition.chain.isPassed || transition.chain.error !== undefined || !chain) return transition
    const atMs = whenPasses(chain, transition, context)
    return { ...transition, passesAt: atMs === undefined ? null : new Date(atMs).toISOString() }
  })
  // Whoever has entered already is asked for its way out.
  const isEntering = data !== undefined && data.previous !== data.current && result.transitions.length === 0
  const atWork = now ?? (isEntering ? here?.enter.find(({ instance }) => instance.isOutside) : undefined)
  const pods = atWork?.type === 'eviction' ? podsText(cluster.podsOn(context.node.name)) : ''
  const inFlight = way && {
    to: way.next,
    since: way.since,
    trigger: now ? `${now.name} (${now.type}), ${way.trigger + 1} of ${triggers.length}${pods}` : 'none is left',
  }
  const told =
    isEntering && result.waitsFor !== undefined ? { ...result, waitsFor: `${result.waitsFor}${pods}` } : result
  const { next: _, ...kept } = told
  return {
    ...kept,
    since: data?.transition.text ?? null,
    transitions,
    ...(inFlight ? { inFlight } : {}),
    next: nextText(told, transitions, inFlight, config),
  }
}

function nextText(
  { state, next, failure, waitsFor }: ProfileResult,
  transitions: readonly TransitionExplanation[],
  way: WayExplanation | undefined,
  { requeueMs }: ProfilesConfig,
): string {
  const again = `it is looked at again within ${requeueMs / 1_000} s`
  if (failure) return `it stays ${state}, because of a fault (${failure.stage}): ${failure.cause}; ${again}`
  if (way) return `it is ${way.to} when the triggers of the way there are done; now ${way.trigger}`
  if (next !== state) return `it becomes ${next} at the next look`
  if (waitsFor !== undefined) return `it stays ${state}: ${waitsFor}`
  const [soonest] = transitions
    .flatMap(({ passesAt, target }) => (passesAt ? [{ passesAt, target }] : []))
    .sort((a, b) => (a.passesAt < b.passesAt ? -1 : 1))
  if (soonest) return `the checks for ${soonest.target} pass at ${soonest.passesAt}, if nothing but the time changes`
  return `it stays ${state}: no transition passes; ${again}, and whenever the node changes`
}

const mostPods = 5

/** Those that a drain waits for: DaemonSets and the kubelet itself bring theirs back at once. */
function podsText(pods: Iterable<PodObject>): string {
  const left = [...pods].filter(
    ({ metadata }) =>
      metadata.annotations?.['kubernetes.io/config.mirror'] === undefined &&
      !metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet'),
  )
  const names = left.slice(0, mostPods).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
  const more = left.length > mostPods ? ' and others' : ''
  return left.length === 0 ? '; no pod is left' : `; pods that are left: ${left.length} (${names.join(', ')}${more})`
}

/** Their answer depends on nothing but the time and the node. */
const timed = new Set(['timeWindow', 'wait', 'waitExclude'])
const stepMs = 60_000
const furthestMs = 8 * 86_400_000

/** The first minute at which the chain passes while all other answers stay; nothing if there is none in sight. */
function whenPasses(chain: CheckChain, { chain: now }: TransitionResult, context: PassContext): number | undefined {
  const isTimed = chain.checks.some(({ type }) => timed.has(type) || type === 'stagger')
  if (!isTimed) return undefined
  for (let nowMs = context.nowMs; nowMs <= context.nowMs + furthestMs; nowMs += stepMs) {
    const answers = chain.checks.map(({ type, instance }, index) => {
      const { isPassed = false, info = {} } = now.checks[index] ?? {}
      if (type === 'stagger') return isPassed || nowMs >= context.nowMs + freeInMs(info)
      if (!timed.has(type)) return isPassed
      const answer = instance.check({ ...context, nowMs })
      return answer instanceof Promise ? isPassed : answer.isPassed
    })
    if (chain.evaluate(answers)) return nowMs
  }
  return undefined
}

function freeInMs({ availableInSec }: Readonly<Record<string, unknown>>): number {
  const seconds = Array.isArray(availableInSec) ? availableInSec.filter((one) => typeof one === 'number') : []
  return Math.min(...seconds) * 1_000
}
