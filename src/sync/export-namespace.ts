import type { KubeClient } from '../kube/index.ts'
import type { JsonObject } from './json.ts'
import { compareKeys, type Key } from './key.ts'
import { readCatalog } from './observe/catalog.ts'
import { exportManifest } from './observe/export-objects.ts'
import { foreignOwner } from './observe/foreign.ts'
import { mayBeDeclared, pruneWorld } from './observe/never-pruned.ts'
import { observe } from './observe/observe.ts'
import type { UnknownKind } from './observed.ts'
import { carefulDeletion, type Policy } from './policy.ts'

export interface ExportedObject {
  readonly key: Key
  readonly body: JsonObject
}

export interface Exported {
  readonly objects: readonly ExportedObject[]
  /** Names of those that were left out. */
  readonly secrets: readonly string[]
  readonly unknown: readonly UnknownKind[]
}

/** What people made in a namespace. What controllers made of it, and what every namespace has, is left out. */
export async function exportNamespace(
  client: KubeClient,
  namespace: string,
  withSecrets: boolean,
  nowMs: number,
  signal: AbortSignal,
): Promise<Exported> {
  const catalog = await readCatalog(client, signal)
  const full = catalog.kinds
    .filter(({ resource, verbs }) => resource.namespaced && verbs.includes('list'))
    .map(({ resource: { group, version, kind } }) => ({
      apiVersion: group === '' ? version : `${group}/${version}`,
      kind,
    }))
  const seen = await observe(
    client,
    catalog,
    { namespaces: [namespace], kinds: 'all', full, declaredSecrets: everything },
    signal,
  )
  const world = pruneWorld({
    objects: seen.objects,
    declared: new Set<string>(),
    policy: policyFor(namespace),
    setId: '',
    nowMs,
    unknown: seen.unknown,
  })
  const wanted = seen.objects
    .filter((object) => mayBeDeclared(object, world))
    .filter((object) => foreignOwner(object, '') === undefined)
    .sort((one, other) => compareKeys(one.key, other.key))
  const isSecret = ({ key }: { readonly key: Key }) => key.group === '' && key.kind === 'Secret'
  return {
    objects: wanted
      .filter((object) => withSecrets || !isSecret(object))
      .flatMap(({ key, body }) => (body ? [{ key, body: exportManifest(body) }] : [])),
    unknown: seen.unknown,
    secrets: withSecrets ? [] : wanted.filter(isSecret).map(({ key }) => key.name),
  }
}

const everything: ReadonlySet<string> = Object.assign(new Set<string>(), { has: () => true })

function policyFor(namespace: string): Policy {
  return {
    name: namespace,
    namespaces: [namespace],
    mode: 'observe',
    adoption: 'never',
    adoptFrom: [],
    clusterKinds: [],
    ignore: [],
    conflicts: 'fail',
    deletion: carefulDeletion,
  }
}
