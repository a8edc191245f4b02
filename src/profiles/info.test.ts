import { expect, test } from 'vitest'
import { nodeOf, noon } from './fixture-pass.ts'
import { InfoBoard } from './info.ts'
import { drainTimes, progressOf } from './plugins/trigger/drain-progress.ts'
import type { Pass } from './state/pass.ts'
import type { PassResult } from './state/result.ts'

const passOf = (result: Partial<PassResult>) =>
  ({ result: { profiles: [], unknown: [], ...result } }) as unknown as Pass

test('a node is shown field by field as the original shows it, with only the labels that the file allows', () => {
  const board = new InfoBoard()
  const entry = { at: '2026-03-01T11:00:00Z', profile: 'p', from: 'operational', to: 'maintenance-required', why: 'go' }
  const node = nodeOf('n1', {
    labels: { zone: 'z1', secret: 'x' },
    annotations: { 'fettle.dev/profile-history': JSON.stringify([entry]) },
  })
  const chain = {
    expression: 'a && b',
    isPassed: false,
    error: 'b: cannot tell',
    checks: [
      { name: 'a', type: 'wait', isPassed: true, info: { remaining_seconds: 0 } },
      { name: 'b', type: 'hasLabel', isPassed: false, info: {}, error: 'cannot tell' },
    ],
  }
  board.publish(
    node,
    passOf({
      profiles: [
        {
          name: 'p',
          state: 'operational',
          next: 'operational',
          transitions: [{ target: 'in-maintenance', isPassed: false, chain }],
          failure: { stage: 'check', cause: 'b: cannot tell' },
          waitsFor: 'a slot',
          isOverdue: true,
        },
      ],
      unknown: ['typo'],
    }),
    ['zone', 'rack'],
    noon,
  )
  expect(board.all()).toEqual([
    {
      node: 'n1',
      profiles: [
        {
          name: 'p',
          state: 'operational',
          applied: {
            next: 'operational',
            error: 'b: cannot tell',
            transitions: [
              {
                target: 'in-maintenance',
                passed: false,
                error: 'b: cannot tell',
                chain: {
                  passed: false,
                  expression: 'a && b',
                  info: {
                    a: { id: 'wait', passed: true, info: { remaining_seconds: 0 } },
                    b: { id: 'hasLabel', passed: false, info: { error: 'cannot tell' } },
                  },
                },
              },
            ],
          },
          waitsFor: 'a slot',
          overdue: true,
        },
      ],
      labels: { zone: 'z1' },
      updated: '2026-03-01T12:00:00.000Z',
      unknown: ['typo'],
      history: [entry],
    },
  ])
  expect([...board.states()]).toEqual([
    { profile: 'p', state: 'operational' },
    { profile: 'typo', state: 'unknown' },
  ])
})

test('nodes come by name, the newest look counts, and who is gone is forgotten', () => {
  const board = new InfoBoard()
  for (const name of ['b', 'a', 'b']) board.publish(nodeOf(name), passOf({ problem: `paused: ${name}` }), [], noon)
  expect(board.all().map(({ node, problem }) => `${node} ${problem}`)).toEqual(['a paused: a', 'b paused: b'])
  board.forget('a')
  expect(board.all()).toHaveLength(1)
  board.forgetNodes()
  expect([board.all(), [...board.states()]]).toEqual([[], []])
})

test('drains that take too long are known by profile, until the next look says otherwise', () => {
  const board = new InfoBoard()
  const look = (waitsFor?: string) => {
    const own = { state: 'operational', next: 'operational', transitions: [] }
    const profiles = [
      { name: 'p', ...own, ...(waitsFor === undefined ? {} : { waitsFor }) },
      { name: 'q', ...own },
    ]
    board.publish(nodeOf('n1'), passOf({ profiles }), [], noon)
    return [...board.overdueDrains()]
  }
  const limits = { evictionTimeout: 60_000, deletionTimeout: 60_000, forceEviction: false }
  const textAfter = (ms: number) => {
    const times = drainTimes({ nowMs: noon + ms, sinceMs: noon }, limits, noon)
    return `drain: ${progressOf({ left: [], refusals: [], waitsFor: 'still there: 1 pod' }, new Map(), times, limits).text}`
  }
  expect(look(textAfter(119_999))).toEqual([])
  expect(look(textAfter(120_000))).toEqual(['p'])
  expect(look()).toEqual([])
})
