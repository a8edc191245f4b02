import { expect, test } from 'vitest'
import { ApiError, type KubeClient, type KubeErrorCode, type ListPage } from '../../kube/index.ts'
import { isSystemMade, refusalOf } from './refusals.ts'

const definitionKey = {
  group: 'apiextensions.k8s.io',
  kind: 'CustomResourceDefinition',
  namespace: '',
  name: 'widgets.example.com',
}
const notServed =
  'its kind is not served, so nobody can say whether objects of it exist; deleting the definition would delete them'
const { signal } = new AbortController()

/** A server with one definition, and what a list of its kind answers. */
function played(versions: readonly object[], list: readonly ListPage<object>[] | KubeErrorCode): KubeClient {
  return {
    get: () =>
      Promise.resolve({
        metadata: {},
        spec: { group: 'example.com', scope: 'Namespaced', names: { plural: 'widgets', kind: 'Widget' }, versions },
      }),
    list: async function* () {
      await Promise.resolve()
      if (typeof list === 'string') throw new ApiError({ code: list, method: 'GET', path: '/widgets', seen: 'refused' })
      yield* list
    },
  } as unknown as KubeClient
}

const served = [
  { name: 'v1alpha1', served: false },
  { name: 'v1', served: true },
]
const page = (names: readonly string[], remaining?: number): ListPage<object> => ({
  items: names.map((name) => ({ metadata: { name, namespace: 'shop' } })),
  resourceVersion: '1',
  ...(remaining === undefined ? {} : { remaining }),
})

test.for([
  ['no objects of its kind', served, [page([])], undefined],
  ['one', served, [page(['a'])], 'deleting it would delete an object of its kind: shop/a; delete that first'],
  [
    'many',
    served,
    [page(['a', 'b', 'c'], 7)],
    'deleting it would delete 10 objects of its kind: shop/a, shop/b, shop/c and 7 more; delete that first',
  ],
  ['no served version', [{ name: 'v1', served: false }], [], notServed],
  ['a kind that is not there', served, 'NotFound' as const, notServed],
] as const)('a definition with %s', async ([, versions, list, why]) => {
  expect(await refusalOf(played(versions, list), definitionKey, signal)).toBe(why)
})

test('a definition whose objects may not be listed is in doubt, and doubt throws', async () => {
  await expect(refusalOf(played(served, 'Forbidden'), definitionKey, signal)).rejects.toMatchObject({
    code: 'Forbidden',
  })
})

test.for([
  { group: '', kind: 'ConfigMap' },
  { group: 'example.com', kind: 'Namespace' },
  { group: 'example.com', kind: 'CustomResourceDefinition' },
])('$kind.$group takes nothing with it, and nobody is asked', async (kind) => {
  const silent = {} as KubeClient
  expect(await refusalOf(silent, { ...kind, namespace: '', name: 'a' }, signal)).toBeUndefined()
})

test.for([
  ['', 'ServiceAccount', 'default', true],
  ['', 'ServiceAccount', 'web', false],
  ['', 'ConfigMap', 'kube-root-ca.crt', true],
  ['', 'ConfigMap', 'settings', false],
  ['', 'Event', 'a', true],
  ['events.k8s.io', 'Event', 'a', true],
  ['example.com', 'Event', 'a', false],
  ['', 'Pod', 'default', false],
  ['', 'Secret', 'default', false],
  ['coordination.k8s.io', 'Lease', 'a', false],
] as const)('%s %s %s is made by the system: %s', ([group, kind, name, isMade]) => {
  expect(isSystemMade({ key: { group, kind, namespace: 'shop', name } })).toBe(isMade)
})
