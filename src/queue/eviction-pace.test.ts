import { describe, expect, test } from 'vitest'
import type { PodObject } from '../kube/index.ts'
import { EvictionPace } from './eviction-pace.ts'

const pod = (uid: string): PodObject => ({ metadata: { uid, name: uid, namespace: 'shop' } })
const at = 1_000_000
const refused = (uid: string) => ({ pod: pod(uid), result: 'refused', why: 'no' }) as const

describe('pods are asked', () => {
  test('at once when they were never asked', () => {
    expect(new EvictionPace(() => 0).due([pod('a')], at)).toEqual({ pods: [pod('a')], nextMs: undefined })
  })

  test('ever more seldom after a no, from five seconds up to a minute', () => {
    const pace = new EvictionPace(() => 0)
    const waits = []
    for (let round = 0; round < 7; round++) {
      pace.note([refused('a')], at)
      waits.push(pace.due([pod('a')], at).nextMs)
    }
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000])
    expect(pace.due([pod('a')], at + 59_999).pods).toEqual([])
    expect(pace.due([pod('a')], at + 60_000)).toEqual({ pods: [pod('a')], nextMs: undefined })
  })

  test('not in step: chance adds up to a fifth', () => {
    const pace = new EvictionPace(() => 0.5)
    pace.note([refused('a')], at)
    expect(pace.due([pod('a')], at).nextMs).toBe(5_500)
  })

  test('a failure counts as a no; a yes only needs time to show', () => {
    const pace = new EvictionPace(() => 0)
    pace.note(
      [
        { pod: pod('a'), result: 'failed', why: 'no answer' },
        { pod: pod('b'), result: 'accepted' },
        { pod: pod('c'), result: 'gone' },
      ],
      at,
    )
    expect(pace.due([pod('a')], at).nextMs).toBe(5_000)
    expect(pace.due([pod('b')], at).nextMs).toBe(2_000)
    expect(pace.due([pod('a'), pod('b'), pod('c'), pod('d')], at)).toEqual({ pods: [pod('d')], nextMs: 2_000 })
  })

  test('afresh when another pod has the name, and when the old one was forgotten', () => {
    const pace = new EvictionPace(() => 0)
    pace.note([refused('a'), refused('b')], at)
    expect(pace.due([{ metadata: { ...pod('a').metadata, uid: 'anew' } }], at).pods).toHaveLength(1)
    pace.forgetAllBut(new Set(['b']))
    expect(pace.due([pod('a'), pod('b')], at).pods).toEqual([pod('a')])
  })
})

test('progress is told at most once a second for each request', () => {
  const pace = new EvictionPace(() => 0)
  expect([at, at + 1, at + 999, at + 1_000, at + 1_001].map((now) => pace.mayReport('r', now))).toEqual([
    true,
    false,
    false,
    true,
    false,
  ])
  expect(pace.mayReport('other', at)).toBe(true)
})
