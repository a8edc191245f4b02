import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { ApiError } from '../../kube/index.ts'
import { ApplyFault, type ApplyFaultCode, faultOf, isOfOldVersion } from './fault.ts'

type Fields = ConstructorParameters<typeof ApiError>[0]

const from = { path: 'shop/web.yaml', document: 1, line: 7 }
const deployment = { key: { group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'web' }, from }
const secret = { key: { group: '', kind: 'Secret', namespace: 'shop', name: 'token' }, from }

const refused = (fields: Partial<Fields>): ApiError =>
  new ApiError({ code: 'Server', method: 'PATCH', path: '/x', seen: 'something', status: 500, ...fields })
const invalid = (...causes: readonly { field: string; message: string }[]): ApiError =>
  refused({ code: 'Invalid', status: 422, seen: causes.map(({ message }) => message).join(), details: { causes } })
const typed = (text: string): ApiError =>
  refused({ seen: `failed to create typed patch object (shop/web; apps/v1, Kind=Deployment): ${text}` })

function fault(error: ApiError, declared: typeof deployment = deployment): ApplyFault {
  const found = faultOf(error, declared)
  if (!(found instanceof ApplyFault)) throw new Error('not an ApplyFault')
  return found
}

test.for<[string, ApiError, ApplyFaultCode, boolean, readonly string[]]>([
  ['an unknown field', typed('.spec.replicaz: field not declared in schema'), 'Unknown field', true, ['spec.replicaz']],
  [
    'two unknown fields',
    typed('errors:\n  .spec.a: field not declared in schema\n  .spec.b[name="x y"].c: field not declared in schema'),
    'Unknown field',
    true,
    ['spec.a', 'spec.b[name=x y].c'],
  ],
  [
    'an unknown field, said by the decoder',
    refused({ code: 'BadRequest', status: 400, seen: 'strict decoding error: unknown field "spec.a"' }),
    'Unknown field',
    true,
    ['spec.a'],
  ],
  [
    'a wrong type',
    typed('.spec.replicas: expected numeric (int or float), got string'),
    'Wrong type',
    true,
    ['spec.replicas'],
  ],
  [
    'a key that is there twice',
    typed('.spec.ports: duplicate entries for key [port=80]'),
    'Duplicate key',
    true,
    ['spec.ports'],
  ],
  ['another fault of the manifest', typed('something new'), 'Invalid', true, []],
  [
    'a value that is not base64',
    refused({
      seen: 'failed to convert new object (shop/token; /v1, Kind=Secret) to proper version: unable to convert unstructured object to /v1, Kind=Secret: error decoding from json: illegal base64 data at input byte 6',
    }),
    'Invalid',
    true,
    [],
  ],
  [
    'a webhook that does not answer',
    refused({ seen: 'conversion webhook for example.com/v1, Kind=X failed: Post "https://x": refused' }),
    'Unavailable',
    false,
    [],
  ],
  ['any other 500', refused({}), 'Unavailable', false, []],
  [
    'a bad value',
    invalid({ field: 'spec.replicas', message: 'Invalid value: -1: must be greater' }),
    'Invalid',
    true,
    ['spec.replicas'],
  ],
  [
    'the template of a Job',
    invalid({ field: 'spec.template', message: 'Invalid value: {…}: field is immutable' }),
    'Immutable',
    true,
    ['spec.template'],
  ],
  [
    'the spec of a StatefulSet',
    invalid({
      field: 'spec',
      message: "Forbidden: updates to statefulset spec for fields other than 'replicas' are forbidden",
    }),
    'Immutable',
    true,
    ['spec'],
  ],
  [
    'the spec of a Pod',
    invalid({ field: 'spec', message: 'Forbidden: pod updates may not change fields other than …' }),
    'Immutable',
    true,
    ['spec'],
  ],
  [
    'the role of a binding',
    invalid({ field: 'roleRef', message: 'Invalid value: {}: cannot change roleRef' }),
    'Immutable',
    true,
    ['roleRef'],
  ],
  [
    'the address of a Service',
    invalid({ field: 'spec.clusterIPs[0]', message: 'Invalid value: []: may not change once set' }),
    'Immutable',
    true,
    ['spec.clusterIPs[0]'],
  ],
  [
    'what is immutable and also bad: a new one would be refused too',
    invalid(
      { field: 'spec.selector', message: 'field is immutable' },
      { field: 'spec.replicas', message: 'must be greater' },
    ),
    'Invalid',
    true,
    ['spec.selector', 'spec.replicas'],
  ],
  [
    'another UID',
    invalid({ field: 'metadata.uid', message: 'Invalid value: "x": field is immutable' }),
    'Stale',
    false,
    [],
  ],
  [
    'a version that moved on',
    refused({ code: 'Conflict', status: 409, seen: 'the object has been modified' }),
    'Stale',
    false,
    [],
  ],
  [
    'a field of another',
    refused({
      code: 'Conflict',
      status: 409,
      details: { causes: [{ reason: 'FieldManagerConflict', field: '.spec.replicas', message: 'conflict with "x"' }] },
    }),
    'Conflict',
    true,
    ['spec.replicas'],
  ],
  ['a missing right', refused({ code: 'Forbidden', status: 403 }), 'Refused', false, []],
  ['a missing namespace', refused({ code: 'NotFound', status: 404 }), 'Refused', false, []],
  ['an object that is too large', refused({ code: 'TooLarge', status: 413 }), 'Invalid', true, []],
  ['no connection', refused({ code: 'Unreachable' }), 'Unavailable', false, []],
])('%s', ([, error, code, isPermanent, fields]) => {
  expect(fault(error)).toMatchObject({ code, isPermanent, fields, kubeCode: error.code })
})

test('the message says what, where and why', () => {
  expect(fault(refused({ code: 'Forbidden', seen: 'no right to patch' })).message).toBe(
    'Deployment.apps shop/web (shop/web.yaml:7): Forbidden: no right to patch',
  )
})

test('what is no refusal of the server stays what it is', () => {
  const reason = new Error('stopped')
  expect(faultOf(reason, deployment)).toBe(reason)
})

describe('of a Secret', () => {
  test.for<[string, ApiError]>([
    ['a wrong type', typed('.data.password: expected string, got &{map[deep:CANARY]}')],
    ['a bad value', invalid({ field: 'data[password]', message: 'Invalid value: "CANARY": must be short' })],
    ['an answer of a webhook', refused({ code: 'BadRequest', seen: 'denied: CANARY is weak' })],
    ['an internal error', refused({ seen: 'CANARY' })],
    ['a fault of another kind', typed('CANARY')],
    [
      'a conflict',
      refused({
        code: 'Conflict',
        seen: 'CANARY',
        details: {
          causes: [{ reason: 'FieldManagerConflict', field: '.data.a', message: 'conflict with "x": CANARY' }],
        },
      }),
    ],
  ])('no value is shown: %s', ([, error]) => {
    const found = fault(error, secret)
    expect(`${inspect(found, { depth: 9, showHidden: true })}${JSON.stringify(found)}${found.stack}`).not.toContain(
      'CANARY',
    )
  })
})

test.for<[string, ApiError, boolean]>([
  [
    'the live object has a field that an old version does not know',
    refused({ seen: '.spec.x: field not declared in schema' }),
    true,
  ],
  ['our own manifest has it', typed('.spec.x: field not declared in schema'), false],
  ['something else', refused({}), false],
])('fields of an old version are in the way: %s', ([, error, expected]) => {
  expect(isOfOldVersion(error)).toBe(expected)
})
