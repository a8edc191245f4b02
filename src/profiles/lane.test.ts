import { expect, test, vi } from 'vitest'
import { Lane } from './lane.ts'

test('so many at once, in the order in which they came', async () => {
  const lane = new Lane({ width: 2, slowAfterMs: 60_000 })
  const log: string[] = []
  const ends = new Map<string, () => void>()
  const start = (name: string) =>
    lane.run(async () => {
      log.push(name)
      await new Promise<void>((resolve) => ends.set(name, resolve))
      return name
    })
  const all = ['a', 'b', 'c', 'd'].map(start)
  await vi.waitFor(() => expect(log).toEqual(['a', 'b']), 10_000)
  expect(lane.isCrowded).toBe(true)
  ends.get('b')?.()
  expect(await all[1]).toBe('b')
  await vi.waitFor(() => expect(log).toEqual(['a', 'b', 'c']), 10_000)
  for (const name of ['a', 'c']) ends.get(name)?.()
  await vi.waitFor(() => expect(log).toEqual(['a', 'b', 'c', 'd']), 10_000)
  expect(lane.isCrowded).toBe(false)
  ends.get('d')?.()
  expect(await Promise.all(all)).toEqual(['a', 'b', 'c', 'd'])
})

test('those who are patient have their turn, and are no crowd', async () => {
  const lane = new Lane({ width: 1, slowAfterMs: 60_000 })
  const first = held()
  const log: string[] = []
  const note = (name: string) => async () => void log.push(name)
  const all: Promise<unknown>[] = [lane.run(() => first.promise), lane.run(note('patient'), { isPatient: true })]
  expect(lane.isCrowded).toBe(false)
  all.push(lane.run(note('hurrying')))
  expect(lane.isCrowded).toBe(true)
  first.resolve('')
  await Promise.all(all)
  expect(log).toEqual(['patient', 'hurrying'])
  expect(lane.isCrowded).toBe(false)
})

test('who fails leaves its place, too', async () => {
  const lane = new Lane({ width: 1, slowAfterMs: 60_000 })
  await expect(lane.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await lane.run(async () => 'next')).toBe('next')
})

test('whoever takes long steps aside once, and the lane does not get wider by it', async () => {
  const lane = new Lane({ width: 1, slowAfterMs: 5 })
  const hung = Array.from({ length: 3 }, held)
  const slow = hung.map(({ promise }) => lane.run(() => promise))
  expect(await lane.run(async () => 'quick')).toBe('quick')
  for (const { resolve } of hung) resolve('late')
  expect(await Promise.all(slow)).toEqual(['late', 'late', 'late'])
  let most = 0
  let now = 0
  const short = () =>
    lane.run(async () => {
      most = Math.max(most, ++now)
      await Promise.resolve()
      now--
    })
  await Promise.all([short(), short(), short()])
  expect(most).toBe(1)
})

function held() {
  const ends: ((text: string) => void)[] = []
  const promise = new Promise<string>((done) => ends.push(done))
  return { promise, resolve: (text: string) => ends[0]?.(text) }
}
