import {
  ApiError,
  isGone,
  isNotFound,
  isRetryable,
  type KubeClient,
  type KubeErrorCode,
  resources,
} from '../../kube/index.ts'
import type { Json } from '../json.ts'
import type { Catalog, Observation, ServedKind, UnknownKind } from '../observed.ts'
import type { KnownCatalog } from './catalog.ts'
import { inParallel } from './in-parallel.ts'
import { listAt, objectAt, textAt } from './json-parts.ts'
import { type Look, looksOf, nameId, type ObserveScope, servedId } from './looks.ts'
import { type ListedItem, observedObject, type Seen, withoutDoubles } from './observed-object.ts'

const listsAtATime = 16
const pageSize = 500
const listDeadlineMs = 20_000
const mostRestarts = 3
// A server that cannot leave the rest out sends whole objects; they are cut here.
const metadataOnly = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'

const generalFailures: ReadonlySet<KubeErrorCode> = new Set(['Unauthorized', 'Untrusted', 'Unreachable', 'Closed'])

type Answer = { readonly seen: readonly Seen[] } | { readonly unknown: UnknownKind }

/** Everything that the scope asks for. What cannot be listed is unknown, never empty. */
export async function observe(
  client: KubeClient,
  catalog: Catalog & Partial<Pick<KnownCatalog, 'versionsOf'>>,
  scope: ObserveScope,
  signal: AbortSignal,
): Promise<Observation> {
  for (const name of scope.namespaces) assertNamespace(name)
  const { looks, unknown } = looksOf(catalog, scope)
  // What cannot be the name of one is not there.
  const namespaces = new Set([...scope.namespaces, ...(scope.namespaceObjects ?? []).filter(isNamespace)])
  const asks = [
    ...looks.map((look) => () => listed(client, look, scope, signal)),
    ...[...namespaces].map((name) => () => namespaceItself(client, name, scope, signal)),
  ]
  const answers = await inParallel(asks, listsAtATime, (ask) => ask())
  const failures = answers.flatMap((answer) => ('unknown' in answer ? [answer.unknown] : []))
  return {
    objects: withoutDoubles(answers.flatMap((answer) => ('seen' in answer ? answer.seen : []))),
    unknown: oncePerKind([...catalog.unknown, ...unknown, ...failures]),
  }
}

async function listed(client: KubeClient, look: Look, scope: ObserveScope, signal: AbortSignal): Promise<Answer> {
  const { served, isFull } = look
  try {
    return { seen: (await allItems(client, look, signal)).flatMap((item) => seenAs(item, served, isFull, scope)) }
  } catch (error) {
    const { group, kind } = served.resource
    return { unknown: { group, kind, why: whyNot(error, look, scope) } }
  }
}

/** A list that becomes too old between two of its pages is begun anew. */
async function allItems(client: KubeClient, look: Look, signal: AbortSignal): Promise<readonly ListedItem[]> {
  for (let restarts = 0; ; restarts++) {
    try {
      const items: ListedItem[] = []
      for await (const page of pages(client, look, signal)) items.push(...page)
      return items
    } catch (error) {
      if (!isGone(error) || restarts === mostRestarts) throw error
    }
  }
}

function pages(client: KubeClient, look: Look, signal: AbortSignal): AsyncIterable<readonly ListedItem[]> {
  const { resource } = look.served
  // The rules need the type of a Secret, which is not part of its metadata.
  const isWhole = look.isFull || (resource.group === '' && resource.kind === 'Secret')
  return isWhole ? wholePages(client, look, signal) : metadataPages(client, look, signal)
}

async function* wholePages(client: KubeClient, { served, namespace }: Look, signal: AbortSignal) {
  const options = { signal, pageSize, deadlineMs: listDeadlineMs, ...(namespace === undefined ? {} : { namespace }) }
  for await (const { items } of client.list<ListedItem>(served.resource, options)) yield items
}

async function* metadataPages(client: KubeClient, { served, namespace }: Look, signal: AbortSignal) {
  const { group, version, plural } = served.resource
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`
  const path = namespace === undefined ? `${root}/${plural}` : `${root}/namespaces/${namespace}/${plural}`
  let token: string | undefined
  do {
    const query = { limit: pageSize, continue: token }
    const request = { method: 'GET', path, query, accept: metadataOnly, signal, deadlineMs: listDeadlineMs } as const
    const answer = await client.request<Json>(request)
    const metadata = objectAt(answer, 'metadata')
    if (!metadata) throw new ApiError({ code: 'BadResponse', method: 'GET', path, seen: 'the answer is not a list' })
    yield listAt(answer, 'items') as unknown as readonly ListedItem[]
    token = textAt(metadata, 'continue')
  } while (token !== undefined && token !== '')
}

/** The namespaces themselves tell whether they are about to go. Nobody misses them who did not ask for them. */
async function namespaceItself(
  client: KubeClient,
  name: string,
  scope: ObserveScope,
  signal: AbortSignal,
): Promise<Answer> {
  const served: ServedKind = { resource: resources.namespaces, verbs: ['get'], isAggregated: false }
  const names = scope.kinds === 'all' ? scope.full : [...scope.full, ...scope.kinds]
  const isNamed = names.some(({ apiVersion, kind }) => apiVersion === 'v1' && kind === 'Namespace')
  try {
    const item = await client.get<ListedItem>(resources.namespaces, { name }, { signal, deadlineMs: listDeadlineMs })
    return { seen: seenAs(item, served, isNamed, scope) }
  } catch (error) {
    if (isNotFound(error)) return { seen: [] }
    const why = whyNot(error, { served, isFull: isNamed }, scope)
    return isNamed ? { unknown: { group: '', kind: 'Namespace', why } } : { seen: [] }
  }
}

function seenAs(item: ListedItem, served: ServedKind, isFull: boolean, scope: ObserveScope): readonly Seen[] {
  const object = observedObject(item, served, isFull, scope.declaredSecrets)
  return object ? [{ object, isFull }] : []
}

/**
 * A sentence for one list that failed. What makes all of them fail is no matter of a kind and is thrown on; so is what
 * may be over in a moment, if git declares the kind: it says nothing about the commit.
 */
function whyNot(error: unknown, { served, namespace }: Look, { needed = [] }: ObserveScope): string {
  if (!(error instanceof ApiError) || generalFailures.has(error.code)) throw error
  if (isRetryable(error) && needed.some((one) => nameId(one) === servedId(served))) throw error
  const place = namespace === undefined ? '' : ` in namespace ${namespace}`
  if (error.code === 'NotFound') return `${served.resource.plural} are served no more; they were a moment ago`
  return `${served.resource.plural} cannot be listed${place}: ${error.seen}`
}

/** A name like `..` would lead to another list than the one that was meant. */
function assertNamespace(name: string): void {
  if (isNamespace(name)) return
  throw new Error(`"${name}" cannot be a namespace: only lower-case letters, digits and - inside the name are allowed`)
}

function isNamespace(name: string): boolean {
  return /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name)
}

function oncePerKind(unknown: readonly UnknownKind[]): readonly UnknownKind[] {
  const first = new Map<string, UnknownKind>()
  for (const one of unknown) {
    const id = `${one.group} ${one.kind ?? ''}`
    if (!first.has(id)) first.set(id, one)
  }
  return [...first.values()]
}
