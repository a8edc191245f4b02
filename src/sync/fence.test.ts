import { expect, test } from 'vitest'
import { fenceOf } from './fence.ts'

const kinds = [{ kind: 'ClusterRole', group: 'rbac.authorization.k8s.io', names: '*' }]
const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/a'

test.for([
  ['GET', '/api/v1/namespaces/other/secrets', [], true],
  ['PATCH', '/api/v1/namespaces/shop/configmaps/a', [], true],
  ['DELETE', '/apis/apps/v1/namespaces/shop/deployments/a', [], true],
  ['POST', '/api/v1/namespaces/shop/secrets', [], true],
  ['PATCH', '/api/v1/namespaces/shop', [], true],
  ['PATCH', '/api/v1/namespaces/other', [], false],
  ['DELETE', '/api/v1/namespaces/other/configmaps/a', kinds, false],
  ['DELETE', '/api/v1/namespaces/shop%2F..%2Fother/configmaps/a', kinds, false],
  ['DELETE', '/api/v1/namespaces/shopping/configmaps/a', [], false],
  ['DELETE', '/api/v1/namespaces', kinds, false],
  ['DELETE', '/api/v1/configmaps', kinds, false],
  ['PATCH', role, [], false],
  ['PATCH', role, kinds, true],
  ['delete', role, [], false],
  ['POST', '/', kinds, false],
] as const)('%s %s', ([method, path, clusterKinds, isAllowed]) => {
  expect(fenceOf({ namespaces: ['shop'], clusterKinds })(method, path) === undefined).toBe(isAllowed)
})
