import { expect, test } from 'vitest'
import { noon } from './fixture-world.ts'
import { foreignLock } from './foreign-locks.ts'

const nowMs = Date.parse(noon)
const kured = 'weave.works/kured-node-lock'
const daemonSet = (annotations: Record<string, string>) => ({
  metadata: { namespace: 'kube-system', name: 'kured', annotations },
})
const locked = (value: unknown, key = kured) => foreignLock([daemonSet({ [key]: JSON.stringify(value) })], nowMs)
const [secondNs, created] = [1_000_000_000, '2026-03-01T11:59:00Z']

test.for([
  ['of kured', kured, 'node n1 holds the lock of kured on DaemonSet kube-system/kured'],
  ['of Kustodian', 'k8s.io/kustodian-node-lock', 'node n1 holds the lock of Kustodian on DaemonSet kube-system/kured'],
] as const)('a lock %s is named with its holder', ([, key, sentence]) => {
  expect(locked({ nodeID: 'n1', metadata: { unschedulable: false }, created, TTL: 0 }, key)).toBe(sentence)
})

test.for([
  ['none was ever taken', undefined],
  ['it is empty', ''],
] as const)('no lock is held when %s', ([, text]) => {
  expect(foreignLock([daemonSet(text === undefined ? {} : { [kured]: text })], nowMs)).toBeUndefined()
})

test.for([
  ['it has ended', { nodeID: 'n1', created, TTL: 60 * secondNs }, undefined],
  ['it ends later', { nodeID: 'n1', created, TTL: 61 * secondNs }, 'node n1 holds'],
  ['nobody knows when it began', { nodeID: 'n1', created: 'soon', TTL: secondNs }, 'node n1 holds'],
  ['its end cannot be read', { nodeID: 'n1', created, TTL: '1s' }, 'node n1 holds'],
  ['it names nobody', { nodeID: '', created, TTL: 0 }, undefined],
  ['the list of several is empty', { maxOwners: 2, locks: [] }, undefined],
  ['the list of several is null', { maxOwners: 2, locks: null }, undefined],
  [
    'one of several has ended',
    {
      locks: [
        { nodeID: 'n1', created, TTL: 1 },
        { nodeID: 'n2', created, TTL: 0 },
      ],
    },
    'node n2 holds',
  ],
  ['an entry of the list is nothing', { locks: [null] }, 'cannot be read'],
  ['the list is no list', { locks: 'n1' }, 'cannot be read'],
  ['it is a number', 7, 'cannot be read'],
  ['it is null', null, 'cannot be read'],
] as const)('when %s, the answer is right', ([, value, expected]) => {
  const sentence = locked(value)
  if (expected === undefined) expect(sentence).toBeUndefined()
  else expect(sentence).toContain(expected)
})

test('what is no JSON at all is a lock that cannot be read, and so held', () => {
  expect(foreignLock([daemonSet({}), daemonSet({ [kured]: '{' })], nowMs)).toBe(
    'the lock of kured on DaemonSet kube-system/kured cannot be read, so nobody knows whether it is held',
  )
})
