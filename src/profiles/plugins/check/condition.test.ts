import { expect, test } from 'vitest'
import { createFor, nodeOf, passOf, warningsFor } from '../../fixture-pass.ts'
import { condition } from './condition.ts'

test.for([
  ['Ready', 'True', true, { current: 'True', expected: 'True' }],
  ['Ready', 'Unknown', false, { current: 'True', expected: 'Unknown' }],
  ['DiskPressure', 'True', false, { reason: 'the node has no condition DiskPressure' }],
  // What an unquoted True becomes.
  ['Ready', 'true', false, { current: 'True', expected: 'true' }],
] as const)('of a node that is Ready, %s/%s: %s', ([type, status, isPassed, info]) => {
  const node = nodeOf('n1', { conditions: [{ type: 'Ready', status: 'True' }] })
  expect(createFor(condition, { type, status }).check(passOf({ node }))).toEqual({ isPassed, info })
})

test('a node without any condition does not pass', () => {
  const pass = passOf({ node: { metadata: { name: 'n1' } } })
  expect(createFor(condition, { type: 'Ready', status: 'True' }).check(pass)).toMatchObject({ isPassed: false })
})

test.for([
  ['true', ['status: no condition ever has the status true; write "True", with the quotes']],
  ['false', ['status: no condition ever has the status false; write "False", with the quotes']],
  ['True', []],
  ['Unknown', []],
] as const)('status %s warns: %j', ([status, warnings]) => {
  expect(warningsFor(condition, { type: 'Ready', status })).toEqual(warnings)
})
