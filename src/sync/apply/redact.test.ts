import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../json.ts'
import { holdsSecrets, shownObject, shownText } from './redact.ts'

const secret = { group: '', kind: 'Secret' }

test.for([
  [secret, true],
  [{ group: 'bitnami.com', kind: 'Secret' }, false],
  [{ group: '', kind: 'ConfigMap' }, false],
] as const)('%j holds secrets: %s', ([key, expected]) => {
  expect(holdsSecrets(key)).toBe(expected)
})

test('what the server says of a Secret is not shown; of others only so much', () => {
  expect(shownText(secret, 'CANARY')).not.toContain('CANARY')
  expect(shownText({ group: '', kind: 'ConfigMap' }, 'x'.repeat(9_000)).length).toBeLessThan(600)
})

describe('an object for people', () => {
  test.for<[string, JsonObject]>([
    ['data', { apiVersion: 'v1', kind: 'Secret', data: { a: 'CANARY' } }],
    ['stringData', { apiVersion: 'v1', kind: 'Secret', stringData: { a: 'CANARY' } }],
    ['data that is no map', { apiVersion: 'v1', kind: 'Secret', data: 'CANARY' }],
    [
      'a copy of the manifest',
      {
        kind: 'ConfigMap',
        metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'CANARY' } },
      },
    ],
  ])('has no values: %s', ([, object]) => {
    expect(JSON.stringify(shownObject(object))).not.toContain('CANARY')
  })

  test('keeps the names of the keys, and all else', () => {
    const object = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' }, data: { a: 'b' }, type: 'Opaque' }
    expect(shownObject(object)).toEqual({ ...object, data: { a: '***' } })
  })
})
