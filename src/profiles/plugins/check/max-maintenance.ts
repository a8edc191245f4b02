import type { NodeObject } from '../../../kube/index.ts'
import { isReady } from '../../../queue/index.ts'
import { optional, required } from '../../fields.ts'
import { isInMaintenance } from '../../in-maintenance.ts'
import { dataAnnotation } from '../../names.ts'
import type { ClusterView, GoneNode, PassContext } from '../../plugin.ts'
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
    goneFor: optional(
      'duration',
      'how long a node that was deleted in maintenance counts on, until a new one is Ready; 0s: not at all',
      600_000,
    ),
  },
  create({ max, profile, groupBy, groupLabel, skipAfter, goneFor }) {
    const labels = groupLabel === '' || groupBy.includes(groupLabel) ? groupBy : [...groupBy, groupLabel]
    return {
      isShared: true,
      check({ node, inFile, cluster, nowMs }) {
        const group = groupOf(node.labels, labels)
        const isAlike = ({ metadata }: NodeObject) =>
          group.every(([label, value]) => textAt(metadata.labels, label) === value)
        const isCounted = (other: NodeObject) =>
          isInMaintenance(other, inFile) &&
          (profile === '' || namesProfile(other, profile)) &&
          isAlike(other) &&
          (skipAfter === 0 || isYounger(other, profile, nowMs - skipAfter))
        const names: string[] = []
        for (const other of cluster.nodes()) if (isCounted(other)) names.push(other.metadata.name ?? '')
        const gone = [...(cluster.gone?.() ?? [])].filter(({ node, atMs }) => nowMs - atMs < goneFor && isCounted(node))
        const missing = gone.length === 0 ? [] : notReplaced(gone, cluster, isAlike)
        names.push(...missing)
        return answer(names.length < max, {
          scope: scopeOf(profile, group),
          maintained: names.length,
          max,
          nodes: names.sort().slice(0, mostNames),
          ...(missing.length === 0 ? {} : { gone: missing.slice(0, mostNames) }),
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

/** Each node of the group that has come since and is Ready stands in for the one that has been gone longest. */
function notReplaced(
  gone: readonly GoneNode[],
  cluster: ClusterView,
  isAlike: (node: NodeObject) => boolean,
): readonly string[] {
  const came = [...cluster.nodes()]
    .filter((node) => isReady(node) && isAlike(node))
    .map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''))
    .sort((one, other) => one - other)
  const missing = [...gone]
  for (const cameMs of came) {
    // Times of creation are whole seconds.
    const [longest] = missing
    if (longest && cameMs >= Math.floor(longest.atMs / 1_000) * 1_000) missing.shift()
  }
  return missing.map(({ node }) => node.metadata.name ?? '')
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
