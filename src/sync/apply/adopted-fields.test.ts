import { expect, test } from 'vitest'
import type { JsonObject } from '../json.ts'
import type { ManagedFieldsEntry } from '../observed.ts'
import { removedByAdoption } from './adopted-fields.ts'
import { pathText } from './field-path.ts'

const rules = { manager: 'fettle-sync-shop', adoptFrom: ['other-gitops'], apiVersion: 'v1' }
const kubectl = { manager: 'kubectl-client-side-apply', operation: 'Update' }

function removed(body: JsonObject, live: JsonObject, ...entries: readonly ManagedFieldsEntry[]): readonly string[] {
  const metadata = {
    ...(live['metadata'] as JsonObject | undefined),
    managedFields: entries as unknown as JsonObject[],
  }
  return removedByAdoption({ ...live, metadata }, body, rules)
    .map(pathText)
    .sort()
}

const data = (...names: readonly string[]): JsonObject => ({
  'f:data': { '.': {}, ...Object.fromEntries(names.map((name) => [`f:${name}`, {}])) },
})

test.for<[string, readonly ManagedFieldsEntry[], readonly string[]]>([
  ['kubectl applied', [{ ...kubectl, fieldsV1: data('a', 'b') }], ['data.b']],
  ['a named manager applied', [{ manager: 'other-gitops', operation: 'Apply', fieldsV1: data('a', 'b') }], ['data.b']],
  ['was ours before', [{ manager: rules.manager, operation: 'Apply', fieldsV1: data('a', 'b') }], ['data.b']],
  [
    'somebody else holds as well',
    [
      { ...kubectl, fieldsV1: data('b') },
      { manager: 'x', fieldsV1: data('b') },
    ],
    [],
  ],
  ['a person set by hand', [{ manager: 'kubectl-edit', operation: 'Update', fieldsV1: data('a', 'b') }], []],
  ['is not there any more', [{ ...kubectl, fieldsV1: data('c') }], []],
])('of what %s, what git does not declare goes', ([, entries, expected]) => {
  expect(removed({ data: { a: '1' } }, { data: { a: '1', b: '2' } }, ...entries)).toEqual(expected)
})

test.for(['merge', 'ifNotPresent', 'ignore'])('nothing goes with fettle.dev/apply: %s', (mode) => {
  const body = { metadata: { annotations: { 'fettle.dev/apply': mode } }, data: {} }
  expect(removed(body, { data: { b: '2' } }, { ...kubectl, fieldsV1: data('b') })).toEqual([])
})

test('nor do fields that are ignored, our label, and the copy that kubectl keeps, which goes anyway', () => {
  const label = 'applyset.kubernetes.io/part-of'
  const copy = 'kubectl.kubernetes.io/last-applied-configuration'
  const body = { metadata: { annotations: { 'fettle.dev/ignore-fields': '/data/b' } } }
  const live = { metadata: { labels: { [label]: 'x' }, annotations: { [copy]: '{}' } }, data: { b: '2' } }
  const fieldsV1 = {
    'f:metadata': { 'f:labels': { [`f:${label}`]: {} }, 'f:annotations': { [`f:${copy}`]: {} } },
    ...data('b'),
  }
  expect(removed(body, live, { ...kubectl, fieldsV1 })).toEqual([])
})

test('an item of a list is named as a whole', () => {
  const containers = {
    'k:{"name":"side"}': { '.': {}, 'f:name': {}, 'f:image': {} },
    'k:{"name":"web"}': { 'f:image': {} },
  }
  const body = { spec: { containers: [{ name: 'web', image: 'w' }] } }
  const live = { spec: { containers: [...body.spec.containers, { name: 'side', image: 's' }] } }
  const fieldsV1 = { 'f:spec': { 'f:containers': containers } }
  expect(removed(body, live, { ...kubectl, fieldsV1 })).toEqual(['spec.containers[name=side]'])
})
