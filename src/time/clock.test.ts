import { describe, expect, it } from 'vitest'
import type { Clock } from './clock.ts'
import { systemClock } from './clock.ts'
import { FakeClock } from './fake-clock.ts'

describe.each([
  ['the system clock', () => systemClock, async () => undefined],
  ['the fake clock', () => new FakeClock(), (clock: Clock) => (clock as FakeClock).advance(20)],
] as const)('%s', (_name, make, pass) => {
  it('wakes a sleeper after the time, and not before', async () => {
    const clock = make()
    const startedAt = clock.monotonic()
    const slept = clock.sleep(20)
    await pass(clock)
    await slept
    expect(clock.monotonic() - startedAt).toBeGreaterThanOrEqual(19)
  })

  it('lets a sleeper go with the reason when it is stopped, also when it already was', async () => {
    const clock = make()
    const stop = new AbortController()
    const slept = clock.sleep(60_000, stop.signal)
    stop.abort(new Error('enough'))
    await expect(slept).rejects.toThrow('enough')
    await expect(clock.sleep(60_000, stop.signal)).rejects.toThrow('enough')
  })

  it('never goes back when it measures', () => {
    const clock = make()
    const first = clock.monotonic()
    expect(clock.monotonic()).toBeGreaterThanOrEqual(first)
  })
})

describe('the fake clock', () => {
  it('wakes sleepers in the order of their time, each at its own moment', async () => {
    const clock = new FakeClock(1_000)
    const woken: [string, number][] = []
    const sleeper = async (name: string, ms: number) => {
      await clock.sleep(ms)
      woken.push([name, clock.now()])
    }
    const all = [sleeper('late', 30), sleeper('early', 10), sleeper('never', 100)]
    await clock.advance(50)
    expect(woken).toEqual([
      ['early', 1_010],
      ['late', 1_030],
    ])
    expect(clock.now()).toBe(1_050)
    expect(clock.sleeping).toBe(1)
    await clock.advance(50)
    await Promise.all(all)
  })

  it('also wakes one that a woken sleeper put to sleep again', async () => {
    const clock = new FakeClock()
    let beats = 0
    const heart = (async () => {
      for (; beats < 5; beats++) await clock.sleep(10)
    })()
    await clock.advance(49)
    expect(beats).toBe(4)
    await clock.advance(1)
    await heart
    expect(beats).toBe(5)
  })
})
