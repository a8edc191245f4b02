import type { Provenance } from './declared.ts'
import type { Key } from './key.ts'

/** One object that this Sync applied or adopted and that is not proven to be gone. */
export interface Member {
  readonly key: Key
  /** Unknown between the write that announces it and the answer that made it. */
  readonly uid?: string
  /** The version it was applied with: fields are only comparable in the same one. */
  readonly apiVersion: string
  readonly reference?: Reference
  readonly from?: Provenance
  /** The commit that last changed it. */
  readonly revision?: string
  /** When it was first seen that nothing declares it any more. */
  readonly orphanedAt?: string
  /** Git marked it to stay when it declared it last; the mark on the live object may be gone. */
  readonly isKept?: true
}

/** What the server made of our fields, by keyed hashes: a plain hash of a short secret could be guessed. */
export interface Reference {
  readonly bodyHash: string
  readonly setHash: string
  readonly valueHash: string
  /** Paths that were declared empty: only their presence counts. */
  readonly existsOnly: readonly string[]
}

export type VerdictIs = 'Applied' | 'NoChange' | 'Failed' | 'Rejected' | 'Superseded'

/** What became of one commit. */
export interface Verdict {
  readonly revision: string
  readonly author: string
  readonly subject: string
  readonly is: VerdictIs
  readonly why?: string
  readonly at: string
  readonly seconds?: number
  readonly planHash?: string
  readonly counts?: Readonly<Record<string, number>>
}

/** All that is remembered of a Sync between two runs. */
export interface Inventory {
  readonly members: readonly Member[]
  /** Strangers that wait for their deletion, by UID: when they were seen first. Only in mode total. */
  readonly strangers: Readonly<Record<string, string>>
  /** Newest last, at most a hundred. */
  readonly verdicts: readonly Verdict[]
  /** The commit that is in force. */
  readonly revision?: string
  /** Of the declared set that is in force. */
  readonly digest?: string
  /** Hashes of plans that a person approved. */
  readonly approvals: readonly string[]
  /** The opening list of mode total that was approved. */
  readonly openingHash?: string
  /** When deletions happened, newest last: at most so many in an hour. */
  readonly deletions: readonly string[]
  /** The plan that is under way. */
  readonly underway?: { readonly planHash: string; readonly revision: string; readonly since: string }
}
