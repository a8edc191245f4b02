import { expect } from 'vitest'
import {
  type KubeClient,
  type KubeObject,
  type LeaderTerm,
  type Lease,
  resources,
  runAsLeader,
} from '../../src/kube/index.ts'
import { systemClock } from '../../src/time/index.ts'
import type { Ground } from './e2e-cluster.ts'

/** Short enough for a test, long enough for a busy machine. */
export const leaseTimes = { leaseDurationMs: 4_000, renewDeadlineMs: 3_000, renewEveryMs: 500 }

export interface SeenTerm {
  readonly who: string
  readonly token: number
  readonly term: LeaderTerm
  readonly beganAt: number
  /** When its signal aborted. */
  endedAt?: number
}

export interface Candidate {
  /** Ends the candidacy. */
  readonly stop: () => void
  /** Lets the work of the running term return by itself. */
  readonly finish: () => void
  readonly ended: Promise<void>
  readonly troubles: unknown[]
}

/** Candidates for one Lease, and the terms that they have had, in order. */
export class Election {
  readonly terms: SeenTerm[] = []
  readonly lease: { readonly namespace: string; readonly name: string }
  readonly #ground: Ground

  constructor(ground: Ground) {
    this.#ground = ground
    this.lease = { namespace: ground.namespace, name: 'leader' }
  }

  /** As an installer would: a Lease that says it was given back, so that the first candidate need not wait. */
  async installLease(): Promise<void> {
    await this.#ground.admin.create<KubeObject>(resources.leases, {
      metadata: { ...this.lease, annotations: { 'fettle.dev/released-token': '0' } },
    })
  }

  readLease(): Promise<Lease> {
    return this.#ground.admin.get<Lease>(resources.leases, this.lease)
  }

  enter(who: string, client: KubeClient, options: { readonly releaseOnStop?: boolean } = {}): Candidate {
    const stop = new AbortController()
    this.#ground.signal.addEventListener('abort', () => stop.abort(), { once: true })
    const troubles: unknown[] = []
    let finish: () => void = () => undefined
    const ended = runAsLeader(
      {
        client,
        clock: systemClock,
        random: Math.random,
        lease: this.lease,
        identity: who,
        signal: stop.signal,
        ...leaseTimes,
        ...options,
        onEvent: (event) => {
          if (event.type === 'trouble') troubles.push(event.error)
        },
      },
      (term) => {
        const seen: SeenTerm = { who, token: term.token, term, beganAt: Date.now() }
        this.terms.push(seen)
        return new Promise<void>((resolve) => {
          finish = resolve
          term.signal.addEventListener('abort', () => {
            seen.endedAt = Date.now()
            resolve()
          })
        })
      },
    )
    return { stop: () => stop.abort(), finish: () => finish(), ended, troubles }
  }

  /** Whatever happened: tokens only grow, and a term ends before the next begins. */
  expectOneAtATime(): void {
    for (const [index, next] of this.terms.entries()) {
      const before = this.terms[index - 1]
      if (!before) continue
      expect(next.token).toBeGreaterThan(before.token)
      expect(before.endedAt, `term ${before.token} of ${before.who} when ${next.who} began`).toBeDefined()
      expect(before.endedAt ?? Number.POSITIVE_INFINITY).toBeLessThanOrEqual(next.beganAt)
    }
  }
}
