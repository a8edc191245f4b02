import type { ObjectMeta, Resource } from '../kube/index.ts'
import type { JsonObject } from './json.ts'
import type { Key } from './key.ts'

/** A kind that the server offers, in the version in which we speak of it. */
export interface ServedKind {
  readonly resource: Resource
  readonly verbs: readonly string[]
  /** Served by another program than the API server and its CRDs. */
  readonly isAggregated: boolean
}

/** What could not be found out. It is never taken for empty: nothing of it is an orphan. */
export interface UnknownKind {
  readonly group: string
  /** All kinds of the group, if none is named. */
  readonly kind?: string
  readonly why: string
}

export interface Catalog {
  readonly kinds: readonly ServedKind[]
  readonly unknown: readonly UnknownKind[]
}

export interface ManagedFieldsEntry {
  readonly manager?: string
  readonly operation?: string
  readonly apiVersion?: string
  readonly time?: string
  readonly subresource?: string
  readonly fieldsV1?: JsonObject
}

export interface ObservedMeta extends ObjectMeta {
  readonly managedFields?: readonly ManagedFieldsEntry[]
}

/** One object as the server has it. */
export interface ObservedObject {
  readonly key: Key
  readonly uid: string
  readonly apiVersion: string
  /** managedFields only together with the body. */
  readonly metadata: ObservedMeta
  /** Of a Secret; its values are not kept for strangers. */
  readonly type?: string
  /** Names of those who wrote it; known of strangers too. */
  readonly managers?: readonly string[]
  /** Served by another program, or nobody could say by whom. */
  readonly isAggregated?: true
  /** Of kinds that are declared; strangers of other kinds are known by their metadata alone. */
  readonly body?: JsonObject
}

export interface Observation {
  readonly objects: readonly ObservedObject[]
  readonly unknown: readonly UnknownKind[]
}
