import type { NodeObject } from '../kube/index.ts'
import type { Shuffle } from './shuffles.ts'

/** A figure with the labels that it is kept by. */
export interface Count {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Figures that only grow, from the start of the process; and who is overdue now. */
export class ProfileCounts {
  readonly #failures = new Figures()
  readonly #shuffles = new Figures()
  readonly #shufflesPerReplica = new Figures()
  readonly #transitions = new Figures()
  readonly #notSent = new Figures()
  readonly #overdue = new Map<string, readonly string[]>()

  failed(profile: string): void {
    this.#failures.add({ profile }, 1)
  }

  changed(profile: string, state: string): void {
    this.#transitions.add({ profile, state }, 1)
  }

  notSent(profile: string, instance: string): void {
    this.#notSent.add({ profile, instance }, 1)
  }

  /** With 0 as well: a series that nobody sees until something happens cannot be alerted on. */
  shuffled(profile: string, shuffles: readonly Shuffle[], times: 0 | 1): void {
    for (const { owner, namespace, perReplica } of shuffles) {
      const labels = { owner, profile, namespace }
      this.#shuffles.add(labels, times)
      this.#shufflesPerReplica.add(labels, times * (times === 0 ? 0 : perReplica))
    }
  }

  /** Which profiles of the node have stayed too long in their state. */
  overdue({ metadata }: NodeObject, profiles: readonly string[]): void {
    if (profiles.length === 0) this.#overdue.delete(metadata.name ?? '')
    else this.#overdue.set(metadata.name ?? '', profiles)
  }

  forget(node: string): void {
    this.#overdue.delete(node)
  }

  /** Who no longer acts does not know how nodes are. What was counted stays. */
  forgetNodes(): void {
    this.#overdue.clear()
  }

  all() {
    return {
      failures: this.#failures.all(),
      shuffles: this.#shuffles.all(),
      shufflesPerReplica: this.#shufflesPerReplica.all(),
      transitions: this.#transitions.all(),
      notSent: this.#notSent.all(),
      overdue: [...this.#overdue.values()].flat(),
    }
  }
}

class Figures {
  readonly #byLabels = new Map<string, { readonly labels: Readonly<Record<string, string>>; value: number }>()

  add(labels: Readonly<Record<string, string>>, by: number): void {
    const key = JSON.stringify(labels)
    const figure = this.#byLabels.get(key) ?? { labels, value: 0 }
    figure.value += by
    this.#byLabels.set(key, figure)
  }

  all(): readonly Count[] {
    return [...this.#byLabels.values()]
  }
}
