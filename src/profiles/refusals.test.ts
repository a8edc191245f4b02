import { expect, test } from 'vitest'
import { noon } from './fixture-pass.ts'
import { Refusals } from './refusals.ts'

const minute = 60_000

test('who was refused waits for longer than others need to have a look, and each time twice as long', () => {
  const refusals = new Refusals()
  expect(refusals.whyNot('n', noon)).toBeUndefined()
  let nowMs = noon
  for (const pauseMs of [2 * minute, 4 * minute, 8 * minute, 10 * minute, 10 * minute]) {
    refusals.note('n', 'Invalid (422)', nowMs, minute)
    expect(refusals.whyNot('n', nowMs + pauseMs - 1)).toMatch(/^the node could not be written: /)
    expect(refusals.whyNot('other', nowMs)).toBeUndefined()
    nowMs += pauseMs
    expect(refusals.whyNot('n', nowMs)).toBeUndefined()
  }
})

test('where looks are rare a pause is never shorter than two of them', () => {
  const refusals = new Refusals()
  refusals.note('n', 'Invalid (422)', noon, 60 * minute)
  expect(refusals.whyNot('n', noon + 119 * minute)).toBe(
    'the node could not be written: Invalid (422); it is tried again at 2026-03-01T14:00:00.000Z',
  )
})

test.for<[string, (refusals: Refusals) => void]>([
  ['who was stored', (refusals) => refusals.delete('n')],
  ['with another file everybody', (refusals) => refusals.clear()],
])('%s begins anew', ([, forget]) => {
  const refusals = new Refusals()
  for (let times = 0; times < 5; times++) refusals.note('n', 'Invalid (422)', noon, minute)
  forget(refusals)
  expect(refusals.whyNot('n', noon)).toBeUndefined()
  refusals.note('n', 'Invalid (422)', noon, minute)
  expect(refusals.whyNot('n', noon + 2 * minute)).toBeUndefined()
})
