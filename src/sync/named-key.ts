import type { Resource } from '../kube/index.ts'
import type { Key } from './key.ts'
import type { KnownCatalog } from './observe/catalog.ts'

/** What a person named is not one object: a sentence that says what to write instead. */
export interface Unnamed {
  readonly problem: string
}

/**
 * `Kind[.group]/name` or `Kind[.group]/namespace/name`, as people write it: small letters, plurals, short names, and
 * without the group where the kind says it all. Where several groups have the kind, it is the one of Kubernetes' core
 * that is meant.
 */
export function namedKey(text: string, namespace: string, catalog: Pick<KnownCatalog, 'kinds'>): Key | Unnamed {
  const [what = '', ...rest] = text.split('/')
  const [kind = '', ...groups] = what.split('.')
  const [first = '', second] = rest
  if (kind === '' || first === '' || second === '' || rest.length > 2)
    return { problem: `'${text}' names no object: say Kind[.group]/name, such as Deployment.apps/web` }
  const group = groups.join('.')
  const alike = kindsCalled(kind.toLowerCase(), group, catalog)
  const served = alike.find((one) => one.group === '') ?? alike[0]
  const place = second === undefined ? namespace : first
  const name = second ?? first
  if (!served) {
    // Of a kind that is no longer served there may still be something to tell.
    if (group !== '') return { group, kind, namespace: place, name }
    return { problem: `the server knows no kind ${kind}; say it in full, such as Deployment.apps/web` }
  }
  if (served.group !== '' && new Set(alike.map((one) => one.group)).size > 1) {
    const choices = alike.map((one) => `${one.kind}.${one.group}/${name}`).join(' or ')
    return { problem: `several groups have a kind ${kind}: say ${choices}` }
  }
  return { group: served.group, kind: served.kind, namespace: served.namespaced ? place : '', name }
}

/** A name in full comes before a short one: nothing hides a kind by abbreviating its own like it. */
function kindsCalled(said: string, group: string, { kinds }: Pick<KnownCatalog, 'kinds'>): readonly Resource[] {
  const meant = kinds.filter(({ resource }) => group === '' || group === resource.group)
  const inFull = meant.filter(({ resource }) => said === resource.kind.toLowerCase() || said === resource.plural)
  const called = inFull.length > 0 ? inFull : meant.filter(({ shortNames }) => shortNames?.includes(said))
  return called.map(({ resource }) => resource)
}
