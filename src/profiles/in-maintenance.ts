import type { NodeObject } from '../kube/index.ts'
import { dataAnnotation, stateLabel } from './names.ts'
import { readData } from './state/data.ts'

/** The label can be edited by anybody, so what is stored counts as well. Data that nobody can read leaves the label. */
export function isInMaintenance({ metadata: { labels = {}, annotations = {} } }: NodeObject): boolean {
  if (labels[stateLabel] === 'in-maintenance') return true
  const { [dataAnnotation]: text = '' } = annotations
  // Every node asks this of every other: what cannot say so is not read. A backslash may hide the word.
  if (!text.includes('in-maintenance') && !text.includes('\\')) return false
  const read = readData(text)
  return 'data' in read && [...read.data.profiles.values()].some(({ current }) => current === 'in-maintenance')
}
