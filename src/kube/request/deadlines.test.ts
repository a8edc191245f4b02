import { describe, expect, test } from 'vitest'
import { FakeClock } from '../../time/fake-clock.ts'
import { Deadlines } from './deadlines.ts'

describe('deadlines', () => {
  test('each is told once, in its own time, however many there are', async () => {
    const clock = new FakeClock()
    const deadlines = new Deadlines(clock)
    const passed: string[] = []
    for (const [name, ms] of [
      ['later', 500],
      ['soon', 100],
      ['last', 900],
    ] as const)
      deadlines.add(ms, () => passed.push(name))
    await clock.advance(99)
    expect(passed).toEqual([])
    await clock.advance(2)
    expect(passed).toEqual(['soon'])
    await clock.advance(2_000)
    expect(passed).toEqual(['soon', 'later', 'last'])
    expect(clock.sleeping).toBe(0)
  })

  test('one that is removed is not told, and the last one leaves no timer behind', async () => {
    const clock = new FakeClock()
    const deadlines = new Deadlines(clock)
    const passed: string[] = []
    const first = () => passed.push('first')
    const second = () => passed.push('second')
    deadlines.add(100, first)
    deadlines.add(200, second)
    expect(clock.sleeping).toBe(1)
    deadlines.remove(first)
    await clock.advance(150)
    expect(passed).toEqual([])
    deadlines.remove(second)
    await clock.advance(0)
    expect(clock.sleeping).toBe(0)
    await clock.advance(1_000)
    expect(passed).toEqual([])
  })

  test('one that comes after all have gone runs on a timer of its own', async () => {
    const clock = new FakeClock()
    const deadlines = new Deadlines(clock)
    const passed: string[] = []
    const first = () => passed.push('first')
    deadlines.add(100, first)
    deadlines.remove(first)
    await clock.advance(1_000)
    deadlines.add(50, () => passed.push('second'))
    await clock.advance(51)
    expect(passed).toEqual(['second'])
  })
})
