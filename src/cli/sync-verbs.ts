import type { Command } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { type ConnectedClient, isNotFound, type KubeClient, type KubeObject } from '../kube/index.ts'
import {
  type Inventory,
  type InventoryStore,
  type Key,
  keepAnnotation,
  keyId,
  keyText,
  managerOf,
  observe,
  openInventory,
  partOfLabel,
  readCatalog,
  servedKind,
  verifyInventory,
  withSyncLease,
} from '../sync/index.ts'
import { systemClock } from '../time/index.ts'
import { type CliContext, CliFault } from './context.ts'
import { keyOf } from './sync-look.ts'
import { type MemoryFlags, type StoreParts, withMemory, withStore } from './sync-memory.ts'
import { addSyncNameOptions } from './sync-options.ts'

/** What a person says about a Sync and its objects. */
export function addSyncVerbCommands(sync: Command, context: CliContext): void {
  addSyncNameOptions(sync.command('approve'))
    .description('the plan with this hash may delete what it lists; no other plan may')
    .argument('<hash>')
    .action(async (hash: string, flags: MemoryFlags) => {
      await changeMemory(flags, context, (inventory) => ({
        ...inventory,
        approvals: [...inventory.approvals, hash].slice(-20),
      }))
      context.out(`${hash} is approved; the next run deletes what it lists, if that is still the plan\n`)
    })

  addSyncNameOptions(sync.command('keep'))
    .description('an object is never deleted, whatever git says; undone by taking the annotation away')
    .argument('<object>', 'Kind[.group]/name')
    .option('--reason <text>', 'why; shown in every plan', 'a person wants it')
    .action((text: string, flags: MemoryFlags & { readonly reason: string }) =>
      withMemory(flags, async (parts) => {
        const key = keyOf(text, flags.namespace, await readCatalog(parts.client, context.signal))
        const body = { metadata: { annotations: { [keepAnnotation]: flags.reason } } }
        await patchObject(parts, key, body, context.signal)
        context.out(`${keyText(key)} is kept\n`)
      }),
    )

  addSyncNameOptions(sync.command('release'))
    .description(
      'an object is no longer the business of the Sync: it is marked to be kept, in mode total too, and nobody watches it',
    )
    .argument('<object>', 'Kind[.group]/name')
    .action(async (text: string, flags: MemoryFlags) => {
      const key = await withMemory(flags, async (parts) => {
        const { client, memory, name } = parts
        const key = keyOf(text, flags.namespace, await readCatalog(client, context.signal))
        if (!memory.inventory.members.some((member) => keyId(member.key) === keyId(key)))
          throw new CliFault(`${keyText(key)} is no member of the Sync`)
        // Without the mark it would be a stranger, which mode total deletes.
        const annotations = { [keepAnnotation]: `released from Sync ${name}` }
        const body = { metadata: { labels: { [partOfLabel]: null }, annotations } }
        await patchObject(parts, key, body, context.signal)
        return key
      })
      await changeMemory(flags, context, (inventory) => ({
        ...inventory,
        members: inventory.members.filter((member) => keyId(member.key) !== keyId(key)),
      }))
      context.out(`${keyText(key)} is released; if git still declares it, the next run adopts it again\n`)
    })

  addSyncNameOptions(sync.command('adopt'))
    .description('an object that is there already becomes a member, whoever made it; git has to declare it, or it goes')
    .argument('<object>', 'Kind[.group]/name')
    .action(async (text: string, flags: MemoryFlags) => {
      const { key, uid, apiVersion } = await withMemory(flags, async ({ client }) => {
        const key = keyOf(text, flags.namespace, await readCatalog(client, context.signal))
        return { key, ...(await readObject(client, key, context.signal)) }
      })
      // Remembered first: a label of ours on what nobody remembers would be a riddle.
      await changeMemory(flags, context, (inventory) => ({
        ...inventory,
        members: [...inventory.members.filter((member) => keyId(member.key) !== keyId(key)), { key, uid, apiVersion }],
      }))
      await withMemory(flags, async (parts) => {
        const body = { metadata: { uid, labels: { [partOfLabel]: parts.memory.setId } } }
        await patchObject(parts, key, body, context.signal)
      })
      context.out(`${keyText(key)} is a member now\n`)
    })

  addSyncNameOptions(sync.command('verify'))
    .description('compares what is remembered with what bears our label; exit code 2 when they differ')
    .option('--repair', 'remember what was found, also when what was remembered is damaged', false)
    .action((flags: MemoryFlags & { readonly repair: boolean }) =>
      withStore(flags, async ({ client, store, name }) => {
        const { found } = await verified(client, store, flags.namespace, context.signal)
        context.out(found.length === 0 ? 'what is remembered is true\n' : `${found.join('\n')}\n`)
        if (found.length === 0) return
        if (!flags.repair) return context.exitCode(2)
        await asWriter(client, name, flags, context, async (own, signal) => {
          const { repaired } = await verified(client, own, flags.namespace, signal)
          await own.save(repaired, { narrow: false, signal })
        })
      }),
    )
}

async function verified(client: KubeClient, store: InventoryStore, namespaces: readonly string[], signal: AbortSignal) {
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

/** As the only writer. */
async function changeMemory(
  flags: MemoryFlags,
  context: CliContext,
  change: (inventory: Inventory) => Inventory,
): Promise<void> {
  await withMemory(flags, ({ client, name }) =>
    asWriter(client, name, flags, context, async (store, signal) => {
      const stored = await store.load(signal)
      if (stored) await store.save(change(stored.inventory), { narrow: false, signal })
    }),
  )
}

function asWriter(
  client: ConnectedClient,
  name: string,
  { namespace }: MemoryFlags,
  { signal }: CliContext,
  work: (store: InventoryStore, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const lease = { name: managerOf(name), namespace: namespace[0] ?? '' }
  return withSyncLease(client, lease, systemClock, signal, (fenced, term, { token }) =>
    work(openInventory(fenced, { name, namespaces: namespace }, manifest.version, { epoch: token }), term),
  )
}

async function readObject(client: ConnectedClient, key: Key, signal: AbortSignal) {
  const { resource } = await servedKind(client, key, signal)
  const { metadata } = await client.get<KubeObject>(resource, refOf(key), { signal }).catch(missing(key))
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
  return { uid: metadata.uid ?? '', apiVersion }
}

async function patchObject({ client, name, open }: StoreParts, key: Key, body: object, signal: AbortSignal) {
  open(key)
  const { resource } = await servedKind(client, key, signal)
  const options = { fieldManager: `${managerOf(name)}-person`, signal }
  await client.patch(resource, refOf(key), { type: 'merge', body }, options).catch(missing(key))
}

function refOf({ name, namespace }: Key) {
  return namespace === '' ? { name } : { name, namespace }
}

function missing(key: Key): (error: unknown) => never {
  return (error) => {
    if (isNotFound(error)) throw new CliFault(`${keyText(key)} is not in the cluster; check its name and its namespace`)
    throw error
  }
}
