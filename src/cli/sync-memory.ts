import manifest from '../../package.json' with { type: 'json' }
import type { ConnectedClient } from '../kube/index.ts'
import {
  fenceOf,
  type InventoryStore,
  type Key,
  type Memory,
  openInventory,
  type Policy,
  remembered,
} from '../sync/index.ts'
import { withCluster } from './cluster-options.ts'
import { CliFault } from './context.ts'
import { componentOf, type SyncNameFlags, syncNameOf } from './sync-options.ts'

export type MemoryFlags = SyncNameFlags

export interface StoreParts {
  readonly client: ConnectedClient
  readonly store: InventoryStore
  readonly name: string
  /** This one object may be written, also if it is of the whole cluster. */
  readonly open: (key: Key) => void
}

/** Where a Sync remembers, whatever is there. */
export async function withStore<T>(flags: MemoryFlags, work: (parts: StoreParts) => Promise<T>): Promise<T> {
  const name = syncNameOf(flags)
  // Which object a person means is only known once the server has said what kinds there are.
  const opened: Policy['clusterKinds'][number][] = []
  const open = ({ kind, group, name: names }: Key) => void opened.push({ kind, group, names })
  return withCluster(
    flags,
    (client) => {
      const store = openInventory(client, { name, namespaces: flags.namespace }, manifest.version)
      return work({ client, name, store, open })
    },
    { guard: fenceOf({ namespaces: flags.namespace, clusterKinds: opened }), component: componentOf(name) },
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
