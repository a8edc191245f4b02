import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../json.ts'
import type { ManagedFieldsEntry } from '../observed.ts'
import { adoptedEntries, reversionedEntries, unsharedEntries } from './migrate.ts'

const rules = { manager: 'fettle-sync-shop', adoptFrom: ['flux'], apiVersion: 'v1' }
const body: JsonObject = { data: { a: '1' } }
const data = (...names: readonly string[]): JsonObject => ({
  'f:data': { '.': {}, ...Object.fromEntries(names.map((name) => [`f:${name}`, {}])) },
})
const entry = (manager: string, fieldsV1: JsonObject, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
  manager,
  operation: 'Update',
  apiVersion: 'v1',
  fieldsV1,
  ...more,
})
const live = (...entries: readonly ManagedFieldsEntry[]): JsonObject => ({
  metadata: { managedFields: entries as unknown as readonly JsonObject[] },
})
/** manager → names of the data that it holds. */
function held(entries: readonly ManagedFieldsEntry[] | undefined): Record<string, string[]> | undefined {
  if (entries === undefined) return undefined
  return Object.fromEntries(
    entries.map(({ manager = '', fieldsV1 = {} }) => [
      manager,
      Object.keys((fieldsV1['f:data'] ?? {}) as JsonObject).filter((name) => name !== '.'),
    ]),
  )
}

describe('adoption', () => {
  test.for<[string, JsonObject, Record<string, readonly string[]> | undefined]>([
    [
      'what kubectl applied from its side, as a whole',
      live(entry('kubectl-client-side-apply', data('a', 'b'))),
      { [rules.manager]: ['f:a', 'f:b'] },
    ],
    [
      'what a named manager holds, as a whole',
      live(entry('flux', data('a', 'b'), { operation: 'Apply' })),
      { [rules.manager]: ['f:a', 'f:b'] },
    ],
    [
      'of what a person made, what git declares',
      live(entry('kubectl-create', data('a', 'b'))),
      { 'kubectl-create': ['f:b'], [rules.manager]: ['f:a'] },
    ],
    [
      'of what another made under our name, what git declares',
      live(entry(rules.manager, data('a'))),
      { [rules.manager]: ['f:a'] },
    ],
    ['nothing of a person that git does not declare', live(entry('kubectl-edit', data('b'))), undefined],
    ['nothing of a controller', live(entry('some-controller', data('a'))), undefined],
    ['nothing of a subresource', live(entry('kubectl', data('a'), { subresource: 'scale' })), undefined],
    ['nothing if it is ours', live(entry(rules.manager, data('a'), { operation: 'Apply' })), undefined],
    [
      'beside what is ours and what stays theirs',
      live(
        entry(rules.manager, data('c'), { operation: 'Apply' }),
        entry('other', data('d')),
        entry('flux', data('a')),
      ),
      { other: ['f:d'], [rules.manager]: ['f:c', 'f:a'] },
    ],
  ])('%s', ([, object, expected]) => {
    expect(held(adoptedEntries(object, body, rules))).toEqual(expected)
  })

  test('makes one entry of ours, of the kind that applies make', () => {
    expect(adoptedEntries(live(entry('flux', data('a'))), body, rules)).toEqual([
      { manager: rules.manager, operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: data('a') },
    ])
  })

  test('turns stringData, which cannot be read back, into the data that it became', () => {
    const fields = { 'f:stringData': { 'f:leftover': {} }, 'f:data': { 'f:a': {} } }
    expect(held(adoptedEntries(live(entry('flux', fields)), body, rules))).toEqual({
      [rules.manager]: ['f:a', 'f:leftover'],
    })
  })

  test("does not take over kubectl's copy of the manifest", () => {
    const fields = {
      'f:metadata': { 'f:annotations': { 'f:kubectl.kubernetes.io/last-applied-configuration': {} } },
      ...data('a'),
    }
    const moved = adoptedEntries(live(entry('kubectl-client-side-apply', fields)), body, rules)
    expect(JSON.stringify(moved)).not.toContain('last-applied')
  })
})

test.for<[string, JsonObject, Record<string, readonly string[]> | undefined]>([
  [
    'declared fields go',
    live(entry('before-first-apply', data('a', 'b')), entry('x', data('a'))),
    { x: ['f:a'], 'before-first-apply': ['f:b'] },
  ],
  ['it goes with its last field', live(entry('before-first-apply', data('a')), entry('x', data('a'))), { x: ['f:a'] }],
  ['nothing of ours is in it', live(entry('before-first-apply', data('b'))), undefined],
  ['there is none', live(entry('x', data('a'))), undefined],
])('fields that the server gave to nobody: %s', ([, object, expected]) => {
  expect(held(unsharedEntries(object, body))).toEqual(expected)
})

describe('entries of another version', () => {
  test('get ours, and those that become one are united', () => {
    const entries = [entry('a', data('x'), { apiVersion: 'v0' }), entry('a', data('y')), entry('b', data('z'))]
    const result = reversionedEntries(live(...entries), 'v1')
    expect(held(result)).toEqual({ a: ['f:x', 'f:y'], b: ['f:z'] })
    expect(result?.map(({ apiVersion }) => apiVersion)).toEqual(['v1', 'v1'])
  })

  test('are left alone if there are none', () => {
    expect(reversionedEntries(live(entry('a', data('x'))), 'v1')).toBeUndefined()
  })
})
