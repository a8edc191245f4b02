/** Names one resource of the API as its URLs do. */
export interface Resource {
  /** Empty for the core group. */
  readonly group: string
  readonly version: string
  /** Plural, lower case: `pods`. */
  readonly plural: string
  readonly kind: string
  readonly namespaced: boolean
}

export interface OwnerReference {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  readonly controller?: boolean
  readonly blockOwnerDeletion?: boolean
}

export interface ObjectMeta {
  readonly name?: string
  readonly generateName?: string
  readonly namespace?: string
  readonly uid?: string
  readonly resourceVersion?: string
  readonly generation?: number
  readonly creationTimestamp?: string
  readonly deletionTimestamp?: string
  readonly deletionGracePeriodSeconds?: number
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly OwnerReference[]
}

/** What every object has. Kinds that we read extend it with the fields we read, and no others. */
export interface KubeObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: ObjectMeta
}

/** Where an object lives. */
export interface ObjectRef {
  readonly name: string
  readonly namespace?: string
}
