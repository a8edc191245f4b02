import { createHash } from 'node:crypto'

export type Mode = 'observe' | 'adopt' | 'total'

/** What a person decided about a Sync. The repository cannot change it. */
export interface Policy {
  readonly name: string
  /** The first one also holds what is remembered. */
  readonly namespaces: readonly string[]
  readonly mode: Mode
  readonly adoption: 'always' | 'ifUnowned' | 'never'
  /** Programs whose objects and fields are taken over: names of field managers, or of ApplySet tooling. */
  readonly adoptFrom: readonly string[]
  /** Kinds of the whole cluster that may be declared: `Kind.group` with a pattern of names. */
  readonly clusterKinds: readonly { readonly kind: string; readonly group: string; readonly names: string }[]
  readonly ignore: readonly IgnoreRule[]
  readonly deletion: DeletionPolicy
  readonly conflicts: 'fail' | 'take'
}

/** Objects that nobody looks at: each given part has to fit. */
export interface IgnoreRule {
  readonly group?: string
  readonly kind?: string
  /** With * for any characters. */
  readonly name?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly manager?: string
}

export interface DeletionPolicy {
  /** For members that a commit removed. */
  readonly memberGraceMs: number
  /** For strangers in mode total. */
  readonly strangerGraceMs: number
  /** Strangers younger than this are left alone: their owner may still claim them. */
  readonly minOrphanAgeMs: number
  readonly maxDeletes: number
  readonly maxDeletePercent: number
  readonly maxDeletesPerHour: number
  readonly pruneAfter: 'healthy' | 'applied' | 'immediately'
  readonly allowDataDeletion: boolean
  readonly allowEmpty: boolean
  /** Groups served by other programs whose strangers may be deleted too. */
  readonly allowAggregated?: readonly string[]
}

export const carefulDeletion: DeletionPolicy = {
  memberGraceMs: 0,
  strangerGraceMs: 600_000,
  minOrphanAgeMs: 60_000,
  maxDeletes: 10,
  maxDeletePercent: 20,
  maxDeletesPerHour: 50,
  pruneAfter: 'healthy',
  allowDataDeletion: false,
  allowEmpty: false,
}

/** What a person allows for one run. */
export interface Permits {
  /** Deletions that may be made beyond the budget. */
  readonly allowDeletes?: number
  /** The hash of the plan that was looked at. */
  readonly approve?: string
  /** UIDs of objects whose deletion waits for a confirmation. */
  readonly confirmed: readonly string[]
}

const longestManager = 128

/** The name under which a Sync writes; also of what it remembers and of its Lease. */
export function managerOf(name: string): string {
  const whole = `fettle-sync-${name}`
  if (whole.length <= longestManager) return whole
  const mark = createHash('sha256').update(name).digest('hex').slice(0, 10)
  return `${whole.slice(0, longestManager - mark.length - 1)}-${mark}`
}
