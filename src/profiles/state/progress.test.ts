import { expect, test } from 'vitest'
import {
  addHistory,
  type HistoryEntry,
  type Progress,
  readHistory,
  readProgress,
  withoutWays,
  writeProgress,
} from './progress.ts'

const nothing: Progress = { inFlight: {}, aborting: {}, pending: [], sent: {} }
const at = '2026-03-01T12:00:00.5Z'
const full: Progress = {
  inFlight: {
    p: {
      from: 'operational',
      next: 'in-maintenance',
      check: 'go',
      triggers: [],
      trigger: 2,
      since: at,
      fromSinceMs: 12.25,
      isTaken: false,
    },
  },
  aborting: { q: at },
  pending: [{ profile: 'p', instance: 'tell', state: 'in-maintenance', previous: 'operational', at, transition: at }],
  sent: { p: { tell: at } },
}

test('what is remembered is read as it was written, and nothing is not written at all', () => {
  expect(readProgress(writeProgress(full))).toEqual(full)
  expect(writeProgress(nothing)).toBeUndefined()
})

test.for([undefined, '', '{', '[]', '3', '{"pending":"x"}', '{"inFlight":{"p":{"from":"nowhere"}}}'])(
  '%s counts as nothing',
  (text) => {
    expect(readProgress(text)).toEqual(nothing)
  },
)

test('without the ways only the times of messages are left', () => {
  expect(readProgress(withoutWays(writeProgress(full)))).toEqual({ ...nothing, sent: full.sent })
  expect(withoutWays(writeProgress({ ...full, sent: {} }))).toBeUndefined()
})

test('history is short, and the newest comes first', () => {
  const entry = (why: string): HistoryEntry => ({ at, profile: 'p', from: 'operational', to: 'in-maintenance', why })
  let text = addHistory('a person wrote this', [entry('1'), entry('2')])
  expect(readHistory(text).map(({ why }) => why)).toEqual(['2', '1'])
  for (let index = 3; index <= 30; index++) text = addHistory(text, [entry(String(index))])
  expect(readHistory(text).map(({ why }) => Number(why))).toEqual(Array.from({ length: 20 }, (_, index) => 30 - index))
})

test('a message of a version that did not note the time of its transition is still one', () => {
  const old = { profile: 'p', instance: 'tell', state: 'in-maintenance', previous: 'operational', at }
  expect(readProgress(JSON.stringify({ pending: [old] })).pending).toEqual([old])
})

test('a state that nobody knows does not take the history with it', () => {
  const entry = { at, profile: 'p', from: 'nowhere', to: 'operational', why: 'aborted' }
  expect(readHistory(JSON.stringify([entry]))).toEqual([entry])
})
