import { installManifests } from '../../src/cli/install-manifests.ts'
import type { KubeObject } from '../../src/kube/index.ts'

/** How many objects an installation has, whatever its settings. */
export const objectCount = installManifests({
  namespace: 'any',
  version: '0.0.0',
  managedBy: 'any',
  image: 'any',
  replicas: 1,
  nodeSelector: {},
  agentArgs: [],
  sharedLocks: [],
}).length

/**
 * A set of manifests in one form, whoever wrote them: sorted, without who takes care of them, and without what only
 * Helm has (hooks) or only `fettle install` has (the namespace, which `helm --create-namespace` makes).
 */
export function normalised(objects: readonly KubeObject[], namespace: string): Record<string, unknown> {
  const entries = objects
    .filter(({ kind, metadata }) => !(kind === 'Namespace' && metadata.name === namespace))
    .filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === undefined)
    .map((object) => {
      const { labels, ...metadata } = object.metadata
      const { 'app.kubernetes.io/managed-by': _, ...kept } = labels ?? {}
      const name = `${object.kind} ${metadata.namespace ?? ''}/${metadata.name}`
      return [name, { ...object, metadata: { ...metadata, labels: kept } }] as const
    })
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}
