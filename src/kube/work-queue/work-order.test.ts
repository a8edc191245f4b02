import { describe, expect, test } from 'vitest'
import { WorkOrder } from './work-order.ts'

function order(patience: number, items: readonly (readonly [key: string, priority: number])[]): WorkOrder {
  const made = new WorkOrder(patience)
  for (const [since, [key, priority]] of items.entries()) {
    made.add({ key, group: key.split('/')[0] ?? '', priority, since })
  }
  return made
}

function takeAll(from: WorkOrder): string {
  const keys: string[] = []
  for (let item = from.take(); item; item = from.take()) keys.push(item.key)
  return keys.join(' ')
}

describe('whose turn it is', () => {
  const cases: readonly (readonly [string, number, readonly (readonly [string, number])[], string])[] = [
    [
      'first come, first served',
      100,
      [
        ['a/1', 0],
        ['a/2', 0],
        ['a/3', 0],
      ],
      'a/1 a/2 a/3',
    ],
    [
      'the higher priority goes first',
      100,
      [
        ['a/1', 0],
        ['a/2', 5],
        ['a/3', -1],
        ['a/4', 5],
      ],
      'a/2 a/4 a/1 a/3',
    ],
    [
      'groups take turns',
      100,
      [
        ['a/1', 0],
        ['a/2', 0],
        ['a/3', 0],
        ['b/1', 0],
        ['c/1', 0],
      ],
      'a/1 b/1 c/1 a/2 a/3',
    ],
    [
      'priority goes before turns',
      100,
      [
        ['a/1', 1],
        ['a/2', 1],
        ['b/1', 0],
      ],
      'a/1 a/2 b/1',
    ],
    [
      'each third pick goes to the oldest',
      3,
      [
        ['a/1', 0],
        ['a/2', 9],
        ['a/3', 9],
        ['a/4', 9],
      ],
      'a/2 a/3 a/1 a/4',
    ],
    [
      'groups take turns in being the oldest too',
      1,
      [
        ['a/1', 0],
        ['a/2', 0],
        ['b/1', 9],
      ],
      'a/1 b/1 a/2',
    ],
  ]
  test.each(cases)('%s', (_, patience, items, expected) => {
    expect(takeAll(order(patience, items))).toBe(expected)
  })

  test('a key that waits already can rise but not sink, and keeps its age', () => {
    const made = order(100, [
      ['a/1', 0],
      ['a/2', 1],
    ])
    made.add({ key: 'a/1', group: 'a', priority: 2, since: 99 })
    made.add({ key: 'a/1', group: 'a', priority: 0, since: 99 })
    expect(made.oldestSince()).toBe(0)
    expect(takeAll(made)).toBe('a/1 a/2')
    expect(made.oldestSince()).toBeUndefined()
  })
})
