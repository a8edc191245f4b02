import { expect, test } from 'vitest'
import { changeText, fieldChanges } from './diff.ts'

const paths = (from: object, to: object) => fieldChanges(from as never, to as never).map(({ path }) => path)

test.for([
  ['the same', { spec: { a: 1 } }, { spec: { a: 1 } }, []],
  ['a value', { spec: { a: 1 } }, { spec: { a: 2 } }, ['spec.a']],
  ['a new field', { spec: {} }, { spec: { a: 1 } }, ['spec.a']],
  ['a field that goes', { spec: { a: 1 } }, { spec: {} }, ['spec.a']],
  [
    'an item by its name',
    {
      c: [
        { name: 'x', i: 1 },
        { name: 'y', i: 1 },
      ],
    },
    {
      c: [
        { name: 'y', i: 2 },
        { name: 'x', i: 1 },
      ],
    },
    ['c[name=y].i'],
  ],
  ['an item by its place', { c: [1, 2] }, { c: [1, 3] }, ['c[1]']],
  [
    'what the server writes',
    { metadata: { resourceVersion: '1', labels: { a: 'b' } }, status: { x: 1 } },
    { metadata: { resourceVersion: '2', labels: { a: 'b' } } },
    [],
  ],
  ['a large number', { n: 9007199254740993n }, { n: 9007199254740992n }, ['n']],
] as const)('%s', ([, from, to, expected]) => {
  expect(paths(from, to)).toEqual(expected)
})

test('of a new object each field is named', () => {
  expect(fieldChanges(undefined, { kind: 'Secret', data: { key: 'bmV3' } }).map(({ path }) => path)).toEqual([
    'data',
    'kind',
  ])
})

test.for(['', 'data', 'strngData.key', 'immutable'])('what a Secret has at "%s" is not shown', (path) => {
  expect(changeText({ path, from: undefined, to: 'bmV3' }, true)).toBe(`${path}: (none) → ***`)
})

test('nothing of a Secret is shown', () => {
  const [change] = fieldChanges({ data: { key: 'b2xk' } }, { data: { key: 'bmV3' } })
  expect(change && changeText(change, true)).toBe('data.key: *** → ***')
  expect(change && changeText(change, false)).toBe('data.key: "b2xk" → "bmV3"')
})
