import { expect, test } from 'vitest'
import { createFor, nodeOf, passOf } from '../../fixture-pass.ts'
import { hasAnnotation } from './has-annotation.ts'

test.for([
  [{ key: 'key' }, true, {}],
  [{ key: 'key', value: 'value' }, true, {}],
  [{ key: 'key', value: 'other' }, false, { reason: 'annotation key is "value", not "other"' }],
  [{ key: 'other' }, false, { reason: 'the node has no annotation other' }],
  [{ key: 'other', value: 'value' }, false, { reason: 'the node has no annotation other' }],
] as const)('a node annotated with key=value, asked for %j: %s', ([config, isPassed, info]) => {
  const node = nodeOf('n1', { annotations: { key: 'value' }, labels: { other: 'value' } })
  expect(createFor(hasAnnotation, config).check(passOf({ node }))).toEqual({ isPassed, info })
})
