import type { DrainPlan } from '../../../drain/index.ts'
import { durationText } from '../../../time/index.ts'
import type { TriggerContext } from '../../plugin.ts'

export interface DrainLimits {
  readonly evictionTimeout: number
  readonly deletionTimeout: number
  readonly forceEviction: boolean
}

export interface DrainTimes {
  /** Asking took too long. */
  readonly isLate: boolean
  /** Somebody wanted it so in that case. */
  readonly isForced: boolean
  /** Leaving took too long as well. */
  readonly isOverdue: boolean
}

export function drainTimes(
  { nowMs, sinceMs }: Pick<TriggerContext, 'nowMs' | 'sinceMs'>,
  { evictionTimeout, deletionTimeout, forceEviction }: DrainLimits,
  /** Since when pods are asked: later than the drain began if somebody else began it, or nobody asked for a while. */
  askedSinceMs: number,
): DrainTimes {
  const isLate = nowMs - sinceMs >= evictionTimeout
  return {
    isLate,
    isForced: isLate && forceEviction && nowMs - askedSinceMs >= evictionTimeout,
    isOverdue: isLate && nowMs - sinceMs >= evictionTimeout + deletionTimeout,
  }
}

const overdueEnd = 'look at them, the drain goes on'

/** Whether this is what is shown of a drain that takes too long. The text is all that leaves a trigger. */
export function tellsOverdue(text: string | undefined): boolean {
  return text?.endsWith(overdueEnd) ?? false
}

const unforced = 'and forceEviction is off: a person has to help'
const askedAnew = 'but nobody asked all the while: what is left is deleted after that long of asking'

/** A hundred pods of one budget would say the same a hundred times. */
const mostReasons = 3

/** What is shown while it goes on. Changes only when something has changed: it may be stored. */
export function progressOf(
  { left, refusals, waitsFor }: Pick<DrainPlan, 'left' | 'refusals' | 'waitsFor'>,
  answers: ReadonlyMap<string, string>,
  { isLate, isForced, isOverdue }: DrainTimes,
  { evictionTimeout, deletionTimeout, forceEviction }: DrainLimits,
): { readonly text: string; readonly isOverdue: boolean; readonly limitText: string } {
  const foreseen = new Set(refusals.map(({ pod }) => pod.metadata.uid))
  const unforeseen = left.flatMap((pod) => {
    const why = answers.get(pod.metadata.uid ?? '')
    return why === undefined || foreseen.has(pod.metadata.uid) ? [] : [{ pod, why }]
  })
  const reasons = [...refusals, ...unforeseen].map(
    ({ pod, why }) => `${pod.metadata.namespace}/${pod.metadata.name}: ${why}`,
  )
  const limitText = durationText(evictionTimeout + deletionTimeout)
  const parts = [
    `pods that are left: ${left.length} (${waitsFor})`,
    ...reasons.slice(0, mostReasons),
    ...(reasons.length > mostReasons ? [`and ${reasons.length - mostReasons} more reasons`] : []),
    ...(isForced ? [`evictionTimeout of ${durationText(evictionTimeout)} is over: what is left is deleted`] : []),
    ...(isLate && !isForced
      ? [`evictionTimeout of ${durationText(evictionTimeout)} is over, ${forceEviction ? askedAnew : unforced}`]
      : []),
    ...(isOverdue ? [`pods did not leave within ${limitText}; ${overdueEnd}`] : []),
  ]
  return { text: parts.join('; '), isOverdue, limitText }
}
