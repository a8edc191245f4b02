import type { ObservedObject } from '../observed.ts'

export interface ForeignOwner {
  /** As `adoptFrom` names it. */
  readonly tool: string
  readonly why: string
}

export const partOfLabel = 'applyset.kubernetes.io/part-of'

interface Marker {
  readonly tool: string
  readonly on: 'labels' | 'annotations'
  readonly name: string
  /** The value tells whom it belongs to. */
  readonly says: (value: string) => string
}

/** How programs mark what they manage. Labels that charts carry by themselves are no proof and not among them. */
const markers: readonly Marker[] = [
  {
    tool: 'flux',
    on: 'labels',
    name: 'kustomize.toolkit.fluxcd.io/name',
    says: (value) => `Flux applies it for Kustomization ${value}`,
  },
  {
    tool: 'flux',
    on: 'labels',
    name: 'helm.toolkit.fluxcd.io/name',
    says: (value) => `Flux installs it for HelmRelease ${value}`,
  },
  {
    tool: 'flux',
    on: 'labels',
    name: 'fluxcd.io/sync-gc-mark',
    says: () => 'Flux version 1 collects it',
  },
  {
    tool: 'argocd',
    on: 'annotations',
    name: 'argocd.argoproj.io/tracking-id',
    says: (value) => `Argo CD applies it for Application ${value.split(':')[0]}`,
  },
  {
    tool: 'argocd',
    on: 'labels',
    name: 'argocd.argoproj.io/instance',
    says: (value) => `Argo CD applies it for Application ${value}`,
  },
  {
    tool: 'fleet',
    on: 'labels',
    name: 'objectset.rio.cattle.io/hash',
    says: () => 'Fleet or another program of Rancher applies it as part of an object set',
  },
  {
    tool: 'kapp',
    on: 'labels',
    name: 'kapp.k14s.io/app',
    says: (value) => `kapp deploys it as part of app ${value}`,
  },
  {
    tool: 'config-sync',
    on: 'annotations',
    name: 'configmanagement.gke.io/managed',
    says: () => 'Config Sync manages it',
  },
  {
    tool: 'cli-utils',
    on: 'annotations',
    name: 'config.k8s.io/owning-inventory',
    says: (value) => `it is in inventory ${value} of kpt or another program with cli-utils`,
  },
  {
    tool: 'helm',
    on: 'annotations',
    name: 'meta.helm.sh/release-name',
    says: (value) => `Helm installed it with release ${value}`,
  },
]

/** Names of labels and annotations by which others mark what is theirs. */
export const foreignMarks: ReadonlySet<string> = new Set([
  ...markers.map(({ name }) => name),
  partOfLabel,
  'kustomize.toolkit.fluxcd.io/namespace',
  'helm.toolkit.fluxcd.io/namespace',
  'kapp.k14s.io/association',
  'kapp.k14s.io/identity',
  'kapp.k14s.io/original',
  'kapp.k14s.io/original-diff-md5',
  'objectset.rio.cattle.io/applied',
  'objectset.rio.cattle.io/id',
  'objectset.rio.cattle.io/owner-gvk',
  'objectset.rio.cattle.io/owner-name',
  'objectset.rio.cattle.io/owner-namespace',
  'meta.helm.sh/release-namespace',
])

/** Who else manages an object, by the marks on it; undefined if nobody says so, or if it is of this very set. */
export function foreignOwner(object: ObservedObject, setId: string): ForeignOwner | undefined {
  const { labels, annotations } = object.metadata
  const set = labels?.[partOfLabel]
  if (set === setId) return undefined
  if (set !== undefined) return ownerOfSet(object, set)
  for (const { tool, on, name, says } of markers) {
    const value = (on === 'labels' ? labels : annotations)?.[name]
    if (value !== undefined) return { tool, why: says(value) }
  }
  return undefined
}

/** The label names a set and not its program; who wrote the object tells more. */
function ownerOfSet({ managers = [], metadata }: ObservedObject, set: string): ForeignOwner {
  const names = [...managers, ...(metadata.managedFields ?? []).flatMap(({ manager }) => manager ?? [])]
  const sync = names.find((name) => name.startsWith('fettle-sync-'))
  if (sync !== undefined) return { tool: sync, why: `it belongs to another Sync, ${sync.slice('fettle-sync-'.length)}` }
  const tool = names.includes('kubectl-applyset') ? 'kubectl' : 'applyset'
  return { tool, why: `it belongs to the ApplySet ${set}${tool === 'kubectl' ? ' of kubectl' : ''}` }
}
