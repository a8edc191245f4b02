import { expect, test } from 'vitest'
import { FakeClock } from '../time/fake-clock.ts'
import { Heartbeats } from './heartbeats.ts'

const lease = (resourceVersion: string, uid = 'l') => ({ metadata: { name: 'a', uid, resourceVersion } })

test('silence counts from the first look, and only a change ends it', async () => {
  const clock = new FakeClock(1_000)
  const heartbeats = new Heartbeats(clock)
  expect(heartbeats.silentMs('a', lease('1'))).toBe(0)
  await clock.advance(90_000)
  expect(heartbeats.silentMs('a', lease('1'))).toBe(90_000)
  expect(heartbeats.silentMs('a', lease('2'))).toBe(0)
  await clock.advance(10)
  expect(heartbeats.silentMs('a', lease('2'))).toBe(10)
})

test('a Lease that is missing is silent as well; one that is made anew is a change', async () => {
  const clock = new FakeClock(0)
  const heartbeats = new Heartbeats(clock)
  expect(heartbeats.silentMs('a', undefined)).toBe(0)
  await clock.advance(70_000)
  expect(heartbeats.silentMs('a', undefined)).toBe(70_000)
  expect(heartbeats.silentMs('a', lease('1'))).toBe(0)
  await clock.advance(5)
  expect(heartbeats.silentMs('a', lease('1', 'another'))).toBe(0)
})

test('each node has its own silence', async () => {
  const clock = new FakeClock(0)
  const heartbeats = new Heartbeats(clock)
  heartbeats.silentMs('a', lease('1'))
  await clock.advance(50)
  expect(heartbeats.silentMs('b', lease('1'))).toBe(0)
  expect(heartbeats.silentMs('a', lease('1'))).toBe(50)
})

test('a first look is no beat: only what changes after it is heard, and a Lease that is removed is not', async () => {
  const clock = new FakeClock(0)
  const heartbeats = new Heartbeats(clock)
  expect(heartbeats.listen('a', lease('1'))).toEqual({ silentMs: 0, isHeard: false })
  await clock.advance(50)
  expect(heartbeats.listen('a', undefined)).toEqual({ silentMs: 50, isHeard: false })
  expect(heartbeats.listen('a', lease('1'))).toEqual({ silentMs: 50, isHeard: false })
  expect(heartbeats.listen('a', lease('2'))).toEqual({ silentMs: 0, isHeard: true })
  await clock.advance(50)
  expect(heartbeats.listen('a', undefined)).toEqual({ silentMs: 50, isHeard: true })
})
