import type { NodeObject } from '../kube/index.ts'
import { dataAnnotation, profileLabel, stateLabel } from './names.ts'
import type { ProfileNames } from './plugin.ts'
import { readData } from './state/data.ts'
import { progressAnnotation, readProgress } from './state/progress.ts'
import { namesIn } from './state/select.ts'

/**
 * The label can be edited by anybody, so what is stored counts as well; and who is on the way has been let in. But only of
 * profiles that the node goes through: what a profile left behind that the file no longer has would count for ever.
 */
export function isInMaintenance(
  { metadata: { labels = {}, annotations = {} } }: NodeObject,
  inFile: ProfileNames,
): boolean {
  if (labels[stateLabel] === 'in-maintenance') return true
  const { [dataAnnotation]: data = '', [progressAnnotation]: progress = '' } = annotations
  const isCounted = (profile: string) => inFile.has(profile) && namesIn(labels[profileLabel]).has(profile)
  return insideOf(data).some(isCounted) || onTheWay(progress).some(isCounted)
}

/** Profiles that a node is on its way into maintenance by. */
export function onTheWay(progress: string): readonly string[] {
  if (!mayTell(progress)) return []
  const { inFlight } = readProgress(progress)
  return Object.keys(inFlight).filter((profile) => inFlight[profile]?.next === 'in-maintenance')
}

/** Data that nobody can read leaves the label. */
function insideOf(data: string): readonly string[] {
  const read = mayTell(data) ? readData(data) : undefined
  if (!read || !('data' in read)) return []
  return [...read.data.profiles].flatMap(([profile, { current }]) => (current === 'in-maintenance' ? [profile] : []))
}

/** Every node asks this of every other: what cannot say so is not read. A backslash may hide the word. */
function mayTell(text: string): boolean {
  return text.includes('in-maintenance') || text.includes('\\')
}
