import { createHash } from 'node:crypto'
import type { KubeObject } from '../kube/index.ts'

/** Keeps a request until its node is given back. */
export const finalizer = 'fettle.dev/give-back'

/** Keeps the budget until no slot is held: it is the ledger. */
export const ledgerFinalizer = 'fettle.dev/ledger'

/** On the budget: the last request that left the line without a turn. */
export const lastLetGo = 'fettle.dev/last-let-go'

/** All requests of a node share one slot, and so one cordon. */
export const cordonOwner = 'queue'

export const controllerManager = 'fettle-controller'

export function nameOf({ metadata }: Pick<KubeObject, 'metadata'>): string {
  return metadata.name ?? ''
}

/** As the API writes times. */
export function isoOf(ms: number): string {
  return new Date(ms).toISOString()
}

/** Five characters that are the same for the same words: a request that was made before a crash is found again by its name. */
export function shortHash(...words: readonly string[]): string {
  return createHash('sha256').update(words.join('\n')).digest('hex').slice(0, 5)
}
