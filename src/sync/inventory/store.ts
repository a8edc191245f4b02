import { isNotFound, type KubeClient, type ObjectMeta, resources } from '../../kube/index.ts'
import type { Inventory, Member } from '../inventory-record.ts'
import { keyId } from '../key.ts'
import type { Policy } from '../policy.ts'
import { parentAnnotations, parentLabels, type Reach, reachOf, readReach, widened } from './apply-set.ts'
import { InventoryFault } from './inventory-fault.ts'
import {
  type Held,
  InventorySecrets,
  newHashKey,
  type SecretObject,
  type ShardSecret,
  type StoredParent,
} from './inventory-secrets.ts'
import { emptyState, type ParentState, packed, stateText } from './record-text.ts'
import { gathered, planShards, type ShardWrite } from './shards.ts'

/** At a time; each may be 200 kB. */
const width = 8

export interface Loaded {
  readonly inventory: Inventory
  readonly hashKey: Buffer
  /** The value of the label on members. */
  readonly setId: string
}

export interface InventoryStore {
  /**
   * Undefined when nothing was ever stored. Throws InventoryFault when what is there cannot be read: doubt never
   * deletes.
   */
  load(signal: AbortSignal): Promise<Loaded | undefined>
  /** For repairs: what of it can still be read, and what could not. Saved next, it is whole again. */
  salvage(signal: AbortSignal): Promise<Pick<Loaded, 'inventory' | 'setId'> & { readonly damage: readonly string[] }>
  /**
   * Writes what changed since it was loaded or saved, and answers in how many requests; throws InventoryFault if
   * somebody else wrote it meanwhile. Kinds and namespaces of the set grow with its members, and shrink only when
   * `narrow` says that a prune has ended. After a failure it has to be loaded again.
   */
  save(next: Inventory, options: { readonly narrow: boolean; readonly signal: AbortSignal }): Promise<number>
  /** Why a writer has to stop, asked before deletions: somebody else has written since. One request. */
  whyStop(signal: AbortSignal): Promise<string | undefined>
}

export interface InventoryOptions {
  /** The token of the term in which is written; a writer of an earlier term is refused. */
  readonly epoch?: number
  /** A shard that grows beyond it is split. Default 200 kB. */
  readonly mostShardBytes?: number
}

export function openInventory(
  client: KubeClient,
  policy: Pick<Policy, 'name' | 'namespaces'>,
  version: string,
  { epoch = 0, mostShardBytes }: InventoryOptions = {},
): InventoryStore {
  const secrets = new InventorySecrets(client, policy)
  let held: Held | undefined

  return {
    async load(signal) {
      held = undefined
      held = await secrets.read(signal, (fault) => {
        throw fault
      })
      if (!held.parent) return undefined
      return { inventory: inventoryOf(held), hashKey: held.parent.hashKey, setId: secrets.setId }
    },

    async salvage(signal) {
      held = undefined
      const damage: string[] = []
      held = await secrets.read(signal, (fault) => damage.push(fault.message))
      return { inventory: inventoryOf(held), damage, setId: secrets.setId }
    },

    async save(next, { narrow, signal }) {
      if (!held)
        throw new InventoryFault(
          'NotLoaded',
          `${secrets.title} has to be read before it is saved: nothing was read yet, or a save failed or is under way`,
        )
      const before = held
      // What a write that fails leaves behind is not known.
      held = undefined
      const saving = new Saving(secrets, before, { version, epoch, mostShardBytes, narrow, signal })
      held = await saving.save(next)
      return saving.requests
    },

    async whyStop(signal) {
      const known = held?.parent?.metadata
      if (!known) return `${secrets.title} is not known to be as it was read`
      try {
        const { metadata } = await client.get<SecretObject>(resources.secrets, secrets.parent, { signal })
        if (metadata.uid === known.uid && metadata.resourceVersion === known.resourceVersion) return undefined
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
      return `${secrets.title} was written by somebody else`
    },
  }
}

function inventoryOf({ parent, shards }: Held): Inventory {
  const { facts, shards: count } = parent?.state ?? emptyState
  return { ...gathered(shards, count), ...facts }
}

interface SaveOptions {
  readonly version: string
  readonly epoch: number
  readonly mostShardBytes: number | undefined
  readonly narrow: boolean
  readonly signal: AbortSignal
}

/** One save: shards first, then the parent, which says what is in force. */
class Saving {
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
    const { members: _, strangers, ...facts } = given
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
    return { parent: await this.#updateParent(parent, { ...parent.state, shards: plan.count, facts }, reach), shards }
  }

  async #createParent(facts: ParentState['facts']): Promise<StoredParent> {
    const { epoch } = this.#options
    const state = { ...emptyState, sync: this.#secrets.name, epoch, facts }
    const parent = { metadata: {}, state, hashKey: newHashKey() }
    return this.#writeParent(parent, { groupKinds: [], namespaces: [] })
  }

  async #updateParent(parent: StoredParent, state: ParentState, needed: Reach): Promise<StoredParent> {
    const stored = readReach(parent.metadata.annotations)
    const reach = this.#options.narrow ? needed : widened(stored, needed)
    const isSame =
      !parent.isMended &&
      stateText(state) === stateText(parent.state) &&
      sameItems(reach.groupKinds, stored.groupKinds) &&
      sameItems(reach.namespaces, stored.namespaces)
    if (isSame) return parent
    return this.#writeParent(
      { ...parent, state: { ...state, epoch: Math.max(state.epoch, this.#options.epoch) } },
      reach,
    )
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

/** The last one counts. */
function onePerKey(members: readonly Member[]): readonly Member[] {
  const byId = new Map(members.map((member) => [keyId(member.key), member]))
  return byId.size === members.length ? members : [...byId.values()]
}

function sameItems(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((item, index) => item === other[index])
}
