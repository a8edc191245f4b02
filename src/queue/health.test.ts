import { expect, test } from 'vitest'
import type { MaintenanceRequest } from '../api/index.ts'
import { condition, earlier, node, noon, request } from './fixture-world.ts'
import { ailmentOf, isProven, isReadySince, needsProof } from './health.ts'

test.for([
  ['Ready', node('a'), undefined],
  ['not Ready', node('a', { isReady: false }), 'a is not Ready'],
  [
    'not fit yet',
    node('a', { taints: ['readiness.k8s.io/network'] }),
    'a still has the taint readiness.k8s.io/network',
  ],
  ['tainted by somebody else', node('a', { taints: ['example.com/gpu'] }), undefined],
] as const)('a node that is %s', ([, one, ailment]) => {
  expect(ailmentOf(one)).toBe(ailment)
})

test('a node was Ready since then only when it says since when', () => {
  expect(isReadySince(node('a', { readySince: earlier }), noon)).toBe(true)
  expect(isReadySince(node('a', { readySince: earlier }), earlier)).toBe(true)
  expect(isReadySince(node('a', { readySince: noon }), earlier)).toBe(false)
  expect(isReadySince(node('a'), noon)).toBe(false)
  expect(isReadySince(node('a', { isReady: false, readySince: earlier }), noon)).toBe(false)
})

const given = condition('PermissionGiven')
const returned = condition('Returned')
const one = (status: Partial<MaintenanceRequest['status']>, spec: Partial<MaintenanceRequest['spec']> = {}) =>
  request('r', 'a', { spec, status: { phase: 'Finishing', ...status } })

test.for([
  ['nobody has worked', one({}), false, true],
  ['somebody has worked', one({ conditions: [given] }), true, false],
  ['the node was found well', one({ conditions: [given, returned] }), true, true],
  ['a person took it back', one({ conditions: [given], released: { as: 'Released' } }), false, true],
  [
    'it was never out of service',
    one({ conditions: [given] }, { service: { cordon: false, drain: false } }),
    false,
    true,
  ],
  [
    'the permission still lies there',
    one({ conditions: [given, returned], host: { permission: 'Present' } }, { work: 'Host' }),
    true,
    false,
  ],
  ['nobody knows of the permission', one({ conditions: [given, returned] }, { work: 'Host' }), true, false],
  [
    'the permission is gone',
    one({ conditions: [given, returned], host: { permission: 'Absent' } }, { work: 'Host' }),
    true,
    true,
  ],
] as const)('when %s, the proof is asked for and given: %#', ([, finishing, needs, proven]) => {
  expect([needsProof(finishing), isProven(finishing)]).toEqual([needs, proven])
})
