import { isObject, type Json, type JsonObject } from '../json.ts'
import { listAt, objectAt, textAt } from './json-parts.ts'

export interface Exported {
  readonly name: string
  readonly metadata: JsonObject
}

/** Takes the rest of an object, without metadata and status, and leaves what somebody meant. */
type Cleaner = (rest: JsonObject, of: Exported) => JsonObject

export function withoutKeys(value: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)))
}

/** Kinds in which the server or a controller writes beside what was declared. */
export const kindCleaners: Readonly<Record<string, Cleaner>> = {
  'v1 Service': inSpec(serviceSpec),
  'v1 PersistentVolumeClaim': inSpec((spec, { metadata }) => {
    const isBoundByCluster = textAt(objectAt(metadata, 'annotations'), 'pv.kubernetes.io/bound-by-controller') === 'yes'
    return isBoundByCluster ? withoutKeys(spec, ['volumeName']) : spec
  }),
  'v1 ServiceAccount': serviceAccount,
  'v1 Namespace': (rest) => withoutKeys(rest, ['spec']),
  'v1 Pod': inSpec(podSpec),
  'v1 ReplicationController': inSpec(withTemplate),
  'apps/v1 Deployment': inSpec(withTemplate),
  'apps/v1 DaemonSet': inSpec(withTemplate),
  'apps/v1 ReplicaSet': inSpec(withTemplate),
  'apps/v1 StatefulSet': inSpec((spec) => ({
    ...withTemplate(spec),
    ...(spec['volumeClaimTemplates'] === undefined
      ? {}
      : { volumeClaimTemplates: listAt(spec, 'volumeClaimTemplates').map(claimTemplate) }),
  })),
  'batch/v1 Job': inSpec(jobSpec),
  'batch/v1 CronJob': inSpec((spec) => {
    const template = objectAt(spec, 'jobTemplate')
    const job = objectAt(template, 'spec')
    if (!template || !job) return spec
    return { ...spec, jobTemplate: { ...withoutNullTime(template), spec: withTemplate(job) } }
  }),
}

function inSpec(clean: (spec: JsonObject, of: Exported) => JsonObject): Cleaner {
  return (rest, of) => {
    const spec = objectAt(rest, 'spec')
    return spec ? { ...rest, spec: clean(spec, of) } : rest
  }
}

const serviceDefaults: Readonly<Record<string, string>> = {
  ipFamilyPolicy: 'SingleStack',
  sessionAffinity: 'None',
  internalTrafficPolicy: 'Cluster',
}

function serviceSpec(spec: JsonObject): JsonObject {
  const isHeadless = spec['clusterIP'] === 'None'
  const given = isHeadless ? ['clusterIPs'] : ['clusterIP', 'clusterIPs']
  const kept = withoutKeys(spec, [...given, 'ipFamilies', 'healthCheckNodePort'])
  const meant = Object.entries(kept).filter(([name, value]) => serviceDefaults[name] !== value)
  const ports = listAt(spec, 'ports').map((port) => (isObject(port) ? withoutKeys(port, ['nodePort']) : port))
  return { ...Object.fromEntries(meant), ...(spec['ports'] === undefined ? {} : { ports }) }
}

/** Older clusters, and OpenShift, add the Secrets that they made for the account. */
function serviceAccount(rest: JsonObject, { name }: Exported): JsonObject {
  const isMade = (one: Json) =>
    [`${name}-token-`, `${name}-dockercfg-`].some((start) => textAt(one, 'name')?.startsWith(start))
  const kept = (list: 'secrets' | 'imagePullSecrets') => {
    const entries = listAt(rest, list).filter((one) => !isMade(one))
    return entries.length === 0 ? {} : { [list]: entries }
  }
  return { ...withoutKeys(rest, ['secrets', 'imagePullSecrets']), ...kept('secrets'), ...kept('imagePullSecrets') }
}

const accessVolume = 'kube-api-access-'

/** A pod without a controller, before admission and the scheduler wrote into it. */
function podSpec(spec: JsonObject): JsonObject {
  const isAccess = (one: Json) => textAt(one, 'name')?.startsWith(accessVolume) === true
  const withoutAccess = (container: Json): Json => {
    if (!isObject(container)) return container
    const mounts = listAt(container, 'volumeMounts').filter((mount) => !isAccess(mount))
    return { ...withoutKeys(container, ['volumeMounts']), ...(mounts.length === 0 ? {} : { volumeMounts: mounts }) }
  }
  const volumes = listAt(spec, 'volumes').filter((volume) => !isAccess(volume))
  const tolerations = listAt(spec, 'tolerations').filter((one) => !isAddedToleration(one))
  return {
    ...withoutKeys(spec, ['nodeName', 'priority', 'preemptionPolicy', 'serviceAccount', 'volumes', 'tolerations']),
    containers: listAt(spec, 'containers').map(withoutAccess),
    ...(spec['initContainers'] === undefined
      ? {}
      : { initContainers: listAt(spec, 'initContainers').map(withoutAccess) }),
    ...(volumes.length === 0 ? {} : { volumes }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
  }
}

function isAddedToleration(one: Json): boolean {
  const key = textAt(one, 'key')
  const isCondition = key === 'node.kubernetes.io/not-ready' || key === 'node.kubernetes.io/unreachable'
  return isCondition && isObject(one) && one['tolerationSeconds'] === 300
}

const jobMarks = ['controller-uid', 'batch.kubernetes.io/controller-uid', 'job-name', 'batch.kubernetes.io/job-name']

/** The cluster makes up a selector for each Job, unless somebody insists on one. */
function jobSpec(spec: JsonObject): JsonObject {
  const clean = withTemplate(spec)
  if (spec['manualSelector'] === true) return clean
  const template = objectAt(clean, 'template') ?? {}
  const metadata = objectAt(template, 'metadata') ?? {}
  const labels = withoutKeys(objectAt(metadata, 'labels') ?? {}, jobMarks)
  const rest = withoutKeys(metadata, ['labels'])
  const kept = { ...rest, ...(Object.keys(labels).length === 0 ? {} : { labels }) }
  return {
    ...withoutKeys(clean, ['selector', 'manualSelector']),
    template: { ...withoutKeys(template, ['metadata']), ...(Object.keys(kept).length === 0 ? {} : { metadata: kept }) },
  }
}

function withTemplate(spec: JsonObject): JsonObject {
  const template = objectAt(spec, 'template')
  return template ? { ...spec, template: withoutNullTime(template) } : spec
}

/** Go writes a time that was never set as null. */
function withoutNullTime(template: JsonObject): JsonObject {
  const metadata = objectAt(template, 'metadata')
  if (!metadata || metadata['creationTimestamp'] !== null) return template
  const rest = withoutKeys(metadata, ['creationTimestamp'])
  return Object.keys(rest).length === 0 ? withoutKeys(template, ['metadata']) : { ...template, metadata: rest }
}

function claimTemplate(template: Json): Json {
  return isObject(template) ? withoutNullTime(withoutKeys(template, ['status'])) : template
}
