import type { KubeClient } from '../kube/index.ts'
import type { InventoryStore } from './inventory/store.ts'
import { verifyInventory } from './inventory/verify.ts'
import type { Inventory } from './inventory-record.ts'
import { readCatalog } from './observe/catalog.ts'
import { observe } from './observe/observe.ts'

/** Compares what is remembered with all that is in the namespaces. Writes nothing. */
export async function verifyMemory(
  client: KubeClient,
  store: InventoryStore,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly found: readonly string[]; readonly repaired: Inventory }> {
  const [catalog, { inventory, setId, damage }] = await Promise.all([
    readCatalog(client, signal),
    store.salvage(signal),
  ])
  // Of the whole cluster only what is named is looked at.
  const full = inventory.members.flatMap(({ apiVersion, key }) =>
    key.namespace === '' ? [{ apiVersion, kind: key.kind }] : [],
  )
  const scope = { namespaces, kinds: 'all', full, declaredSecrets: new Set<string>() } as const
  const { findings, repaired } = verifyInventory(inventory, await observe(client, catalog, scope, signal), setId)
  return { found: [...damage, ...findings], repaired }
}
