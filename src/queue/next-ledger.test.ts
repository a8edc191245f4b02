import { expect, test } from 'vitest'
import type { MaintenanceBudgetStatus } from '../api/index.ts'
import { noon } from './fixture-world.ts'
import { type Checked, nextLedger } from './next-ledger.ts'

const stored: MaintenanceBudgetStatus = {
  nextToken: 8,
  slots: [],
  conditions: [
    { type: 'LedgerReady', status: 'True', reason: 'Ready', message: 'x', lastTransitionTime: noon },
    { type: 'ExclusivityBroken', status: 'False', reason: 'WithinLimits', message: 'x', lastTransitionTime: noon },
  ],
}
const slot = (node: string, token: number) => ({ node, nodeUID: `uid-${node}`, token, takenAt: noon, requests: [node] })
const none: Checked = { claims: [], releases: [], putBack: [], ended: [] }
const lost = { ...none, putBack: [slot('a', 3), slot('b', 4)] }

const tooMany = () => true
const fits = () => false

function decided(status: 'True' | 'False'): Parameters<typeof nextLedger>[2] {
  const broken = { type: 'ExclusivityBroken', status, reason: 'x', message: 'x', lastTransitionTime: noon } as const
  const next = { ...stored, nextToken: 9, slots: lost.putBack, conditions: [broken] }
  return { ...lost, next, toRestore: [], forgotten: [], waiting: new Map(), unasked: [], limits: [] }
}

test('all that proved true is written as it was decided', () => {
  const decision = decided('True')
  expect(nextLedger(stored, lost, decision, fits, noon)).toBe(decision.next)
})

test('slots that come back over a limit stop claims, also if not all that was decided proved true', () => {
  const written = nextLedger(stored, { ...none, putBack: [slot('a', 3)] }, decided('True'), tooMany, noon)
  expect(written.slots.map(({ node }) => node)).toEqual(['a'])
  expect(written.nextToken).toBe(9)
  expect(written.conditions?.map(({ type, status }) => [type, status])).toEqual([
    ['LedgerReady', 'True'],
    ['ExclusivityBroken', 'True'],
  ])
})

test('what is within the limits leaves the conditions as they are', () => {
  const written = nextLedger(stored, { ...none, putBack: [slot('a', 3)] }, decided('False'), fits, noon)
  expect(written.conditions).toEqual(stored.conditions)
})

test.for([
  ['none of them proved lost', none],
  ['those that did are no more than the limits allow', { ...none, putBack: [slot('a', 3)] }],
] as const)('slots that would have come back over a limit stop nobody when %s', ([, checked]) => {
  const isOver = (slots: readonly unknown[]) => slots.length > 1
  expect(nextLedger(stored, checked, decided('True'), isOver, noon).conditions).toEqual(stored.conditions)
})
