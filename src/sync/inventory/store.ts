import type { KubeClient } from '../../kube/index.ts'
import type { Inventory } from '../inventory-record.ts'
import type { Policy } from '../policy.ts'
import { InventoryFault } from './inventory-fault.ts'
import { type Held, InventorySecrets } from './inventory-secrets.ts'
import { emptyState } from './record-text.ts'
import { mostTries, Saving, withNew } from './saving.ts'
import { gathered } from './shards.ts'

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
  /**
   * Remembers that a person approved this plan. Needs no Lease: it reads and writes the parent alone, and adds to whatever
   * is there, and a writer takes it over with its next save.
   */
  approve(hash: string, signal: AbortSignal): Promise<void>
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
      const known = held?.parent
      if (!held || !known) return `${secrets.title} is not known to be as it was read`
      const now = await secrets.sinceRead(known, signal)
      if (!now) return `${secrets.title} was written by somebody else`
      held = { ...held, parent: now, approved: withNew(held.approved, now, known) }
      return undefined
    },

    async approve(hash, signal) {
      for (let tries = 1; ; tries++) {
        const parent = await secrets.readParent(signal)
        if (!parent) throw new InventoryFault('NotLoaded', `${secrets.title} is not there: nothing ever ran`)
        try {
          const approvals = [...parent.state.facts.approvals.filter((one) => one !== hash), hash].slice(-20)
          const options = { version, epoch, mostShardBytes, narrow: false, signal }
          const saving = new Saving(secrets, { parent, shards: new Map() }, options)
          return await saving.saveFacts({ ...parent.state.facts, approvals })
        } catch (error) {
          if (tries >= mostTries || !(error instanceof InventoryFault) || error.code !== 'Conflict') throw error
        }
      }
    },
  }
}

function inventoryOf({ parent, shards }: Held): Inventory {
  const { facts, shards: count } = parent?.state ?? emptyState
  return { ...gathered(shards, count), ...facts }
}
