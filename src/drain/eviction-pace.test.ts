import { describe, expect, test } from 'vitest'
import type { PodDisruptionBudget, PodObject } from '../kube/index.ts'
import type { AskResult } from './ask-pods.ts'
import { EvictionPace } from './eviction-pace.ts'
import type { PodToAsk } from './plan.ts'

const pod = (uid: string): PodObject => ({ metadata: { uid, name: uid, namespace: 'shop' } })
const at = 1_000_000

function budget(disruptionsAllowed: number, resourceVersion = '1'): PodDisruptionBudget {
  const figures = { currentHealthy: 5, desiredHealthy: 1, expectedPods: 5 }
  return { metadata: { namespace: 'shop', name: 'web', resourceVersion }, status: { disruptionsAllowed, ...figures } }
}

const ask = (uid: string, of?: PodDisruptionBudget): PodToAsk => ({
  pod: pod(uid),
  how: 'evict',
  ...(of ? { budget: of } : {}),
})
const now = (...askNow: PodToAsk[]) => ({ askNow, askLater: [] })
const later = (...askLater: PodToAsk[]) => ({ askNow: [], askLater })
const no = (asked: PodToAsk, more = {}): AskResult => ({ asked, result: 'refused', why: 'no', ...more })
const failed = (asked: PodToAsk): AskResult => ({ asked, result: 'failed', why: 'broken' })
const yes = (asked: PodToAsk): AskResult => ({ asked, result: 'accepted' })
const gone = (asked: PodToAsk): AskResult => ({ asked, result: 'gone' })
const uids = (pods: readonly PodToAsk[]) => pods.map((one) => one.pod.metadata.uid)

describe('a pod without a budget is asked', () => {
  test('at once when it never was', () => {
    expect(new EvictionPace(() => 0).due(now(ask('a')), at)).toEqual({ pods: [ask('a')], nextMs: undefined })
  })

  test.for([no, failed])('ever more seldom after a no, from five seconds up to a minute', (answer) => {
    const pace = new EvictionPace(() => 0)
    const waits = []
    for (let round = 0; round < 7; round++) {
      pace.note([answer(ask('a'))], at)
      waits.push(pace.due(now(ask('a')), at).nextMs)
    }
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000, 60_000])
    expect(pace.due(now(ask('a')), at + 59_999).pods).toEqual([])
    expect(pace.due(now(ask('a')), at + 60_000)).toEqual({ pods: [ask('a')], nextMs: undefined })
  })

  test('not in step: chance adds up to a fifth', () => {
    const pace = new EvictionPace(() => 0.5)
    pace.note([failed(ask('a'))], at)
    expect(pace.due(now(ask('a')), at).nextMs).toBe(5_500)
  })

  test('not before the server wants it', () => {
    const pace = new EvictionPace(() => 0)
    pace.note([no(ask('a'), { retryAfterMs: 10_000 }), no(ask('b'), { retryAfterMs: 1_000 })], at)
    expect(pace.due(now(ask('a')), at).nextMs).toBe(10_000)
    expect(pace.due(now(ask('b')), at).nextMs).toBe(5_000)
  })

  test('after a yes only once it had time to show', () => {
    const pace = new EvictionPace(() => 0)
    pace.note([yes(ask('a'))], at)
    expect(pace.due(now(ask('a'), ask('b')), at)).toEqual({ pods: [ask('b')], nextMs: 2_000 })
  })

  test('a minute after an EvictionRequest was accepted: it is answered in its own time', () => {
    const pace = new EvictionPace(() => 0)
    const request: PodToAsk = { pod: pod('a'), how: 'request' }
    pace.note([yes(request)], at)
    expect(pace.due(now(request), at)).toEqual({ pods: [], nextMs: 60_000 })
    expect(pace.due(now(request), at + 60_000).pods).toHaveLength(1)
  })

  test('afresh when another pod has the name, and when the old one was forgotten', () => {
    const pace = new EvictionPace(() => 0)
    pace.note([no(ask('a')), no(ask('b'))], at)
    const anew = { ...ask('a'), pod: { metadata: { ...pod('a').metadata, uid: 'anew' } } }
    expect(pace.due(now(anew), at).pods).toHaveLength(1)
    pace.due(now(ask('b')), at + 10 * 60_000)
    pace.forgetOld(at + 16 * 60_000)
    expect(uids(pace.due(now(ask('a'), ask('b')), at).pods)).toEqual(['a'])
  })
})

