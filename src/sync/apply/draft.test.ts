import { describe, expect, test } from 'vitest'
import type { DeclaredObject } from '../declared.ts'
import type { JsonObject } from '../json.ts'
import { draftOf } from './draft.ts'

const options = {
  manager: 'fettle-sync-shop',
  setId: 'applyset-x-v1',
  policy: { adoptFrom: [], conflicts: 'fail' },
} as const

function declare(more: JsonObject, annotations: JsonObject = {}, kind = 'Deployment'): DeclaredObject {
  const body = { apiVersion: 'apps/v1', kind, metadata: { name: 'web', namespace: 'shop', annotations }, ...more }
  const key = { group: 'apps', kind, namespace: 'shop', name: 'web' }
  return { key, apiVersion: 'apps/v1', body, from: { path: 'web.yaml', document: 1, line: 1 } }
}

function live(holder: string | undefined, spec: JsonObject, fields: JsonObject = { 'f:replicas': {} }): JsonObject {
  const entry = {
    manager: holder ?? options.manager,
    operation: holder ? 'Update' : 'Apply',
    fieldsV1: { 'f:spec': fields },
  }
  return { metadata: { uid: 'u1', resourceVersion: '7', managedFields: [entry] }, spec }
}

test('our label is on the object, and in no template', () => {
  const { body } = draftOf(declare({ spec: { template: { metadata: { labels: { a: 'b' } } } } }), undefined, options)
  expect(body).toMatchObject({
    metadata: { labels: { 'applyset.kubernetes.io/part-of': 'applyset-x-v1' } },
    spec: { template: { metadata: { labels: { a: 'b' } } } },
  })
  expect(JSON.stringify(body['spec'])).not.toContain('applyset')
})

test('an aggregated role leaves its rules to their controller', () => {
  const role = { aggregationRule: { clusterRoleSelectors: [] }, rules: [] }
  expect(draftOf(declare(role, {}, 'ClusterRole'), undefined, options).body).not.toHaveProperty('rules')
  expect(draftOf(declare({ rules: [] }, {}, 'ClusterRole'), undefined, options).body).toHaveProperty('rules')
})

describe('a field that another holds', () => {
  const declared = declare({ spec: { replicas: 2 } })
  test('is taken from a person, and only in the state that was seen', () => {
    const { isForced, body } = draftOf(declared, live('kubectl-edit', { replicas: 3 }), options)
    expect(isForced).toBe(true)
    expect(body).toMatchObject({ metadata: { uid: 'u1', resourceVersion: '7' }, spec: { replicas: 2 } })
  })

  test('is left out if it belongs to a controller', () => {
    const { isForced, body } = draftOf(declared, live('keda', { replicas: 3 }), options)
    expect(isForced).toBe(false)
    expect(body['spec']).toEqual({})
    expect(body['metadata']).not.toHaveProperty('resourceVersion')
  })

  test('is never forced if one of them is undecided, also when force is asked for', () => {
    const { isForced, body } = draftOf(declared, live('somebody', { replicas: 3 }), options, true)
    expect(isForced).toBe(false)
    expect(body['metadata']).not.toHaveProperty('uid')
  })
})

describe('an ignored field', () => {
  const declared = declare({ spec: { replicas: 2 } }, { 'fettle.dev/ignore-fields': '/spec/replicas' })
  test.for<[string, JsonObject | undefined, JsonObject]>([
    ['has the declared value in a new object', undefined, { replicas: 2 }],
    ['is left out if another holds it', live('somebody', { replicas: 5 }), {}],
    ['keeps the live value if we alone own it', live(undefined, { replicas: 5 }), { replicas: 5 }],
    ['is left out if it is not there', live(undefined, {}), {}],
  ])('%s', ([, now, spec]) => {
    expect(draftOf(declared, now, options).body['spec']).toEqual(spec)
  })

  test('is found by its index in a list of named items', () => {
    const containers = [{ name: 'web', image: 'a' }]
    const indexed = declare({ spec: { containers } }, { 'fettle.dev/ignore-fields': '/spec/containers/0/image' })
    const fields = { 'f:containers': { 'k:{"name":"web"}': { 'f:image': {} } } }
    const liveSpec = { containers: [{ name: 'side' }, { name: 'web', image: 'b' }] }
    expect(draftOf(indexed, live('somebody', liveSpec, fields), options).body['spec']).toEqual({
      containers: [{ name: 'web' }],
    })
  })
})
