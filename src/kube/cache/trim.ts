import type { NodeCondition, NodeObject, PodCondition, PodObject, PodVolume } from '../kinds.ts'
import type { KubeObject, ObjectMeta, OwnerReference, Resource } from '../resource.ts'
import { Interner } from './intern.ts'

/** Makes an object small before it is cached. Must keep metadata. */
export type Trim<T extends KubeObject> = (object: T) => T

type Writable<T> = { -readonly [K in keyof T]: T[K] }

/** For kinds without a shape of their own: all but managedFields, which is often half of an object and never read here. */
export function trimAny<T extends KubeObject>(object: T): T {
  if (!('managedFields' in object.metadata)) return object
  const { managedFields: _, ...metadata } = object.metadata as ObjectMeta & { managedFields?: unknown }
  return { ...object, metadata }
}

/** The trim of a resource: what its interface in `kinds.ts` declares, or all but managedFields. */
export function trimFor(resource: Resource): Trim<KubeObject> {
  if (resource.group !== '') return trimAny
  if (resource.plural === 'pods') return podTrimmer() as Trim<KubeObject>
  if (resource.plural === 'nodes') return nodeTrimmer() as Trim<KubeObject>
  return trimAny
}

/** Keeps what PodObject declares. Each trimmer shares strings among its own objects only. */
export function podTrimmer(strings: Interner = new Interner()): Trim<PodObject> {
  const share = (text: string) => strings.share(text)
  return (pod) => {
    const { spec = {}, status = {} } = pod
    const kept: Writable<NonNullable<PodObject['spec']>> = {}
    if (spec.nodeName !== undefined) kept.nodeName = share(spec.nodeName)
    if (spec.hostNetwork !== undefined) kept.hostNetwork = spec.hostNetwork
    if (spec.priority !== undefined) kept.priority = spec.priority
    if (spec.priorityClassName !== undefined) kept.priorityClassName = share(spec.priorityClassName)
    if (spec.terminationGracePeriodSeconds !== undefined) {
      kept.terminationGracePeriodSeconds = spec.terminationGracePeriodSeconds
    }
    const isController = pod.metadata.labels?.[componentLabel] === 'controller'
    if (isController && spec.nodeSelector) kept.nodeSelector = spec.nodeSelector
    if (isController && spec.tolerations) kept.tolerations = spec.tolerations
    const affinity = spec.affinity?.nodeAffinity && trimAffinity(spec.affinity.nodeAffinity, isController)
    if (affinity) kept.affinity = { nodeAffinity: affinity }
    const volumes = spec.volumes?.flatMap(trimVolume) ?? []
    if (volumes.length > 0) kept.volumes = volumes
    const seen: Writable<NonNullable<PodObject['status']>> = {}
    if (status.phase !== undefined) seen.phase = share(status.phase)
    if (status.reason !== undefined) seen.reason = share(status.reason)
    if (status.startTime !== undefined) seen.startTime = share(status.startTime)
    const conditions = status.conditions?.filter((one) => podConditions.has(one.type)) ?? []
    if (conditions.length > 0) seen.conditions = conditions.map((one) => trimPodCondition(one, share))
    return { metadata: trimMetadata(pod.metadata, share), spec: kept, status: seen }
  }
}

/** Keeps what NodeObject declares. */
export function nodeTrimmer(strings: Interner = new Interner()): Trim<NodeObject> {
  const share = (text: string) => strings.share(text)
  return (node) => {
    const { spec = {}, status = {} } = node
    const kept: Writable<NonNullable<NodeObject['spec']>> = {}
    if (spec.unschedulable !== undefined) kept.unschedulable = spec.unschedulable
    if (spec.taints) kept.taints = spec.taints
    if (spec.providerID !== undefined) kept.providerID = spec.providerID
    const seen: Writable<NonNullable<NodeObject['status']>> = {}
    if (status.conditions) seen.conditions = status.conditions.map((one) => trimNodeCondition(one, share))
    if (status.addresses) seen.addresses = status.addresses
    if (status.nodeInfo) {
      const info = status.nodeInfo
      seen.nodeInfo = {
        bootID: info.bootID,
        machineID: info.machineID,
        systemUUID: info.systemUUID,
        kernelVersion: share(info.kernelVersion),
        osImage: share(info.osImage),
        operatingSystem: share(info.operatingSystem),
        architecture: share(info.architecture),
        kubeletVersion: share(info.kubeletVersion),
        containerRuntimeVersion: share(info.containerRuntimeVersion),
      }
    }
    if (status.allocatable) seen.allocatable = shareRecord(status.allocatable, share)
    return { metadata: trimMetadata(node.metadata, share), spec: kept, status: seen }
  }
}

