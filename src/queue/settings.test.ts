import { expect, test } from 'vitest'
import { budget, request } from './fixture-world.ts'
import { settingsOf } from './settings.ts'

const { spec } = budget()

test('without a word of anybody our own settings hold', () => {
  expect(settingsOf(request('r', 'a'), spec)).toEqual({
    windows: [],
    drain: {
      deadlineMs: 1_800_000,
      onDeadline: 'Hold',
      backend: 'Auto',
      unmanaged: 'Refuse',
      waitForVolumes: false,
      stopDaemonSets: [],
    },
    workMs: 7_200_000,
    returnMs: 900_000,
    maxReboots: 5,
    soakMs: 0,
    leadMs: 0,
    heartbeatMs: 60_000,
    minReadyMs: 30_000,
    onNodeLost: 'Hold',
    marks: {},
  })
})

test("the budget's word goes before ours, and the request's before both, each field for itself", () => {
  const defaults = {
    windows: ['night'],
    drain: { deadline: '1h', onDeadline: 'Requeue', gracePeriodMax: '5m' },
    deadlines: { work: '4h', maxReboots: 2 },
  } as const
  const told = { ...spec, defaults: { ...defaults, windows: [...defaults.windows] }, onNodeLost: 'Continue' as const }
  expect(settingsOf(request('r', 'a'), told)).toMatchObject({
    windows: ['night'],
    drain: { deadlineMs: 3_600_000, onDeadline: 'Requeue', gracePeriodMaxMs: 300_000, backend: 'Auto' },
    workMs: 14_400_000,
    returnMs: 900_000,
    maxReboots: 2,
    onNodeLost: 'Continue',
  })
  const own = request('r', 'a', {
    spec: { windows: ['weekend'], drain: { onDeadline: 'Hold' }, deadlines: { work: '1m' } },
  })
  expect(settingsOf(own, told)).toMatchObject({
    windows: ['weekend'],
    drain: { deadlineMs: 3_600_000, onDeadline: 'Hold' },
    workMs: 60_000,
    maxReboots: 2,
  })
})

test('an empty list of DaemonSets to stop is a word', () => {
  const [theirs, own] = [
    { namespace: 'kube-system', name: 'log' },
    { namespace: 'shop', name: 'cache' },
  ]
  const told = { ...spec, defaults: { drain: { stopDaemonSets: [theirs] } } }
  const stopped = (more: Parameters<typeof request>[2]) =>
    settingsOf(request('r', 'a', more), told).drain.stopDaemonSets
  expect(stopped({})).toEqual([theirs])
  expect(stopped({ spec: { drain: { onDeadline: 'Hold' } } })).toEqual([theirs])
  expect(stopped({ spec: { drain: { stopDaemonSets: [own] } } })).toEqual([own])
  expect(stopped({ spec: { drain: { stopDaemonSets: [] } } })).toEqual([])
})

test('an empty list of windows is no word', () => {
  const told = { ...spec, defaults: { windows: ['night'] } }
  expect(settingsOf(request('r', 'a', { spec: { windows: [] } }), told).windows).toEqual(['night'])
})

test('times of 0 are a word', () => {
  const timing = { soak: '1m', lead: '2m', heartbeatTimeout: '90s', minReadySeconds: 0 }
  expect(settingsOf(request('r', 'a'), { ...spec, timing })).toMatchObject({
    soakMs: 60_000,
    leadMs: 120_000,
    heartbeatMs: 90_000,
    minReadyMs: 0,
  })
})
