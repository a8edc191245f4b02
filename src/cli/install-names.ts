import type { KubeObject, ObjectMeta, Resource } from '../kube/index.ts'

/** Names that the chart, `fettle install` and `fettle uninstall` agree on. They are fixed: a cluster has one Fettle. */
export const controllerName = 'fettle-controller'
export const agentName = 'fettle-agent'
/** Where agents keep their heartbeats; apart, so that an agent's rights end there. */
export const nodesNamespace = 'fettle-nodes'
/** Roles for locks that are shared with other programs; each ends with the name of a DaemonSet. */
export const lockRolePrefix = 'fettle-lock-'
/** The ConfigMap with the maintenance profiles, and the rights that they need. */
export const profilesName = 'fettle-profiles'
/** A Secret that a person makes: what `${NAME}` in the profiles stands for. */
export const profilesEnvironment = 'fettle-profiles-env'
export const managedByLabel = 'app.kubernetes.io/managed-by'
/** Field manager, and value of the label above. */
export const installer = 'fettle'

/** Where an installation lies and what its objects are marked with. */
export interface Placement {
  readonly namespace: string
  /** Of the program; a label. */
  readonly version: string
  /** Who takes care of the objects: `fettle` or `Helm`. */
  readonly managedBy: string
}

/** One object of an installation, and the URL it goes to. */
export interface Manifest {
  readonly resource: Resource
  readonly object: KubeObject
}

export function manifest(resource: Resource, metadata: ObjectMeta, body: object = {}): Manifest {
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
  return { resource, object: { apiVersion, kind: resource.kind, metadata, ...body } }
}

export function selectorLabels(component: string): Readonly<Record<string, string>> {
  return { 'app.kubernetes.io/name': 'fettle', 'app.kubernetes.io/component': component }
}

export function commonLabels(placement: Placement, component?: string): Readonly<Record<string, string>> {
  return {
    ...(component === undefined ? { 'app.kubernetes.io/name': 'fettle' } : selectorLabels(component)),
    'app.kubernetes.io/version': placement.version,
    [managedByLabel]: placement.managedBy,
  }
}
