import { expect, test } from 'vitest'
import type { DeclaredObject } from './declared.ts'
import type { JsonObject } from './json.ts'
import { catalogOf } from './observe/catalog.ts'
import { fixturePolicy, keyFrom } from './observe/fixture-objects.ts'
import type { Policy } from './policy.ts'
import { rbacFor } from './rbac.ts'

const kind = (kindName: string, plural: string, namespaced = true) => ({
  ...{ kind: kindName, plural, namespaced, shortNames: [] },
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'watch'],
})
const catalog = catalogOf(
  [
    {
      ...{ group: '', version: 'v1' },
      kinds: [
        kind('ConfigMap', 'configmaps'),
        kind('Secret', 'secrets'),
        kind('ServiceAccount', 'serviceaccounts'),
        kind('Pod', 'pods'),
        kind('PersistentVolumeClaim', 'persistentvolumeclaims'),
        kind('Namespace', 'namespaces', false),
      ],
    },
    {
      ...{ group: 'apps', version: 'v1' },
      kinds: [
        kind('Deployment', 'deployments'),
        kind('ReplicaSet', 'replicasets'),
        kind('StatefulSet', 'statefulsets'),
      ],
    },
    { group: 'scheduling.k8s.io', version: 'v1', kinds: [kind('PriorityClass', 'priorityclasses', false)] },
    {
      ...{ group: 'apiextensions.k8s.io', version: 'v1' },
      kinds: [kind('CustomResourceDefinition', 'customresourcedefinitions', false)],
    },
  ],
  { aggregated: [], isAggregated: () => false },
)

function object(text: string, body: JsonObject = {}): DeclaredObject {
  const key = keyFrom(text)
  const apiVersion = key.group === '' ? 'v1' : `${key.group}/v1`
  return { key, apiVersion, body, from: { path: 'a.yaml', document: 1, line: 1 } }
}

interface Shown {
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly rules: readonly {
    readonly apiGroups: readonly string[]
    readonly resources: readonly string[]
    readonly resourceNames?: readonly string[]
    readonly verbs: readonly string[]
  }[]
}

/** Each role as lines: `group/resources[names]: verbs`. */
function roles(
  declared: readonly DeclaredObject[],
  members: readonly string[],
  more: Partial<Policy> = {},
): Record<string, readonly string[]> {
  const inventory = { members: members.map((text) => object(text)), strangers: {}, verdicts: [], approvals: [] }
  const found = {
    catalog,
    set: { objects: declared, digest: '' },
    memory: { inventory: { ...inventory, deletions: [] }, hashKey: Buffer.alloc(0), setId: '', isNew: false },
  }
  const printed = rbacFor(found, fixturePolicy({ mode: 'adopt', ...more }), 'robot') as unknown as readonly Shown[]
  const shown = printed
    .filter(({ rules }) => rules !== undefined)
    .map(({ kind: role, metadata: { name, namespace }, rules }) => [
      [role, namespace, name].filter(Boolean).join(' '),
      rules.map(({ apiGroups, resources, resourceNames, verbs }) => {
        const names = resourceNames ? `[${resourceNames.join()}]` : ''
        return `${apiGroups.join()}/${resources.join()}${names}: ${verbs.join(' ')}`
      }),
    ])
  return Object.fromEntries(shown) as Record<string, readonly string[]>
}

const memory = [
  '/secrets: get list watch create update',
  'coordination.k8s.io/leases: create',
  'coordination.k8s.io/leases[fettle-sync-shop]: get update',
]
const looks = ['/namespaces[shop]: get', '/pods: list watch', 'apps/replicasets: list']
const all = 'get list watch create patch delete'

test('a Sync that declares nothing may look at pods and what starts them, and remember', () => {
  const { 'Role shop fettle-sync-shop': rules = [], ...others } = roles([], [])
  expect([...rules].sort()).toEqual([...memory, ...looks].sort())
  expect(others).toEqual({})
})

