import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../json.ts'
import type { ManagedFieldsEntry } from '../observed.ts'
import { type ConflictRules, contestsOf, holderIn, verdictOf } from './conflicts.ts'

const rules: ConflictRules = {
  manager: 'fettle-sync-shop',
  mode: undefined,
  adoptFrom: ['flux'],
  conflicts: 'fail',
  isAutoscaled: true,
}

describe('whose field it is', () => {
  test.for<[string, ManagedFieldsEntry, Partial<ConflictRules>, string]>([
    ['.spec.paused', { manager: 'kubectl' }, {}, 'take'],
    ['.spec.paused', { manager: 'kubectl-edit' }, {}, 'take'],
    ['.spec.paused', { manager: 'kubectl-client-side-apply' }, {}, 'take'],
    ['.spec.paused', { manager: 'before-first-apply' }, {}, 'take'],
    ['.spec.paused', { manager: 'helm' }, {}, 'take'],
    ['.spec.paused', { manager: 'Mozilla' }, {}, 'take'],
    ['.spec.paused', { manager: 'flux' }, {}, 'take'],
    ['.spec.paused', { manager: 'fettle-sync-shop', operation: 'Update' }, {}, 'take'],
    ['.spec.paused', { manager: 'kubectlish' }, {}, 'fail'],
    ['.spec.paused', { manager: 'fettle-sync-other' }, {}, 'fail'],
    ['.spec.paused', { manager: 'some-controller' }, {}, 'fail'],
    ['.spec.paused', {}, {}, 'fail'],
    ['.spec.paused', { manager: 'some-controller' }, { conflicts: 'take' }, 'take'],
    ['.spec.paused', { manager: 'some-controller' }, { mode: 'override' }, 'take'],
    ['.spec.paused', { manager: 'kubectl' }, { mode: 'merge' }, 'yield'],
    ['.spec.replicas', { manager: 'kube-controller-manager', subresource: 'scale' }, {}, 'yield'],
    ['.spec.replicas', { manager: 'kube-controller-manager', subresource: 'scale' }, { conflicts: 'take' }, 'yield'],
    ['.spec.replicas', { manager: 'kube-controller-manager', subresource: 'scale' }, { mode: 'override' }, 'take'],
    ['.spec.replicas', { manager: 'keda-operator' }, {}, 'yield'],
    ['.spec.replicas', { manager: 'keda-operator' }, { isAutoscaled: false }, 'take'],
    ['.rules', { manager: 'clusterrole-aggregation-controller' }, { isAutoscaled: false }, 'yield'],
    ['.spec.replicas', { manager: 'kubectl', subresource: 'scale' }, {}, 'take'],
    ['.spec.replicas', { manager: 'kube-controller-manager' }, {}, 'fail'],
    ['.webhooks[name="a"].clientConfig.caBundle', { manager: 'cainjector' }, {}, 'yield'],
    ['.webhooks[name="a"].clientConfig.caBundle', { manager: 'kubectl-edit' }, {}, 'take'],
    ['.rules', { manager: 'clusterrole-aggregation-controller' }, {}, 'yield'],
    ['.rules', { manager: 'some-controller' }, {}, 'fail'],
  ])('%s of %j with %j: %s', ([field, holder, more, verdict]) => {
    expect(verdictOf(field, holder, { ...rules, ...more })).toBe(verdict)
  })
})

describe('conflicts seen before the server sees them', () => {
  const live = (entry: ManagedFieldsEntry, spec: JsonObject): JsonObject => ({
    metadata: { managedFields: [entry as JsonObject] },
    spec,
  })
  const holder = (fields: JsonObject, more: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
    manager: 'some-controller',
    operation: 'Update',
    fieldsV1: { 'f:spec': fields },
    ...more,
  })
  const fieldsOf = (spec: JsonObject, entry: ManagedFieldsEntry, liveSpec: JsonObject) =>
    contestsOf({ spec }, live(entry, liveSpec), rules).map(({ path, verdict }) => `${path.at(-1)} ${verdict}`)

  test.for<[string, JsonObject, ManagedFieldsEntry, JsonObject, readonly string[]]>([
    ['another value', { a: 1 }, holder({ 'f:a': {} }), { a: 2 }, ['f:a fail']],
    ['the same value', { a: 1 }, holder({ 'f:a': {} }), { a: 1 }, []],
    ['the same quantity', { a: '1000m' }, holder({ 'f:a': {} }), { a: '1' }, []],
    ['what we do not declare', { b: 1 }, holder({ 'f:a': {} }), { a: 2 }, []],
    ['our own', { a: 1 }, holder({ 'f:a': {} }, { manager: rules.manager, operation: 'Apply' }), { a: 2 }, []],
    ['a whole that has one owner', { a: [1] }, holder({ 'f:a': {} }), { a: [1, 2] }, ['f:a fail']],
    [
      'an item',
      { a: [{ name: 'x', v: 1 }] },
      holder({ 'f:a': { 'k:{"name":"x"}': { 'f:v': {} } } }),
      { a: [{ name: 'x', v: 2 }] },
      ['f:v fail'],
    ],
    [
      'replicas of an autoscaler, also if equal',
      { replicas: 2 },
      holder({ 'f:replicas': {} }, { manager: 'keda' }),
      { replicas: 2 },
      ['f:replicas yield'],
    ],
  ])('%s', ([, spec, entry, liveSpec, expected]) => {
    expect(fieldsOf(spec, entry, liveSpec)).toEqual(expected)
  })
})

test.for([
  ['conflict with "kubectl-edit" using apps/v1', { manager: 'kubectl-edit' }],
  [
    'conflict with "kubectl" with subresource "scale" using apps/v1 at 2026-01-01T00:00:00Z',
    { manager: 'kubectl', subresource: 'scale' },
  ],
  ['something else', { manager: '' }],
] as const)('%s', ([message, holder]) => {
  expect(holderIn(message)).toEqual(holder)
})
