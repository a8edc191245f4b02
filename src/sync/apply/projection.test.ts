import { describe, expect, test } from 'vitest'
import type { DeclaredObject } from '../declared.ts'
import type { Member } from '../inventory-record.ts'
import type { JsonObject } from '../json.ts'
import type { ManagedFieldsEntry, ObservedMeta, ObservedObject } from '../observed.ts'
import { bodyHashOf, compareWithReference, referenceOf } from './projection.ts'

const hashKey = Buffer.from('a key of this test')
const manager = 'fettle-sync-shop'
const label = 'applyset.kubernetes.io/part-of'
const key = { group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'web' }
const labelFields = { 'f:labels': { [`f:${label}`]: {} } }

const body: JsonObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas: 2,
    strategy: {},
    template: {
      spec: {
        containers: [
          {
            name: 'web',
            image: 'web:1',
            args: ['a'],
            env: [
              { name: 'A', value: '1' },
              { name: 'B', value: '' },
            ],
          },
        ],
      },
    },
  },
}

const containerFields = {
  '.': {},
  'f:name': {},
  'f:image': {},
  'f:args': {},
  'f:env': {
    'k:{"name":"A"}': { '.': {}, 'f:name': {}, 'f:value': {} },
    'k:{"name":"B"}': { '.': {}, 'f:name': {}, 'f:value': {} },
  },
}
const fieldsWith = (container: JsonObject = containerFields, spec: JsonObject = { 'f:replicas': {} }): JsonObject => ({
  'f:metadata': labelFields,
  'f:spec': {
    ...spec,
    'f:strategy': {},
    'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"web"}': container } } },
  },
})
const ours = (fieldsV1: JsonObject): ManagedFieldsEntry => ({
  manager,
  operation: 'Apply',
  apiVersion: 'apps/v1',
  fieldsV1,
})

interface LiveParts {
  readonly fields?: JsonObject
  readonly others?: readonly ManagedFieldsEntry[]
  readonly container?: JsonObject
  readonly spec?: JsonObject
  readonly metadata?: Partial<ObservedMeta>
}

const liveEnv = [{ name: 'A', value: '1' }, { name: 'B' }]

/** As the server has it: defaults filled in, empty values left out. */
function live({
  fields = fieldsWith(),
  others = [],
  container = {},
  spec = {},
  metadata = {},
}: LiveParts = {}): JsonObject {
  const whole = { name: 'web', image: 'web:1', args: ['a'], env: liveEnv, imagePullPolicy: 'Always', ...container }
  return {
    metadata: {
      uid: 'u1',
      labels: { [label]: 'x' },
      managedFields: [ours(fields), ...others],
      ...metadata,
    } as unknown as JsonObject,
    spec: { replicas: 2, strategy: { type: 'RollingUpdate' }, template: { spec: { containers: [whole] } }, ...spec },
  }
}

const declare = (manifest: JsonObject): DeclaredObject => ({
  key,
  apiVersion: 'apps/v1',
  body: manifest,
  from: { path: 'web.yaml', document: 1, line: 1 },
})

function observe(object: JsonObject, apiVersion = 'apps/v1'): ObservedObject {
  const metadata = object['metadata'] as unknown as ObservedMeta
  return { key, uid: metadata.uid ?? '', apiVersion, metadata, body: object }
}

function compare(after: JsonObject, { manifest = body, before = live(), apiVersion = 'apps/v1', uid = 'u1' } = {}) {
  const reference = referenceOf(before, body, manager, hashKey)
  const member: Member = { key, uid, apiVersion: 'apps/v1', ...(reference ? { reference } : {}) }
  return compareWithReference(declare(manifest), member, observe(after, apiVersion), manager, hashKey)
}

const web = 'spec.template.spec.containers[name=web]'
const editor = (fieldsV1: JsonObject, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
  manager: 'kubectl-edit',
  operation: 'Update',
  fieldsV1,
  ...more,
})
const inContainer = (fields: JsonObject): JsonObject => ({
  'f:spec': { 'f:template': { 'f:spec': { 'f:containers': { 'k:{"name":"web"}': fields } } } },
})
const { 'f:image': _image, ...withoutImage } = containerFields

