import type { Json } from '../json.ts'
import { listAt, objectAt, textAt } from './json-parts.ts'

/** Who serves the versions of groups. */
export interface ApiServices {
  isAggregated(group: string, version: string): boolean
  /** Versions that another program serves, each with the reason why it does not answer, if so. */
  readonly aggregated: readonly { readonly group: string; readonly version: string; readonly trouble?: string }[]
}

const builtInGroups = new Set([
  '',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'apps',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'extensions',
  'flowcontrol.apiserver.k8s.io',
  'internal.apiserver.k8s.io',
  'networking.k8s.io',
  'node.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'resource.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
  'storagemigration.k8s.io',
])

/** Reads a list of APIServices. */
export function readApiServices(answer: Json): ApiServices {
  const aggregated = listAt(answer, 'items').flatMap((item) => {
    const spec = objectAt(item, 'spec')
    // Without a service, the API server itself serves it: a built-in group or one of a CRD.
    if (!objectAt(spec, 'service')) return []
    const [group, version] = [textAt(spec, 'group') ?? '', textAt(spec, 'version') ?? '']
    const available = listAt(objectAt(item, 'status'), 'conditions').find((one) => textAt(one, 'type') === 'Available')
    if (textAt(available, 'status') === 'True') return [{ group, version }]
    const reason = textAt(available, 'message') ?? textAt(available, 'reason') ?? 'nobody has asked it yet'
    return [{ group, version, trouble: `its APIService is not available: ${reason}` }]
  })
  const names = new Set(aggregated.map(({ group, version }) => `${group}/${version}`))
  return { aggregated, isAggregated: (group, version) => names.has(`${group}/${version}`) }
}

/** For those who may not read APIServices: what is not built in may be anybody's. */
export const unreadableApiServices: ApiServices = {
  aggregated: [],
  isAggregated: (group) => !builtInGroups.has(group),
}