test('what is declared is written, what is only remembered may go, and nothing else is open', () => {
  const { 'Role shop fettle-sync-shop': rules = [] } = roles(
    [object('ConfigMap shop/a'), object('Deployment.apps shop/web')],
    ['ConfigMap shop/a', 'ServiceAccount shop/only', 'ConfigMap elsewhere/b'],
  )
  expect([...rules].sort()).toEqual(
    [
      ...memory,
      ...looks,
      `/configmaps: ${all}`,
      `apps/deployments: ${all}`,
      '/serviceaccounts: get list watch delete',
    ].sort(),
  )
})

test('kinds that protect others are listed with them', () => {
  const { 'Role shop fettle-sync-shop': rules = [] } = roles([object('PersistentVolumeClaim shop/data')], [])
  expect(rules).toContain('apps/replicasets,statefulsets: list')
  expect(roles([object('Secret shop/a')], [])['Role shop fettle-sync-shop']).toEqual(
    expect.arrayContaining(['/serviceaccounts: list', '/secrets: get list watch create update patch delete']),
  )
})

test('each namespace has a role of its own, and only the first one the memory', () => {
  const both = roles([object('ConfigMap more/a')], [], { namespaces: ['shop', 'more'] })
  expect(Object.keys(both)).toEqual(['Role shop fettle-sync-shop', 'Role more fettle-sync-shop'])
  expect([...(both['Role more fettle-sync-shop'] ?? [])].sort()).toEqual(
    ['/namespaces[more]: get', '/pods: list watch', 'apps/replicasets: list', `/configmaps: ${all}`].sort(),
  )
})

test('of the whole cluster only the very objects may be written, and only allowed ones', () => {
  const clusterKinds = [{ kind: 'PriorityClass', group: 'scheduling.k8s.io', names: 'shop-*' }]
  const cluster = (more: Partial<Policy>) =>
    roles(
      [object('PriorityClass.scheduling.k8s.io shop-low'), object('Namespace shop')],
      ['PriorityClass.scheduling.k8s.io shop-old', 'PriorityClass.scheduling.k8s.io other'],
      more,
    )['ClusterRole fettle-sync-shop.shop']
  expect(cluster({ clusterKinds })).toEqual([
    '/namespaces: list watch',
    '/namespaces[shop]: get create patch delete',
    'scheduling.k8s.io/priorityclasses: list watch',
    'scheduling.k8s.io/priorityclasses[shop-low]: get create patch delete',
    'scheduling.k8s.io/priorityclasses[shop-old]: get delete',
  ])
  // It is seen that they are there, and no more.
  expect(cluster({})).toEqual([
    '/namespaces: list watch',
    '/namespaces[shop]: get create patch delete',
    'scheduling.k8s.io/priorityclasses: list',
  ])
})

test('a kind that the same commit defines is known by its definition, whose end needs a look everywhere', () => {
  const spec = { group: 'example.org', names: { kind: 'Mouse', plural: 'mice' } }
  const clusterKinds = [{ kind: 'CustomResourceDefinition', group: 'apiextensions.k8s.io', names: '*.example.org' }]
  const shown = roles(
    [
      object('Mouse.example.org shop/first'),
      object('CustomResourceDefinition.apiextensions.k8s.io mice.example.org', { spec }),
    ],
    [],
    { clusterKinds },
  )
  expect(shown['Role shop fettle-sync-shop']).toContain(`example.org/mice: ${all}`)
  expect(shown['ClusterRole fettle-sync-shop.shop']).toEqual([
    'apiextensions.k8s.io/customresourcedefinitions: list watch',
    'apiextensions.k8s.io/customresourcedefinitions[mice.example.org]: get create patch delete',
    'example.org/mice: list',
  ])
})

test('where a member is of a kind that nobody serves, definitions tell whether it is gone', () => {
  expect(roles([], ['Mouse.example.org shop/first'])['ClusterRole fettle-sync-shop.shop']).toEqual([
    'apiextensions.k8s.io/customresourcedefinitions: list',
  ])
})

