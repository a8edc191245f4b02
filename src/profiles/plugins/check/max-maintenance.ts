import type { NodeObject } from '../../../kube/index.ts'
import { optional, required } from '../../fields.ts'
import { dataAnnotation, stateLabel } from '../../names.ts'
import type { PassContext } from '../../plugin.ts'
import { readData } from '../../state/data.ts'
import { answer, checkPlugin } from './check-plugin.ts'
import { namesProfile, textAt } from './node-metadata.ts'

/** Enough to see who it is; the number says how many there are. */
const mostNames = 10

export const maxMaintenance = checkPlugin({
  type: 'maxMaintenance',
  about: 'Fewer than so many nodes are in maintenance.',
  fields: {
    max: required('integer', 'how many nodes may be in maintenance, this one included once it is'),
    profile: optional('text', 'count only nodes whose label names this profile'),
    groupBy: optional('texts', 'count only nodes that have the same values of these labels as this node'),
    groupLabel: optional('text', 'one more label for groupBy; kept for old files'),
    skipAfter: optional('duration', 'do not count nodes whose last transition is older than this'),
  },
  create({ max, profile, groupBy, groupLabel, skipAfter }) {
    const labels = groupLabel === '' || groupBy.includes(groupLabel) ? groupBy : [...groupBy, groupLabel]
    return {
      isShared: true,
      check({ node, cluster, nowMs }) {
        const group = groupOf(node.labels, labels)
        const names: string[] = []
        for (const other of cluster.nodes())
          if (
            isInMaintenance(other) &&
            (profile === '' || namesProfile(other, profile)) &&
            group.every(([label, value]) => textAt(other.metadata.labels, label) === value) &&
            (skipAfter === 0 || isYounger(other, profile, nowMs - skipAfter))
          )
            names.push(other.metadata.name ?? '')
        return answer(names.length < max, {
          scope: scopeOf(profile, group),
          maintained: names.length,
          max,
          nodes: names.sort().slice(0, mostNames),
        })
      },
    }
  },
})

/** A label that this node lacks, or has without a value, does not part the cluster. */
function groupOf(own: PassContext['node']['labels'], labels: readonly string[]): readonly [string, string][] {
  return labels.flatMap((label): [string, string][] => {
    const value = textAt(own, label)
    return value ? [[label, value]] : []
  })
}

function scopeOf(profile: string, group: readonly [string, string][]): string {
  const parts = [
    ...(profile === '' ? [] : [`profile ${profile}`]),
    ...group.map(([label, value]) => `${label}=${value}`),
  ]
  return parts.length === 0 ? 'cluster' : parts.join(', ')
}

/** The label can be edited by anybody, so what is stored counts as well. Data that nobody can read leaves the label. */
function isInMaintenance(node: NodeObject): boolean {
  if (textAt(node.metadata.labels, stateLabel) === 'in-maintenance') return true
  const text = textAt(node.metadata.annotations, dataAnnotation) ?? ''
  // Every node asks this of every other: what cannot say so is not read. A backslash may hide the word.
  if (!text.includes('in-maintenance') && !text.includes('\\')) return false
  const read = readData(text)
  return 'data' in read && [...read.data.profiles.values()].some(({ current }) => current === 'in-maintenance')
}

/** A node of which no transition is known may be in maintenance since now: it counts. */
function isYounger(node: NodeObject, profile: string, sinceMs: number): boolean {
  const read = readData(textAt(node.metadata.annotations, dataAnnotation))
  if ('problem' in read)
    throw new Error(
      `${read.problem}, in annotation ${dataAnnotation} of node ${node.metadata.name}; repair or remove it, because skipAfter counts from it`,
    )
  const { profiles } = read.data
  const known = profiles.get(profile)
  const transitions = (known ? [known] : [...profiles.values()]).map(({ transition }) => transition.ms)
  return transitions.length === 0 || Math.max(...transitions) > sinceMs
}
