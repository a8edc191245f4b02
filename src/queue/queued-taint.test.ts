import { describe, expect, test } from 'vitest'
import type { NodeObject, Taint } from '../kube/index.ts'
import { earlier, node, request } from './fixture-world.ts'
import { isWaiting, queuedTaintPatch } from './queued-taint.ts'

const marks = { taintWhileQueued: 'example.com/soon' }
const ours: Taint = { key: 'example.com/soon', value: 'fettle', effect: 'PreferNoSchedule' }
const theirs: Taint = { key: 'example.com/soon', value: 'mine', effect: 'PreferNoSchedule' }
const other: Taint = { key: 'gpu', effect: 'NoSchedule' }
const noted = { 'fettle.dev/queued-taint': 'example.com/soon' }
const identity = { resourceVersion: '1', uid: 'uid-a' }

function tainted(taints: readonly Taint[], annotations: Record<string, string> = {}): NodeObject {
  return { ...node('a', { annotations }), spec: { taints } }
}

describe('a node that waits', () => {
  test('gets the taint and the note of it in one patch, and keeps its others', () => {
    expect(queuedTaintPatch(tainted([other]), true, marks)).toEqual({
      metadata: { ...identity, annotations: noted },
      spec: { taints: [other, ours] },
    })
  })

  test('gets it once', () => {
    expect(queuedTaintPatch(tainted([ours], noted), true, marks)).toBeUndefined()
  })

  test('does not get it back when somebody removed it', () => {
    expect(queuedTaintPatch(tainted([], noted), true, marks)).toBeUndefined()
  })

  test("keeps somebody else's under the same key", () => {
    expect(queuedTaintPatch(tainted([theirs]), true, marks)).toBeUndefined()
  })

  test('gets the new one in the place of the old one when the setting changes', () => {
    expect(queuedTaintPatch(tainted([ours, other], noted), true, { taintWhileQueued: 'later' })).toEqual({
      metadata: { ...identity, annotations: { 'fettle.dev/queued-taint': 'later' } },
      spec: { taints: [other, { ...ours, key: 'later' }] },
    })
  })

  test('gets none when the key is none', () => {
    expect(queuedTaintPatch(tainted([]), true, { taintWhileQueued: 'two words' })).toBeUndefined()
    expect(queuedTaintPatch(tainted([]), true, {})).toBeUndefined()
  })
})

describe('the taint goes', () => {
  const gone = {
    metadata: { ...identity, annotations: { 'fettle.dev/queued-taint': null } },
    spec: { taints: [other] },
  }

  test('when nobody waits any more', () => {
    expect(queuedTaintPatch(tainted([ours, other], noted), false, marks)).toEqual(gone)
  })

  test('when the setting is gone', () => {
    expect(queuedTaintPatch(tainted([ours, other], noted), true)).toEqual(gone)
  })

  test("but not somebody else's, which took its place", () => {
    expect(queuedTaintPatch(tainted([theirs], noted), false, marks)?.spec?.taints).toEqual([theirs])
  })

  test('and nothing happens where none was', () => {
    expect(queuedTaintPatch(tainted([theirs, other]), false, marks)).toBeUndefined()
  })
})

test('only who has been told to wait counts as waiting', () => {
  const waiting = { for: 'Budget', message: 'full', since: earlier } as const
  expect(isWaiting([])).toBe(false)
  expect(isWaiting([request('r', 'a'), request('s', 'a', { status: { phase: 'Queued' } })])).toBe(false)
  expect(isWaiting([request('r', 'a', { status: { phase: 'Queued', waiting } })])).toBe(true)
  expect(isWaiting([request('r', 'a', { status: { phase: 'Claimed' } })])).toBe(false)
})
