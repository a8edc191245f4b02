import { ApiError, type KubeClient } from '../../kube/index.ts'
import type { Clock } from '../../time/index.ts'
import { groupOf } from '../key.ts'
import type { UnknownKind } from '../observed.ts'
import { type KnownCatalog, readCatalog } from './catalog.ts'
import type { KindName } from './looks.ts'

const servedWithinMs = 10_000
const lookAgainMs = 200

interface Definitions {
  readonly items?: readonly {
    readonly spec?: { readonly group?: string; readonly names?: { readonly kind?: string } }
  }[]
}

/**
 * A kind that is not served is taken for one that does not exist, and what was of it for gone. Discovery follows a new
 * definition only a moment later: while there is one, the kind is waited for, and then unknown.
 */
export async function withLateKinds(
  client: KubeClient,
  clock: Clock,
  catalog: KnownCatalog,
  kinds: readonly KindName[],
  signal: AbortSignal,
): Promise<KnownCatalog> {
  const isServed = (known: KnownCatalog) => (one: KindName) =>
    known.versionsOf(groupOf(one.apiVersion), one.kind).length > 0
  if (kinds.every(isServed(catalog))) return catalog
  const defined = await definedKinds(client, signal)
  const late = kinds.filter((one) => !isServed(catalog)(one) && (defined === undefined || defined.has(nameOf(one))))
  let known = catalog
  const untilMs = clock.monotonic() + (defined === undefined ? 0 : servedWithinMs)
  while (!late.every(isServed(known)) && clock.monotonic() < untilMs) {
    await clock.sleep(lookAgainMs, signal)
    known = await readCatalog(client, signal)
  }
  const why = 'it is not served, and perhaps only not yet'
  const unknown = late
    .filter((one) => !isServed(known)(one))
    .map(({ apiVersion, kind }): UnknownKind => ({ group: groupOf(apiVersion), kind, why }))
  return { ...known, unknown: [...known.unknown, ...unknown] }
}

function nameOf({ apiVersion, kind }: KindName): string {
  return `${groupOf(apiVersion)} ${kind}`
}

/** Nothing when they may not be read. */
async function definedKinds(client: KubeClient, signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
  try {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
    const { items = [] } = await client.request<Definitions>({ method: 'GET', path, signal })
    return new Set(items.map(({ spec }) => `${spec?.group} ${spec?.names?.kind}`))
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return undefined
  }
}
