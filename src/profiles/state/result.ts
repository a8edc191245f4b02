import type { State } from '../names.ts'
import type { CheckInfo } from '../plugin.ts'

/** What a pass found and did: for the info API, `explain`, events and metrics. */
export interface PassResult {
  readonly profiles: readonly ProfileResult[]
  /** What keeps the whole node from being looked at: data that cannot be read, a pause. */
  readonly problem?: string
  /** It is the data, and a person has to repair it. */
  readonly isUnreadable?: boolean
  /** Names in the label that the file does not know. */
  readonly unknown: readonly string[]
}

export interface ProfileResult {
  readonly name: string
  /** As it is stored; what was evaluated. */
  readonly state: string
  readonly next: string
  readonly transitions: readonly TransitionResult[]
  readonly failure?: Failure
  /** Why it stays where it is, when that is no failure: a drain under way, a freeze, somebody else's turn. */
  readonly waitsFor?: string
  /** The state has lasted longer than its deadline. */
  readonly isOverdue?: boolean
}

export interface Failure {
  readonly stage: 'state' | 'enter' | 'check' | 'trigger' | 'write'
  readonly cause: string
}

export interface TransitionResult {
  readonly target: State
  readonly isPassed: boolean
  readonly chain: ChainResult
}

export interface ChainResult {
  readonly expression: string
  readonly isPassed: boolean
  readonly error?: string
  readonly checks: readonly CheckResult[]
}

export interface CheckResult {
  readonly name: string
  readonly type: string
  readonly isPassed: boolean
  readonly info: CheckInfo
  readonly error?: string
  /** Somebody outside was asked: that can take long, so the answer counts for all of the look. */
  readonly isFromOutside?: boolean
}

/** Told once the pass is stored. */
export type PassEvent =
  | { readonly is: 'Changed'; readonly profile: string; readonly from: State; readonly to: State }
  | { readonly is: 'Failed'; readonly profile: string; readonly state: string; readonly failure: Failure }
  | { readonly is: 'Overdue'; readonly profile: string; readonly state: State; readonly since: string }
  | { readonly is: 'Dropped'; readonly profile: string; readonly state: string }
  | { readonly is: 'Aborted'; readonly profile: string; readonly from: string }
  | { readonly is: 'Lost'; readonly profile: string; readonly next: State; readonly why: string }
