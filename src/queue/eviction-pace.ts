import type { EvictionResult } from '../drain/index.ts'
import type { PodObject } from '../kube/index.ts'

interface Pace {
  attempts: number
  notBeforeMs: number
}

const [firstMs, longestMs] = [5_000, 60_000]
/** An accepted eviction shows in the cache within moments; asking again before that would only be noise. */
const settleMs = 2_000

/** Progress is written at most this often: a hundred pods must not become a hundred writes. */
const reportEveryMs = 1_000

/** Remembers which pods said no, when to ask again and when to tell of it. Losing it costs a request, never safety. */
export class EvictionPace {
  readonly #paces = new Map<string, Pace>()
  readonly #reportedAt = new Map<string, number>()
  readonly #random: () => number

  constructor(random: () => number) {
    this.#random = random
  }

  /** The pods that may be asked now, and how long until the next one may. */
  due(pods: readonly PodObject[], nowMs: number): { readonly pods: PodObject[]; readonly nextMs: number | undefined } {
    const waits = pods.map((pod) => (this.#paces.get(pod.metadata.uid ?? '')?.notBeforeMs ?? 0) - nowMs)
    const later = waits.filter((wait) => wait > 0)
    return {
      pods: pods.filter((_, index) => (waits[index] ?? 0) <= 0),
      nextMs: later.length > 0 ? Math.min(...later) : undefined,
    }
  }

  note(results: readonly EvictionResult[], nowMs: number): void {
    for (const { pod, result } of results) {
      const uid = pod.metadata.uid ?? ''
      const attempts = (this.#paces.get(uid)?.attempts ?? 0) + 1
      const waitMs =
        result === 'accepted' || result === 'gone' ? settleMs : Math.min(longestMs, firstMs * 2 ** (attempts - 1))
      this.#paces.set(uid, { attempts, notBeforeMs: nowMs + waitMs * (1 + this.#random() * 0.2) })
    }
  }

  /** True, and remembered, when the progress of a request may be written now. */
  mayReport(request: string, nowMs: number): boolean {
    if (nowMs - (this.#reportedAt.get(request) ?? 0) < reportEveryMs) return false
    this.#reportedAt.set(request, nowMs)
    return true
  }

  /** Pods that are gone need no memory. */
  forgetAllBut(uids: ReadonlySet<string>): void {
    for (const uid of this.#paces.keys()) if (!uids.has(uid)) this.#paces.delete(uid)
  }
}
