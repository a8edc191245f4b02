import type { Key } from '../key.ts'

/** Kinds of a group; all of them if none is named. */
export interface KindFamily {
  /** The group, or its end when it begins with `*.`. */
  readonly group: string
  readonly kinds?: readonly string[]
}

/** What programs write about the objects of others: reports, endpoints, identities. They write it anew. */
export const reportKinds: readonly KindFamily[] = [
  { group: 'wgpolicyk8s.io' },
  { group: 'openreports.io' },
  { group: 'reports.kyverno.io' },
  { group: 'kyverno.io', kinds: ['AdmissionReport', 'BackgroundScanReport', 'UpdateRequest'] },
  {
    group: 'aquasecurity.github.io',
    kinds: [
      'ConfigAuditReport',
      'ExposedSecretReport',
      'InfraAssessmentReport',
      'RbacAssessmentReport',
      'SbomReport',
      'VulnerabilityReport',
    ],
  },
  { group: 'spdx.softwarecomposition.kubescape.io' },
  { group: 'cilium.io', kinds: ['CiliumEndpoint', 'CiliumEndpointSlice', 'CiliumIdentity'] },
  { group: 'crd.projectcalico.org', kinds: ['BlockAffinity', 'CalicoNodeStatus', 'IPAMBlock', 'WorkloadEndpoint'] },
  { group: 'projectcalico.org', kinds: ['WorkloadEndpoint'] },
  { group: 'status.gatekeeper.sh' },
  { group: 'submariner.io', kinds: ['Endpoint', 'Cluster'] },
]

/** What storage and device drivers write about what they have. */
export const driverKinds: readonly KindFamily[] = [
  { group: 'storage.k8s.io', kinds: ['CSIStorageCapacity', 'CSINode', 'VolumeAttachment'] },
  { group: 'resource.k8s.io', kinds: ['ResourceSlice'] },
  { group: 'snapshot.storage.k8s.io', kinds: ['VolumeSnapshotContent'] },
  { group: 'topology.node.k8s.io' },
  { group: 'nfd.k8s-sigs.io', kinds: ['NodeFeature'] },
]

/** What other programs that apply manifests remember in the cluster. */
export const bookkeepingKinds: readonly KindFamily[] = [
  { group: '*.toolkit.fluxcd.io' },
  { group: 'argoproj.io', kinds: ['Application', 'ApplicationSet', 'AppProject'] },
  { group: 'fleet.cattle.io' },
  { group: 'kappctrl.k14s.io' },
  { group: 'kpt.dev', kinds: ['ResourceGroup'] },
  { group: 'configsync.gke.io' },
]

/** What is only ever asked, and answered at once. */
export const reviewKinds: readonly KindFamily[] = [
  { group: 'authentication.k8s.io' },
  { group: 'authorization.k8s.io' },
  { group: '', kinds: ['Binding'] },
]

export const metricKinds: readonly KindFamily[] = [{ group: 'metrics.k8s.io' }, { group: '*.metrics.k8s.io' }]

export const eventKinds: readonly KindFamily[] = [
  { group: '', kinds: ['Event'] },
  { group: 'events.k8s.io', kinds: ['Event'] },
]

export const endpointKinds: readonly KindFamily[] = [
  { group: '', kinds: ['Endpoints'] },
  { group: 'discovery.k8s.io', kinds: ['EndpointSlice'] },
]

/** What holds data that no manifest brings back. */
export const dataKinds: readonly KindFamily[] = [
  { group: '', kinds: ['PersistentVolumeClaim'] },
  { group: 'snapshot.storage.k8s.io', kinds: ['VolumeSnapshot'] },
]

export function isOneOf({ group, kind }: Key, families: readonly KindFamily[]): boolean {
  return families.some(
    (family) =>
      (family.group === group || (family.group.startsWith('*.') && group.endsWith(family.group.slice(1)))) &&
      (family.kinds?.includes(kind) ?? true),
  )
}