describe('in sync', () => {
  test.for([
    ['as it was', live()],
    ['status and version moved', { ...live({ metadata: { resourceVersion: '9' } }), status: { replicas: 2 } }],
    ['fields of others', live({ spec: { paused: true }, others: [editor({ 'f:spec': { 'f:paused': {} } })] })],
    ['a default inside an item of ours', live({ container: { imagePullPolicy: 'Never' } })],
    ['something in a container that is declared empty', live({ spec: { strategy: { type: 'Recreate' } } })],
    ['an item of another between ours', live({ container: { env: [liveEnv[0], { name: 'X' }, liveEnv[1]] as never } })],
    ['co-owned by another', live({ others: [editor(inContainer({ 'f:image': {} }), { operation: 'Apply' })] })],
  ] as const)('%s', ([, after]) => {
    expect(compare(after)).toEqual({ is: 'same' })
  })

  test('read in another version, only the set counts: its paths need not exist there', () => {
    expect(compare({ ...live(), spec: {} }, { apiVersion: 'apps/v2' })).toEqual({ is: 'same' })
  })
})

describe('drifted', () => {
  test.for([
    [
      'a field was changed by another',
      live({
        fields: fieldsWith(withoutImage),
        container: { image: 'web:9' },
        others: [editor(inContainer({ 'f:image': {} }))],
      }),
      { fields: [`${web}.image`], by: 'kubectl-edit' },
    ],
    [
      'changed and changed back: it is no longer ours',
      live({ fields: fieldsWith(withoutImage), others: [editor(inContainer({ 'f:image': {} }))] }),
      { fields: [`${web}.image`], by: 'kubectl-edit' },
    ],
    [
      'the value alone differs: our name was used by another',
      live({ container: { image: 'web:9' } }),
      { fields: [`${web}.image`] },
    ],
    ['a list with one owner was changed', live({ container: { args: ['b'] } }), { fields: [`${web}.args`] }],
    ['our items in another order', live({ container: { env: [...liveEnv].reverse() } }), { fields: [`${web}.env`] }],
    [
      'an item was removed',
      live({
        fields: fieldsWith({
          ...containerFields,
          'f:env': { 'k:{"name":"A"}': { '.': {}, 'f:name': {}, 'f:value': {} } },
        }),
        container: { env: [{ name: 'A', value: '1' }] },
      }),
      { fields: [`${web}.env[name=B]`] },
    ],
    [
      'scale took the replicas',
      live({
        fields: fieldsWith(containerFields, {}),
        spec: { replicas: 5 },
        others: [editor({ 'f:spec': { 'f:replicas': {} } }, { manager: 'kubectl', subresource: 'scale' })],
      }),
      { fields: ['spec.replicas'], by: 'kubectl (scale)' },
    ],
    [
      'our label was removed',
      live({ fields: { 'f:spec': fieldsWith()['f:spec'] as JsonObject }, metadata: { labels: {} } }),
      { fields: [`metadata.labels[${label}]`] },
    ],
    [
      'an autoscaler took the replicas: it is noticed once, and not called a loss',
      live({
        fields: fieldsWith(containerFields, {}),
        spec: { replicas: 5 },
        others: [
          editor({ 'f:spec': { 'f:replicas': {} } }, { manager: 'kube-controller-manager', subresource: 'scale' }),
        ],
      }),
      { fields: [] },
    ],
  ] as const)('%s', ([, after, expected]) => {
    expect(compare(after)).toEqual({ is: 'drifted', ...expected })
  })

  test('managedFields were wiped: all of ours is lost', () => {
    const difference = compare(live({ metadata: { managedFields: [] } }))
    expect(difference).toMatchObject({ is: 'drifted' })
    expect(difference).toHaveProperty('fields', expect.arrayContaining(['spec.replicas', `metadata.labels[${label}]`]))
  })

  test('another object under the same name', () => {
    expect(compare(live(), { uid: 'u0' })).toMatchObject({ is: 'drifted' })
  })
})

