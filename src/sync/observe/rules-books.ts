import type { ObservedObject } from '../observed.ts'
import { type ProtectionRule, when } from './protection-rule.ts'
import { bookkeepingKinds, isOneOf } from './system-kinds.ts'

const applySetId = 'applyset.kubernetes.io/id'
const ownName = 'fettle-sync-'

/** What we and other programs remember in the cluster. */
export const bookRules: readonly ProtectionRule[] = [
  {
    rule: 'self',
    why: (object, { setId }) => when(isOwnBook(object, setId), 'Fettle keeps here what it knows about a Sync'),
  },
  {
    rule: 'self',
    isForStrangers: true,
    why: ({ key, metadata }) =>
      when(
        key.group === 'fettle.dev' || metadata.labels?.['app.kubernetes.io/name'] === 'fettle',
        'it is part of Fettle itself',
      ),
  },
  {
    rule: 'parent',
    why: ({ metadata: { labels = {} } }) => {
      if (labels[applySetId] !== undefined) return `it is the parent of the ApplySet ${labels[applySetId]}`
      if (labels['kapp.k14s.io/is-app'] !== undefined) return 'kapp remembers an app in it'
      if (labels['kapp.k14s.io/is-app-change'] !== undefined) return 'kapp remembers a change of an app in it'
      return when(
        labels['cli-utils.sigs.k8s.io/inventory-id'] !== undefined,
        'kpt or another program with cli-utils remembers in it what it applied',
      )
    },
  },
  {
    rule: 'parent',
    isForStrangers: true,
    why: ({ key, metadata: { labels = {} } }) => {
      if (isOneOf(key, bookkeepingKinds)) return `a ${key.kind} tells another program what to apply`
      if (labels['argocd.argoproj.io/secret-type'] !== undefined) return 'Argo CD reads its settings from it'
      const part = labels['app.kubernetes.io/part-of']
      return when(part === 'argocd' || part === 'flux', `it is part of ${part === 'flux' ? 'Flux' : 'Argo CD'} itself`)
    },
  },
  {
    rule: 'helm-release',
    why: (object) => when(isHelmRelease(object), 'Helm remembers a release in it'),
  },
]

function isOwnBook({ key, type, metadata: { labels = {} } }: ObservedObject, setId: string): boolean {
  if (labels[applySetId] === setId) return true
  const isBook = (key.group === '' && key.kind === 'Secret') || key.kind === 'Lease' || key.kind === 'ConfigMap'
  if (!isBook) return false
  return key.name.startsWith(ownName) || labels['fettle.dev/sync'] !== undefined || type === 'fettle.dev/sync-inventory'
}

function isHelmRelease({ key, type, metadata: { labels = {} } }: ObservedObject): boolean {
  if (key.group !== '' || (key.kind !== 'Secret' && key.kind !== 'ConfigMap')) return false
  // Helm 2 wrote its labels in capitals.
  return type === 'helm.sh/release.v1' || labels['owner'] === 'helm' || labels['OWNER'] === 'TILLER'
}
