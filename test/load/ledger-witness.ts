import { type MaintenanceBudget, maintenanceBudgets } from '../../src/api/index.ts'
import type { KubeClient } from '../../src/kube/index.ts'

interface Expectation {
  readonly max: number
  readonly perZone?: number
  readonly zoneOf?: ReadonlyMap<string, string>
}

/** Sees every version of the ledger that is ever stored, and judges each by rules of its own. */
export class LedgerWitness {
  readonly ended: Promise<void>
  versions = 0
  mostOut = 0
  #highest = 0
  #expected: Expectation = { max: Number.POSITIVE_INFINITY }
  #known = new Map<number, string>()
  #problems: string[] = []

  constructor(admin: KubeClient, signal: AbortSignal) {
    this.ended = this.#follow(admin, signal)
  }

  /** What holds from the next version on. */
  expect(expected: Expectation): void {
    this.#expected = expected
  }

  takeProblems(): string[] {
    return this.#problems.splice(0)
  }

  async #follow(admin: KubeClient, signal: AbortSignal): Promise<void> {
    let resourceVersion: string | undefined
    while (!signal.aborted)
      try {
        const from = resourceVersion === undefined ? {} : { resourceVersion }
        for await (const event of admin.watch<MaintenanceBudget>(maintenanceBudgets, { signal, ...from })) {
          if (event.type === 'BOOKMARK') continue
          resourceVersion = event.object.metadata.resourceVersion ?? ''
          if (event.type !== 'DELETED') this.#judge(event.object)
        }
      } catch (error) {
        if (!signal.aborted) this.#problems.push(`the witness lost sight of the ledger: ${String(error)}`)
        return
      }
  }

  #judge({ status }: MaintenanceBudget): void {
    const { slots = [], nextToken = 1 } = status ?? {}
    const { max, perZone, zoneOf } = this.#expected
    this.versions++
    this.mostOut = Math.max(this.mostOut, slots.length)
    const say = (what: string) => this.#problems.push(`${what}: ${JSON.stringify(slots)}`)
    if (slots.length > max) say(`${slots.length} nodes are out, ${max} may be`)
    const zones = slots.map(({ node }) => zoneOf?.get(node) ?? node)
    if (perZone !== undefined && zones.some((zone) => zones.filter((one) => one === zone).length > perZone))
      say('a zone has lost more nodes than it may')
    if (new Set(slots.map(({ nodeUID }) => nodeUID)).size < slots.length) say('a node has two slots')
    for (const { token, nodeUID, takenAt } of slots) {
      const owner = `${nodeUID} ${takenAt}`
      if (token >= nextToken) say(`token ${token} is not below ${nextToken}`)
      if (!this.#known.has(token) && token <= this.#highest)
        say(`token ${token} is new, and not above ${this.#highest}`)
      if ((this.#known.get(token) ?? owner) !== owner) say(`token ${token} was given twice`)
      this.#known.set(token, owner)
      this.#highest = Math.max(this.#highest, token)
    }
  }
}
