import type { DeclaredObject } from '../declared.ts'
import type { Inventory } from '../inventory-record.ts'
import type { Key } from '../key.ts'
import type { Observation, ObservedObject } from '../observed.ts'
import type { Permits, Policy } from '../policy.ts'

/** How a live object differs from what is declared. Paths only, never values. */
export type Difference =
  | { readonly is: 'same' }
  /** Git says something else than it did. */
  | { readonly is: 'changed'; readonly fields: readonly string[] }
  /** Somebody else changed what we own. */
  | { readonly is: 'drifted'; readonly fields: readonly string[]; readonly by?: string }

export interface PlanInput {
  readonly declared: readonly DeclaredObject[]
  readonly observed: Observation
  readonly inventory: Inventory
  readonly policy: Policy
  readonly permits: Permits
  /** The value of our label on members. */
  readonly setId: string
  readonly revision: string
  /** Names what was declared and how it was read: see `contentDigest`. Without it nothing is compared. */
  readonly digest?: string
  /** Of the commits that are new; a trailer may allow deletions. */
  readonly trailers: Readonly<Record<string, string>>
  readonly nowMs: number
  /** Of this Sync, once it is stored: with it the hash covers the values of Secrets too; a plain one could be guessed. */
  readonly hashKey?: string | Uint8Array
  /** Compares a member that is there with what is declared of it. */
  compare(declared: DeclaredObject, observed: ObservedObject): Difference
}

interface Applies {
  readonly key: Key
  readonly declared: DeclaredObject
  /** Layers are applied one after the other, lowest first, and deleted the other way round. */
  readonly layer: number
  /** Keys of the same plan that have to be there, and healthy, first. */
  readonly after: readonly Key[]
  readonly why: string
}

/** A write to what is there. */
export interface LiveWrite {
  /** Adopt: it is not ours yet, and becomes so. */
  readonly do: 'update' | 'adopt'
  readonly uid: string
  readonly fields: readonly string[]
  /** Fields that become ours by the adoption and go at once, because git does not declare them. */
  readonly removes?: readonly string[]
  /** Its manifest says that it is deleted and made anew, instead of any change. It counts like a deletion. */
  readonly replaces?: true
}

export type ApplyStep =
  | (Applies & { readonly do: 'create' })
  | (Applies & LiveWrite & { readonly do: 'update' })
  | (Applies & LiveWrite & { readonly do: 'adopt' })

export interface DeleteStep {
  readonly do: 'delete'
  readonly key: Key
  readonly apiVersion: string
  readonly uid: string
  /** As it was seen. A stranger that was changed since is not deleted, a member only if it is still ours to delete. */
  readonly resourceVersion?: string
  readonly isStranger: boolean
  /** A person confirmed the deletion of this very object. */
  readonly isConfirmed?: true
  /** When it was first seen that nothing declares it: to be remembered while a halt holds it. */
  readonly since?: string
  readonly layer: number
  /** What it counts in the budget. */
  readonly weight: number
  readonly why: string
}

export interface WaitStep {
  readonly do: 'wait'
  readonly key: Key
  readonly uid: string
  readonly since: string
  readonly until?: string
  /** Nobody's so far; only in mode total. */
  readonly isStranger?: true
  /** What has to happen: the time comes, a person agrees, the last pod lets go of it, the server finishes. */
  readonly waitsFor?: 'grace' | 'confirmation' | 'approval' | 'references' | 'removal'
  readonly why: string
}

export type RestStep =
  /** A member that is gone, or that another Sync has taken: only our record of it goes. */
  | { readonly do: 'forget'; readonly key: Key; readonly why: string }
  /** Nothing declares it and it stays; the rule is named. */
  | { readonly do: 'keep'; readonly key: Key; readonly rule: string; readonly why: string }
  /** It goes later: at the time, or when a person confirms. */
  | WaitStep
  /** Declared, and not ours to write. Nothing of the plan is written while there is one. */
  | { readonly do: 'conflict'; readonly key: Key; readonly why: string }

export type Step = ApplyStep | DeleteStep | RestStep

/** Why no deletion happens, and no replacement. */
export interface Halt {
  readonly reason:
    | 'OverBudget'
    | 'OverHourlyBudget'
    | 'DeclaredSetEmpty'
    | 'DeclaredSetShrank'
    | 'KindLost'
    | 'SameCommitOtherContent'
    | 'SourceChanged'
    | 'DiscoveryIncomplete'
    | 'NamespaceTerminating'
    | 'ClockWentBack'
    | 'OpeningListNotApproved'
  readonly message: string
  /** What a person can do: the flag to give, with the hash. */
  readonly remedy: string
}

/** Strangers that a person has to agree to before the first of them goes, in mode total. */
export interface OpeningList {
  readonly hash: string
  /** Nothing is left on it once it is agreed to. */
  readonly keys: readonly Key[]
  /** A person agreed to this very list. */
  readonly isAgreed: boolean
  /** Every stranger was seen, and is old enough to tell whose it is. Until then it settles nothing for later runs. */
  readonly isWhole: boolean
}

export interface Unplanned {
  /** Objects that may go within this hour, besides those of the plan. */
  readonly leftInHour: number
  /** They would stop a plan that deletes anything. */
  readonly halts: readonly Halt[]
}

export interface Plan {
  /** Deletions first, then what is written, then the rest; each in the order of keys. */
  readonly steps: readonly Step[]
  readonly hash: string
  readonly unchanged: number
  readonly budget: { readonly used: number; readonly limit: number }
  readonly halts: readonly Halt[]
  /** For deletions that the plan cannot know: of what the server alone knows to be in need of a replacement. */
  readonly unplanned?: Unplanned
  readonly opening?: OpeningList
}
