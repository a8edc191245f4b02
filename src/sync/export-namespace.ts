import type { KubeClient } from '../kube/index.ts'
import { readYaml } from '../text/index.ts'
import { isObject, type Json, type JsonObject } from './json.ts'
import { compareKeys, type Key, keyText } from './key.ts'
import { type KnownCatalog, readCatalog } from './observe/catalog.ts'
import { exportManifest } from './observe/export-objects.ts'
import { foreignOwner } from './observe/foreign.ts'
import { inParallel } from './observe/in-parallel.ts'
import { mayBeDeclared, pruneWorld } from './observe/never-pruned.ts'
import { observe } from './observe/observe.ts'
import type { ObservedObject, UnknownKind } from './observed.ts'
import { carefulDeletion, type Policy } from './policy.ts'
import { servedAs } from './survey.ts'

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
  const whole = await inParallel(wanted, readsAtATime, (object) => exactly(object, client, catalog, signal))
  const isSecret = ({ key }: { readonly key: Key }) => key.group === '' && key.kind === 'Secret'
  return {
    objects: whole
      .filter((object) => withSecrets || !isSecret(object))
      .flatMap(({ key, body }) => (body ? [{ key, body: exportManifest(body) }] : [])),
    unknown: seen.unknown,
    secrets: withSecrets ? [] : wanted.filter(isSecret).map(({ key }) => key.name),
  }
}

const readsAtATime = 16

/** Answers are read as doubles. What those may have rounded is read again in a form that keeps every digit. */
async function exactly(
  object: ObservedObject,
  client: KubeClient,
  catalog: KnownCatalog,
  signal: AbortSignal,
): Promise<ObservedObject> {
  const { key, apiVersion, body } = object
  const resource = servedAs(catalog, apiVersion, key.kind)
  if (!resource || body === undefined || !mayBeRounded(body)) return object
  const root = resource.group === '' ? 'api' : 'apis'
  const path = `/${root}/${apiVersion}/namespaces/${key.namespace}/${resource.plural}/${encodeURIComponent(key.name)}`
  const read = readYaml(await client.request<string>({ method: 'GET', path, accept: 'application/yaml', signal }))
  const value = 'documents' in read ? read.documents[0]?.value : undefined
  if (!isObject(value)) throw new Error(`${keyText(key)} cannot be exported: the server sent YAML that is none`)
  return { ...object, body: value }
}

function mayBeRounded(value: Json): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value)
  return typeof value === 'object' && value !== null && Object.values(value).some((below: Json) => mayBeRounded(below))
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
