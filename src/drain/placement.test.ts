import { describe, expect, test } from 'vitest'
import type { NodeObject, PodObject, Taint } from '../kube/index.ts'
import { isPlaceFor } from './placement.ts'

type PodSpec = NonNullable<PodObject['spec']>

function node(labels: Record<string, string> = {}, ...taints: Taint[]): NodeObject {
  return { metadata: { name: 'a', labels }, spec: { taints } }
}
const isPlace = (on: NodeObject, spec: PodSpec) => isPlaceFor(on, { metadata: {}, spec })
const requiring = (...nodeSelectorTerms: object[]): PodSpec => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } },
})

test('a pod that asks for nothing may run on a node without taints', () => {
  expect(isPlaceFor(node(), { metadata: {} })).toBe(true)
})

test('a nodeSelector wants all its labels', () => {
  const nodeSelector = { role: 'infra', zone: '1' }
  expect(isPlace(node({ role: 'infra', zone: '1', more: '' }), { nodeSelector })).toBe(true)
  expect(isPlace(node({ role: 'infra' }), { nodeSelector })).toBe(false)
  expect(isPlace(node({ role: 'infra', zone: '2' }), { nodeSelector })).toBe(false)
})

describe('a node affinity that is required', () => {
  const labels = { role: 'infra', cores: '16', odd: 'many' }

  test.for<readonly [string, string, readonly string[] | undefined, boolean]>([
    ['role', 'In', ['infra', 'web'], true],
    ['role', 'In', ['web'], false],
    ['none', 'In', ['web'], false],
    ['role', 'NotIn', ['web'], true],
    ['role', 'NotIn', ['infra'], false],
    ['none', 'NotIn', ['infra'], true],
    ['role', 'Exists', undefined, true],
    ['none', 'Exists', undefined, false],
    ['none', 'DoesNotExist', undefined, true],
    ['role', 'DoesNotExist', undefined, false],
    ['cores', 'Gt', ['8'], true],
    ['cores', 'Gt', ['16'], false],
    ['cores', 'Lt', ['100'], true],
    ['cores', 'Lt', ['16'], false],
    ['cores', 'Gt', ['8', '9'], false],
    ['cores', 'Gt', ['few'], false],
    ['odd', 'Gt', ['8'], false],
    ['none', 'Lt', ['8'], false],
    ['role', 'Resembles', ['infra'], false],
  ])('%s %s %s is %s', ([key, operator, values, expected]) => {
    const spec = requiring({ matchExpressions: [{ key, operator, values }] })
    expect(isPlace(node(labels), spec)).toBe(expected)
  })

  test('knows the name of the node and no other field', () => {
    const byField = (key: string, operator: string, value: string) =>
      isPlace(node(), requiring({ matchFields: [{ key, operator, values: [value] }] }))
    expect(byField('metadata.name', 'In', 'a')).toBe(true)
    expect(byField('metadata.name', 'In', 'b')).toBe(false)
    expect(byField('metadata.name', 'NotIn', 'a')).toBe(false)
    expect(byField('metadata.namespace', 'NotIn', 'a')).toBe(false)
  })

  test('holds when all of one term holds', () => {
    const [infra, web] = ['infra', 'web'].map((value) => ({ key: 'role', operator: 'In', values: [value] }))
    expect(isPlace(node(labels), requiring({ matchExpressions: [web] }, { matchExpressions: [infra] }))).toBe(true)
    expect(isPlace(node(labels), requiring({ matchExpressions: [web, infra] }))).toBe(false)
  })

  test('that names nothing holds nowhere', () => {
    expect(isPlace(node(labels), requiring())).toBe(false)
    expect(isPlace(node(labels), requiring({}))).toBe(false)
  })
})

describe('a taint', () => {
  const taint = { key: 'role', value: 'infra', effect: 'NoSchedule' }
  const tolerates = (toleration: object, one: Taint = taint) => isPlace(node({}, one), { tolerations: [toleration] })

  test.for(['NoSchedule', 'NoExecute'])('%s keeps a pod away', (effect) => {
    expect(isPlace(node({}, { ...taint, effect }), {})).toBe(false)
  })

  test('that only prefers others does not', () => {
    expect(isPlace(node({}, { ...taint, effect: 'PreferNoSchedule' }), {})).toBe(true)
  })

  test.for<readonly [object, boolean]>([
    [{ key: 'role', value: 'infra' }, true],
    [{ key: 'role', operator: 'Equal', value: 'infra', effect: 'NoSchedule' }, true],
    [{ key: 'role', operator: 'Exists' }, true],
    [{ operator: 'Exists' }, true],
    [{ key: 'role', value: 'web' }, false],
    [{ key: 'other', operator: 'Exists' }, false],
    [{ key: 'role', operator: 'Exists', effect: 'NoExecute' }, false],
    [{ key: 'role', operator: 'Resembles', value: 'infra' }, false],
  ])('and the toleration %o: %s', ([toleration, expected]) => {
    expect(tolerates(toleration)).toBe(expected)
  })

  test('without a value is tolerated without one', () => {
    expect(tolerates({ key: 'role' }, { key: 'role', effect: 'NoSchedule' })).toBe(true)
  })

  test('that is tolerated for a time only is not tolerated', () => {
    const gone = { key: 'role', effect: 'NoExecute' }
    expect(tolerates({ key: 'role', operator: 'Exists' }, gone)).toBe(true)
    expect(tolerates({ key: 'role', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 30 }, gone)).toBe(false)
  })

  test('needs to be tolerated each', () => {
    const on = node({}, taint, { key: 'gpu', effect: 'NoSchedule' })
    expect(isPlace(on, { tolerations: [{ key: 'role', operator: 'Exists' }] })).toBe(false)
  })
})
