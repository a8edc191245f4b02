import type { PodObject } from '../kube/index.ts'
import { type DrainPlan, type DrainSettings, graceSeconds } from './plan.ts'

/** How a forced drain ends when a deletion is not enough: a finalizer, a container that does not die, data to keep. */

/** What comes after the grace period: killing, detaching, and the word of it. */
const afterGraceMs = 5 * 60_000

/** How long after the deadline those that are deleted are waited for. */
export function forcedDrainMs(
  { left }: Pick<DrainPlan, 'left'>,
  settings: Pick<DrainSettings, 'gracePeriodMaxMs'>,
): number {
  // Of one that is stopping already, what was said then counts.
  const graces = left.map((pod) => pod.metadata.deletionGracePeriodSeconds ?? graceSeconds(pod, settings))
  return Math.max(0, ...graces) * 1_000 + afterGraceMs
}

const mostNamed = 5

/** Who is still there, and what keeps each of them. */
export function stragglersText({ left, refusals }: Pick<DrainPlan, 'left' | 'refusals'>): string {
  const texts = left.slice(0, mostNamed).map((pod) => {
    const why = refusals.find((one) => one.pod === pod)?.why ?? whyStillThere(pod)
    return `${pod.metadata.namespace}/${pod.metadata.name} (${why})`
  })
  return `${texts.join(', ')}${left.length > mostNamed ? ` and ${left.length - mostNamed} more` : ''}`
}

function whyStillThere({ metadata: { deletionTimestamp, finalizers = [] } }: PodObject): string {
  if (deletionTimestamp === undefined) return 'it was asked and has not begun to stop'
  if (finalizers.length > 0) return `it is deleted, but has finalizers: ${finalizers.join(', ')}`
  return 'it is deleted, but its containers do not stop'
}
