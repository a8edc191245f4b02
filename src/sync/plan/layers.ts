import type { Key } from '../key.ts'

const layers: readonly (readonly string[])[] = [
  ['Namespace.'],
  [
    'ResourceQuota.',
    'LimitRange.',
    'PersistentVolume.',
    'PriorityClass.scheduling.k8s.io',
    'StorageClass.storage.k8s.io',
    'VolumeAttributesClass.storage.k8s.io',
    'CSIDriver.storage.k8s.io',
    'RuntimeClass.node.k8s.io',
    'IngressClass.networking.k8s.io',
    'DeviceClass.resource.k8s.io',
  ],
  ['CustomResourceDefinition.apiextensions.k8s.io'],
  [
    'ServiceAccount.',
    'Role.rbac.authorization.k8s.io',
    'ClusterRole.rbac.authorization.k8s.io',
    'RoleBinding.rbac.authorization.k8s.io',
    'ClusterRoleBinding.rbac.authorization.k8s.io',
  ],
  ['ConfigMap.', 'Secret.', 'PersistentVolumeClaim.'],
  ['Service.', 'Endpoints.', 'EndpointSlice.discovery.k8s.io', 'NetworkPolicy.networking.k8s.io'],
  [
    'Pod.',
    'ReplicationController.',
    'ReplicaSet.apps',
    'Deployment.apps',
    'StatefulSet.apps',
    'DaemonSet.apps',
    'Job.batch',
    'CronJob.batch',
  ],
  ['HorizontalPodAutoscaler.autoscaling', 'PodDisruptionBudget.policy', 'Ingress.networking.k8s.io'],
  [],
  [
    'APIService.apiregistration.k8s.io',
    'ValidatingWebhookConfiguration.admissionregistration.k8s.io',
    'MutatingWebhookConfiguration.admissionregistration.k8s.io',
    'ValidatingAdmissionPolicy.admissionregistration.k8s.io',
    'ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io',
    'MutatingAdmissionPolicy.admissionregistration.k8s.io',
    'MutatingAdmissionPolicyBinding.admissionregistration.k8s.io',
  ],
]

const layerOfKind = new Map(layers.flatMap((kinds, layer) => kinds.map((kind) => [kind, layer])))
const layerOfGateways = 7
/** Instances go before the workload that clears their finalizers, when things are removed the other way round. */
const layerOfOthers = 8

/** Lower layers are applied first: what others live in, are checked by, or read at their start. */
export function layerOf({ group, kind }: Key): number {
  if (group === 'gateway.networking.k8s.io') return layerOfGateways
  return layerOfKind.get(`${kind}.${group}`) ?? layerOfOthers
}
