import type { Resource } from './resource.ts'

const clusterWide = (group: string, version: string, plural: string, kind: string): Resource => ({
  group,
  version,
  plural,
  kind,
  namespaced: false,
})

const inNamespaces = (group: string, version: string, plural: string, kind: string): Resource => ({
  group,
  version,
  plural,
  kind,
  namespaced: true,
})

export const nodes = clusterWide('', 'v1', 'nodes', 'Node')
export const namespaces = clusterWide('', 'v1', 'namespaces', 'Namespace')
export const persistentVolumes = clusterWide('', 'v1', 'persistentvolumes', 'PersistentVolume')
export const pods = inNamespaces('', 'v1', 'pods', 'Pod')
export const services = inNamespaces('', 'v1', 'services', 'Service')
export const configMaps = inNamespaces('', 'v1', 'configmaps', 'ConfigMap')
export const secrets = inNamespaces('', 'v1', 'secrets', 'Secret')
export const serviceAccounts = inNamespaces('', 'v1', 'serviceaccounts', 'ServiceAccount')
export const persistentVolumeClaims = inNamespaces('', 'v1', 'persistentvolumeclaims', 'PersistentVolumeClaim')
export const replicationControllers = inNamespaces('', 'v1', 'replicationcontrollers', 'ReplicationController')
export const deployments = inNamespaces('apps', 'v1', 'deployments', 'Deployment')
export const replicaSets = inNamespaces('apps', 'v1', 'replicasets', 'ReplicaSet')
export const statefulSets = inNamespaces('apps', 'v1', 'statefulsets', 'StatefulSet')
export const daemonSets = inNamespaces('apps', 'v1', 'daemonsets', 'DaemonSet')
export const jobs = inNamespaces('batch', 'v1', 'jobs', 'Job')
export const cronJobs = inNamespaces('batch', 'v1', 'cronjobs', 'CronJob')
export const podDisruptionBudgets = inNamespaces('policy', 'v1', 'poddisruptionbudgets', 'PodDisruptionBudget')
export const volumeAttachments = clusterWide('storage.k8s.io', 'v1', 'volumeattachments', 'VolumeAttachment')
export const leases = inNamespaces('coordination.k8s.io', 'v1', 'leases', 'Lease')
export const events = inNamespaces('events.k8s.io', 'v1', 'events', 'Event')
/** The same objects in their older shape. */
export const coreEvents = inNamespaces('', 'v1', 'events', 'Event')
export const customResourceDefinitions = clusterWide(
  'apiextensions.k8s.io',
  'v1',
  'customresourcedefinitions',
  'CustomResourceDefinition',
)
export const clusterRoles = clusterWide('rbac.authorization.k8s.io', 'v1', 'clusterroles', 'ClusterRole')
export const clusterRoleBindings = clusterWide(
  'rbac.authorization.k8s.io',
  'v1',
  'clusterrolebindings',
  'ClusterRoleBinding',
)
export const validatingAdmissionPolicies = clusterWide(
  'admissionregistration.k8s.io',
  'v1',
  'validatingadmissionpolicies',
  'ValidatingAdmissionPolicy',
)
export const validatingAdmissionPolicyBindings = clusterWide(
  'admissionregistration.k8s.io',
  'v1',
  'validatingadmissionpolicybindings',
  'ValidatingAdmissionPolicyBinding',
)
export const roles = inNamespaces('rbac.authorization.k8s.io', 'v1', 'roles', 'Role')
export const roleBindings = inNamespaces('rbac.authorization.k8s.io', 'v1', 'rolebindings', 'RoleBinding')