describe('changed in git', () => {
  const spec = body['spec'] as JsonObject
  test.for([
    ['another value', { ...spec, replicas: 3 }, ['spec.replicas']],
    ['a new field', { ...spec, minReadySeconds: 5 }, ['spec.minReadySeconds']],
    ['a field less', { strategy: {}, template: spec['template'] as JsonObject }, ['spec.replicas']],
    [
      'a container less',
      { ...spec, template: { spec: { containers: [] } } },
      [
        `${web}.args`,
        `${web}.env[name=A].name`,
        `${web}.env[name=A].value`,
        `${web}.env[name=B].name`,
        `${web}.env[name=B].value`,
        `${web}.image`,
        `${web}.name`,
      ],
    ],
    ['the same, written another way', { ...spec, replicas: 2, paused: null }, ['spec.paused']],
  ] as const)('%s', ([, changed, fields]) => {
    expect(compare(live(), { manifest: { ...body, spec: changed } })).toEqual({ is: 'changed', fields })
  })

  test('a container more has the name of an item', () => {
    const template = { spec: { containers: [{ name: 'web' }, { name: 'side', image: 'x' }] } }
    const difference = compare(live(), { manifest: { ...body, spec: { ...spec, template } } })
    expect(difference).toHaveProperty('fields', expect.arrayContaining(['spec.template.spec.containers[name=side]']))
  })

  test('nothing is remembered of it: what differs is named', () => {
    const difference = compareWithReference(
      declare(body),
      undefined,
      observe(live({ spec: { replicas: 9 } })),
      manager,
      hashKey,
    )
    expect(difference).toEqual({ is: 'changed', fields: ['spec.replicas'] })
  })
})

describe('what the manifest says about itself', () => {
  const annotated = (annotations: JsonObject): JsonObject => ({
    ...body,
    metadata: { name: 'web', namespace: 'shop', annotations },
  })

  test.for(['ignore', 'ifNotPresent'])('fettle.dev/apply: %s is never unequal', (mode) => {
    const manifest = annotated({ 'fettle.dev/apply': mode })
    expect(compareWithReference(declare(manifest), undefined, observe(live()), manager, hashKey)).toEqual({
      is: 'same',
    })
  })

  test.for(['/spec/replicas', 'spec.replicas', '/nothing, spec.replicas'])('%s is ignored on both sides', (path) => {
    const manifest = annotated({ 'fettle.dev/ignore-fields': path })
    const reference = referenceOf(live(), manifest, manager, hashKey)
    const taken = live({ fields: fieldsWith(containerFields, {}), spec: { replicas: 7 } })
    expect(referenceOf(taken, manifest, manager, hashKey)).toEqual(reference)
    const edited = { ...manifest, spec: { ...(body['spec'] as JsonObject), replicas: 70 } }
    expect(bodyHashOf(edited, hashKey)).toBe(reference?.bodyHash)
  })
})

describe('the reference', () => {
  test('is nothing if no field is ours: updates under our name, and those of a subresource, are not', () => {
    const entries = [ours({}), ours({})].map((entry, at) => ({
      ...entry,
      ...(at ? { subresource: 'scale' } : { operation: 'Update' }),
    }))
    expect(referenceOf(live({ metadata: { managedFields: entries } }), body, manager, hashKey)).toBeUndefined()
  })

  test('knows what was declared empty, and holds no value', () => {
    const reference = referenceOf(live(), body, manager, hashKey)
    expect(reference?.existsOnly).toEqual(['spec.strategy'])
    expect(JSON.stringify(reference)).not.toContain('web:1')
  })

  test('depends on the key: a short secret cannot be guessed from it', () => {
    const [one, other] = [hashKey, Buffer.from('another')].map((secret) => referenceOf(live(), body, manager, secret))
    expect(one?.valueHash).not.toBe(other?.valueHash)
    expect(one?.setHash).not.toBe(other?.setHash)
    expect(one?.bodyHash).not.toBe(other?.bodyHash)
  })

  test('does not depend on the order of members', () => {
    const { metadata, spec } = live() as { metadata: JsonObject; spec: JsonObject }
    const turned = { spec: Object.fromEntries(Object.entries(spec).reverse()), metadata }
    expect(referenceOf(turned, body, manager, hashKey)).toEqual(referenceOf(live(), body, manager, hashKey))
  })

  test('takes nothing for a value: what is missing is neither false nor null', () => {
    const fields = { 'f:spec': { 'f:paused': {} } }
    const hashes = [undefined, false, true, null, 'is missing'].map((paused) => {
      const spec = paused === undefined ? {} : { paused }
      return referenceOf(live({ fields, spec }), body, manager, hashKey)?.valueHash
    })
    expect(new Set(hashes).size).toBe(hashes.length)
  })

  test('of a set tells whether a member is there', () => {
    const fields = { 'f:metadata': { 'f:finalizers': { '.': {}, 'v:"a"': {} } } }
    const held = (finalizers: readonly string[]) =>
      referenceOf(live({ fields, metadata: { finalizers } }), body, manager, hashKey)
    expect(held(['a', 'b'])).toEqual(held(['b', 'a']))
    expect(held(['b'])?.valueHash).not.toBe(held(['a'])?.valueHash)
  })
})
