import { describe, expect, test } from 'vitest'
import type { MaintenanceBudget, MaintenanceRequest, Slot } from '../api/index.ts'
import { findSlot, locksOf, lockText, releaseText } from './lock.ts'

const nowMs = Date.parse('2026-03-01T12:00:00Z')

const slot = (node: string, token: number, requests: readonly string[], more: Partial<Slot> = {}): Slot => ({
  node,
  nodeUID: `uid-of-${node}`,
  token,
  takenAt: '2026-03-01T10:55:00Z',
  requests: [...requests],
  ...more,
})

const budget = (...slots: Slot[]): MaintenanceBudget =>
  ({ metadata: { name: 'cluster' }, spec: {}, status: { nextToken: 43, slots } }) as unknown as MaintenanceBudget

const works = {
  metadata: { name: 'works', uid: 'works' },
  spec: {
    nodeName: 'node-7',
    nodeUID: 'uid-of-node-7',
    source: { kind: 'Person', key: 'jdoe' },
    requestedBy: 'jdoe-at-example',
    reason: 'replace the fan',
  },
  status: { phase: 'Granted' },
} as unknown as MaintenanceRequest

const slots = [
  slot('node-7', 41, ['works', 'vanished']),
  slot('node-8', 42, [], { soakUntil: '2026-03-01T12:30:00Z' }),
] as const

test('tells who holds what, since when and why, and which request is gone', () => {
  expect(lockText(locksOf({ budget: budget(...slots), requests: [works] }), nowMs)).toMatchInlineSnapshot(`
    "node-7  token 41, since 2026-03-01 10:55 UTC (1h5m)
      works: node-7: drained; the work may begin [replace the fan], asked by jdoe-at-example
      vanished does not exist any more; \`fettle lock release node-7 --reason …\` frees the slot
    node-8  token 42, since 2026-03-01 10:55 UTC (1h5m); back in service, its slot rests until 2026-03-01 12:30 UTC
    the next token is 43
    "
  `)
})

test('the same for programs', () => {
  expect(locksOf({ budget: budget(slots[0]), requests: [works] })).toMatchInlineSnapshot(`
    {
      "nextToken": 43,
      "slots": [
        {
          "holders": [
            {
              "askedBy": "jdoe-at-example",
              "phase": "Granted",
              "reason": "replace the fan",
              "request": "works",
              "text": "node-7: drained; the work may begin",
            },
            {
              "askedBy": null,
              "phase": null,
              "reason": null,
              "request": "vanished",
              "text": "does not exist any more; \`fettle lock release node-7 --reason …\` frees the slot",
            },
          ],
          "node": "node-7",
          "nodeUID": "uid-of-node-7",
          "soakUntil": null,
          "takenAt": "2026-03-01T10:55:00Z",
          "token": 41,
        },
      ],
    }
  `)
})

test('an empty ledger is one line', () => {
  expect(lockText(locksOf({ budget: budget(), requests: [] }), nowMs)).toBe('no slot is taken; the next token is 43\n')
})

describe('which slot is meant', () => {
  test('by name, or by UID', () => {
    expect(findSlot(slots, 'node-7').token).toBe(41)
    expect(findSlot(slots, 'uid-of-node-7').token).toBe(41)
  })

  test('a node without one is told so', () => {
    expect(() => findSlot(slots, 'node-9')).toThrow('node-9 has no slot; `fettle lock` shows who has one')
  })

  test('a slot that rests becomes free by itself', () => {
    expect(() => findSlot(slots, 'node-8')).toThrow(
      'node-8 is back in service already; its slot rests until 2026-03-01 12:30 UTC, then it is free',
    )
  })

  test('of two nodes with the same name one is named by its UID', () => {
    const twins = [slot('node-7', 1, ['a']), slot('node-7', 2, ['b'], { nodeUID: 'another' })]
    expect(() => findSlot(twins, 'node-7')).toThrow(
      'node-7 was made anew, and each has a slot; name one by its UID: uid-of-node-7 (token 1), another (token 2)',
    )
    expect(findSlot(twins, 'another').token).toBe(2)
  })
})

test('what a release does is said before it happens', () => {
  expect(releaseText(slots[0], [works])).toMatchInlineSnapshot(
    `"works [replace the fan] is Granted. It ends as Released, and node-7 takes pods again: nobody checks whether work on it has ended, or whether it is well."`,
  )
  expect(releaseText(slots[0], [])).toMatchInlineSnapshot(
    `"Slot 41 of node-7 is freed, and the node takes pods again: works, vanished do not exist any more. Nobody checks whether work on it has ended, or whether it is well."`,
  )
})
