import { expect, test } from 'vitest'
import type { ServedKind } from '../observed.ts'
import { type Look, looksOf, type ObserveScope } from './looks.ts'

const everyVerb = ['create', 'delete', 'get', 'list']

function kind(
  apiVersion: string,
  kind: string,
  more: Partial<ServedKind> & { readonly isWide?: true } = {},
): ServedKind {
  const [version = '', group = ''] = apiVersion.split('/').reverse()
  const { verbs = everyVerb, isAggregated = false, isWide } = more
  const resource = { group, version, kind, plural: `${kind.toLowerCase()}s`, namespaced: isWide !== true }
  return { resource, verbs, isAggregated }
}

const kinds = [
  kind('v1', 'ConfigMap'),
  kind('v1', 'Secret'),
  kind('v1', 'ServiceAccount'),
  kind('v1', 'PersistentVolumeClaim'),
  kind('apps/v1', 'StatefulSet'),
  kind('v1', 'Namespace', { isWide: true }),
  kind('rbac.authorization.k8s.io/v1', 'ClusterRole', { isWide: true }),
  kind('autoscaling/v2', 'HorizontalPodAutoscaler'),
  kind('metrics.k8s.io/v1', 'PodMetrics', { verbs: ['get', 'list'], isAggregated: true }),
  kind('authorization.k8s.io/v1', 'LocalSubjectAccessReview', { verbs: ['create'] }),
  kind('odd.io/v1', 'Unlistable', { verbs: ['get', 'delete'] }),
  kind('other.io/v1', 'Mirror', { isAggregated: true }),
]
const catalog = {
  kinds,
  unknown: [],
  versionsOf: (_: string, name: string) =>
    kinds
      .filter(({ resource }) => resource.kind === name)
      .flatMap((one) => [
        one,
        ...(name === 'HorizontalPodAutoscaler' ? [kind('autoscaling/v1', 'HorizontalPodAutoscaler')] : []),
      ]),
}
const scope = (more: Partial<ObserveScope>): ObserveScope => ({
  namespaces: ['shop'],
  kinds: 'all',
  full: [],
  declaredSecrets: new Set(),
  ...more,
})
const lines = (looks: readonly Look[]) =>
  looks.map(({ served: { resource }, isFull, namespace = '-' }) =>
    [resource.version, resource.kind, namespace, ...(isFull ? ['full'] : [])].join(' '),
  )

test('all kinds that live in namespaces and can be deleted are listed; what cannot be listed is unknown', () => {
  const { looks, unknown } = looksOf(catalog, scope({}))
  expect(lines(looks)).toEqual([
    'v1 ConfigMap shop',
    'v1 Secret shop',
    'v1 ServiceAccount shop',
    'v1 PersistentVolumeClaim shop',
    'v1 StatefulSet shop',
    'v2 HorizontalPodAutoscaler shop',
    'v1 Mirror shop',
  ])
  expect(unknown).toEqual([{ group: 'odd.io', kind: 'Unlistable', why: 'the server does not list this kind' }])
})

test.for<[string, Partial<ObserveScope>, readonly string[]]>([
  ['only those that are named', { kinds: [{ apiVersion: 'v1', kind: 'ConfigMap' }] }, ['v1 ConfigMap shop']],
  [
    'each allowed namespace',
    { kinds: [{ apiVersion: 'v1', kind: 'ConfigMap' }], namespaces: ['a', 'b'] },
    ['v1 ConfigMap a', 'v1 ConfigMap b'],
  ],
  [
    'whole objects in the version that is named',
    { kinds: [], full: [{ apiVersion: 'autoscaling/v1', kind: 'HorizontalPodAutoscaler' }] },
    ['v1 HorizontalPodAutoscaler shop full'],
  ],
  [
    'the last one of two versions',
    {
      kinds: [],
      full: [
        { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' },
        { apiVersion: 'autoscaling/v1', kind: 'HorizontalPodAutoscaler' },
      ],
    },
    ['v1 HorizontalPodAutoscaler shop full'],
  ],
  [
    'the preferred version when the named one is served no more',
    { kinds: [], full: [{ apiVersion: 'autoscaling/v2beta2', kind: 'HorizontalPodAutoscaler' }] },
    ['v2 HorizontalPodAutoscaler shop full'],
  ],
  [
    'kinds of the whole cluster when they are named',
    { kinds: [], full: [{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' }] },
    ['v1 ClusterRole - full'],
  ],
  [
    'what tells whose a Secret is',
    { kinds: [{ apiVersion: 'v1', kind: 'Secret' }] },
    ['v1 Secret shop', 'v1 ServiceAccount shop'],
  ],
  [
    'what tells whose a claim is',
    { kinds: [{ apiVersion: 'v1', kind: 'PersistentVolumeClaim' }] },
    ['v1 PersistentVolumeClaim shop', 'v1 StatefulSet shop'],
  ],
  ['nothing of a kind that nobody serves', { kinds: [{ apiVersion: 'x.io/v1', kind: 'Gone' }] }, []],
  ['no Namespaces: they are read one by one', { kinds: [{ apiVersion: 'v1', kind: 'Namespace' }] }, []],
  ['the kind of the named group alone', { kinds: [{ apiVersion: 'other.io/v1', kind: 'ConfigMap' }] }, []],
])('lists %s', ([, more, expected]) => {
  expect(lines(looksOf(catalog, scope(more)).looks)).toEqual(expected)
})

test('a declared kind that cannot be listed is unknown', () => {
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'LocalSubjectAccessReview' }
  expect(looksOf(catalog, scope({ kinds: [], full: [review] }))).toEqual({
    looks: [],
    unknown: [
      { group: 'authorization.k8s.io', kind: 'LocalSubjectAccessReview', why: 'the server does not list this kind' },
    ],
  })
})

test('an aggregated group that does not answer is not asked for its kinds', () => {
  const down = { ...catalog, unknown: [{ group: 'other.io', why: 'down' }] }
  expect(lines(looksOf(down, scope({})).looks)).not.toContain('v1 Mirror shop')
})
