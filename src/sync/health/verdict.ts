import type { PodObject } from '../../kube/index.ts'
import type { JsonObject } from '../json.ts'

/** How an object is, with a sentence for people. */
export interface Health {
  readonly is: 'Current' | 'InProgress' | 'Failed' | 'Terminating' | 'Unknown' | 'NotFound'
  readonly reason?: string
  readonly message: string
}

/** What a rule sees beside the object itself. */
export interface Surroundings {
  readonly pods: readonly PodObject[]
  readonly nowMs: number
  /** How long a pod may find no node before that counts as a failure. */
  readonly unschedulableMs: number
}

/** What makes objects of one kind healthy. Comes after the rules for all kinds. */
export type KindRule = (object: JsonObject, around: Surroundings) => Health

export const current = (message: string): Health => ({ is: 'Current', message })
export const inProgress = (reason: string, message: string): Health => ({ is: 'InProgress', reason, message })
export const failed = (reason: string, message: string): Health => ({ is: 'Failed', reason, message })
