import type { PodObject } from '../../../kube/index.ts'
import { optional } from '../../fields.ts'
import { dataAnnotation, stateLabel } from '../../names.ts'
import type { ClusterView } from '../../plugin.ts'
import { readData } from '../../state/data.ts'
import { answer, checkPlugin } from './check-plugin.ts'
import { textAt } from './node-metadata.ts'

export const affinity = checkPlugin({
  type: 'affinity',
  about:
    'Nodes with pods that prefer operational nodes come last: no other node of the profile that requires maintenance is without such pods.',
  fields: {
    minOperational: optional(
      'integer',
      'pass at once while so many nodes of the profile are operational; 0 never does',
    ),
  },
  create: ({ minOperational }) => ({
    // How many are left depends on who went at the same moment.
    isShared: minOperational > 0,
    check({ node, profile, state, cluster }) {
      if (state !== 'maintenance-required')
        throw new Error(
          `affinity can be asked in maintenance-required only, and profile ${profile} is ${state}; move the check to a transition of maintenance-required`,
        )
      const states = statesOf(cluster, profile)
      const operational = [...states.values()].filter((current) => current === 'operational').length
      if (minOperational > 0 && operational >= minOperational)
        return answer(true, {
          reason: `${operational} nodes are operational, at least ${minOperational} are asked for`,
        })
      if (!hasAffinityPod(cluster, node.name)) return answer(true, { reason: 'no pod here prefers operational nodes' })
      for (const [other, current] of states)
        if (other !== node.name && current === 'maintenance-required' && !hasAffinityPod(cluster, other))
          return answer(false, { reason: `node ${other} has no pods that prefer operational nodes, and goes first` })
      return answer(true, { reason: 'every other node that waits has pods that prefer operational nodes too' })
    },
  }),
})

/** The state of the profile on each node that is in it. A node whose data cannot be read is left out, and reported by its own pass. */
function statesOf(cluster: ClusterView, profile: string): ReadonlyMap<string, string> {
  const states = new Map<string, string>()
  for (const { metadata } of cluster.nodes()) {
    const read = readData(textAt(metadata.annotations, dataAnnotation))
    const found = 'data' in read ? read.data.profiles.get(profile) : undefined
    if (found) states.set(metadata.name ?? '', found.current)
  }
  return states
}

function hasAffinityPod(cluster: ClusterView, node: string): boolean {
  for (const pod of cluster.podsOn(node)) if (prefersOperational(pod)) return true
  return false
}

/** However much it prefers them, and whatever else it asks of them. */
function prefersOperational(pod: PodObject): boolean {
  const terms = pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []
  return terms.some(({ preference }) =>
    preference?.matchExpressions?.some(
      ({ key, operator, values }) =>
        key === stateLabel && operator === 'In' && values?.length === 1 && values[0] === 'operational',
    ),
  )
}
