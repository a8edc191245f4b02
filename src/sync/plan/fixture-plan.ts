import type { DeclaredObject } from '../declared.ts'
import type { Inventory, Member } from '../inventory-record.ts'
import type { JsonObject } from '../json.ts'
import { groupOf, type Key } from '../key.ts'
import type { ObservedMeta, ObservedObject } from '../observed.ts'
import { carefulDeletion, type DeletionPolicy, type Policy } from '../policy.ts'
import type { PlanInput } from './steps.ts'

export const nowMs = Date.parse('2026-05-04T12:00:00.000Z')
export const agoText = (ms: number) => new Date(nowMs - ms).toISOString()
export const setId = 'applyset-ours-v1'

const apiVersions: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  ReplicaSet: 'apps/v1',
  StatefulSet: 'apps/v1',
  Job: 'batch/v1',
  Role: 'rbac.authorization.k8s.io/v1',
  ClusterRole: 'rbac.authorization.k8s.io/v1',
  RoleBinding: 'rbac.authorization.k8s.io/v1',
  Ingress: 'networking.k8s.io/v1',
  CustomResourceDefinition: 'apiextensions.k8s.io/v1',
  Widget: 'example.com/v1',
  ValidatingWebhookConfiguration: 'admissionregistration.k8s.io/v1',
}
const clusterKinds = ['Namespace', 'CustomResourceDefinition', 'ClusterRole', 'PersistentVolume']

/** `ConfigMap/a` in the namespace shop, `ConfigMap/other/a` elsewhere, `Namespace/shop` of the whole cluster. */
export function key(text: string): Key {
  const [kind = '', ...rest] = text.split('/')
  const isCluster = clusterKinds.includes(kind)
  const [namespace = '', name = ''] = rest.length === 2 ? rest : ['shop', ...rest]
  return { group: groupOf(apiVersions[kind] ?? 'v1'), kind, namespace: isCluster ? '' : namespace, name }
}

export interface DeclaredParts extends JsonObject {
  readonly annotations?: Readonly<Record<string, string>>
}

export function declare(text: string, { annotations, ...parts }: DeclaredParts = {}): DeclaredObject {
  const id = key(text)
  const apiVersion = apiVersions[id.kind] ?? 'v1'
  const metadata = {
    name: id.name,
    ...(id.namespace === '' ? {} : { namespace: id.namespace }),
    ...(annotations ? { annotations } : {}),
  }
  const from = { path: `${id.name}.yaml`, document: 1, line: 1 }
  return { key: id, apiVersion, body: { apiVersion, kind: id.kind, metadata, ...parts }, from }
}

export interface LiveParts {
  readonly uid?: string
  /** Our label, unless said otherwise. */
  readonly label?: string
  readonly metadata?: ObservedMeta
  readonly body?: JsonObject
  readonly type?: string
}

export function live(text: string, { uid, label = setId, metadata, body, type }: LiveParts = {}): ObservedObject {
  const id = key(text)
  const { name, namespace } = id
  const labels = { ...(label === '' ? {} : { 'applyset.kubernetes.io/part-of': label }), ...metadata?.labels }
  return {
    key: id,
    uid: uid ?? `uid of ${text}`,
    apiVersion: apiVersions[id.kind] ?? 'v1',
    metadata: { name, namespace, creationTimestamp: agoText(3_600_000), resourceVersion: '7', ...metadata, labels },
    ...(type === undefined ? {} : { type }),
    ...(body ? { body } : {}),
  }
}

/** Something that is not marked as anybody's. */
export function stranger(text: string, parts: LiveParts = {}): ObservedObject {
  return live(text, { label: '', ...parts })
}

export function member(text: string, parts: Partial<Member> = {}): Member {
  const id = key(text)
  return { key: id, uid: `uid of ${text}`, apiVersion: apiVersions[id.kind] ?? 'v1', ...parts }
}

export type WorldParts = Partial<Omit<PlanInput, 'policy' | 'inventory' | 'observed'>> & {
  readonly objects?: readonly ObservedObject[]
  readonly unknown?: PlanInput['observed']['unknown']
  readonly policy?: Partial<Omit<Policy, 'deletion'>>
  readonly deletion?: Partial<DeletionPolicy>
  readonly inventory?: Partial<Inventory>
  readonly members?: readonly Member[]
}

const wideOpen: Partial<DeletionPolicy> = { maxDeletes: 1_000, maxDeletePercent: 10_000, maxDeletesPerHour: 1_000 }

/** A world in which nothing is in the way, unless it is put there. Something is declared, so that it is not empty. */
export function world(parts: WorldParts): PlanInput {
  const { objects = [], unknown = [], policy, deletion, inventory, members = [], declared = [], ...rest } = parts
  return {
    declared,
    observed: { objects, unknown },
    inventory: { members, strangers: {}, verdicts: [], approvals: [], deletions: [], ...inventory },
    policy: {
      name: 'shop',
      namespaces: ['shop'],
      mode: 'adopt',
      adoption: 'ifUnowned',
      adoptFrom: [],
      clusterKinds: [],
      ignore: [],
      conflicts: 'fail',
      ...policy,
      deletion: { ...carefulDeletion, ...wideOpen, allowEmpty: true, ...deletion },
    },
    permits: { confirmed: [] },
    setId,
    revision: 'abc',
    trailers: {},
    nowMs,
    compare: () => ({ is: 'same' }),
    ...rest,
  }
}