describe('the pods of one budget', () => {
  const [a, b, c] = [ask('a', budget(1)), ask('b', budget(1)), ask('c', budget(1))]

  test('never draw more than it shows, though a cache shows the same for a while', () => {
    const pace = new EvictionPace(() => 0)
    expect(uids(pace.due(now(a), at).pods)).toEqual(['a'])
    pace.note([yes(a)], at)
    expect(pace.due(now(b), at + 10)).toEqual({ pods: [], nextMs: 2_000 })
    const next = ask('b', budget(1, '2'))
    expect(pace.due(now(next), at + 10).pods).toEqual([next])
  })

  test('are not kept waiting for one that was gone already: the server took nothing for it', () => {
    const pace = new EvictionPace(() => 0)
    pace.due(now(a), at)
    pace.note([gone(a)], at)
    expect(uids(pace.due(now(b), at + 10).pods)).toEqual(['b'])
  })

  test('are asked again after half a minute though it has not changed: the server knows what it has to give', () => {
    const pace = new EvictionPace(() => 0)
    pace.note([yes(a)], at)
    expect(pace.due(now(b), at + 29_999).pods).toEqual([])
    expect(uids(pace.due(now(b), at + 30_000).pods)).toEqual(['b'])
    pace.note([yes(b)], at + 30_000)
    expect(pace.due(now(c), at + 30_010).pods).toEqual([])
  })

  test('are not deleted without it, however long it shows the same: no server counts them', () => {
    const deletion = (uid: string): PodToAsk => ({ ...ask(uid, budget(1)), how: 'delete' })
    const pace = new EvictionPace(() => 0)
    pace.note([yes(deletion('a'))], at)
    expect(pace.due(now(deletion('b')), at + 600_000).pods).toEqual([])
    expect(uids(pace.due(now({ ...deletion('b'), budget: budget(1, '2') }), at + 600_000).pods)).toEqual(['b'])
    const other = new EvictionPace(() => 0)
    other.note([gone(deletion('a'))], at)
    expect(other.due(now(deletion('b')), at + 29_999).pods, 'its budget may not show yet that it is gone').toEqual([])
    expect(uids(other.due(now(deletion('b')), at + 30_000).pods)).toEqual(['b'])
  })

  test('wait together after a no, and many at once are one no', () => {
    const pace = new EvictionPace(() => 0)
    pace.note([no(a), no(b)], at)
    expect(pace.due(now(c), at)).toEqual({ pods: [], nextMs: 5_000 })
    pace.note([no(c)], at)
    expect(pace.due(now(c), at).nextMs).toBe(10_000)
  })

  test('need not wait when it has changed and shows room', () => {
    const pace = new EvictionPace(() => 0)
    pace.note([no(a)], at)
    const changed = ask('a', budget(1, '2'))
    expect(pace.due(now(changed), at).pods).toEqual([changed])
  })

  test('may not use that without end: a budget that changes and always refuses is asked ten times early', () => {
    const pace = new EvictionPace(() => 0)
    let calls = 0
    for (let version = 0; version < 1_000; version++) {
      const { pods } = pace.due(now(ask('a', budget(1, String(version)))), at)
      calls += pods.length
      pace.note(
        pods.map((one) => no(one)),
        at,
      )
    }
    expect(calls).toBe(11)
  })

  test('earn one more early question with each yes', () => {
    const pace = new EvictionPace(() => 0)
    let [calls, left] = [0, 100]
    for (let version = 0; version < 10_000 && left > 0; version++) {
      const { pods } = pace.due(now(ask(`pod-${left}`, budget(1, String(version)))), at)
      calls += pods.length
      // Every other answer is a no, as from a cache that is always a little behind.
      pace.note(
        pods.map((one) => (version % 2 === 0 ? no(one) : yes(one))),
        at,
      )
      if (pods.length > 0 && version % 2 === 1) left--
    }
    expect(left).toBe(0)
    expect(calls).toBeLessThanOrEqual(2 * 100 + 10)
  })

  test('are asked now and then while it seems to have nothing to give, first after five seconds', () => {
    const pace = new EvictionPace(() => 0)
    const empty = ask('a', budget(0))
    expect(pace.due(later(empty), at)).toEqual({ pods: [], nextMs: 5_000 })
    expect(pace.due(later(empty), at + 5_000).pods).toEqual([empty])
    pace.note([no(empty)], at + 5_000)
    expect(pace.due(later(empty), at + 5_000)).toEqual({ pods: [], nextMs: 5_000 })
    pace.note([no(empty)], at + 10_000)
    expect(pace.due(later(empty), at + 10_000).nextMs).toBe(10_000)
  })

  test('are left alone for five seconds after a yes, when it shows no room any more', () => {
    const pace = new EvictionPace(() => 0)
    pace.note([yes(a)], at)
    expect(pace.due(later(ask('b', budget(0, '2'))), at + 1_000)).toEqual({ pods: [], nextMs: 4_000 })
  })

  test('are forgotten when nothing was asked of it for long', () => {
    const pace = new EvictionPace(() => 0)
    for (let round = 0; round < 5; round++) pace.note([no(a)], at)
    pace.forgetOld(at + 20 * 60_000)
    expect(pace.due(now(a), at).pods).toEqual([a])
  })
})

