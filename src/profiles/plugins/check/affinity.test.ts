import { describe, expect, test } from 'vitest'
import type { PodObject } from '../../../kube/index.ts'
import { createFor, nodeOf, passOf } from '../../fixture-pass.ts'
import { dataAnnotation, type State, stateLabel } from '../../names.ts'
import { affinity } from './affinity.ts'

interface Expression {
  readonly key: string
  readonly operator: string
  readonly values?: readonly string[]
}

const prefers: Expression = { key: stateLabel, operator: 'In', values: ['operational'] }

function podOn(nodeName: string, ...expressions: readonly Expression[]): PodObject {
  const preferred = [
    { weight: 1, preference: { matchFields: [] } },
    { weight: 5, preference: { matchExpressions: expressions } },
  ]
  const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: preferred }
  return { metadata: { name: `on-${nodeName}` }, spec: { nodeName, affinity: { nodeAffinity } } } as PodObject
}

const plainPod: PodObject = { metadata: { name: 'plain' }, spec: { nodeName: 'n1' } }

const node = (name: string, state: State, profile = 'block') => nodeOf(name, { profiles: { [profile]: { state } } })
const two = [node('n1', 'maintenance-required'), node('n2', 'maintenance-required')]

function ask(
  name: string,
  pods: readonly PodObject[],
  more: {
    readonly minOperational?: number
    readonly nodes?: typeof two
    readonly profile?: string
    readonly state?: State
  } = {},
) {
  const { nodes = two, profile = 'block', state = 'maintenance-required', minOperational = 0 } = more
  const own = nodes.find(({ metadata }) => metadata.name === name) ?? nodeOf(name)
  return createFor(affinity, { minOperational }).check(passOf({ node: own, nodes, pods, profile, state }))
}

describe('two nodes in maintenance-required', () => {
  test.for([
    ['no affinity pods, n1', 'n1', [], true],
    ['a pod on n1 only, n1', 'n1', [podOn('n1', prefers)], false],
    ['a pod on n1 only, n2', 'n2', [podOn('n1', prefers)], true],
    ['pods on both, n1', 'n1', [podOn('n1', prefers), podOn('n2', prefers)], true],
    ['pods on both, n2', 'n2', [podOn('n1', prefers), podOn('n2', prefers)], true],
    ['a pod without any affinity, n1', 'n1', [plainPod], true],
    ['a pod without any affinity, n2', 'n2', [plainPod], true],
  ] as const)('%s', ([, name, pods, isPassed]) => {
    expect(ask(name, pods)).toMatchObject({ isPassed })
  })

  test('the reason names who goes first', () => {
    expect(ask('n1', [podOn('n1', prefers)])).toEqual({
      isPassed: false,
      info: { reason: 'node n2 has no pods that prefer operational nodes, and goes first' },
    })
  })
})

test.for(['operational', 'in-maintenance'] as const)('in %s it is an error', (state) => {
  expect(() => ask('n1', [], { state })).toThrow(`in maintenance-required only, and profile block is ${state}`)
})

test('another profile has other nodes', () => {
  expect(ask('n1', [podOn('n1', prefers)], { profile: 'other' })).toMatchObject({ isPassed: true })
})

test.for([
  ['operational and minOperational 1', node('n3', 'operational'), 1, true],
  ['operational and minOperational 2', node('n3', 'operational'), 2, false],
  ['operational in another profile', node('n3', 'operational', 'other'), 1, false],
  ['operational, and no minOperational', node('n3', 'operational'), 0, false],
  ['in maintenance', node('n3', 'in-maintenance'), 1, false],
  ['unreadable', nodeOf('n3', { annotations: { [dataAnnotation]: '{{' } }), 1, false],
  ['bare', nodeOf('n3'), 1, false],
] as const)('a third node is %s', ([, third, minOperational, isPassed]) => {
  expect(ask('n1', [podOn('n1', prefers)], { nodes: [...two, third], minOperational })).toMatchObject({ isPassed })
})

test('only nodes that wait as well go first', () => {
  const nodes = [node('n1', 'maintenance-required'), node('n2', 'operational'), node('n3', 'in-maintenance')]
  expect(ask('n1', [podOn('n1', prefers)], { nodes })).toMatchObject({ isPassed: true })
})

test.for([
  ['another key', { ...prefers, key: 'zone' }, true],
  ['another operator', { ...prefers, operator: 'NotIn' }, true],
  ['another value', { ...prefers, values: ['in-maintenance'] }, true],
  ['one value more', { ...prefers, values: ['operational', 'maintenance-required'] }, true],
  ['no values', { key: stateLabel, operator: 'Exists' }, true],
] as const)('an expression with %s is none of ours', ([, expression, isPassed]) => {
  expect(ask('n1', [podOn('n1', expression)])).toMatchObject({ isPassed })
  // Whatever stands beside the right one does not matter.
  expect(ask('n1', [podOn('n1', expression, prefers)])).toMatchObject({ isPassed: false })
})

test('no config means 0', () => {
  expect(affinity.fields.minOperational).toMatchObject({ kind: 'integer', isRequired: false, fallback: 0 })
})

test('with a number that must stay it is asked again when the node is really taken, one after the other', () => {
  expect(createFor(affinity, { minOperational: 2 }).isShared).toBe(true)
  expect(createFor(affinity, {}).isShared).toBe(false)
})
