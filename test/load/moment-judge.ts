import type { MaintenanceBudget, MaintenanceRequest, Slot } from '../../src/api/index.ts'
import { cordonClaim } from '../../src/drain/index.ts'
import type { KubeObject, NodeObject } from '../../src/kube/index.ts'
import { cordonOwner } from '../../src/queue/index.ts'

interface Moment {
  readonly version: number
  readonly happen: () => void
}

/**
 * Judges requests and nodes against the ledger as it was at that very moment. Each kind is seen by a watch of its own, and
 * one may be ahead of another; but versions of all kinds are numbers of one store, so what happened is put in that order
 * first. A watch tells in order: what is below the last version that each of them has told is known completely.
 *
 * Of nodes only one thing is certain. A controller that knew less may cordon a node whose turn is over, or take away the
 * cordon of one whose turn has come, for a moment: that is known, and repaired. So neither how many cordons there are nor that
 * a node at work has one is judged, but no cordon may ever name a number that the ledger did not give to its node before.
 */
export class MomentJudge {
  /** Versions of requests in which somebody may work. */
  atWork = 0
  mostAtWork = 0
  cordons = 0
  readonly #zoneOf: ReadonlyMap<string, string>
  readonly #told = { ledger: 0, requests: 0, nodes: 0 }
  #unjudged: Moment[] = []
  #slots: readonly Slot[] = []
  #spec: MaintenanceBudget['spec'] | undefined
  /** `nodeUID token` of every slot that there ever was. */
  readonly #given = new Set<string>()
  readonly #working = new Map<string, MaintenanceRequest>()
  readonly #problems: string[] = []

  constructor(zoneOf: ReadonlyMap<string, string>) {
    this.#zoneOf = zoneOf
  }

  noteLedger(budget: MaintenanceBudget, isGone: boolean): void {
    this.#note('ledger', budget, () => {
      this.#spec = budget.spec
      this.#slots = isGone ? [] : (budget.status?.slots ?? [])
      for (const { nodeUID, token } of this.#slots) this.#given.add(`${nodeUID} ${token}`)
      for (const name of this.#working.keys()) this.#judgeRequest(name)
      this.#judgeCount()
    })
  }

  noteRequest(request: MaintenanceRequest, isGone: boolean): void {
    const { phase, host } = request.status ?? {}
    const name = request.metadata.name ?? ''
    // On its way home, too, as long as the permission lies on the host.
    const isAtWork = phase === 'Granted' || phase === 'Rebooting' || host?.permission === 'Present'
    this.#note('requests', request, () => {
      this.#working.delete(name)
      if (isGone || !isAtWork) return
      this.#working.set(name, request)
      this.atWork++
      this.#judgeRequest(name)
      this.#judgeCount()
    })
  }

  noteNode(node: NodeObject, isGone: boolean): void {
    const claim = isGone ? undefined : cordonClaim(node, cordonOwner)
    this.#note('nodes', node, () => {
      if (!claim) return
      this.cordons++
      if (!this.#given.has(`${node.metadata.uid} ${claim.token}`))
        this.#say(`${node.metadata.name} is cordoned for token ${claim.token}, which the ledger never gave to it`)
    })
  }

  /** What is wrong in all that is known completely by now. */
  takeProblems(): string[] {
    const { ledger, requests, nodes } = this.#told
    return this.#judgeUpTo(Math.min(ledger, requests, nodes))
  }

  /** The same for everything, once nothing happens any more and every watch has told it. */
  takeLastProblems(): string[] {
    return this.#judgeUpTo(Number.POSITIVE_INFINITY)
  }

  hasHeard(kind: 'ledger' | 'requests' | 'nodes', version: string | undefined): boolean {
    return this.#told[kind] >= Number(version ?? 0)
  }

  #note(kind: 'ledger' | 'requests' | 'nodes', { metadata }: KubeObject, happen: () => void): void {
    const version = Number(metadata.resourceVersion ?? 0)
    this.#told[kind] = Math.max(version, this.#told[kind])
    this.#unjudged.push({ version, happen })
  }

  #judgeUpTo(last: number): string[] {
    const known = this.#unjudged.filter(({ version }) => version <= last).sort((a, b) => a.version - b.version)
    this.#unjudged = this.#unjudged.filter(({ version }) => version > last)
    for (const { happen } of known) happen()
    return this.#problems.splice(0)
  }

  #judgeRequest(name: string): void {
    const { spec, status } = this.#working.get(name) ?? {}
    const slot = this.#slots.find(({ requests }) => requests.includes(name))
    if (slot === undefined) this.#say(`${name} is ${status?.phase}, and no slot lists it`)
    else if (slot.nodeUID !== spec?.nodeUID || slot.token !== status?.slot?.token)
      this.#say(`${name} is ${status?.phase} on ${spec?.nodeName} with token ${status?.slot?.token}, by another's slot`)
  }

  /** By the requests alone, whatever the slots say. */
  #judgeCount(): void {
    const nodes = [...new Set([...this.#working.values()].map(({ spec }) => spec.nodeName))]
    this.mostAtWork = Math.max(this.mostAtWork, nodes.length)
    const max = Number(this.#spec?.max ?? 1)
    if (nodes.length > max) this.#say(`${nodes.length} nodes are at work, ${max} may be`)
    for (const limit of this.#spec?.limits ?? []) {
      const zones = nodes.map((node) => this.#zoneOf.get(node) ?? node)
      if (zones.some((zone) => zones.filter((one) => one === zone).length > Number(limit.max)))
        this.#say(`a zone has more nodes at work than the ${limit.max} that it may`)
    }
  }

  #say(what: string): void {
    this.#problems.push(
      `${what}; the slots: ${JSON.stringify(this.#slots)}; at work: ${[...this.#working.keys()].join(', ')}`,
    )
  }
}
