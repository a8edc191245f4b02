import { expect, test } from 'vitest'
import type { LabelSelector } from '../kube/index.ts'
import { matchesSelector } from './label-selector.ts'

const labels = { app: 'web', tier: 'front', empty: '' }
const expression = (key: string, operator: string, ...values: string[]): LabelSelector => ({
  matchExpressions: [{ key, operator, ...(values.length > 0 ? { values } : {}) }],
})

test.for<readonly [string, LabelSelector | undefined, boolean]>([
  ['no selector selects nothing', undefined, false],
  ['an empty selector selects everything', {}, true],
  ['empty lists select everything', { matchLabels: {}, matchExpressions: [] }, true],
  ['a label with its value', { matchLabels: { app: 'web' } }, true],
  ['a label with another value', { matchLabels: { app: 'db' } }, false],
  ['a label that is missing', { matchLabels: { zone: 'a' } }, false],
  ['one label of two is not enough', { matchLabels: { app: 'web', tier: 'back' } }, false],
  ['an empty value is a value', { matchLabels: { empty: '' } }, true],
  ['In', expression('app', 'In', 'db', 'web'), true],
  ['In without the value', expression('app', 'In', 'db'), false],
  ['In of a missing label', expression('zone', 'In', 'a'), false],
  ['NotIn', expression('app', 'NotIn', 'db'), true],
  ['NotIn with the value', expression('app', 'NotIn', 'web'), false],
  ['NotIn of a missing label', expression('zone', 'NotIn', 'a'), true],
  ['Exists', expression('empty', 'Exists'), true],
  ['Exists of a missing label', expression('zone', 'Exists'), false],
  ['DoesNotExist', expression('zone', 'DoesNotExist'), true],
  ['DoesNotExist of a label', expression('empty', 'DoesNotExist'), false],
  ['an operator of the future selects nothing', expression('app', 'Gt', '1'), false],
  [
    'labels and expressions must both hold',
    { matchLabels: { app: 'web' }, ...expression('tier', 'In', 'back') },
    false,
  ],
])('%s', ([, selector, expected]) => {
  expect(matchesSelector(selector, labels)).toBe(expected)
})

test('a pod without labels is selected by what asks for none', () => {
  expect(matchesSelector({})).toBe(true)
  expect(matchesSelector(expression('app', 'DoesNotExist'))).toBe(true)
  expect(matchesSelector({ matchLabels: { app: 'web' } })).toBe(false)
})

test('labels named like members of every object are not there by themselves', () => {
  expect(matchesSelector(expression('constructor', 'Exists'), {})).toBe(false)
  expect(matchesSelector(expression('toString', 'DoesNotExist'), {})).toBe(true)
})
