import { type Key, keyId } from '../key.ts'
import type { ObservedObject, UnknownKind } from '../observed.ts'
import type { Policy } from '../policy.ts'
import { grouped } from './grouped.ts'

/** All that the rules look at. */
export interface PruneWorld {
  readonly objects: readonly ObservedObject[]
  /** keyIds. */
  readonly declared: ReadonlySet<string>
  readonly policy: Policy
  readonly setId: string
  readonly nowMs: number
  /** What could not be listed: what is not seen of it may be there all the same. */
  readonly unknown?: readonly UnknownKind[]
  /** Made by `pruneWorld`. Without it the rules are as right, but look through all objects for each one. */
  readonly index?: PruneIndex
}

interface PruneIndex {
  readonly byUid: ReadonlyMap<string, readonly ObservedObject[]>
  readonly observed: ReadonlySet<string>
  readonly statefulSets: ReadonlyMap<string, readonly string[]>
}

/** The same world, quick to ask about many objects. */
export function pruneWorld(world: Omit<PruneWorld, 'index'>): PruneWorld {
  return { ...world, index: indexOf(world) }
}

function indexOf({ objects, declared }: PruneWorld): PruneIndex {
  const observed = new Set(objects.map(({ key }) => keyId(key)))
  return {
    byUid: grouped(objects, ({ uid }) => uid),
    observed,
    statefulSets: new Map(
      [...grouped(statefulSets([...observed, ...declared]), ({ namespace }) => namespace)].map(([namespace, sets]) => [
        namespace,
        sets.map(({ name }) => name),
      ]),
    ),
  }
}

/** More than one if it is served under several groups. */
export function withUid({ objects, index }: PruneWorld, uid: string): readonly ObservedObject[] {
  return index ? (index.byUid.get(uid) ?? []) : objects.filter((object) => object.uid === uid)
}

/** Whether an object is there or declared; also true when nobody can know. */
export function mayLive(world: PruneWorld, key: Key): boolean {
  const id = keyId(key)
  if (isUnknown(world, key.group, key.kind) || world.declared.has(id)) return true
  return world.index ? world.index.observed.has(id) : world.objects.some((object) => keyId(object.key) === id)
}

/** Names of the StatefulSets of a namespace that are there or declared. */
export function statefulSetsIn({ objects, declared, index }: PruneWorld, namespace: string): readonly string[] {
  if (index) return index.statefulSets.get(namespace) ?? []
  return statefulSets([...objects.map(({ key }) => keyId(key)), ...declared])
    .filter((set) => set.namespace === namespace)
    .map(({ name }) => name)
}

export function isUnknown({ unknown = [] }: PruneWorld, group: string, kind: string): boolean {
  return unknown.some((one) => one.group === group && (one.kind === undefined || one.kind === kind))
}

function statefulSets(ids: readonly string[]): readonly { readonly namespace: string; readonly name: string }[] {
  const start = 'apps StatefulSet '
  return ids.flatMap((id) => {
    if (!id.startsWith(start)) return []
    const [namespace = '', name = ''] = id.slice(start.length).split(' ')
    return [{ namespace, name }]
  })
}
