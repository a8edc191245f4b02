import type { NodeObject, ResourceCache } from '../kube/index.ts'
import { stateLabel } from './names.ts'
import type { Label, LabelTakers, Profile, Transition } from './plugin.ts'

/**
 * Labels are locks where a transition asks all nodes for one that is set by some transition, and sets one that some transition
 * asks for: itself, so that one node goes at a time, or another, so that one of the two goes. Whoever only asks, or only
 * sets, can go side by side with anybody: it is as if the one had come before the other.
 */
export function labelTakersOf(profiles: Iterable<Profile>): LabelTakers {
  const all = [...profiles].flatMap(({ states }) => Object.values(states).flatMap(({ transitions }) => transitions))
  const takers = new Map<Transition, number>()
  for (const transition of all) {
    const rivals = all.filter((other) => isAskedFor(setBy(other), [transition]))
    if (rivals.length === 0 || !isAskedFor(setBy(transition), all)) continue
    // What its rivals ask for is what has to be seen; where they are a ring of three, what anybody asks for.
    const askers = isAskedFor(setBy(transition), rivals) ? rivals : all
    takers.set(transition, setBy(transition).findIndex((label) => isAskedFor([label], askers)) + 1)
  }
  return takers
}

function isAskedFor(labels: readonly (Label | undefined)[], askers: readonly Transition[]): boolean {
  return askers.flatMap(askedBy).some((ask) => labels.some((label) => isMet(ask, label)))
}

function askedBy({ check }: Transition): readonly Label[] {
  return check.checks.flatMap(({ instance }) => instance.asksForLabel ?? [])
}

/** In the order in which they show. */
function setBy({ trigger, next }: Transition): readonly (Label | undefined)[] {
  return [...trigger.map(({ instance }) => instance.setsLabel), { key: stateLabel, value: next }]
}

function isMet(ask: Label, label: Label | undefined): boolean {
  return ask.key === label?.key && (ask.value === '' || ask.value === label.value)
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
