import type { KubeClient } from '../kube/index.ts'
import { type Health, healthOf } from './health/health.ts'
import type { Inventory, Verdict } from './inventory-record.ts'
import { type Key, keyId } from './key.ts'
import { readCatalog } from './observe/catalog.ts'
import { observe } from './observe/observe.ts'
import type { Observation } from './observed.ts'
import { whyUnknown } from './plan/scope.ts'

/** What is true of a Sync now. */
export interface SyncState {
  readonly revision?: string
  readonly last?: Verdict
  readonly underway?: NonNullable<Inventory['underway']>
  readonly members: number
  readonly healthy: number
  /** Proven not to be there. */
  readonly missing: readonly Key[]
  /** Nobody knows whether they are there. */
  readonly unknown: readonly { readonly key: Key; readonly why: string }[]
  readonly ill: readonly { readonly key: Key; readonly health: Health }[]
  readonly waiting: readonly { readonly key: Key; readonly since: string }[]
  /** Objects of nobody that mode total counts down; only their UIDs are remembered. */
  readonly strangers: readonly { readonly uid: string; readonly since: string }[]
}

export async function syncState(
  client: KubeClient,
  inventory: Inventory,
  nowMs: number,
  signal: AbortSignal,
): Promise<SyncState> {
  const { members, verdicts, revision, underway, strangers } = inventory
  const kinds = [
    ...new Map(
      members.map(({ apiVersion, key }) => [`${apiVersion} ${key.kind}`, { apiVersion, kind: key.kind }]),
    ).values(),
  ]
  const pods = { apiVersion: 'v1', kind: 'Pod' }
  const namespaces = [...new Set(members.map(({ key }) => key.namespace))].filter((namespace) => namespace !== '')
  const full = [...kinds, pods]
  const scope = { namespaces, kinds: full, full, declaredSecrets: new Set(members.map(({ key }) => keyId(key))) }
  const catalog = await readCatalog(client, signal)
  const [inside, alone] = await Promise.all([
    observe(client, catalog, scope, signal),
    // A Namespace in which nothing of ours is. Nothing else is looked for in it.
    observe(
      client,
      catalog,
      { ...scope, namespaces: namespacesAlone(inventory), kinds: [itself], full: [itself] },
      signal,
    ),
  ])
  const objects = [...inside.objects, ...alone.objects]
  const live = new Map(objects.map((object) => [keyId(object.key), object]))
  const running = objects.flatMap(({ key, body }) =>
    key.kind === 'Pod' && key.group === '' && body ? [body as never] : [],
  )
  const judged = members.flatMap(({ key }) => {
    const body = live.get(keyId(key))?.body
    return body ? [{ key, health: healthOf(body, { pods: running }, nowMs) }] : []
  })
  const { missing, unknown } = unseen(inventory, { objects, unknown: [...inside.unknown, ...alone.unknown] })
  const last = verdicts.at(-1)
  return {
    ...(revision === undefined ? {} : { revision }),
    ...(last ? { last } : {}),
    ...(underway ? { underway } : {}),
    members: members.length,
    healthy: judged.filter(({ health }) => health.is === 'Current').length,
    missing,
    unknown,
    ill: judged.filter(({ health }) => health.is !== 'Current'),
    waiting: members.flatMap(({ key, orphanedAt }) => (orphanedAt === undefined ? [] : [{ key, since: orphanedAt }])),
    strangers: Object.entries(strangers).map(([uid, since]) => ({ uid, since })),
  }
}

const itself = { apiVersion: 'v1', kind: 'Namespace' }

function namespacesAlone({ members }: Inventory): readonly string[] {
  const inhabited = new Set(members.map(({ key }) => key.namespace))
  const isNamespace = ({ group, kind }: Key) => group === '' && kind === 'Namespace'
  return members.flatMap(({ key }) => (isNamespace(key) && !inhabited.has(key.name) ? [key.name] : []))
}

/** Members that were not seen. What could not be read is not missing: nobody knows. */
export function unseen(
  { members }: Pick<Inventory, 'members'>,
  observed: Observation,
): Pick<SyncState, 'missing' | 'unknown'> {
  const seen = new Set(observed.objects.map(({ key }) => keyId(key)))
  const missing: Key[] = []
  const unknown: { readonly key: Key; readonly why: string }[] = []
  for (const { key } of members) {
    if (seen.has(keyId(key))) continue
    const why = whyUnknown(key, observed.unknown)
    if (why === undefined) missing.push(key)
    else unknown.push({ key, why })
  }
  return { missing, unknown }
}
