import type { ObjectMeta } from '../../kube/index.ts'
import type { Inventory, Member } from '../inventory-record.ts'
import { keyId } from '../key.ts'
import { parentAnnotations, parentLabels, type Reach, reachOf, readReach, widened } from './apply-set.ts'
import { InventoryFault } from './inventory-fault.ts'
import {
  type Held,
  type InventorySecrets,
  newHashKey,
  type SecretObject,
  type ShardSecret,
  type StoredParent,
} from './inventory-secrets.ts'
import { emptyState, type ParentState, packed, stateText } from './record-text.ts'
import { planShards, type ShardWrite } from './shards.ts'

/** At a time; each may be 200 kB. */
const width = 8
/** Whoever writes the parent at the same moment has to be read again. */
export const mostTries = 5

export interface SaveOptions {
  readonly version: string
  readonly epoch: number
  readonly mostShardBytes: number | undefined
  readonly narrow: boolean
  readonly signal: AbortSignal
}

/** One save: shards first, then the parent, which says what is in force. */
export class Saving {
  requests = 0
  readonly #secrets: InventorySecrets
  readonly #held: Held
  readonly #options: SaveOptions

  constructor(secrets: InventorySecrets, held: Held, options: SaveOptions) {
    this.#secrets = secrets
    this.#held = held
    this.#options = options
  }

  async save(given: Inventory): Promise<Held> {
    const { members: _, strangers, ...said } = given
    const { approved = [] } = this.#held
    const facts = withApprovals(said, approved)
    const next = { ...given, members: onePerKey(given.members), strangers }
    const { epoch } = this.#options
    const stored = this.#held.parent?.state
    if (stored && epoch > 0 && epoch < stored.epoch)
      throw new InventoryFault(
        'Deposed',
        `${this.#secrets.title} was written in term ${stored.epoch}, after term ${epoch} of this writer; stop, and start again`,
      )
    const plan = planShards(this.#held.shards, stored?.shards ?? 0, next, this.#options.mostShardBytes)
    // The key has to be there before the first hash that is made with it.
    const parent = this.#held.parent ?? (await this.#createParent(plan.rounds.length === 0 ? facts : emptyState.facts))
    const shards = new Map(this.#held.shards)
    for (const round of plan.rounds) await this.#writeRound(round, shards)
    const reach = reachOf(
      next.members.map(({ key }) => key),
      this.#secrets.parent,
    )
    return { ...(await this.#updateParent(parent, { ...parent.state, shards: plan.count, facts }, reach)), shards }
  }

  /** Of the parent alone. */
  async saveFacts(facts: ParentState['facts']): Promise<void> {
    const { parent } = this.#held
    if (!parent) return
    await this.#writeParent({ ...parent, state: { ...parent.state, facts } }, readReach(parent.metadata.annotations))
  }

  async #createParent(facts: ParentState['facts']): Promise<StoredParent> {
    const { epoch } = this.#options
    const state = { ...emptyState, sync: this.#secrets.name, epoch, facts }
    const parent = { metadata: {}, state, hashKey: newHashKey() }
    return this.#writeParent(parent, { groupKinds: [], namespaces: [] })
  }

  async #updateParent(parent: StoredParent, state: ParentState, needed: Reach): Promise<Omit<Held, 'shards'>> {
    const { approved = [] } = this.#held
    const stored = readReach(parent.metadata.annotations)
    const reach = this.#options.narrow ? needed : widened(stored, needed)
    const isSame =
      !parent.isMended &&
      stateText(state) === stateText(parent.state) &&
      sameItems(reach.groupKinds, stored.groupKinds) &&
      sameItems(reach.namespaces, stored.namespaces)
    if (isSame) return { parent, approved }
    const next = { ...state, epoch: Math.max(state.epoch, this.#options.epoch) }
    return this.#writeBeside({ parent, approved }, next, reach)
  }

  /** An approval that came in meanwhile is taken over; whatever else did is a conflict. */
  async #writeBeside(
    held: { readonly parent: StoredParent; readonly approved: readonly string[] },
    next: ParentState,
    reach: Reach,
  ): Promise<Omit<Held, 'shards'>> {
    let { parent, approved } = held
    for (let tries = 1; ; tries++) {
      try {
        const state = { ...next, facts: withApprovals(next.facts, approved) }
        return { parent: await this.#writeParent({ ...parent, state }, reach), approved }
      } catch (error) {
        const isConflict = error instanceof InventoryFault && error.code === 'Conflict'
        const now =
          isConflict && tries < mostTries ? await this.#secrets.sinceRead(parent, this.#options.signal) : undefined
        if (!now) throw error
        approved = withNew(approved, now, parent)
        parent = now
      }
    }
  }

  async #writeParent({ metadata, state, hashKey }: StoredParent, reach: Reach): Promise<StoredParent> {
    const { parent } = this.#secrets
    const stored = await this.#write({
      metadata: {
        ...this.#secrets.metadataOf(parent.name, metadata),
        labels: { ...metadata.labels, ...this.#secrets.labels, ...parentLabels(parent) },
        annotations: { ...metadata.annotations, ...parentAnnotations(reach, this.#options.version) },
      },
      data: { hashKey: hashKey.toString('base64'), state: packed(stateText(state)).toString('base64') },
    })
    return { metadata: stored, state, hashKey }
  }

  /** All of a round end before a failure is told: a write that is still under way could surprise the next reader. */
  async #writeRound(round: readonly ShardWrite[], shards: Map<number, ShardSecret>) {
    const left = [...round]
    const failures: unknown[] = []
    const write = async () => {
      for (let next = left.shift(); next && failures.length === 0; next = left.shift()) {
        const { index, text, content } = next
        const known = shards.get(index)?.metadata
        const metadata = {
          ...this.#secrets.metadataOf(this.#secrets.shardName(index), known),
          labels: { ...known?.labels, ...this.#secrets.labels },
        }
        const data = { members: packed(text).toString('base64') }
        const stored = await this.#write({ metadata, data })
        shards.set(index, { text, content, metadata: stored })
      }
    }
    const workers = Array.from({ length: Math.min(width, round.length) }, () =>
      write().catch((error: unknown) => failures.push(error)),
    )
    await Promise.all(workers)
    if (failures.length > 0) throw failures[0]
  }

  async #write(secret: Pick<SecretObject, 'metadata' | 'data'>): Promise<ObjectMeta> {
    this.requests++
    return this.#secrets.write(secret, this.#options.signal)
  }
}

function withApprovals(facts: ParentState['facts'], more: readonly string[]): ParentState['facts'] {
  const missing = more.filter((hash) => !facts.approvals.includes(hash))
  return missing.length === 0 ? facts : { ...facts, approvals: [...facts.approvals, ...missing] }
}

/** The last one counts. */
function onePerKey(members: readonly Member[]): readonly Member[] {
  const byId = new Map(members.map((member) => [keyId(member.key), member]))
  return byId.size === members.length ? members : [...byId.values()]
}

function sameItems(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index])
}

/** What was approved since, by whoever else. */
export function withNew(approved: readonly string[] = [], now: StoredParent, known: StoredParent): readonly string[] {
  const before = new Set([...approved, ...known.state.facts.approvals])
  return [...approved, ...now.state.facts.approvals.filter((one) => !before.has(one))]
}
