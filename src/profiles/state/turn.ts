import { isDeepStrictEqual } from 'node:util'
import { profileOwner } from '../cordon-draft.ts'
import type { State } from '../names.ts'
import type {
  Check,
  ClusterView,
  LabelTakers,
  Named,
  PassContext,
  Profile,
  ProfileState,
  Transition,
  Trigger,
} from '../plugin.ts'
import { evaluateAgain, evaluateChain, messageOf, whyNoLonger } from './evaluate-chain.ts'
import type { InFlight } from './progress.ts'
import type { ChainResult, Failure, TransitionResult } from './result.ts'
import { isAskedAgain, whyLate } from './taken-label.ts'

/** What a turn of one profile on a node ends with. The draft holds what its triggers changed. */
export type TurnOutcome =
  /** It is in `next`, which may be where it was. */
  | { readonly is: 'Settled'; readonly next: State; readonly why?: string; readonly waitsFor?: string }
  /** A trigger needs more time: the transition is resumed next time, without asking the checks again. */
  | { readonly is: 'InFlight'; readonly inFlight: InFlight; readonly waitsFor?: string }
  /** The enter chain needs more time: all of it runs again next time. */
  | { readonly is: 'Entering'; readonly waitsFor: string }
  /** Nothing of the turn counts. What is in flight stays, unless it is lost. */
  | { readonly is: 'Failed'; readonly failure: Failure }
  | { readonly is: 'Lost'; readonly next: State; readonly why: string }

export interface Turn {
  readonly outcome: TurnOutcome
  readonly transitions: readonly TransitionResult[]
  /** It takes a label that other nodes ask for. */
  readonly takesLabel?: boolean
}

/** What a turn asks of others before it takes a node into maintenance. */
export interface TurnPorts {
  /** Why the node may not be taken into maintenance now, apart from its checks; nothing if it may. */
  whyNot(profile: string): Promise<string | undefined> | string | undefined
  /** Lets at most as many nodes pass at once as the checks allow, when all of them ask at the same time. */
  admit(profile: string, whyRefused: WhyRefused): Promise<string | undefined>
}

/** Why the checks do not pass in a cluster where the nodes that were first count; nothing if they do. */
export type WhyRefused = (cluster: ClusterView) => Promise<string | undefined>

export interface TurnStart {
  readonly profile: Profile
  readonly state: State
  readonly hasChanged: boolean
  readonly inFlight: InFlight | undefined
  /** Another profile of the node that is in maintenance, or on its way there. */
  readonly occupiedBy: string | undefined
  readonly labelTakers: LabelTakers
  readonly context: PassContext
  readonly onEntered: () => void
  /** Nothing outside of the draft is touched. */
  readonly isDryRun: boolean
}

export async function takeTurn(start: TurnStart, ports: TurnPorts): Promise<Turn> {
  const { profile, state, inFlight, context, isDryRun } = start
  const here = profile.states[state]
  if (inFlight && isDryRun) return { outcome: { is: 'InFlight', inFlight }, transitions: [] }
  if (inFlight) return resume(start, here, inFlight)
  if (start.hasChanged) {
    const entered = await runTriggers(here.enter, { sinceMs: context.transitionMs, isDryRun }, context)
    if (entered.is === 'Failed') return failed('enter', entered.cause)
    if (entered.is === 'Retry') return { outcome: { is: 'Entering', waitsFor: entered.why }, transitions: [] }
    start.onEntered()
  }
  return decide(start, here, ports)
}

