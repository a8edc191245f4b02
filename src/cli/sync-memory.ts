import manifest from '../../package.json' with { type: 'json' }
import type { ConnectedClient } from '../kube/index.ts'
import { fenceOf, type InventoryStore, type Memory, openInventory, remembered } from '../sync/index.ts'
import { withCluster } from './cluster-options.ts'
import { CliFault } from './context.ts'
import { type SyncNameFlags, syncNameOf } from './sync-options.ts'

export type MemoryFlags = SyncNameFlags

interface StoreParts {
  readonly client: ConnectedClient
  readonly store: InventoryStore
  readonly name: string
}

/** Where a Sync remembers, whatever is there. */
export async function withStore<T>(flags: MemoryFlags, work: (parts: StoreParts) => Promise<T>): Promise<T> {
  const name = syncNameOf(flags)
  return withCluster(
    flags,
    (client) =>
      work({ client, name, store: openInventory(client, { name, namespaces: flags.namespace }, manifest.version) }),
    // Members of the whole cluster can be kept and released as well.
    fenceOf({ namespaces: flags.namespace, clusterKinds: [{ kind: '*', group: '*', names: '*' }] }),
  )
}

/** What is remembered of a Sync that ran before. */
export async function withMemory<T>(
  flags: MemoryFlags,
  work: (parts: StoreParts & { readonly memory: Memory }) => Promise<T>,
): Promise<T> {
  return withStore(flags, async (parts) => {
    const policy = { name: parts.name, namespaces: flags.namespace }
    const memory = await remembered(parts.store, policy, AbortSignal.timeout(60_000))
    if (!memory.isNew) return work({ ...parts, memory })
    throw new CliFault(
      `no Sync ${parts.name} ever ran in namespace ${flags.namespace[0]}; say its --name if it has another one`,
    )
  })
}
