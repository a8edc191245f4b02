import { expect, test } from 'vitest'
import { pod, world } from './fixture-pods.ts'
import { forcedDrainMs, stragglersText } from './forced-drain.ts'
import { planDrain } from './plan.ts'

const plan = (...pods: ReturnType<typeof pod>[]) => planDrain(world(pods, { settings: { isForced: true } }))
const withGrace = (name: string, terminationGracePeriodSeconds: number) => ({
  ...pod(name),
  spec: { terminationGracePeriodSeconds },
})

test.for([
  ['nobody', [], undefined, 300_000],
  ['the longest grace', [pod('a'), withGrace('b', 90)], undefined, 390_000],
  ['no more than is allowed', [withGrace('b', 90)], 10_000, 310_000],
  ['what was said to one that stops already', [pod('a', { deletionGracePeriodSeconds: 600 })], 10_000, 900_000],
] as const)('those that are deleted are waited for: %s', ([, pods, gracePeriodMaxMs, expected]) => {
  expect(forcedDrainMs({ left: pods }, gracePeriodMaxMs === undefined ? {} : { gracePeriodMaxMs })).toBe(expected)
})

test('who is still there is named with what keeps it, five at most', () => {
  const going = { deletionTimestamp: '2026-03-01T11:00:00Z' }
  expect(
    stragglersText(
      plan(
        pod('a', going),
        pod('b', { ...going, finalizers: ['x/y', 'z'] }),
        pod('c', { annotations: { 'fettle.dev/keep-data': 'true' } }),
        pod('d'),
      ),
    ),
  ).toMatch(
    /^shop\/a \(it is deleted, but its containers do not stop\), shop\/b \(it is deleted, but has finalizers: x\/y, z\), shop\/c \(annotation .*\), shop\/d \(it was asked and has not begun to stop\)$/,
  )
  const many = Array.from({ length: 7 }, (_, index) => pod(`p${index}`))
  expect(stragglersText(plan(...many))).toMatch(/ and 2 more$/)
})
