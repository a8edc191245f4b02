import type { MaintenanceBudget } from '../../src/api/index.ts'

interface Expectation {
  readonly max: number
  readonly perZone?: number
  readonly zoneOf?: ReadonlyMap<string, string>
}

/** Judges every version of the ledger that is ever stored, by rules of its own. */
export class LedgerJudge {
  versions = 0
  mostOut = 0
  #highest = 0
  #expected: Expectation = { max: Number.POSITIVE_INFINITY }
  readonly #known = new Map<number, string>()
  readonly #problems: string[] = []

  /** What holds from the next version on. */
  expect(expected: Expectation): void {
    this.#expected = expected
  }

  takeProblems(): string[] {
    return this.#problems.splice(0)
  }

  judge({ status }: MaintenanceBudget): void {
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
      if ((this.#known.get(token) ?? owner) !== owner)
        say(`token ${token} was given twice, first to ${this.#known.get(token)}`)
      this.#known.set(token, owner)
      this.#highest = Math.max(this.#highest, token)
    }
  }
}
