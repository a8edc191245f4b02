import type { Guard } from '../kube/index.ts'
import type { Policy } from './policy.ts'

const readings = new Set(['GET', 'HEAD', 'OPTIONS'])
const groupPart = '(?:api|apis/[^/]+)'
const inNamespace = new RegExp(`^/${groupPart}/[^/]+/namespaces/([^/]+)(?:/|$)`)
const ofCluster = new RegExp(`^/${groupPart}/[^/]+/[^/]+/[^/]+(?:/status)?$`)

/**
 * The last door before the network: whatever the plan says, nothing is written outside of the namespaces of the Sync,
 * and nothing of the whole cluster unless some kind of it may be declared.
 */
export function fenceOf({ namespaces, clusterKinds }: Pick<Policy, 'namespaces' | 'clusterKinds'>): Guard {
  return (method, path) => {
    if (readings.has(method.toUpperCase())) return undefined
    const namespace = inNamespace.exec(path)?.[1]
    if (namespace !== undefined)
      return namespaces.includes(namespace) ? undefined : `the Sync may not write in namespace ${namespace}`
    if (clusterKinds.length > 0 && ofCluster.test(path)) return undefined
    return 'the Sync may not write outside of its namespaces'
  }
}
