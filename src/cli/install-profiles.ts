import { resources } from '../kube/index.ts'
import {
  commonLabels,
  controllerName,
  type Manifest,
  manifest,
  type Placement,
  profilesEnvironment,
  profilesName,
} from './install-names.ts'
import { type PolicyRule, rule } from './install-rbac.ts'

/** Maintenance profiles of an installation. `charts/fettle/templates/profiles.yaml` says the same; a test compares them. */
export interface ProfilesSettings {
  /** The text of the file. */
  readonly config: string
  /** Where the file's checks and messages keep Leases, besides the controller's own namespace. */
  readonly leaseNamespaces: readonly string[]
  /** Where maintenance-controller has its lease, if not in the controller's own namespace. */
  readonly originalLeaseNamespace?: string
}

/** As deployments of maintenance-controller serve it: its own port, for metrics and the info API. */
export const profilesPort = 8082
const fileName = 'maintenance.yaml'
const folder = '/etc/fettle/profiles'

/** What profiles need beyond what the controller may do anyway. */
export const profilesRights: {
  readonly everywhere: readonly PolicyRule[]
  readonly inNamespace: readonly PolicyRule[]
} = {
  // Whose pods move when a node goes into maintenance; the figures name them.
  everywhere: [rule('apps', ['deployments', 'replicasets', 'statefulsets'], ['list', 'watch'])],
  // What stagger counts by, where slackThread remembers its thread, and the lease of maintenance-controller.
  inNamespace: [rule('coordination.k8s.io', ['leases'], ['get', 'create', 'patch', 'update'])],
}

export function profilesManifests(placement: Placement, profiles: ProfilesSettings): Manifest[] {
  const { config, leaseNamespaces, originalLeaseNamespace } = profiles
  const { namespace } = placement
  const labels = commonLabels(placement, 'controller')
  const metadata = { name: profilesName, labels }
  const subjects = [{ kind: 'ServiceAccount', name: controllerName, namespace }]
  const roleRef = (kind: string) => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name: profilesName })
  const places = new Set([namespace, ...leaseNamespaces, originalLeaseNamespace ?? namespace])
  return [
    manifest(resources.configMaps, { ...metadata, namespace }, { data: { [fileName]: config } }),
    manifest(resources.clusterRoles, metadata, { rules: profilesRights.everywhere }),
    manifest(resources.clusterRoleBindings, metadata, { roleRef: roleRef('ClusterRole'), subjects }),
    ...[...places].flatMap((place) => [
      manifest(resources.roles, { ...metadata, namespace: place }, { rules: profilesRights.inNamespace }),
      manifest(resources.roleBindings, { ...metadata, namespace: place }, { roleRef: roleRef('Role'), subjects }),
    ]),
  ]
}

/** What the controller's pod has more of when there are profiles. */
export interface ProfilesPod {
  readonly args: readonly string[]
  readonly ports: readonly object[]
  readonly container: object
  readonly pod: object
}

export function profilesPod(profiles: ProfilesSettings | undefined): ProfilesPod {
  if (!profiles) return { args: [], ports: [], container: {}, pod: {} }
  const { originalLeaseNamespace: original } = profiles
  return {
    args: [
      `--profiles=${folder}/${fileName}`,
      `--metrics-addr=:${profilesPort}`,
      ...(original === undefined ? [] : [`--original-lease-namespace=${original}`]),
    ],
    ports: [{ name: 'profiles', containerPort: profilesPort, protocol: 'TCP' }],
    container: {
      // What ${NAME} in the file stands for.
      envFrom: [{ secretRef: { name: profilesEnvironment, optional: true } }],
      // The folder and not the file alone: only then does a change of the ConfigMap arrive.
      volumeMounts: [{ name: 'profiles', mountPath: folder, readOnly: true }],
    },
    pod: { volumes: [{ name: 'profiles', configMap: { name: profilesName } }] },
  }
}
