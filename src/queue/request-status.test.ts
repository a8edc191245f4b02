import { describe, expect, test } from 'vitest'
import type { MaintenanceRequestStatus } from '../api/index.ts'
import { earlier, heldSlot, noon, request } from './fixture-world.ts'
import { enterPhase, hasCondition, withCondition, withLine } from './request-status.ts'

describe('a new phase', () => {
  test('begins now, with a line of history, and forgets what it waited for', () => {
    const waiting = { position: 1, for: 'Budget', message: 'full', since: earlier } as const
    const queued = request('r', 'n', {
      status: { phase: 'Queued', since: earlier, waiting, history: [] },
      metadata: { generation: 3 },
    })
    expect(enterPhase(queued, 'Claimed', { reason: 'SlotTaken', message: 'slot 1 is taken' }, noon)).toEqual({
      phase: 'Claimed',
      since: noon,
      observedGeneration: 3,
      history: [{ time: noon, phase: 'Claimed', reason: 'SlotTaken', message: 'slot 1 is taken' }],
    })
  })

  test('keeps what others wrote and what stays true', () => {
    const host = { bootID: 'b' }
    const held = request('r', 'n', { status: { phase: 'Granted', slot: heldSlot(3), host } })
    expect(enterPhase(held, 'Finishing', { reason: 'Return', message: 'm' }, noon)).toMatchObject({
      slot: heldSlot(3),
      host,
    })
  })

  test('carries an outcome only when there is one', () => {
    expect(enterPhase(request('r', 'n'), 'Queued', { reason: 'x', message: 'm' }, noon)).not.toHaveProperty('outcome')
    expect(
      enterPhase(request('r', 'n'), 'Done', { reason: 'x', message: 'm', outcome: 'Withdrawn' }, noon).outcome,
    ).toBe('Withdrawn')
  })
})

describe('history', () => {
  const line = (index: number) =>
    ({ time: `t${index}`, phase: 'Queued', reason: 'Again', message: `line ${index}` }) as const

  test('has at most fifty lines: the oldest fold into one that counts them', () => {
    let history: ReturnType<typeof withLine> = []
    for (let index = 1; index <= 200; index++) {
      history = withLine(history, line(index))
      expect(history.length).toBe(Math.min(index, 50))
      const folded = history[0]?.count ?? 0
      expect(folded + history.filter(({ count }) => count === undefined).length).toBe(index)
    }
    expect(history[0]).toEqual({
      time: 't1',
      phase: 'Queued',
      reason: 'Folded',
      message: '151 earlier lines',
      count: 151,
    })
    expect(history.slice(1)).toEqual(Array.from({ length: 49 }, (_, index) => line(index + 152)))
  })
})

describe('a condition', () => {
  const condition = { type: 'Drained', status: 'False', reason: 'Draining', message: 'm' } as const
  const claimed: MaintenanceRequestStatus = { phase: 'Claimed' }

  test('keeps its time while its status stays, and is there once', () => {
    const first = withCondition(claimed, condition, earlier)
    const second = withCondition(first, { ...condition, reason: 'Blocked' }, noon)
    expect(second.conditions).toEqual([{ ...condition, reason: 'Blocked', lastTransitionTime: earlier }])
    expect(withCondition(second, { ...condition, status: 'True' }, noon).conditions).toEqual([
      { ...condition, status: 'True', lastTransitionTime: noon },
    ])
  })

  test('holds only when it is True', () => {
    expect(hasCondition(withCondition(claimed, condition, noon), 'Drained')).toBe(false)
    expect(hasCondition(withCondition(claimed, { ...condition, status: 'True' }, noon), 'Drained')).toBe(true)
    expect(hasCondition(undefined, 'Drained')).toBe(false)
  })
})
