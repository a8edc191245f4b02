import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Key } from '../key.ts'
import {
  isForeignTooling,
  parentAnnotations,
  parentLabels,
  type Reach,
  reachOf,
  readReach,
  type SetParent,
  setIdOf,
  toolingAnnotation,
  widened,
} from './apply-set.ts'

const parent: SetParent = { name: 'fettle-sync-shop', namespace: 'shop', kind: 'Secret', group: '' }
const key = (kind: string, group: string, namespace: string): Key => ({ kind, group, namespace, name: 'a' })

test('the id is the hash of name, namespace, kind and group, empty parts kept, and fits into a label', () => {
  const hash = createHash('sha256').update('fettle-sync-shop.shop.Secret.').digest('base64')
  const urlSafe = hash.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  expect(setIdOf(parent)).toBe(`applyset-${urlSafe}-v1`)
  expect(setIdOf(parent).length).toBeLessThanOrEqual(63)
  expect(setIdOf({ ...parent, namespace: 'other' })).not.toBe(setIdOf(parent))
  expect(parentLabels(parent)).toEqual({ 'applyset.kubernetes.io/id': setIdOf(parent) })
})

test('kinds and namespaces are told sorted, once each, without the own namespace and without the cluster', () => {
  const keys = [
    key('Service', '', 'shop'),
    key('Deployment', 'apps', 'web'),
    key('Deployment', 'apps', 'shop'),
    key('ClusterRole', 'rbac.authorization.k8s.io', ''),
    key('ConfigMap', '', 'api'),
  ]
  expect(parentAnnotations(reachOf(keys, parent), '1.2.3')).toEqual({
    'applyset.kubernetes.io/tooling': 'fettle/v1.2.3',
    'applyset.kubernetes.io/contains-group-kinds':
      'ClusterRole.rbac.authorization.k8s.io,ConfigMap,Deployment.apps,Service',
    'applyset.kubernetes.io/additional-namespaces': 'api,web',
  })
})

test('an empty set says so, since kubectl refuses one that says nothing', () => {
  const annotations = parentAnnotations(reachOf([], parent), '1.2.3')
  expect(annotations).toMatchObject({ 'applyset.kubernetes.io/contains-group-kinds': '' })
  expect(readReach(annotations)).toEqual({ groupKinds: [], namespaces: [] })
})

test('what was told is read back, and two sets of kinds become one', () => {
  const one: Reach = { groupKinds: ['ConfigMap', 'Job.batch'], namespaces: ['b'] }
  expect(readReach(parentAnnotations(one, '1'))).toEqual(one)
  expect(widened(one, { groupKinds: ['Deployment.apps', 'Job.batch'], namespaces: ['a'] })).toEqual({
    groupKinds: ['ConfigMap', 'Deployment.apps', 'Job.batch'],
    namespaces: ['a', 'b'],
  })
  expect(readReach(undefined)).toEqual({ groupKinds: [], namespaces: [] })
})

test.for([
  ['fettle/v0.1.0', false],
  ['fettle/v9.9.9-rc.1', false],
  ['fettle', false],
  ['kubectl/v1.32.0', true],
  ['fettle/other/v1', true],
  ['fettler/v1', true],
  ['', true],
  [undefined, true],
] as const)('tooling %s is foreign: %s', ([tooling, isForeign]) => {
  expect(isForeignTooling(tooling === undefined ? {} : { [toolingAnnotation]: tooling })).toBe(isForeign)
})
