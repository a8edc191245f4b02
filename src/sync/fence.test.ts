import { expect, test } from 'vitest'
import { fenceOf } from './fence.ts'

const rbac = 'rbac.authorization.k8s.io'
const clusterKinds = [
  { kind: 'ClusterRole', group: rbac, names: 'shop-*' },
  { kind: 'StorageClass', group: 'storage.k8s.io', names: '*' },
  { kind: 'GlobalNetworkPolicy', group: 'crd.example.org', names: 'shop' },
  { kind: 'Namespace', group: '', names: 'team-*' },
]
const here = '/api/v1/namespaces/shop'
const roles = `/apis/${rbac}/v1/clusterroles`

const isOpen = (method: string, path: string, kinds: typeof clusterKinds = clusterKinds) =>
  fenceOf({ namespaces: ['shop'], clusterKinds: kinds })(method, path) === undefined

test.for([
  ['GET', '/api/v1/namespaces/other/secrets'],
  ['GET', '/apis'],
  ['PATCH', `${here}/configmaps/a`],
  ['PUT', `${here}/secrets/fettle-sync-shop`],
  ['DELETE', '/apis/apps/v1/namespaces/shop/deployments/a'],
  ['POST', `${here}/secrets`],
  ['PATCH', here],
  ['DELETE', here],
  ['PATCH', `/apis/${rbac}/v1/namespaces/shop/roles/system%3Areader`],
  // A name may be what is a word of paths elsewhere.
  ['PATCH', `${here}/configmaps/namespaces`],
  ['PATCH', `${here}/configmaps/status`],
  ['PATCH', '/api/v1/namespaces/team-a'],
  ['PATCH', `${roles}/shop-reader`],
  ['delete', `${roles}/shop-reader`],
  ['PATCH', `${roles}/shop-a%3Ab`],
  ['PATCH', '/apis/storage.k8s.io/v1/storageclasses/fast'],
  ['PATCH', '/apis/crd.example.org/v1/globalnetworkpolicies/shop'],
] as const)('open: %s %s', ([method, path]) => {
  expect(isOpen(method, path)).toBe(true)
})

test.for([
  // Elsewhere.
  ['PATCH', '/api/v1/namespaces/other'],
  ['DELETE', '/api/v1/namespaces/other/configmaps/a'],
  ['DELETE', '/api/v1/namespaces/shopping/configmaps/a'],
  ['DELETE', '/api/v1/namespaces/team-a/configmaps/a'],
  ['PATCH', '/apis/other.example.org/v1/namespaces/shop'],
  // Another kind, group or name of the whole cluster than those allowed.
  ['PATCH', `${roles}/other`],
  ['PATCH', `${roles}/a-shop-reader`],
  ['PATCH', `/apis/${rbac}/v1/clusterrolebindings/shop-reader`],
  ['PATCH', '/apis/other.example.org/v1/clusterroles/shop-reader'],
  ['PATCH', '/api/v1/clusterroles/shop-reader'],
  ['PATCH', '/api/v1/nodes/shop-1'],
  ['PATCH', '/apis/crd.example.org/v1/globalnetworkpolicies/shop-2'],
  // Whole collections, and what would be made under a name that the path does not say.
  ['DELETE', `${here}/configmaps`],
  ['DELETE', '/api/v1/namespaces'],
  ['DELETE', '/api/v1/configmaps'],
  ['DELETE', roles],
  ['PATCH', roles],
  ['POST', roles],
  ['POST', '/api/v1/namespaces'],
  ['POST', `${roles}/shop-reader`],
  ['POST', here],
  ['POST', `${here}/configmaps/a`],
  // Subresources.
  ['PUT', `${here}/finalize`],
  ['PUT', `${here}/status`],
  ['PATCH', `${here}/status/a`],
  ['POST', `${here}/pods/a/exec`],
  ['POST', `${here}/pods/a/eviction`],
  ['POST', `${here}/serviceaccounts/default/token`],
  ['POST', `${here}/services/a/proxy/api/v1/namespaces/shop/configmaps`],
  ['PATCH', '/apis/apps/v1/namespaces/shop/deployments/a/scale'],
  ['PATCH', `${roles}/shop-reader/status`],
  ['PUT', '/api/v1/namespaces/team-a/finalize'],
  // Parts that the server could read as others.
  ['DELETE', '/api/v1/namespaces/shop%2F..%2Fother/configmaps/a'],
  ['DELETE', `${here}/configmaps/..%2F..%2Fother%2Fconfigmaps%2Fa`],
  ['DELETE', `${here}/configmaps/%252e%252e`],
  ['DELETE', `${here}/../other/configmaps/a`],
  ['DELETE', `${here}/configmaps/..`],
  ['DELETE', `${here}/configmaps/%2e%2e`],
  ['DELETE', `${here}/configmaps/.`],
  ['DELETE', `${here}/..`],
  ['DELETE', '/apis/../v1/namespaces/shop/configmaps/a'],
  ['DELETE', '/apis/apps/../namespaces/shop/configmaps/a'],
  ['DELETE', `${here}//configmaps/a`],
  ['DELETE', `${here}/configmaps/`],
  ['DELETE', '/api/v1/namespaces//configmaps/a'],
  ['DELETE', `/${here}/configmaps/a`],
  ['DELETE', `${here}/configmaps/a?propagationPolicy=Orphan`],
  ['DELETE', `${here}/configmaps?x=/a`],
  ['DELETE', `${roles}/other?name=shop-reader`],
  ['DELETE', `${here}/configmaps/a#b`],
  ['DELETE', `${here}/configmaps/a;b`],
  ['DELETE', `${here}/configmaps\\a`],
  ['DELETE', `${here}/configmaps/a%00`.replace('%00', '\0')],
  ['DELETE', `${here}/configmaps/a\n`],
  ['DELETE', `${here}/configmaps/%zz`],
  ['DELETE', `${roles}/%73hop-reader`],
  ['PATCH', `${roles}/shop-%2F..%2Fother`],
  // Upper case.
  ['DELETE', '/api/v1/Namespaces/shop/configmaps/a'],
  ['DELETE', '/api/v1/namespaces/SHOP/configmaps/a'],
  ['DELETE', `${here}/ConfigMaps/a`],
  ['DELETE', `/APIS/${rbac}/v1/clusterroles/shop-reader`],
  ['DELETE', `/apis/${rbac}/v1/ClusterRoles/shop-reader`],
  ['DELETE', `${roles}/SHOP-reader`],
  // No objects at all.
  ['POST', '/'],
  ['POST', ''],
  ['PATCH', '/version'],
  ['PATCH', 'https://other.example.org/api/v1/namespaces/shop/configmaps/a'],
  ['CONNECT', `${here}/configmaps`],
] as const)('shut: %s %j', ([method, path]) => {
  expect(isOpen(method, path)).toBe(false)
})

test('without a kind of the whole cluster, none of it is open', () => {
  expect(isOpen('PATCH', `${roles}/shop-reader`, [])).toBe(false)
  expect(isOpen('PATCH', `${here}/configmaps/a`, [])).toBe(true)
})

test('a refusal says what was meant, and what would allow it', () => {
  const fence = fenceOf({ namespaces: ['shop'], clusterKinds: [] })
  expect(fence('PATCH', '/api/v1/namespaces/other/configmaps/a')).toBe('the Sync may not write in namespace other')
  expect(fence('PATCH', `${roles}/a`)).toBe(
    `the Sync may not write clusterroles.${rbac} a, which is of the whole cluster; allow it with --cluster-kind`,
  )
})
