import type { KubeClient } from '../kube/index.ts'
import { type Health, healthOf } from './health/health.ts'
import type { Inventory, Verdict } from './inventory-record.ts'
import { type Key, keyId } from './key.ts'
import { readCatalog } from './observe/catalog.ts'
import { observe } from './observe/observe.ts'

/** What is true of a Sync now. */
export interface SyncState {
  readonly revision?: string
  readonly last?: Verdict
  readonly underway?: NonNullable<Inventory['underway']>
  readonly members: number
  readonly healthy: number
  readonly missing: readonly Key[]
  readonly ill: readonly { readonly key: Key; readonly health: Health }[]
  readonly waiting: readonly { readonly key: Key; readonly since: string }[]
}

export async function syncState(
  client: KubeClient,
  inventory: Inventory,
  nowMs: number,
  signal: AbortSignal,
): Promise<SyncState> {
  const { members, verdicts, revision, underway } = inventory
  const kinds = [
    ...new Map(
      members.map(({ apiVersion, key }) => [`${apiVersion} ${key.kind}`, { apiVersion, kind: key.kind }]),
    ).values(),
  ]
  const pods = { apiVersion: 'v1', kind: 'Pod' }
  const namespaces = [...new Set(members.map(({ key }) => key.namespace))].filter((namespace) => namespace !== '')
  const full = [...kinds, pods]
  const scope = { namespaces, kinds: full, full, declaredSecrets: new Set(members.map(({ key }) => keyId(key))) }
  const { objects } = await observe(client, await readCatalog(client, signal), scope, signal)
  const live = new Map(objects.map((object) => [keyId(object.key), object]))
  const running = objects.flatMap(({ key, body }) =>
    key.kind === 'Pod' && key.group === '' && body ? [body as never] : [],
  )
  const judged = members.flatMap(({ key }) => {
    const body = live.get(keyId(key))?.body
    return body ? [{ key, health: healthOf(body, { pods: running }, nowMs) }] : []
  })
  const last = verdicts.at(-1)
  return {
    ...(revision === undefined ? {} : { revision }),
    ...(last ? { last } : {}),
    ...(underway ? { underway } : {}),
    members: members.length,
    healthy: judged.filter(({ health }) => health.is === 'Current').length,
    missing: members.filter(({ key }) => !live.has(keyId(key))).map(({ key }) => key),
    ill: judged.filter(({ health }) => health.is !== 'Current'),
    waiting: members.flatMap(({ key, orphanedAt }) => (orphanedAt === undefined ? [] : [{ key, since: orphanedAt }])),
  }
}
