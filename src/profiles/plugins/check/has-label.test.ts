import { expect, test } from 'vitest'
import { createFor, nodeOf, passOf } from '../../fixture-pass.ts'
import { hasLabel } from './has-label.ts'

test.for([
  [{ key: 'key' }, true, {}],
  [{ key: 'key', value: 'value' }, true, {}],
  [{ key: 'key', value: 'other' }, false, { reason: 'label key is "value", not "other"' }],
  [{ key: 'other' }, false, { reason: 'the node has no label other' }],
  [{ key: 'other', value: 'value' }, false, { reason: 'the node has no label other' }],
  // A legal label, and something that every object of JavaScript has.
  [{ key: 'constructor' }, false, { reason: 'the node has no label constructor' }],
] as const)('a node with key=value, asked for %j: %s', ([config, isPassed, info]) => {
  const node = nodeOf('n1', { labels: { key: 'value' }, annotations: { other: 'value' } })
  expect(createFor(hasLabel, config).check(passOf({ node }))).toEqual({ isPassed, info })
})

test('what a trigger of this pass has changed is seen', () => {
  const pass = passOf({ node: nodeOf('n1', { labels: { key: 'value' } }) })
  pass.node.labels['key'] = 'new'
  expect(createFor(hasLabel, { key: 'key', value: 'new' }).check(pass)).toEqual({ isPassed: true, info: {} })
})
