import type { Command } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { isNotFound, type KubeClient, type KubeObject } from '../kube/index.ts'
import {
  type Inventory,
  type InventoryStore,
  type Key,
  keepAnnotation,
  keyId,
  keyText,
  managerOf,
  openInventory,
  partOfLabel,
  readCatalog,
  servedKind,
  verifyMemory,
  withSyncLease,
} from '../sync/index.ts'
import { systemClock } from '../time/index.ts'
import { type CliContext, CliFault } from './context.ts'
import { keyOf } from './sync-look.ts'
import { type MemoryFlags, type StoreParts, withMemory, withStore } from './sync-memory.ts'
import { addSyncNameOptions } from './sync-options.ts'

type Member = Inventory['members'][number]

/** What a person says about a Sync and its objects. */
export function addSyncVerbCommands(sync: Command, context: CliContext): void {
  addSyncNameOptions(sync.command('approve'))
    .description('the plan with this hash may delete what it lists; no other plan may')
    .argument('<hash>')
    .action((hash: string, flags: MemoryFlags) =>
      // Beside whoever is the writer: one who waits for it would otherwise keep it out for ever.
      withMemory(flags, async ({ store }) => {
        await store.approve(hash, context.signal)
        context.out(`${hash} is approved; the next run deletes what it lists, if that is still the plan\n`)
      }),
    )

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
    .action((text: string, flags: MemoryFlags) =>
      withMemory(flags, async (parts) => {
        const key = keyOf(text, flags.namespace, await readCatalog(parts.client, context.signal))
        // The only writer from the first touch on: half of it would be a riddle.
        await asWriter(parts, flags, context, async (client, store, signal) => {
          const members = (await store.load(signal))?.inventory.members ?? []
          if (members.every(isOther(key))) throw new CliFault(`${keyText(key)} is no member of the Sync`)
          // Without the mark it would be a stranger, which mode total deletes.
          const annotations = { [keepAnnotation]: `released from Sync ${parts.name}` }
          const body = { metadata: { labels: { [partOfLabel]: null }, annotations } }
          await patchObject({ ...parts, client }, key, body, signal)
          await changeMembers(store, (all) => all.filter(isOther(key)), signal)
        })
        context.out(`${keyText(key)} is released; if git still declares it, the next run adopts it again\n`)
      }),
    )

  addSyncNameOptions(sync.command('adopt'))
    .description('an object that is there already becomes a member, whoever made it; git has to declare it, or it goes')
    .argument('<object>', 'Kind[.group]/name')
    .action((text: string, flags: MemoryFlags) =>
      withMemory(flags, async (parts) => {
        const key = keyOf(text, flags.namespace, await readCatalog(parts.client, context.signal))
        await asWriter(parts, flags, context, async (client, store, signal) => {
          const { uid, apiVersion } = await readObject(client, key, signal)
          // Remembered first: a label of ours on what nobody remembers would be a riddle.
          const added = { key, uid, apiVersion }
          const setId = await changeMembers(store, (all) => [...all.filter(isOther(key)), added], signal)
          await patchObject({ ...parts, client }, key, { metadata: { uid, labels: { [partOfLabel]: setId } } }, signal)
        })
        context.out(`${keyText(key)} is a member now\n`)
      }),
    )

  addSyncNameOptions(sync.command('verify'))
    .description('compares what is remembered with what bears our label; exit code 2 when they differ')
    .option('--repair', 'remember what was found, also when what was remembered is damaged', false)
    .action((flags: MemoryFlags & { readonly repair: boolean }) =>
      withStore(flags, async (parts) => {
        const { client, store } = parts
        const { found } = await verifyMemory(client, store, flags.namespace, context.signal)
        context.out(found.length === 0 ? 'what is remembered is true\n' : `${found.join('\n')}\n`)
        if (found.length === 0) return
        if (!flags.repair) return context.exitCode(2)
        await asWriter(parts, flags, context, async (_, own, signal) => {
          const { repaired } = await verifyMemory(client, own, flags.namespace, signal)
          await own.save(repaired, { narrow: false, signal })
        })
      }),
    )
}

function isOther(key: Key): (member: Member) => boolean {
  return (member) => keyId(member.key) !== keyId(key)
}

/** Answers the id of the set. */
async function changeMembers(
  store: InventoryStore,
  change: (members: readonly Member[]) => readonly Member[],
  signal: AbortSignal,
): Promise<string> {
  const stored = await store.load(signal)
  if (!stored) throw new CliFault('what the Sync remembers was taken away meanwhile; nothing was changed')
  const { inventory, setId } = stored
  await store.save({ ...inventory, members: change(inventory.members) }, { narrow: false, signal })
  return setId
}

/** With a client that refuses to write once another one may be at work. */
function asWriter(
  { client, name }: Pick<StoreParts, 'client' | 'name'>,
  { namespace }: MemoryFlags,
  { signal }: CliContext,
  work: (client: KubeClient, store: InventoryStore, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const lease = { name: managerOf(name), namespace: namespace[0] ?? '' }
  return withSyncLease(client, lease, systemClock, signal, (fenced, term, { token }) =>
    work(fenced, openInventory(fenced, { name, namespaces: namespace }, manifest.version, { epoch: token }), term),
  )
}

async function readObject(client: KubeClient, key: Key, signal: AbortSignal) {
  const { resource } = await servedKind(client, key, signal)
  const { metadata } = await client.get<KubeObject>(resource, refOf(key), { signal }).catch(missing(key))
  const apiVersion = resource.group === '' ? resource.version : `${resource.group}/${resource.version}`
  return { uid: metadata.uid ?? '', apiVersion }
}

type Patcher = Pick<StoreParts, 'name' | 'open'> & { readonly client: KubeClient }

async function patchObject({ client, name, open }: Patcher, key: Key, body: object, signal: AbortSignal) {
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