async function decide(start: TurnStart, here: ProfileState, ports: TurnPorts): Promise<Turn> {
  const { profile, state, occupiedBy, context } = start
  const transitions: TransitionResult[] = []
  for (const { next, check } of here.transitions) {
    const chain = await evaluateChain(check, context)
    transitions.push({
      target: next,
      chain,
      isPassed: chain.isPassed && !(next === 'in-maintenance' && occupiedBy !== undefined),
    })
  }
  const errors = transitions.flatMap(({ chain }) => chain.error ?? [])
  if (errors.length > 0) return { ...failed('check', errors.join('; ')), transitions }
  const stay = (waitsFor?: string): Turn => ({
    outcome: { is: 'Settled', next: state, ...(waitsFor === undefined ? {} : { waitsFor }) },
    transitions,
  })
  const isBlocked = transitions.some(({ chain, isPassed }) => chain.isPassed && !isPassed)
  let waitsFor = isBlocked ? `profile ${occupiedBy} has the node in maintenance` : undefined
  for (const [index, transition] of here.transitions.entries()) {
    const found = transitions[index]
    if (!found?.isPassed) continue
    if (transition.next === state) return stay(waitsFor)
    const mustAsk = transition.next === 'in-maintenance'
    const why = mustAsk ? await mayEnter(profile, transition, found.chain, context, ports) : undefined
    if (why === undefined) return begin(start, transition, index, transitions)
    // Its chain passed, and it is not carried out: the page tells the two apart. Another way out of the state stays open.
    transitions[index] = { ...found, isPassed: false }
    waitsFor ??= why
  }
  return stay(waitsFor)
}

/** The first transition that passed. What acts outside of the node is stored as in flight first. */
async function begin(
  { state, labelTakers, context, isDryRun }: TurnStart,
  transition: Transition,
  index: number,
  transitions: readonly TransitionResult[],
): Promise<Turn> {
  const answers = transitions[index]?.chain.checks ?? []
  // One that said no has nothing to take, and may stand behind another that said yes: urgent || stagger.
  const toTake = takers(transition).flatMap(({ name }) =>
    answers.some((answer) => answer.name === name && answer.isPassed) ? [name] : [],
  )
  const outside = transition.trigger.findIndex(({ instance }) => instance.isOutside)
  const isOutside = toTake.length > 0 || outside >= 0
  const shownAfter = labelTakers.get(transition)
  // Others have to see at once what it takes from them, so that goes with the intention. Whoever has something to take outside
  // as well may be late for it.
  const isAtOnce = shownAfter !== undefined && shownAfter <= outside && toTake.length === 0
  const atOnce = isAtOnce ? transition.trigger.slice(0, outside) : []
  const first = isOutside ? atOnce : transition.trigger
  const ran = await runTriggers(first, { sinceMs: context.nowMs, isDryRun }, context)
  if (ran.is === 'Failed') return { ...failed('trigger', ran.cause), transitions }
  // Only what acts outside of the draft can need more time.
  if (ran.is === 'Retry') return { ...failed('trigger', ran.why), transitions }
  const { next, check } = transition
  if (!isOutside) {
    const outcome = { is: 'Settled', next, why: check.expression } as const
    return { outcome, transitions, takesLabel: shownAfter !== undefined }
  }
  const since = new Date(context.nowMs).toISOString()
  const { transitionMs: fromSinceMs } = context
  const [trigger, isTaken] = [first.length, toTake.length === 0]
  const isLater = shownAfter !== undefined && !isAtOnce && check.checks.some((each) => isAskedAgain(each, transition))
  const inFlight = {
    ...{ from: state, next, check: check.expression, triggers: namesOf(transition), trigger },
    ...{ since, fromSinceMs, isTaken, toTake },
    ...(isLater ? { answers: answers.map(({ isPassed }) => isPassed) } : {}),
  }
  return { outcome: { is: 'InFlight', inFlight }, transitions, takesLabel: isAtOnce }
}

async function mayEnter(
  profile: Profile,
  { check }: Transition,
  passed: ChainResult,
  context: PassContext,
  ports: TurnPorts,
): Promise<string | undefined> {
  if (context.node.stored.metadata.deletionTimestamp !== undefined && !altersFinalizers(profile))
    return 'the node is being deleted'
  const why = await ports.whyNot(profile.name)
  if (why !== undefined) return why
  if (!check.checks.some(({ instance }) => instance.isShared)) return undefined
  return ports.admit(profile.name, async (cluster) =>
    whyNoLonger(passed, await evaluateAgain(check, passed, { ...context, cluster })),
  )
}

/** Then its way through maintenance may be what lets the node go, and nobody else would. */
function altersFinalizers({ states }: Profile): boolean {
  return Object.values(states).some(({ enter, transitions }) =>
    [enter, ...transitions.map(({ trigger }) => trigger)].flat().some(({ type }) => type === 'alterFinalizer'),
  )
}

/**
 * The transition that a node is on, in the file as it is now: what runs must be what was to run. Other checks do not stop
 * what has begun, unless it has yet to take what its own checks found free.
 */
