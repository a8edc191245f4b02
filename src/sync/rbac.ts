import type { JsonObject } from './json.ts'
import { managerOf, type Policy } from './policy.ts'
import { type Survey, servedAs } from './survey.ts'

/** The least rights that carry out a Sync: its kinds in its namespaces, and what it remembers. */
export function rbacFor(
  found: Survey,
  { name, namespaces, mode }: Policy,
  serviceAccount: string,
): readonly JsonObject[] {
  const own = namespaces[0] ?? ''
  return namespaces.flatMap((namespace) => [
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: managerOf(name), namespace },
      rules: [...rulesFor(found, namespace, mode), ...(namespace === own ? memoryRules : [])],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: managerOf(name), namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: managerOf(name) },
      subjects: [{ kind: 'ServiceAccount', name: serviceAccount, namespace: own }],
    },
  ])
}

const memoryRules: readonly JsonObject[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
]

const writes = ['get', 'list', 'watch', 'create', 'patch', 'delete']

function rulesFor({ set, catalog }: Survey, namespace: string, mode: Policy['mode']): readonly JsonObject[] {
  const byGroup = new Map<string, Set<string>>()
  for (const { key, apiVersion } of set.objects) {
    const resource = key.namespace === namespace ? servedAs(catalog, apiVersion, key.kind) : undefined
    if (resource) byGroup.set(resource.group, (byGroup.get(resource.group) ?? new Set()).add(resource.plural))
  }
  const declared = [...byGroup]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([group, plurals]) => ({ apiGroups: [group], resources: [...plurals].sort(), verbs: writes }))
  const looks = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] }
  const strangers = { apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'watch', 'delete'] }
  return [...declared, looks, ...(mode === 'total' ? [strangers] : [])]
}
