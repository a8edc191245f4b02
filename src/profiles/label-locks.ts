import type { NodeObject, ResourceCache } from '../kube/index.ts'
import type { Transition } from './plugin.ts'

/** A check asks whether some node has a label that a trigger of the same transition sets: so only one node goes at a time. */
export function takesLabel({ check, trigger }: Transition): boolean {
  const set = new Set(trigger.flatMap(({ instance }) => instance.setsLabel ?? []))
  return check.checks.some(({ instance }) => set.has(instance.asksForLabel ?? ''))
}

/**
 * Nodes are looked at side by side, and all of them may find that nobody has the label. Only who looked after the last one
 * took it may take it: what it decided is written one after the other, and not at all if it knew less.
 */
export class LabelLocks {
  readonly #nodes: Pick<ResourceCache<NodeObject>, 'get'>
  #taken = 0
  #last: { readonly name: string; readonly version: bigint } | undefined
  #writing: Promise<unknown> = Promise.resolve()

  constructor(nodes: Pick<ResourceCache<NodeObject>, 'get'>) {
    this.#nodes = nodes
  }

  /** To be asked before a look: what it will know of. */
  look(): number {
    const { name, version } = this.#last ?? { name: '', version: 0n }
    const seen = this.#nodes.get({ name })
    return seen && BigInt(seen.metadata.resourceVersion ?? 0) < version ? this.#taken - 1 : this.#taken
  }

  /** Writes, unless somebody has taken a label since that look; then it has to look again. */
  store(since: number, write: () => Promise<NodeObject | undefined>): Promise<NodeObject | 'Late' | undefined> {
    const mine = this.#writing.then(async () => {
      if (since !== this.#taken) return 'Late'
      try {
        const stored = await write()
        const { name = '', resourceVersion = '0' } = stored?.metadata ?? {}
        if (stored) this.#last = { name, version: BigInt(resourceVersion) }
        return stored
      } finally {
        // At the end, because who looks meanwhile does not see it either. Also without an answer: it may be stored.
        this.#taken++
      }
    })
    this.#writing = mine.catch(() => undefined)
    return mine
  }
}
