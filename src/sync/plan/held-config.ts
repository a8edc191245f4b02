import { isObject, type Json } from '../json.ts'
import { type Key, keyText } from '../key.ts'
import type { Observation, ObservedObject } from '../observed.ts'
import { at, type PodNeed, podReferences, podSpecOf } from './pod-references.ts'
import { whyUnknown } from './scope.ts'

const heldKinds: readonly string[] = ['ConfigMap', 'Secret', 'PersistentVolumeClaim'] satisfies PodNeed[]
const pod = { group: '', kind: 'Pod' }
const replicaSet = { group: 'apps', kind: 'ReplicaSet' }

/** Says who still needs a config object; undefined when nobody does. */
export type HolderOf = (key: Key) => string | undefined

/**
 * Config objects stay while a pod reads them, or a ReplicaSet could start one that does. Pods that go in the same plan
 * hold nothing: their workload is removed, and seen gone, before the layer of its config.
 */
export function heldConfig({ objects, unknown }: Observation, leaving: ReadonlySet<string>): HolderOf {
  const blind = [pod, replicaSet].find((kind) => whyUnknown(kind, unknown) !== undefined)
  const byUid = new Map(objects.map((object) => [object.uid, object]))
  const holders = new Map<string, string>()
  const unread = new Map<string, string>()
  for (const object of objects) {
    if (!mayStartPods(object) || isLeaving(object, byUid, leaving)) continue
    const { key, body } = object
    const spec = body && podSpecOf(key.group, key.kind, body)
    if (!spec) unread.set(key.namespace, keyText(key))
    else for (const need of podReferences(spec)) holders.set(`${key.namespace} ${need}`, keyText(key))
  }
  return (key) => {
    if (key.group !== '' || !heldKinds.includes(key.kind)) return undefined
    if (blind) return `it is not known which ${blind.kind}s there are`
    const holder = holders.get(`${key.namespace} ${key.kind} ${key.name}`)
    if (holder !== undefined) return `${holder} still uses it`
    const silent = unread.get(key.namespace)
    return silent && `it is not known what ${silent} uses`
  }
}

function mayStartPods({ key, body, metadata }: ObservedObject): boolean {
  if (metadata.deletionTimestamp !== undefined) return false
  if (key.group === pod.group && key.kind === pod.kind) return !isOver(at(body, 'status', 'phase'))
  if (key.group !== replicaSet.group || key.kind !== replicaSet.kind) return false
  const replicas = isObject(body) ? at(body, 'spec', 'replicas') : undefined
  return replicas !== 0
}

function isOver(phase: Json | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}

/** Whether the object or one of its owners is deleted by this plan. */
function isLeaving(
  object: ObservedObject,
  byUid: ReadonlyMap<string, ObservedObject>,
  leaving: ReadonlySet<string>,
): boolean {
  const seen = new Set<string>()
  for (let open = [object.uid]; open.length > 0; ) {
    const uid = open.pop() ?? ''
    if (leaving.has(uid)) return true
    if (seen.has(uid)) continue
    seen.add(uid)
    open = [...open, ...(byUid.get(uid)?.metadata.ownerReferences ?? []).map((owner) => owner.uid)]
  }
  return false
}
