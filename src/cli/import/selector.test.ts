import { expect, test } from 'vitest'
import { readSelector } from './selector.ts'

test.each([
  ['app=web', { matchLabels: { app: 'web' } }],
  ['app==web, tier=', { matchLabels: { app: 'web', tier: '' } }],
  ['a=b,a=c', { matchLabels: { a: 'b' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['c'] }] }],
  ['a!=b', { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['b'] }] }],
  ['example.com/x', { matchExpressions: [{ key: 'example.com/x', operator: 'Exists' }] }],
  ['!x', { matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }] }],
  ['x in (a, b)', { matchExpressions: [{ key: 'x', operator: 'In', values: ['a', 'b'] }] }],
  [
    'x notin (a),y',
    {
      matchExpressions: [
        { key: 'x', operator: 'NotIn', values: ['a'] },
        { key: 'y', operator: 'Exists' },
      ],
    },
  ],
])('%s selects what it says', (text, selector) => {
  expect(readSelector(text)).toEqual(selector)
})

test.each(['', 'x>5', 'x in a', 'x in (a b)', 'a=b,', '=b', 'a=b c', `a=${'x'.repeat(64)}`])(
  '%j is refused',
  (text) => {
    expect(readSelector(text)).toBeUndefined()
  },
)
