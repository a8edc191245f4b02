import type { Json } from '../json.ts'
import { listAt, objectAt, textAt, textsAt } from './json-parts.ts'

/** One kind in one version of a group, as discovery tells of it. */
export interface DiscoveredKind {
  readonly plural: string
  readonly kind: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  /** As people abbreviate it: `deploy`. */
  readonly shortNames: readonly string[]
}

/** One version of a group. */
export interface DiscoveredVersion {
  readonly group: string
  readonly version: string
  readonly kinds: readonly DiscoveredKind[]
  /** Why the kinds are not, or no longer, known for sure. */
  readonly doubt?: string
}

/** The kinds of `/api` or `/apis` in the aggregated form, preferred versions first; undefined if the answer has another form. */
export function readAggregated(answer: Json): readonly DiscoveredVersion[] | undefined {
  if (textAt(answer, 'kind') !== 'APIGroupDiscoveryList') return undefined
  return listAt(answer, 'items').flatMap((item) => {
    const group = textAt(objectAt(item, 'metadata'), 'name') ?? ''
    return listAt(item, 'versions').map((version) => aggregatedVersion(group, version))
  })
}

function aggregatedVersion(group: string, answer: Json): DiscoveredVersion {
  const version = textAt(answer, 'version') ?? ''
  const resources = listAt(answer, 'resources')
  const kinds = resources.flatMap((resource) => {
    const plural = textAt(resource, 'resource')
    // The group of the URL counts, not that of the answer: it is what requests are sent to.
    const kind = textAt(objectAt(resource, 'responseKind'), 'kind')
    if (!plural || !kind) return []
    const namespaced = textAt(resource, 'scope') === 'Namespaced'
    return [{ plural, kind, namespaced, ...listsOf(resource) }]
  })
  const doubt = doubtOf(textAt(answer, 'freshness'), kinds.length < resources.length)
  return { group, version, kinds, ...(doubt === undefined ? {} : { doubt }) }
}

function listsOf(resource: Json): Pick<DiscoveredKind, 'verbs' | 'shortNames'> {
  return { verbs: textsAt(resource, 'verbs'), shortNames: textsAt(resource, 'shortNames') }
}

function doubtOf(freshness: string | undefined, isPartial: boolean): string | undefined {
  if (freshness === 'Stale') return 'the API server could not ask the program that serves it for its kinds'
  return isPartial ? 'discovery names resources without their kind' : undefined
}

/** The versions of which the older form of `/api` or `/apis` tells, the preferred one of each group first. */
export function readVersionNames(answer: Json): readonly { readonly group: string; readonly version: string }[] {
  if (textAt(answer, 'kind') === 'APIVersions') {
    return textsAt(answer, 'versions').map((version) => ({ group: '', version }))
  }
  return listAt(answer, 'groups').flatMap((item) => {
    const preferred = textAt(objectAt(item, 'preferredVersion'), 'version')
    const versions = listAt(item, 'versions').flatMap((version) => textAt(version, 'version') ?? [])
    return [...versions.filter((one) => one === preferred), ...versions.filter((one) => one !== preferred)].map(
      (version) => ({ group: textAt(item, 'name') ?? '', version }),
    )
  })
}

/** The kinds of one version, in the older form. */
export function readResourceList(group: string, version: string, answer: Json): DiscoveredVersion {
  const kinds = listAt(answer, 'resources').flatMap((resource) => {
    const [plural, kind] = [textAt(resource, 'name'), textAt(resource, 'kind')]
    // A slash makes it a part of another resource: pods/log.
    if (!plural || !kind || plural.includes('/')) return []
    const namespaced = (resource as { readonly namespaced?: Json }).namespaced === true
    return [{ plural, kind, namespaced, ...listsOf(resource) }]
  })
  const isList = textAt(answer, 'kind') === 'APIResourceList'
  return { group, version, kinds, ...(isList ? {} : { doubt: 'the answer is not a list of resources' }) }
}
