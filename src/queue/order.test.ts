import { describe, expect, test } from 'vitest'
import { earlier, noon, request } from './fixture-world.ts'
import { inOrder, isOpen, olderTwin, wantsOut, youngerTwins } from './order.ts'

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
  ])('is not one %s', ([, other]) => {
    expect(olderTwin(twin('second'), [other, twin('second')])).toBeUndefined()
  })
})
