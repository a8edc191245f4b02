import { expect, test } from 'vitest'
import { ProfileCounts } from './counts.ts'
import { nodeOf } from './fixture-pass.ts'

test('figures grow by their labels, and a series is there before anything happens', () => {
  const counts = new ProfileCounts()
  const web = { owner: 'deployment_web', namespace: 'shop', perReplica: 0.5 }
  counts.shuffled('p', [web], 0)
  expect(counts.all()).toMatchObject({
    shuffles: [{ labels: { owner: 'deployment_web', profile: 'p', namespace: 'shop' }, value: 0 }],
    shufflesPerReplica: [{ value: 0 }],
  })
  counts.shuffled('p', [web, web, { ...web, namespace: 'test' }], 1)
  expect(counts.all().shuffles.map(({ value }) => value)).toEqual([2, 1])
  expect(counts.all().shufflesPerReplica.map(({ value }) => value)).toEqual([1, 0.5])

  counts.failed('p')
  counts.failed('p')
  counts.failed('q')
  counts.changed('p', 'in-maintenance')
  counts.notSent('p', 'chat')
  expect(counts.all()).toMatchObject({
    failures: [
      { labels: { profile: 'p' }, value: 2 },
      { labels: { profile: 'q' }, value: 1 },
    ],
    transitions: [{ labels: { profile: 'p', state: 'in-maintenance' }, value: 1 }],
    notSent: [{ labels: { profile: 'p', instance: 'chat' }, value: 1 }],
  })
})

test('who is overdue is known until it no longer is, or the node is gone', () => {
  const counts = new ProfileCounts()
  counts.overdue(nodeOf('n1'), ['a', 'b'])
  counts.overdue(nodeOf('n2'), ['a'])
  expect(counts.all().overdue).toEqual(['a', 'b', 'a'])
  counts.overdue(nodeOf('n1'), [])
  expect(counts.all().overdue).toEqual(['a'])
  counts.forget('n2')
  expect(counts.all().overdue).toEqual([])
})

test('who no longer acts forgets who is overdue, and keeps what it counted', () => {
  const counts = new ProfileCounts()
  counts.overdue(nodeOf('n1'), ['a'])
  counts.failed('a')
  counts.forgetNodes()
  expect(counts.all()).toMatchObject({ overdue: [], failures: [{ labels: { profile: 'a' }, value: 1 }] })
})
