import { expect, test } from 'vitest'
import { createFor, nodeOf, passOf } from '../../fixture-pass.ts'
import { nodeCount } from './node-count.ts'

test.for([
  [1, true],
  [2, true],
  [3, false],
  [-1, true],
] as const)('of two nodes at least %d: %s', ([count, isPassed]) => {
  const pass = passOf({ nodes: [nodeOf('a'), nodeOf('b')] })
  expect(createFor(nodeCount, { count }).check(pass)).toEqual({ isPassed, info: { current: 2, expected: count } })
})
