import { describe, expect, test } from 'vitest'
import { earlier, noon, request } from './fixture-world.ts'
import { inOrder, isOpen, isStarving, olderTwin, patienceMs, wantsOut, youngerTwins } from './order.ts'

const names = (requests: readonly { readonly metadata: { readonly name?: string } }[]) =>
  requests.map(({ metadata }) => metadata.name)

describe('the line', () => {
  test('is by priority, then by age, then by UID', () => {
    const line = [
      request('low', 'n', {
        spec: { priority: -5 },
        metadata: { creationTimestamp: '2026-01-01T00:00:00Z', uid: 'a' },
      }),
      request('young', 'n', { metadata: { creationTimestamp: noon, uid: 'a' } }),
      request('old-b', 'n', { metadata: { creationTimestamp: earlier, uid: 'b' } }),
      request('old-a', 'n', { metadata: { creationTimestamp: earlier, uid: 'a' } }),
      request('high', 'n', { spec: { priority: 1 }, metadata: { creationTimestamp: noon, uid: 'z' } }),
    ]
    expect(names(inOrder(line))).toEqual(['high', 'old-a', 'old-b', 'young', 'low'])
    expect(names(inOrder([...line].reverse()))).toEqual(['high', 'old-a', 'old-b', 'young', 'low'])
  })

  test('puts the request first whose zone misses the fewest nodes, among those of the same age', () => {
    const out: Record<string, number> = { x: 2, y: 0, z: 1 }
    const line = ['x', 'y', 'z'].map((name) => request(name, name))
    const outInZone = ({ spec }: (typeof line)[number]) => out[spec.nodeName] ?? 0
    expect(names(inOrder(line, { outInZone }))).toEqual(['y', 'z', 'x'])
    const older = request('older', 'x', { metadata: { creationTimestamp: '2026-01-01T00:00:00Z' } })
    expect(names(inOrder([...line, older], { outInZone }))[0]).toBe('older')
  })

  test('puts who has been passed for too long before every priority', () => {
    const passedSince = new Date(Date.parse(noon) - patienceMs).toISOString()
    const waiting = { for: 'Budget', message: 'full', since: noon, passedSince } as const
    const patient = request('patient', 'n', { spec: { priority: -1000 }, status: { phase: 'Queued', waiting } })
    const urgent = request('urgent', 'n', { spec: { priority: 1000 } })
    expect(names(inOrder([urgent, patient], { nowMs: Date.parse(noon) }))).toEqual(['patient', 'urgent'])
    expect(names(inOrder([urgent, patient], { nowMs: Date.parse(noon) - 1 }))).toEqual(['urgent', 'patient'])
    expect(names(inOrder([urgent, patient]))).toEqual(['urgent', 'patient'])
  })

  test('is too long for who was passed, whatever it waits for now; and for nobody who only waits', () => {
    for (const reason of ['Budget', 'Order', 'Window', 'Freeze', 'Blocker', 'StaleView'] as const) {
      const waiting = { for: reason, message: 'm', since: '2020-01-01T00:00:00Z' }
      const starves = (more: object) =>
        isStarving(
          request('r', 'n', { status: { phase: 'Queued', waiting: { ...waiting, ...more } } }),
          Date.parse(noon),
        )
      expect([starves({}), starves({ passedSince: earlier }), starves({ passedSince: noon })]).toEqual([
        false,
        true,
        false,
      ])
    }
    expect(isStarving(request('r', 'n'), Date.parse(noon))).toBe(false)
  })

  test('is a new list', () => {
    const line = [request('b', 'n'), request('a', 'n')]
    inOrder(line)
    expect(names(line)).toEqual(['b', 'a'])
  })
})

test('a request is open until it is Done', () => {
  expect(isOpen(request('a', 'n'))).toBe(true)
  expect(isOpen(request('a', 'n', { status: { phase: 'Held' } }))).toBe(true)
  expect(isOpen(request('a', 'n', { status: { phase: 'Done' } }))).toBe(false)
})

test('a request that is deleted wants no more than one that wants Return', () => {
  expect(wantsOut(request('a', 'n'))).toBe(true)
  expect(wantsOut(request('a', 'n', { spec: { want: 'Return' } }))).toBe(false)
  expect(wantsOut(request('a', 'n', { metadata: { deletionTimestamp: noon } }))).toBe(false)
})

describe('a twin', () => {
  const source = { kind: 'File', key: '/var/x' } as const
  const first = request('first', 'n', { spec: { source } })
  const twin = (name: string, more: Parameters<typeof request>[2] = {}) =>
    request(name, 'n', {
      ...more,
      spec: { source, ...more.spec },
      metadata: { creationTimestamp: noon, ...more.metadata },
    })

  test('is the older open request of the same node and source', () => {
    expect(olderTwin(twin('second'), [twin('second'), first])).toBe(first)
    expect(olderTwin(first, [twin('second'), first])).toBeUndefined()
  })

  test('of the same second is decided by UID, and the same way for both', () => {
    const [a, b] = [twin('a'), twin('b')]
    expect(olderTwin(b, [a, b])).toBe(a)
    expect(olderTwin(a, [b, a])).toBeUndefined()
  })

  test('of the same second that has begun already is the older one, whatever the UIDs say', () => {
    const [a, b] = [twin('a'), twin('b', { status: { phase: 'Granted' } })]
    expect(olderTwin(a, [a, b])).toBe(b)
    expect(olderTwin(b, [a, b])).toBeUndefined()
    expect([...youngerTwins([a, b])]).toEqual(['a'])
  })

  test('is found for all requests at once as for each alone', () => {
    const all = [
      first,
      twin('second'),
      twin('third'),
      twin('done', { status: { phase: 'Done' } }),
      request('other', 'n'),
    ]
    expect([...youngerTwins(all)]).toEqual(['second', 'third'])
  })

  test.for<readonly [string, ReturnType<typeof request>]>([
    ['of another key', request('other', 'n', { spec: { source: { kind: 'File', key: '/var/y' } } })],
    ['of another kind', request('other', 'n', { spec: { source: { kind: 'Person', key: '/var/x' } } })],
    ['of a new node with the same name', request('other', 'n', { spec: { source, nodeUID: 'new' } })],
    ['that is done', request('other', 'n', { spec: { source }, status: { phase: 'Done' } })],
    ['on its way home', request('other', 'n', { spec: { source }, status: { phase: 'Finishing' } })],
    ['that was taken back', request('other', 'n', { spec: { source, want: 'Return' }, status: { phase: 'Queued' } })],
    ['that is being deleted', request('other', 'n', { spec: { source }, metadata: { deletionTimestamp: noon } })],
    [
      'whose host asks no longer',
      request('other', 'n', { spec: { source }, status: { phase: 'Queued', host: { request: 'Absent' } } }),
    ],
  ])('is not one %s', ([, other]) => {
    expect(olderTwin(twin('second'), [other, twin('second')])).toBeUndefined()
  })
})
