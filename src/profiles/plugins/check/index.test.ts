import { expect, test } from 'vitest'
import { checkPlugins } from './index.ts'

test('every check is there once, in the order of the reference', () => {
  const types = checkPlugins.map(({ type }) => type)
  expect(types).toEqual([...new Set(types)].sort())
  expect(types).toEqual([
    'affinity',
    'anyLabel',
    'clusterSemver',
    'condition',
    'hasAnnotation',
    'hasLabel',
    'maxMaintenance',
    'nodeCount',
    'prometheusInstant',
    'stagger',
    'timeWindow',
    'wait',
    'waitExclude',
  ])
})

test('only affinity can do without any config', () => {
  const free = checkPlugins.filter(({ fields }) => Object.values(fields).every(({ isRequired }) => !isRequired))
  expect(free.map(({ type }) => type)).toEqual(['affinity'])
})
