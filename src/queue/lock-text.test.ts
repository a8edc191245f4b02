import { describe, expect, test } from 'vitest'
import { noon } from './fixture-world.ts'
import { isHeld, isHeldFor, ourHolder, readLock, withHolder, withoutEntries } from './lock-text.ts'

const created = '2026-03-01T11:59:00Z'
const me = { node: 'a', nodeUID: 'uid-a' }
const theirs = (nodeID: string, TTL = 0) => ({ nodeID, metadata: { unschedulable: false }, created, TTL })
const tenYearsNs = 315_360_000_000_000_000
const mine = {
  nodeID: 'fettle/a',
  metadata: { unschedulable: false },
  created: noon,
  TTL: tenYearsNs,
  fettle: 'uid-a',
}

function taken(text: string | undefined, program: 'Kured' | 'Kustodian' = 'Kured'): unknown {
  const answer = withHolder(text, me, program, noon)
  return typeof answer === 'object' && 'text' in answer ? JSON.parse(answer.text) : answer
}

describe('taking a lock that nobody holds', () => {
  test('of Kustodian writes what Kustodian reads', () => {
    expect(taken(undefined, 'Kustodian')).toEqual(mine)
    expect(taken('', 'Kustodian')).toEqual(mine)
  })

  test('of kured writes what both of its kinds read: one holder, and a list with that holder', () => {
    expect(taken(undefined)).toEqual({ ...mine, maxOwners: 1, locks: [mine] })
  })

  test('also when its time is over', () => {
    expect(taken(JSON.stringify(theirs('n1', 1)), 'Kustodian')).toEqual(mine)
  })
})

describe('a place among several', () => {
  const list = (most: number, ...locks: object[]) => JSON.stringify({ maxOwners: most, locks })

  test('is taken while there is room, and who is there stays', () => {
    expect(taken(list(2, theirs('n1')))).toEqual({ maxOwners: 2, locks: [theirs('n1'), mine] })
    expect(taken('{"maxOwners":2,"locks":null}')).toEqual({ maxOwners: 2, locks: [mine] })
  })

  test('is that of one whose time is over', () => {
    expect(taken(list(2, theirs('n1', 1), theirs('n2')))).toEqual({ maxOwners: 2, locks: [theirs('n2'), mine] })
  })

  test('is not taken when all are full', () => {
    expect(taken(list(2, theirs('n1'), theirs('n2')))).toEqual({ heldBy: 'n1, n2' })
  })

  test('is one when nobody says how many there are', () => {
    expect(taken(JSON.stringify({ maxOwners: 'x', locks: [theirs('n1')] }))).toEqual({ heldBy: 'n1' })
  })
})

test.for([
  ['somebody else holds it', JSON.stringify(theirs('n1')), { heldBy: 'n1' }],
  ['we hold it for another node', JSON.stringify({ ...mine, nodeID: 'fettle/b', fettle: 'uid-b' }), { heldBy: 'b' }],
  ['an earlier node of this name has it', JSON.stringify({ ...mine, fettle: 'uid-old' }), { heldBy: 'a' }],
  ['it cannot be read', '{', { heldBy: 'somebody whose name cannot be read' }],
  ['we have it', JSON.stringify(mine), 'has'],
  ['we have it, and kured has dropped our own field', JSON.stringify({ ...mine, fettle: undefined }), 'has'],
] as const)('nothing is written when %s', ([, text, expected]) => {
  expect(taken(text)).toEqual(expected)
})

test('what we wrote is held until we let it go, and is ours', () => {
  const answer = withHolder(undefined, me, 'Kured', noon)
  const text = typeof answer === 'object' && 'text' in answer ? answer.text : ''
  const entries = readLock(text)?.entries ?? []
  expect(entries).toHaveLength(1)
  expect(entries.every((entry) => isHeld(entry, Date.parse(noon) + 365 * 24 * 3_600_000))).toBe(true)
  expect(entries.map(ourHolder)).toEqual([{ node: 'a', nodeUID: 'uid-a' }])
  expect(entries.every((entry) => isHeldFor(entry, me))).toBe(true)
  expect(withoutEntries(text, (entry) => isHeldFor(entry, me))).toBeNull()
})

test('a node that is called like that is not us', () => {
  expect(ourHolder({ nodeID: 'fettle' })).toBeUndefined()
  expect(ourHolder({ nodeID: 7 })).toBeUndefined()
})

describe('letting go', () => {
  const isMine = (entry: object) => ourHolder(entry) !== undefined

  test('leaves the others of a list', () => {
    const text = JSON.stringify({ maxOwners: 3, locks: [theirs('n1'), mine] })
    expect(withoutEntries(text, isMine)).toBe(JSON.stringify({ maxOwners: 3, locks: [theirs('n1')] }))
  })

  test('takes the whole away when nobody is left', () => {
    expect(withoutEntries(JSON.stringify(mine), isMine)).toBeNull()
    expect(withoutEntries(JSON.stringify({ maxOwners: 2, locks: [mine] }), isMine)).toBeNull()
  })

  test.for([undefined, '', '{', JSON.stringify(theirs('n1'))])('changes nothing in %s', (text) => {
    expect(withoutEntries(text, isMine)).toBeUndefined()
  })
})