test('who declares roles needs what they give, and leave to bind', () => {
  const reading = { apiGroups: [''], resources: ['events'], verbs: ['list'] }
  const bound = (kindName: string, name: string) => ({ roleRef: { kind: kindName, name } })
  const declared = [
    object('Role.rbac.authorization.k8s.io shop/reader', { rules: [reading] }),
    object('RoleBinding.rbac.authorization.k8s.io shop/own', bound('Role', 'reader')),
    object('RoleBinding.rbac.authorization.k8s.io shop/common', bound('ClusterRole', 'view')),
    object('ClusterRole.rbac.authorization.k8s.io shop-all', { rules: [reading] }),
    object('ClusterRole.rbac.authorization.k8s.io shop-gathered', { aggregationRule: {} }),
    object('ClusterRoleBinding.rbac.authorization.k8s.io shop-all', bound('ClusterRole', 'shop-all')),
  ]
  const clusterKinds = ['ClusterRole', 'ClusterRoleBinding'].map((kindName) => ({
    ...{ kind: kindName, group: 'rbac.authorization.k8s.io', names: 'shop-*' },
  }))
  const shown = roles(declared, [], { clusterKinds })
  expect(shown['Role shop fettle-sync-shop']).toEqual(
    expect.arrayContaining([
      'rbac.authorization.k8s.io/roles[reader]: bind',
      'rbac.authorization.k8s.io/clusterroles[view]: bind',
      '/events: list',
    ]),
  )
  expect(shown['ClusterRole fettle-sync-shop.shop']).toEqual(
    expect.arrayContaining([
      'rbac.authorization.k8s.io/clusterroles[shop-gathered]: escalate',
      'rbac.authorization.k8s.io/clusterroles[shop-all]: bind',
      '/events: list',
    ]),
  )
  expect(roles(declared, [], { mode: 'observe' })['Role shop fettle-sync-shop']).not.toContain('/events: list')
  expect(roles(declared, [])['ClusterRole fettle-sync-shop.shop']).toBeUndefined()
})

test('who deletes strangers names every kind, and who only looks writes nothing but the Lease', () => {
  const total = roles([object('ConfigMap shop/a')], [], { mode: 'total' })
  expect(total['Role shop fettle-sync-shop']).toEqual(
    expect.arrayContaining([
      `/configmaps: ${all}`,
      '/persistentvolumeclaims,pods,serviceaccounts: get list watch delete',
      'apps/deployments,replicasets,statefulsets: get list watch delete',
    ]),
  )
  expect(total['ClusterRole fettle-sync-shop.shop']).toEqual(['apiregistration.k8s.io/apiservices: list'])
  expect(JSON.stringify(total)).not.toContain('*')
  const observe = roles([object('ConfigMap shop/a')], ['ConfigMap shop/b'], { mode: 'observe' })
  const writing = (observe['Role shop fettle-sync-shop'] ?? []).filter((rule) =>
    /create|update|patch|delete/.test(rule),
  )
  expect(writing).toEqual([
    'coordination.k8s.io/leases: create',
    'coordination.k8s.io/leases[fettle-sync-shop]: get update',
  ])
})

test('roles are bound to the account in the first namespace', () => {
  const found = {
    catalog,
    set: { objects: [object('Namespace shop')], digest: '' },
    memory: {
      inventory: { members: [], strangers: {}, verdicts: [], approvals: [], deletions: [] },
      ...{ hashKey: Buffer.alloc(0), setId: '', isNew: true },
    },
  }
  const bindings = rbacFor(found, fixturePolicy({ namespaces: ['shop', 'more'] }), 'robot').filter(
    ({ kind: bound }) => bound === 'RoleBinding' || bound === 'ClusterRoleBinding',
  )
  expect(bindings).toHaveLength(3)
  for (const binding of bindings)
    expect(binding['subjects']).toEqual([{ kind: 'ServiceAccount', name: 'robot', namespace: 'shop' }])
  expect(bindings.at(-1)).toMatchObject({ roleRef: { kind: 'ClusterRole', name: 'fettle-sync-shop.shop' } })
})
