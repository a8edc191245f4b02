import { group } from '../api/index.ts'
import { resources } from '../kube/index.ts'
import { commonLabels, type Manifest, manifest, nodesNamespace, type Placement } from './install-names.ts'

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
    rule('', ['pods'], ['list', 'watch']),
    rule('', ['pods/eviction'], ['create']),
    rule('policy', ['poddisruptionbudgets'], ['list', 'watch']),
    rule(group, ['maintenancerequests'], ['get', 'list', 'watch', 'patch']),
    rule(group, ['maintenancebudgets'], ['get', 'list', 'watch', 'create']),
    rule(group, ['maintenancerequests/status', 'maintenancebudgets/status'], ['update']),
    rule('events.k8s.io', ['events'], ['create', 'patch']),
  ],
  inNamespace: [leases],
}

const agentRights: AccountRights = {
  component: 'agent',
  // To create requests is to be able to drain any node: it gets that right together with the policy that bounds it.
  everywhere: [rule(group, ['maintenancerequests'], ['list', 'watch'])],
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

function rule(apiGroup: string, names: readonly string[], verbs: readonly string[]): PolicyRule {
  return { apiGroups: [apiGroup], resources: names, verbs }
}
