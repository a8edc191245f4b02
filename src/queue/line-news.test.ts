import { describe, expect, test } from 'vitest'
import type { Waiting } from '../api/index.ts'
import { noon } from './fixture-world.ts'
import { LineNews } from './line-news.ts'

type Place = Omit<Waiting, 'since'>

const at = (position: number, more: Partial<Place> = {}): Place => ({
  position,
  for: 'Budget',
  message: 'full',
  ...more,
})
const line = (...places: Place[]) => new Map(places.map((place, index) => [`r${index}`, place]))

function start() {
  let nowMs = 1_000_000
  const news = new LineNews({ monotonic: () => nowMs })
  return { news, pass: (ms: number) => (nowMs += ms) }
}

describe('who waits in line is told', () => {
  test('its first place, and then only what is new to it', () => {
    const { news } = start()
    expect(news.of('r0')).toBeUndefined()
    expect(news.take(line(at(1), at(2)))).toEqual(['r0', 'r1'])
    expect(news.take(line(at(1), at(2)))).toEqual([])
    expect(news.of('r1')).toEqual(at(2))
    expect(news.take(line(at(1)))).toEqual([])
    expect(news.of('r1')).toBeUndefined()
  })

  test('of a new place each second at the head, and every ten minutes further back', () => {
    const { news, pass } = start()
    news.take(line(at(2), at(12)))
    expect(news.take(line(at(1), at(11)))).toEqual([])
    expect(news.of('r0')).toEqual(at(2))
    pass(1_000)
    expect(news.take(line(at(1), at(11)))).toEqual(['r0'])
    expect(news.nextMs).toBe(1_000_000 + 600_000)
    pass(599_000)
    expect(news.take(line(at(1), at(11)))).toEqual(['r1'])
  })

  test('at once what else it waits for', () => {
    const { news } = start()
    news.take(line(at(12)))
    expect(news.waitsFor('Freeze')).toBe(false)
    expect(news.take(line(at(12, { for: 'Freeze' })))).toEqual(['r0'])
    expect(news.waitsFor('Freeze')).toBe(true)
  })

  test('that it was passed when it is its turn to be told, however long ago a claim said so', () => {
    const { news, pass } = start()
    news.take(line(at(12)))
    expect(news.take(line(at(12, { passedSince: noon })))).toEqual([])
    news.take(line(at(12)))
    news.take(line(at(12, { passedSince: '2026-03-01T12:05:00.000Z' })))
    pass(600_000)
    expect(news.take(line(at(12)))).toEqual(['r0'])
    expect(news.of('r0')).toEqual(at(12, { passedSince: noon }))
    pass(600_000)
    expect(news.take(line(at(12, { passedSince: noon })))).toEqual([])
  })

  test('nothing of an earlier turn', () => {
    const { news } = start()
    news.take(line(at(1, { passedSince: noon })))
    news.take(line())
    news.take(line(at(1)))
    expect(news.of('r0')).toEqual(at(1))
  })
})
