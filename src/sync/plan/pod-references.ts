import { isObject, type Json, type JsonObject } from '../json.ts'

export type PodNeed = 'ConfigMap' | 'Secret' | 'PersistentVolumeClaim' | 'ServiceAccount'

/** What a pod cannot start without, in its own namespace, as `Kind name`. */
export function podReferences(spec: JsonObject): ReadonlySet<`${PodNeed} ${string}`> {
  const found = new Set<`${PodNeed} ${string}`>()
  const add = (kind: PodNeed, name: Json | undefined) => {
    if (typeof name === 'string' && name !== '') found.add(`${kind} ${name}`)
  }
  for (const container of ['containers', 'initContainers', 'ephemeralContainers'].flatMap((field) =>
    list(spec, field),
  )) {
    for (const source of [...list(container, 'envFrom'), ...list(container, 'env')]) {
      add('ConfigMap', at(source, 'configMapRef', 'name') ?? at(source, 'valueFrom', 'configMapKeyRef', 'name'))
      add('Secret', at(source, 'secretRef', 'name') ?? at(source, 'valueFrom', 'secretKeyRef', 'name'))
    }
  }
  for (const volume of list(spec, 'volumes')) {
    add('PersistentVolumeClaim', at(volume, 'persistentVolumeClaim', 'claimName'))
    const projected = isObject(volume['projected']) ? list(volume['projected'], 'sources') : []
    for (const source of [volume, ...projected]) {
      add('ConfigMap', at(source, 'configMap', 'name'))
      add('Secret', at(source, 'secret', 'secretName') ?? at(source, 'secret', 'name'))
    }
    // Each kind of network storage has its own field; all name their credentials alike.
    for (const kind of Object.values(volume)) {
      add('Secret', at(kind, 'secretRef', 'name'))
      add('Secret', at(kind, 'nodePublishSecretRef', 'name'))
    }
    add('Secret', at(volume, 'azureFile', 'secretName'))
  }
  for (const secret of list(spec, 'imagePullSecrets')) add('Secret', secret['name'])
  add('ServiceAccount', spec['serviceAccountName'] ?? spec['serviceAccount'])
  return found
}

/** The spec of the pods that an object of the kind makes, or is. */
export function podSpecOf(group: string, kind: string, body: JsonObject): JsonObject | undefined {
  const place = podSpecPlaces[`${kind}.${group}`]
  const spec = place === undefined ? undefined : at(body, ...place)
  return isObject(spec) ? spec : undefined
}

const template = ['spec', 'template', 'spec']
const podSpecPlaces: Readonly<Record<string, readonly string[]>> = {
  'Pod.': ['spec'],
  'ReplicationController.': template,
  'ReplicaSet.apps': template,
  'Deployment.apps': template,
  'StatefulSet.apps': template,
  'DaemonSet.apps': template,
  'Job.batch': template,
  'CronJob.batch': ['spec', 'jobTemplate', ...template],
}

export function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((inside, field) => (isObject(inside) ? inside[field] : undefined), value)
}

export function list(value: Json | undefined, field: string): readonly JsonObject[] {
  const items = at(value, field)
  return Array.isArray(items) ? items.filter((item: Json) => isObject(item)) : []
}

/** Of labels or annotations, those that are written as the server has them. */
export function textsAt(value: Json | undefined, ...path: readonly string[]): Readonly<Record<string, string>> {
  const all = at(value, ...path)
  if (!isObject(all)) return {}
  return Object.fromEntries(Object.entries(all).filter((one): one is [string, string] => typeof one[1] === 'string'))
}
