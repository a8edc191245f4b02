import { describe, expect, test } from 'vitest'
import { type Phase, phaseMeanings } from '../api/index.ts'
import { request } from './fixture-request.ts'
import { occasionOf } from './occasion.ts'

const phases = Object.keys(phaseMeanings) as Phase[]
const permitted = {
  conditions: [
    {
      type: 'PermissionGiven',
      status: 'True',
      reason: 'Granted',
      message: '',
      lastTransitionTime: '2026-03-01T12:00:00Z',
    },
  ],
} as const
const from = (before: Phase, after: Phase, more: object = {}) =>
  occasionOf(request({ phase: before, ...more }), request({ phase: after, ...more }))

describe('there is something to tell when', () => {
  test.each([
    ['the drain begins', 'Queued', 'Claimed', 'Drain'],
    ['it begins again', 'Held', 'Claimed', 'Drain'],
    ['the node is told to reboot', 'Granted', 'Rebooting', 'Reboot'],
    ['it stops', 'Claimed', 'Held', 'Held'],
    ['it stops at the end', 'Finishing', 'Held', 'Held'],
    ['the node is back', 'Finishing', 'Done', 'Return'],
    ['it is back after a drain that took too long', 'Finishing', 'Queued', 'Return'],
  ] as const)('%s', (_what, before, after, occasion) => {
    expect(from(before, after)).toBe(occasion)
  })

  test('it is over for a node that somebody worked on, wherever that was', () => {
    for (const before of ['Granted', 'Rebooting', 'Held'] as const)
      expect(from(before, 'Done', permitted)).toBe('Return')
  })
})

describe('there is nothing to tell when', () => {
  test.each(phases)('it stays %s', (phase) => {
    expect(from(phase, phase, permitted)).toBeUndefined()
  })

  test.each(['Granted', 'Finishing'] as const)('it becomes %s', (after) => {
    for (const before of phases) expect(from(before, after, permitted)).toBeUndefined()
  })

  test('it is over before its turn', () => {
    expect(from('Queued', 'Done')).toBeUndefined()
  })

  test('another request got its name', () => {
    const [old, now] = [request({ phase: 'Queued' }), request({ phase: 'Claimed' })]
    expect(occasionOf(old, { ...now, metadata: { ...now.metadata, uid: 'another' } })).toBeUndefined()
  })
})
