import { admissionPolicies, customResourceDefinitions } from '../api/index.ts'
import { resources } from '../kube/index.ts'
import { commonLabels, type Manifest, manifest, nodesNamespace, type Placement } from './install-names.ts'
import { peopleManifests } from './install-people.ts'
import { profilesManifests } from './install-profiles.ts'
import { agentRbacManifests, controllerRbacManifests, type SharedLock, sharedLockManifests } from './install-rbac.ts'
import { type WorkloadSettings, workloadManifests } from './install-workloads.ts'

export interface InstallSettings extends WorkloadSettings {
  readonly sharedLocks: readonly SharedLock[]
}

/** Every object of an installation, in the order in which they are made. The first is the namespace itself. */
export function installManifests(settings: InstallSettings): Manifest[] {
  return [
    // The agent reaches its machine, which only this level allows; the controller needs none of it.
    namespaceManifest(settings, settings.namespace, 'privileged'),
    namespaceManifest(settings, nodesNamespace, 'restricted'),
    ...crdManifests(settings),
    ...controllerRbacManifests(settings),
    ...settings.sharedLocks.flatMap((lock) => sharedLockManifests(settings, lock)),
    ...(settings.profiles ? profilesManifests(settings, settings.profiles) : []),
    ...peopleManifests(settings),
    ...policyManifests(settings),
    // After the policies that bound it; an uninstallation goes the other way.
    ...agentRbacManifests(settings),
    ...workloadManifests(settings),
  ]
}

export function namespaceManifest(placement: Placement, name: string, level: 'privileged' | 'restricted'): Manifest {
  const labels = { ...commonLabels(placement), 'pod-security.kubernetes.io/enforce': level }
  return manifest(resources.namespaces, { name, labels })
}

export function crdManifests(placement: Placement): Manifest[] {
  return customResourceDefinitions().map(({ metadata, spec }) =>
    manifest(resources.customResourceDefinitions, { name: metadata.name, labels: commonLabels(placement) }, { spec }),
  )
}

/** After the roles: the controller has its rights before anything asks for them. */
export function policyManifests(placement: Placement): Manifest[] {
  return admissionPolicies().flatMap(({ name, policy, binding }) => {
    const metadata = { name, labels: commonLabels(placement) }
    return [
      manifest(resources.validatingAdmissionPolicies, metadata, { spec: policy }),
      manifest(resources.validatingAdmissionPolicyBindings, metadata, { spec: binding }),
    ]
  })
}

/** `Kind namespace/name`, as people write it. */
export function nameOf({ object }: Manifest): string {
  const { name, namespace } = object.metadata
  return `${object.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
}