export function wayOf(
  { transitions }: ProfileState,
  { next, check, triggers, isTaken }: InFlight,
): Transition | undefined {
  const same = transitions.filter((each) => each.next === next && isDeepStrictEqual(namesOf(each), triggers))
  return same.find((each) => each.check.expression === check) ?? (isTaken ? same[0] : undefined)
}

function namesOf({ trigger }: Transition): string[] {
  return trigger.map(({ name }) => name)
}

async function resume(start: TurnStart, here: ProfileState, inFlight: InFlight): Promise<Turn> {
  const transition = wayOf(here, inFlight)
  const shownAfter = (transition && start.labelTakers.get(transition)) ?? 0
  // Whoever shows its label is seen by all others, and asks no more: it would have to leave the label behind.
  const answers = inFlight.trigger < shownAfter ? inFlight.answers : undefined
  const outcome = await carryOn(start, transition, inFlight, answers)
  const isShown = outcome.is === 'Settled' || (outcome.is === 'InFlight' && outcome.inFlight.trigger >= shownAfter)
  return { outcome, transitions: [], takesLabel: answers !== undefined && isShown }
}

async function carryOn(
  { state, context }: TurnStart,
  transition: Transition | undefined,
  inFlight: InFlight,
  answers: InFlight['answers'],
): Promise<TurnOutcome> {
  const { next, fromSinceMs = context.transitionMs } = inFlight
  if (inFlight.from !== state || fromSinceMs !== context.transitionMs)
    return { is: 'Lost', next, why: 'the profile has changed its state since, by somebody else' }
  if (!transition) return { is: 'Lost', next, why: 'the file no longer has this transition' }
  const why = answers && (await whyLate(transition, answers, context))
  if (why !== undefined) return { is: 'Lost', next, why }
  if (!inFlight.isTaken)
    try {
      for (const { name, instance } of takers(transition))
        if (inFlight.toTake?.includes(name) ?? true) await instance.take?.(context)
    } catch (error) {
      context.signal.throwIfAborted()
      return { is: 'Lost', next, why: messageOf(error) }
    }
  const { trigger: from, since } = inFlight
  const ran = await runTriggers(transition.trigger, { from, sinceMs: Date.parse(since), isDryRun: false }, context)
  if (ran.is === 'Failed') return { is: 'Failed', failure: { stage: 'trigger', cause: ran.cause } }
  if (ran.is === 'Retry')
    return { is: 'InFlight', inFlight: { ...inFlight, isTaken: true, trigger: ran.at }, waitsFor: ran.why }
  return { is: 'Settled', next, why: transition.check.expression }
}

type Ran =
  | { readonly is: 'Done' }
  | { readonly is: 'Retry'; readonly at: number; readonly why: string }
  | { readonly is: 'Failed'; readonly cause: string }

interface RunOptions {
  /** The first that runs; those before it have run already. */
  readonly from?: number
  readonly sinceMs: number
  readonly isDryRun: boolean
}

export async function runTriggers(
  triggers: readonly Named<Trigger>[],
  { from = 0, sinceMs, isDryRun }: RunOptions,
  context: PassContext,
): Promise<Ran> {
  const triggerContext = { ...context, sinceMs, cordonOwner: profileOwner(context.profile) }
  for (const [index, { name, type, instance }] of triggers.entries()) {
    if (index < from) continue
    // What comes after it waits for it, so nothing of that can be said.
    if (isDryRun && instance.isOutside)
      return { is: 'Retry', at: index, why: `${name} (${type}) runs until it is done` }
    try {
      const outcome = await instance.run(triggerContext)
      if (outcome !== 'done') return { is: 'Retry', at: index, why: `${name}: ${outcome.retry}` }
    } catch (error) {
      context.signal.throwIfAborted()
      return { is: 'Failed', cause: `${name}: ${messageOf(error)}` }
    }
  }
  return { is: 'Done' }
}

function takers({ check }: Transition): readonly Named<Check>[] {
  return check.checks.filter(({ instance }) => instance.take !== undefined)
}

function failed(stage: Failure['stage'], cause: string): Turn {
  return { outcome: { is: 'Failed', failure: { stage, cause } }, transitions: [] }
}
