import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../kube/index.ts'
import { noon, request, slot } from './fixture-world.ts'
import { foreignLock, holdsLocks, type LockWorld, strayLocks } from './foreign-locks.ts'

const nowMs = Date.parse(noon)
const kured = 'weave.works/kured-node-lock'
const daemonSet = (annotations: Record<string, string>) => ({
  metadata: { namespace: 'kube-system', name: 'kured', annotations },
})
const told = (daemonSets: readonly KubeObject[], world?: LockWorld, of = request('r', 'a'), gone?: Set<string>) =>
  foreignLock(daemonSets, nowMs, world, gone)?.(of)
const locked = (value: unknown, key = kured) => told([daemonSet({ [key]: JSON.stringify(value) })])
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
  expect(told([daemonSet({}), daemonSet({ [kured]: '{' })])).toBe(
    'the lock of kured on DaemonSet kube-system/kured cannot be read, so nobody knows whether it is held',
  )
})

const place = { program: 'Kured', namespace: 'kube-system', hold: false, takeOver: false } as const
const world = (entry: object, ...slots: ReturnType<typeof slot>[]): LockWorld => ({
  spec: { foreignLocks: [{ ...place, ...entry }] },
  status: { slots },
})
const theirs = (nodeID: string) => ({ nodeID, created, TTL: 0 })
const ours = (node: string) => ({ nodeID: `fettle/${node}`, created, TTL: 0, fettle: `uid-${node}` })
const carrying = (value: unknown, key = kured) => [daemonSet({ [key]: JSON.stringify(value) })]

describe('a lock that the budget names', () => {
  test('is honoured under its own key, on its own DaemonSet', () => {
    const named = world({ annotation: 'example.com/lock' })
    const sentence = 'node n1 holds the lock of kured on DaemonSet kube-system/kured'
    expect(told(carrying(theirs('n1'), 'example.com/lock'), named)).toBe(sentence)
    expect(told(carrying(theirs('n1')), named)).toBe(sentence)
    expect(told(carrying(theirs('n1'), 'example.com/lock'), world({ annotation: 'example.com/lock', name: 'x' }))).toBe(
      undefined,
    )
  })

  test('lets a place of several be taken while we hold it too, and else not', () => {
    const room = carrying({ maxOwners: 2, locks: [theirs('n1')] })
    expect(told(room, world({ hold: true }))).toBeUndefined()
    expect(told(room, world({}))).toContain('node n1 holds')
    const full = carrying({ maxOwners: 2, locks: [theirs('n1'), theirs('n2')] })
    expect(told(full, world({ hold: true }))).toContain('node n1 holds')
  })

  test('whose DaemonSet is gone lets nobody out, unless it was never there', () => {
    const held = world({ hold: true })
    expect(told([], held, request('r', 'a'), new Set(['kube-system/kured']))).toContain(
      'the lock of kured on DaemonSet kube-system/kured is to be held, and the DaemonSet is gone',
    )
    expect(told([], held)).toBeUndefined()
    expect(told([], world({}), request('r', 'a'), new Set(['kube-system/kured']))).toBeUndefined()
  })
})

describe('a lock that we hold', () => {
  const held = world({ hold: true })

  test('is not in the way of its own node, only of others', () => {
    expect(told(carrying(ours('a')), held)).toBeUndefined()
    expect(told(carrying(ours('b')), held)).toBe('node b holds the lock of kured on DaemonSet kube-system/kured')
  })

  test('for a node with a slot is the budget to speak of', () => {
    expect(told(carrying(ours('b')), world({ hold: true }, slot('b', 1, 's')))).toBeUndefined()
  })

  test('in a full list of several is not in the way of its own node', () => {
    const full = carrying({ maxOwners: 1, locks: [ours('a')] })
    expect(told(full, held)).toBeUndefined()
    expect(told(full, held, request('s', 'b'))).toContain('node a holds')
    const both = carrying({ maxOwners: 2, locks: [theirs('n1'), ours('a')] })
    expect(told(both, held)).toBeUndefined()
    expect(told(both, held, request('s', 'b'))).toContain('node n1 holds')
  })

  test('is for one node at a time', () => {
    expect(holdsLocks(held.spec)).toBe(true)
    expect(holdsLocks(world({}).spec)).toBe(false)
    expect(holdsLocks({})).toBe(false)
  })

  test('strays without a slot, wherever it lies', () => {
    const one = { namespace: 'kube-system', name: 'kured' }
    expect(strayLocks(carrying(ours('a'), 'example.com/old'), [])).toEqual([{ ...one, annotation: 'example.com/old' }])
    expect(strayLocks(carrying({ locks: [theirs('n1'), ours('a')] }), [slot('b', 1)])).toEqual([
      { ...one, annotation: kured },
    ])
    expect(strayLocks(carrying(ours('a')), [slot('a', 1)])).toEqual([])
    expect(strayLocks(carrying(theirs('n1')), [])).toEqual([])
    expect(strayLocks([daemonSet({ note: 'about "fettle/a"' })], [])).toEqual([])
  })
})