type Share = (text: string) => string

// Where a pod may run is asked only of the controller's own pods. A few other programs have such a component as well; of all
// pods, those of DaemonSets above all, it would be megabytes.
const componentLabel = 'app.kubernetes.io/component'

// The others repeat these, and five conditions would be a third of what a pod costs.
const podConditions: ReadonlySet<string> = new Set(['Ready', 'PodScheduled', 'DisruptionTarget'])

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration'

function trimMetadata(from: ObjectMeta, share: Share): ObjectMeta {
  const kept: Writable<ObjectMeta> = {}
  if (from.name !== undefined) kept.name = from.name
  if (from.namespace !== undefined) kept.namespace = share(from.namespace)
  if (from.uid !== undefined) kept.uid = from.uid
  if (from.resourceVersion !== undefined) kept.resourceVersion = from.resourceVersion
  if (from.generation !== undefined) kept.generation = from.generation
  if (from.creationTimestamp !== undefined) kept.creationTimestamp = share(from.creationTimestamp)
  if (from.deletionTimestamp !== undefined) kept.deletionTimestamp = from.deletionTimestamp
  if (from.deletionGracePeriodSeconds !== undefined) kept.deletionGracePeriodSeconds = from.deletionGracePeriodSeconds
  if (from.labels) kept.labels = shareRecord(from.labels, share)
  if (from.annotations) {
    const annotations: Record<string, string> = {}
    // The last applied configuration is a copy of the whole object inside the object.
    for (const key in from.annotations) if (key !== lastApplied) annotations[key] = share(from.annotations[key] ?? '')
    kept.annotations = annotations
  }
  if (from.finalizers) kept.finalizers = from.finalizers.map(share)
  if (from.ownerReferences) kept.ownerReferences = from.ownerReferences.map((owner) => trimOwner(owner, share))
  return kept
}

function trimOwner(owner: OwnerReference, share: Share): OwnerReference {
  return {
    apiVersion: share(owner.apiVersion),
    kind: share(owner.kind),
    name: share(owner.name),
    uid: share(owner.uid),
    ...(owner.controller === undefined ? {} : { controller: owner.controller }),
  }
}

type NodeAffinity = NonNullable<NonNullable<NonNullable<PodObject['spec']>['affinity']>['nodeAffinity']>

function trimAffinity(from: NodeAffinity, isController: boolean): NodeAffinity | undefined {
  const kept: Writable<NodeAffinity> = {}
  const required = isController ? from.requiredDuringSchedulingIgnoredDuringExecution : undefined
  if (required) kept.requiredDuringSchedulingIgnoredDuringExecution = required
  const preferred = from.preferredDuringSchedulingIgnoredDuringExecution
  if (preferred) kept.preferredDuringSchedulingIgnoredDuringExecution = preferred
  return required || preferred ? kept : undefined
}

function trimVolume(volume: PodVolume): PodVolume[] {
  const { name, emptyDir, hostPath, persistentVolumeClaim } = volume
  if (emptyDir) return [{ name, emptyDir: emptyDir.medium === undefined ? {} : { medium: emptyDir.medium } }]
  if (hostPath) return [{ name, hostPath: { path: hostPath.path } }]
  if (persistentVolumeClaim) {
    return [{ name, persistentVolumeClaim: { claimName: persistentVolumeClaim.claimName } }]
  }
  // Projected tokens and config maps: every pod has them and no decision needs them.
  return []
}

function trimPodCondition(from: PodCondition, share: Share): PodCondition {
  const kept: Writable<PodCondition> = { type: share(from.type), status: share(from.status) }
  if (from.reason !== undefined) kept.reason = share(from.reason)
  if (from.lastTransitionTime !== undefined) kept.lastTransitionTime = share(from.lastTransitionTime)
  return kept
}

function trimNodeCondition(from: NodeCondition, share: Share): NodeCondition {
  const kept: Writable<NodeCondition> = trimPodCondition(from, share)
  if (from.message !== undefined) kept.message = share(from.message)
  return kept
}

function shareRecord(from: Readonly<Record<string, string>>, share: Share): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const key in from) kept[key] = share(from[key] ?? '')
  return kept
}
