import { blockerSecretName, group, notifySecretName } from '../api/index.ts'
import { resources } from '../kube/index.ts'
import {
  commonLabels,
  lockRolePrefix,
  type Manifest,
  manifest,
  nodesNamespace,
  type Placement,
} from './install-names.ts'

/** Who may do what. The chart's templates are generated from these tables. */
export interface PolicyRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

const leases = rule('coordination.k8s.io', ['leases'], ['get', 'create', 'update'])

/** One program's account: what it may do everywhere, and in one namespace. */
export interface AccountRights {
  readonly component: string
  readonly everywhere: readonly PolicyRule[]
  readonly inNamespace: readonly PolicyRule[]
}

const controllerRights: AccountRights = {
  component: 'controller',
  everywhere: [
    rule('', ['nodes'], ['get', 'list', 'watch', 'patch']),
    // What the node says of itself while it is out of service.
    rule('', ['nodes/status'], ['patch']),
    // Deleted only by a drain that is told so, or that is forced.
    rule('', ['pods'], ['list', 'watch', 'delete']),
    rule('', ['pods/eviction'], ['create']),
    // On servers that offer it.
    rule('lifecycle.k8s.io', ['evictionrequests'], ['create', 'delete']),
    rule('apps', ['daemonsets'], ['list', 'watch']),
    rule('storage.k8s.io', ['volumeattachments'], ['list']),
    rule('policy', ['poddisruptionbudgets'], ['list', 'watch']),
    // Heartbeats of nodes at work. They lie in a namespace of their own, which is there only if agents are.
    rule('coordination.k8s.io', ['leases'], ['list', 'watch']),
    // Finished requests that are old enough are deleted.
    rule(group, ['maintenancerequests'], ['get', 'list', 'watch', 'create', 'patch', 'delete', 'answer']),
    rule(group, ['maintenancebudgets'], ['get', 'list', 'watch', 'create', 'patch', 'answer']),
    rule(group, ['maintenancewindows', 'maintenancefreezes'], ['list', 'watch']),
    rule(
      group,
      [
        'maintenancerequests/status',
        'maintenancebudgets/status',
        'maintenancewindows/status',
        'maintenancefreezes/status',
      ],
      ['update'],
    ),
    rule('events.k8s.io', ['events'], ['create', 'patch']),
  ],
  inNamespace: [
    leases,
    // Tokens of blockers; addresses and passwords of notifications.
    { ...rule('', ['secrets'], ['get']), resourceNames: [blockerSecretName, notifySecretName] },
    // Calendars that windows name.
    rule('', ['configmaps'], ['list', 'watch']),
  ],
}

const agentRights: AccountRights = {
  component: 'agent',
  // To create requests is to be able to drain any node: `agent-policies.ts` of the API bounds it to the agent's own.
  everywhere: [
    rule(group, ['maintenancerequests'], ['get', 'list', 'watch', 'create']),
    rule(group, ['maintenancerequests/status'], ['update', 'patch']),
  ],
  inNamespace: [leases],
}

/** The chart's uninstall hook, for as long as it runs: `fettle uninstall --only-queue`. */
const uninstallRights: AccountRights = {
  component: 'uninstall',
  everywhere: [
    rule('', ['nodes'], ['get', 'list', 'patch']),
    rule(group, ['maintenancerequests', 'maintenancebudgets'], ['get', 'list', 'patch', 'delete']),
  ],
  inNamespace: [
    rule('', ['pods'], ['list']),
    { ...rule('apps', ['deployments'], ['get']), resourceNames: ['fettle-controller'] },
    { ...rule('apps', ['deployments/scale'], ['patch']), resourceNames: ['fettle-controller'] },
    { ...rule('coordination.k8s.io', ['leases'], ['get', 'delete']), resourceNames: ['fettle-controller'] },
  ],
}

export const accountRights: readonly AccountRights[] = [controllerRights, agentRights, uninstallRights]

export function controllerRbacManifests(placement: Placement): Manifest[] {
  return accountManifests(placement, controllerRights, placement.namespace)
}

export interface SharedLock {
  readonly namespace: string
  /** Of the DaemonSet. */
  readonly name: string
}

/** Who may change a DaemonSet may run anything on its nodes, so this is only for those that a person names. */
export function sharedLockManifests(placement: Placement, { namespace, name: daemonSet }: SharedLock): Manifest[] {
  const metadata = { name: `${lockRolePrefix}${daemonSet}`, namespace, labels: commonLabels(placement, 'controller') }
  const rules = [{ ...rule('apps', ['daemonsets'], ['get', 'patch']), resourceNames: [daemonSet] }]
  const subjects = [{ kind: 'ServiceAccount', name: 'fettle-controller', namespace: placement.namespace }]
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name }
  return [
    manifest(resources.roles, metadata, { rules }),
    manifest(resources.roleBindings, metadata, { roleRef, subjects }),
  ]
}

export function agentRbacManifests(placement: Placement): Manifest[] {
  return accountManifests(placement, agentRights, nodesNamespace)
}

export function uninstallRbacManifests(placement: Placement): Manifest[] {
  return accountManifests(placement, uninstallRights, placement.namespace)
}

function accountManifests(placement: Placement, rights: AccountRights, namespaceOfRole: string): Manifest[] {
  const name = `fettle-${rights.component}`
  const { namespace } = placement
  const labels = commonLabels(placement, rights.component)
  const subjects = [{ kind: 'ServiceAccount', name, namespace }]
  const roleRef = (kind: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name })
  return [
    // Pods ask for the token themselves: nothing else that runs under this name by mistake gets one.
    manifest(
      resources.serviceAccounts,
      { name, namespace, labels },
      {
        automountServiceAccountToken: false,
      },
    ),
    manifest(resources.clusterRoles, { name, labels }, { rules: rights.everywhere }),
    manifest(resources.clusterRoleBindings, { name, labels }, { roleRef: roleRef('ClusterRole'), subjects }),
    manifest(resources.roles, { name, namespace: namespaceOfRole, labels }, { rules: rights.inNamespace }),
    manifest(
      resources.roleBindings,
      { name, namespace: namespaceOfRole, labels },
      { roleRef: roleRef('Role'), subjects },
    ),
  ]
}

export function rule(apiGroup: string, names: readonly string[], verbs: readonly string[]): PolicyRule {
  return { apiGroups: [apiGroup], resources: names, verbs }
}
