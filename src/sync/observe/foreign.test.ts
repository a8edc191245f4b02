import { expect, test } from 'vitest'
import type { ObservedMeta, ObservedObject } from '../observed.ts'
import { seen, setId } from './fixture-objects.ts'
import { foreignOwner } from './foreign.ts'

const partOf = (id: string) => ({ labels: { 'applyset.kubernetes.io/part-of': id } })

test.for<[string, ObservedMeta, Partial<Pick<ObservedObject, 'managers'>>, string | undefined, RegExp?]>([
  ['nobody', {}, {}, undefined],
  ['this very set', partOf(setId), {}, undefined],
  [
    'this very set, though others marked it too',
    { labels: { ...partOf(setId).labels, 'kapp.k14s.io/app': '1' } },
    {},
    undefined,
  ],
  ['another ApplySet', partOf('applyset-x-v1'), {}, 'applyset', /applyset-x-v1/],
  ['an ApplySet of kubectl', partOf('applyset-x-v1'), { managers: ['kubectl-applyset'] }, 'kubectl', /of kubectl/],
  [
    'another Sync',
    partOf('applyset-x-v1'),
    { managers: ['fettle-sync-bank'] },
    'fettle-sync-bank',
    /another Sync, bank/,
  ],
  [
    'another Sync, by its fields',
    { ...partOf('applyset-x-v1'), managedFields: [{ manager: 'fettle-sync-bank' }] },
    {},
    'fettle-sync-bank',
  ],
  ['Flux', { labels: { 'kustomize.toolkit.fluxcd.io/name': 'apps' } }, {}, 'flux', /Kustomization apps/],
  ['Flux with Helm', { labels: { 'helm.toolkit.fluxcd.io/name': 'apps' } }, {}, 'flux', /HelmRelease apps/],
  ['Flux version 1', { labels: { 'fluxcd.io/sync-gc-mark': 'sha256.x' } }, {}, 'flux'],
  [
    'Argo CD',
    { annotations: { 'argocd.argoproj.io/tracking-id': 'shop:apps/Deployment:shop/web' } },
    {},
    'argocd',
    /Application shop$/,
  ],
  ['Argo CD by label', { labels: { 'argocd.argoproj.io/instance': 'shop' } }, {}, 'argocd', /Application shop$/],
  ['Fleet', { labels: { 'objectset.rio.cattle.io/hash': 'x' } }, {}, 'fleet'],
  ['kapp', { labels: { 'kapp.k14s.io/app': '1699' } }, {}, 'kapp'],
  ['kpt', { annotations: { 'config.k8s.io/owning-inventory': 'x' } }, {}, 'cli-utils'],
  ['Config Sync', { annotations: { 'configmanagement.gke.io/managed': 'enabled' } }, {}, 'config-sync'],
  ['Helm', { annotations: { 'meta.helm.sh/release-name': 'web' } }, {}, 'helm', /release web/],
  // Written by a chart, and kept by whoever applies what the chart renders.
  ['nobody, though a chart rendered it', { labels: { 'app.kubernetes.io/managed-by': 'Helm' } }, {}, undefined],
  ['nobody, though it is an instance', { labels: { 'app.kubernetes.io/instance': 'web' } }, {}, undefined],
])('%s', ([, metadata, more, tool, why]) => {
  const owner = foreignOwner(seen('ConfigMap shop/a', metadata, more), setId)
  expect(owner?.tool).toBe(tool)
  if (why) expect(owner?.why).toMatch(why)
})
