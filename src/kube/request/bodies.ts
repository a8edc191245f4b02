import type { DeleteOptions } from '../door.ts'
import type { KubeObject, ObjectRef, Resource } from '../resource.ts'

const apiVersionOf = (resource: Resource): string =>
  resource.group === '' ? resource.version : `${resource.group}/${resource.version}`

function deleteOptions(options: DeleteOptions): object {
  const { uid, resourceVersion } = options
  const preconditions = {
    ...(uid === 'any' ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  }
  return {
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions }),
    ...(options.gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds: options.gracePeriodSeconds }),
    ...(options.propagationPolicy === undefined ? {} : { propagationPolicy: options.propagationPolicy }),
    ...(options.dryRun ? { dryRun: ['All'] } : {}),
  }
}

/** The JSON bodies of writes. */
export const writeBodies = {
  /** Subresources such as scale have a kind of their own, which the caller then gives; status has its parent's. */
  whole: (resource: Resource, object: KubeObject, subresource?: string): object =>
    subresource === undefined || subresource === 'status'
      ? { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind }
      : object,

  delete: (options: DeleteOptions): object => ({ apiVersion: 'v1', kind: 'DeleteOptions', ...deleteOptions(options) }),

  eviction: (pod: ObjectRef, options: DeleteOptions): object => ({
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: pod.name, namespace: pod.namespace },
    deleteOptions: deleteOptions(options),
  }),
} as const
