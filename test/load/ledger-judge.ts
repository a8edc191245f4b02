import type { MaintenanceBudget } from '../../src/api/index.ts'

/**
 * Judges every version of the ledger that is ever stored, by rules of its own; and by the limits that stand in the same
 * version, because whoever sees it may be behind the person who sets them.
 */
export class LedgerJudge {
  versions = 0
  mostOut = 0
  #highest = 0
  readonly #zoneOf: ReadonlyMap<string, string>
  readonly #known = new Map<number, string>()
  readonly #problems: string[] = []

  constructor(zoneOf: ReadonlyMap<string, string>) {
    this.#zoneOf = zoneOf
  }

  takeProblems(): string[] {
    return this.#problems.splice(0)
  }

  judge({ spec, status }: MaintenanceBudget): void {
    const { slots = [], nextToken = 1 } = status ?? {}
    const max = Number(spec.max ?? 1)
    this.versions++
    this.mostOut = Math.max(this.mostOut, slots.length)
    const say = (what: string) => this.#problems.push(`${what}: ${JSON.stringify(slots)}`)
    if (slots.length > max) say(`${slots.length} nodes are out, ${max} may be`)
    const zones = slots.map(({ node }) => this.#zoneOf.get(node) ?? node)
    for (const limit of spec.limits ?? [])
      if (zones.some((zone) => zones.filter((one) => one === zone).length > Number(limit.max)))
        say(`a zone has lost more nodes than the ${limit.max} that it may`)
    if (new Set(slots.map(({ nodeUID }) => nodeUID)).size < slots.length) say('a node has two slots')
    for (const { token, nodeUID, takenAt } of slots) {
      const owner = `${nodeUID} ${takenAt}`
      if (token >= nextToken) say(`token ${token} is not below ${nextToken}`)
      if (!this.#known.has(token) && token <= this.#highest)
        say(`token ${token} is new, and not above ${this.#highest}`)
      if ((this.#known.get(token) ?? owner) !== owner)
        say(`token ${token} was given twice, first to ${this.#known.get(token)}`)
      this.#known.set(token, owner)
      this.#highest = Math.max(this.#highest, token)
    }
  }
}
