import { ApiError, type KubeClient } from '../../kube/index.ts'
import type { Json } from '../json.ts'
import type { Catalog, ServedKind, UnknownKind } from '../observed.ts'
import { type ApiServices, readApiServices, unreadableApiServices } from './api-services.ts'
import { type DiscoveredVersion, readAggregated, readResourceList, readVersionNames } from './discovery-answer.ts'
import { grouped } from './grouped.ts'
import { inParallel } from './in-parallel.ts'

interface KnownKind extends ServedKind {
  /** As people abbreviate it: `deploy`. */
  readonly shortNames?: readonly string[]
}

export interface KnownCatalog extends Catalog {
  readonly kinds: readonly KnownKind[]
  /** All versions in which the kind is served, the preferred one first. */
  versionsOf(group: string, kind: string): readonly ServedKind[]
}

const listForm = 'application/json;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList'
// The second is what servers before 1.30 have, the third what those before 1.26 have.
const accept = `${listForm};v=v2,${listForm};v=v2beta1,application/json`
const versionsAtATime = 16

/** Everything that the server offers. Fails if not even that can be asked; a group that fails is unknown. */
export async function readCatalog(client: KubeClient, signal: AbortSignal): Promise<KnownCatalog> {
  const [core, groups, services] = await Promise.all([
    discovered(client, '/api', signal),
    discovered(client, '/apis', signal),
    apiServices(client, signal),
  ])
  return catalogOf([...core, ...groups], services)
}

async function discovered(
  client: KubeClient,
  path: '/api' | '/apis',
  signal: AbortSignal,
): Promise<readonly DiscoveredVersion[]> {
  const answer = await client.request<Json>({ method: 'GET', path, accept, signal })
  const aggregated = readAggregated(answer)
  if (aggregated) return aggregated
  return inParallel(readVersionNames(answer), versionsAtATime, async ({ group, version }) => {
    const versionPath = group === '' ? `${path}/${version}` : `${path}/${group}/${version}`
    try {
      return readResourceList(
        group,
        version,
        await client.request<Json>({ method: 'GET', path: versionPath, signal, deadlineMs: 10_000 }),
      )
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      return { group, version, kinds: [], doubt: `discovery failed: ${error.seen}` }
    }
  })
}

async function apiServices(client: KubeClient, signal: AbortSignal): Promise<ApiServices> {
  try {
    const path = '/apis/apiregistration.k8s.io/v1/apiservices'
    return readApiServices(await client.request<Json>({ method: 'GET', path, signal }))
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return unreadableApiServices
  }
}

/** What is offered, from what discovery and the APIServices tell. */
export function catalogOf(versions: readonly DiscoveredVersion[], services: ApiServices): KnownCatalog {
  const unknown = new Map<string, UnknownKind>()
  const doubt = (group: string, version: string, why: string) => {
    if (!unknown.has(group)) unknown.set(group, { group, why: `${group}/${version}: ${why}` })
  }
  for (const { group, version, doubt: why } of versions) if (why !== undefined) doubt(group, version, why)
  const seen = new Set(versions.map(({ group, version }) => `${group}/${version}`))
  for (const { group, version, trouble } of services.aggregated) {
    const isMissing = !seen.has(`${group}/${version}`)
    if (trouble !== undefined || isMissing) doubt(group, version, trouble ?? 'discovery does not tell of it yet')
  }
  const served = versions.flatMap((version) => servedIn(version, services))
  const byPlural = grouped(served, ({ resource }) => `${resource.group} ${resource.plural}`)
  const byKind = grouped(served, ({ resource }) => `${resource.group} ${resource.kind}`)
  return {
    kinds: [...byPlural.values()].flatMap(([preferred]) => preferred ?? []),
    unknown: [...unknown.values()],
    versionsOf: (group, kind) => byKind.get(`${group} ${kind}`) ?? [],
  }
}

function servedIn({ group, version, kinds }: DiscoveredVersion, services: ApiServices): readonly KnownKind[] {
  const isAggregated = services.isAggregated(group, version)
  return kinds.map(({ verbs, shortNames, ...names }) => ({
    resource: { group, version, ...names },
    verbs,
    isAggregated,
    shortNames,
  }))
}
