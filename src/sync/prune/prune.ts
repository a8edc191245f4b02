import type { KubeClient, Resource } from '../../kube/index.ts'
import type { Clock } from '../../time/index.ts'
import { type Key, keyText } from '../key.ts'
import type { DeleteStep } from '../plan/steps.ts'
import { LayerPrune } from './layer-prune.ts'

/** What became of one deletion. */
export interface PruneOutcome {
  readonly key: Key
  /** Changed: it is not what it was when the plan was made, and not ours to delete any more; it stays. */
  readonly is: 'Gone' | 'Stuck' | 'Refused' | 'Changed'
  /** From the request to its end. */
  readonly seconds: number
  readonly why: string
  readonly finalizers?: readonly string[]
}

export type PruneStep = DeleteStep & { readonly resource: Resource }

export interface PruneOptions {
  readonly clock: Clock
  /** The value of our label on members. */
  readonly setId: string
  /** For each layer: until it can be watched, and from its last request until all is gone. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
  /** Asked before each layer: a sentence stops everything that has not begun. */
  readonly mayGoOn: () => Promise<string | undefined>
  readonly onGone: (key: Key) => void
  readonly onProgress?: (line: string) => void
}

/**
 * Deletes layer by layer, highest first, and waits until each layer is gone. What is not gone may still need what lies
 * below it, the program that serves its finalizers for one: then no further layer is begun.
 */
export async function pruneAll(
  client: KubeClient,
  steps: readonly PruneStep[],
  options: PruneOptions,
): Promise<readonly PruneOutcome[]> {
  const layers = [...new Set(steps.map(({ layer }) => layer))].sort((one, other) => other - one)
  const outcomes: PruneOutcome[] = []
  for (const layer of layers) {
    options.signal.throwIfAborted()
    const left = outcomes.find(({ is }) => is !== 'Gone')
    const refusal = left ? `not begun: ${keyText(left.key)} is still there and may need it` : await options.mayGoOn()
    const here = steps.filter((step) => step.layer === layer)
    const isLast = layer === layers.at(-1)
    if (refusal === undefined) outcomes.push(...(await new LayerPrune(client, options, isLast).run(here)))
    else outcomes.push(...here.map(({ key }): PruneOutcome => ({ key, is: 'Refused', seconds: 0, why: refusal })))
  }
  return outcomes
}