describe('what was handed out and is not answered yet', () => {
  const [a, b] = [ask('a', budget(1)), ask('b', budget(1))]

  test('is handed to nobody else, until it is noted', () => {
    const pace = new EvictionPace(() => 0)
    expect(uids(pace.due(now(ask('a'), ask('b')), at).pods)).toEqual(['a', 'b'])
    expect(pace.due(now(ask('a'), ask('b'), ask('c')), at + 10)).toEqual({ pods: [ask('c')], nextMs: 2_000 })
    pace.note([failed(ask('a'))], at + 20)
    expect(uids(pace.due(now(ask('a'), ask('b')), at + 5_020).pods)).toEqual(['a'])
  })

  test('is due again when it was given back, and when nothing is heard of it for a minute', () => {
    const pace = new EvictionPace(() => 0)
    pace.giveBack(pace.due(now(a), at).pods)
    expect(uids(pace.due(now(a), at).pods)).toEqual(['a'])
    expect(pace.due(now(a), at + 59_999).pods).toEqual([])
    expect(uids(pace.due(now(a), at + 60_000).pods)).toEqual(['a'])
  })

  test('draws from its budget, whatever version that shows', () => {
    const pace = new EvictionPace(() => 0)
    pace.due(now(a), at)
    expect(pace.due(now(b), at + 10)).toEqual({ pods: [], nextMs: 2_000 })
    expect(pace.due(now(ask('b', budget(1, '2'))), at + 10).pods).toEqual([])
    expect(uids(pace.due(now(ask('b', budget(2, '2'))), at + 10).pods)).toEqual(['b'])
  })

  test('draws once, also when it was accepted meanwhile', () => {
    const pace = new EvictionPace(() => 0)
    pace.due(now(a), at)
    pace.note([yes(a)], at)
    expect(uids(pace.due(now(ask('b', budget(2))), at).pods)).toEqual(['b'])
  })

  test('is the only one of a budget that seems to have nothing to give', () => {
    const pace = new EvictionPace(() => 0)
    const [one, other] = [ask('a', budget(0)), ask('b', budget(0))]
    pace.due(later(one), at)
    expect(uids(pace.due(later(one), at + 5_000).pods)).toEqual(['a'])
    expect(pace.due(later(one), at + 5_010)).toEqual({ pods: [], nextMs: 2_000 })
    expect(pace.due(later(other), at + 5_010)).toEqual({ pods: [], nextMs: 2_000 })
  })
})

describe('a pod that comes back to the node it was evicted from', () => {
  const since = (uid: string, createdMs: number, nodeName = 'node-1') => ({
    how: 'evict' as const,
    pod: {
      metadata: {
        ...pod(uid).metadata,
        creationTimestamp: new Date(createdMs).toISOString(),
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'owner', controller: true }],
      },
      spec: { nodeName },
    },
  })

  test('is asked ever more seldom, and it is said why', () => {
    const pace = new EvictionPace(() => 0)
    const waits = []
    for (let round = 0; round < 6; round++) {
      const one = since(`db-0-${round}`, at)
      waits.push(pace.due(now(one), at).nextMs)
      pace.note([yes(one)], at)
    }
    expect(waits).toEqual([undefined, 5_000, 10_000, 20_000, 40_000, 60_000])
    pace.due(now(since('last', at)), at)
    expect(pace.answers().get('last')).toBe(
      'it comes back to this node each time it is evicted: it tolerates the cordon',
    )
  })

  test('is known by the time that the API server tells, also where the pace is measured by another clock', () => {
    const pace = new EvictionPace(() => 0)
    pace.note([yes(since('a', at))], 5_000, at + 60_000)
    expect(pace.due(now(since('older', at)), 8_000).pods).toHaveLength(1)
    expect(pace.due(now(since('anew', at + 61_000)), 8_000).nextMs).toBe(5_000)
  })

  test('is not mistaken for an older one, nor for one on another node', () => {
    const pace = new EvictionPace(() => 0)
    pace.note([yes(since('a', at - 60_000))], at)
    expect(pace.due(now(since('older', at - 60_000), since('elsewhere', at + 1_000, 'node-2')), at).pods).toHaveLength(
      2,
    )
  })
})

test('what the server said is kept until it says yes', () => {
  const pace = new EvictionPace(() => 0)
  pace.note([no(ask('a')), failed(ask('b')), yes(ask('c'))], at)
  expect(Object.fromEntries(pace.answers())).toEqual({ a: 'no', b: 'broken' })
  pace.note([yes(ask('a'))], at)
  expect(Object.fromEntries(pace.answers())).toEqual({ b: 'broken' })
})
