import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { EvictionPace, planDrain } from '../drain/index.ts'
import type { KubeClient } from '../kube/index.ts'
import { FakeClock } from '../time/fake-clock.ts'
import type { Clock } from '../time/index.ts'
import { takeDrainTurn } from './drain-turn.ts'
import { earlier, noon, pod, request } from './fixture-world.ts'
import { ReportPace } from './report-pace.ts'

const silent = { info: () => undefined, warn: () => undefined }

/** Requests for one node, which hold one slot together. */
function drainOf(evict: KubeClient['evict'], names: readonly string[], clock: Clock = new FakeClock(Date.parse(noon))) {
  const plan = planDrain({
    pods: names.map((name) => pod(name)),
    budgets: [],
    isNodeReady: true,
    settings: { backend: 'Eviction', isForced: false },
    nowMs: Date.parse(noon),
  })
  const ports = { client: { evict } as KubeClient, clock, log: silent }
  const parts = { ports, pace: new EvictionPace(() => 0), reports: new ReportPace() }
  const status = { phase: 'Claimed', since: earlier } as const
  return (sharer: string, signal = new AbortController().signal) =>
    takeDrainTurn(parts, request(sharer, 'a'), { do: 'drain', plan, status }, async () => undefined, signal)
}

test('requests that share a slot and are served side by side ask each pod once', async () => {
  const asked: string[] = []
  const turn = drainOf(
    async ({ name }) => {
      asked.push(name)
      // The others have their turn before the server answers.
      await setImmediate()
    },
    ['p', 'q'],
  )
  await Promise.all([turn('r'), turn('s'), turn('t')])
  expect(asked).toEqual(['p', 'q'])
})

test('a turn that is broken off leaves its pods to the next one', async () => {
  const asked: string[] = []
  const end = new AbortController()
  const turn = drainOf(
    async ({ name }) => {
      asked.push(name)
      if (asked.length > 1) return
      end.abort()
      throw end.signal.reason
    },
    ['p'],
  )
  await expect(turn('r', end.signal)).rejects.toThrow('aborted')
  await turn('s')
  expect(asked).toEqual(['p', 'p'])
})

test('a clock that is set back an hour keeps nobody waiting who was refused', async () => {
  let [wallMs, passedMs] = [Date.parse(noon), 5]
  const clock = { now: () => wallMs, monotonic: () => passedMs, sleep: async () => undefined }
  let calls = 0
  const turn = drainOf(
    async () => {
      calls++
      throw new Error('the budget has nothing to give')
    },
    ['p'],
    clock,
  )
  await turn('r')
  wallMs -= 3_600_000
  passedMs += 5_000
  await turn('r')
  expect(calls).toBe(2)
})
