import { expect, test } from 'vitest'
import type { MaintenanceRequest } from '../api/index.ts'
import { noon, request } from './fixture-world.ts'
import { expiredRequests } from './retention.ts'

const day = 24 * 3_600_000
const nowMs = Date.parse(noon)
const done = (name: string, daysAgo: number, more: Partial<MaintenanceRequest['spec']> = {}) =>
  request(name, 'a', {
    spec: { source: { kind: 'File', key: '/var/x' }, ...more },
    status: { phase: 'Done', outcome: 'Completed', since: new Date(nowMs - daysAgo * day).toISOString() },
  })
const expired = (requests: readonly MaintenanceRequest[]) =>
  expiredRequests(requests, nowMs)
    .map(({ metadata }) => metadata.name ?? '')
    .sort((a, b) => a.localeCompare(b))
const of = (count: number, daysAgo: number, more: Partial<MaintenanceRequest['spec']> = {}) =>
  Array.from({ length: count }, (_, index) => done(`d${index}`, daysAgo + index, more))

test("the last five of a node and source stay, however old; an agent's others go at once", () => {
  expect(expired(of(5, 400))).toEqual([])
  expect(expired([...of(7, 0)].reverse())).toEqual(['d5', 'd6'])
})

test('what a person or a program of ours asked for stays for thirty days', () => {
  for (const kind of ['Person', 'Maintenance', 'Profile', 'Imported'] as const) {
    expect(expired(of(7, 20, { source: { kind, key: 'x' } }))).toEqual([])
    expect(expired(of(7, 25, { source: { kind, key: 'x' } }))).toEqual(['d6'])
  }
})

test('sources and nodes count apart, and a new node of the same name goes on with the history', () => {
  expect(expired([...of(5, 0), done('e', 9, { source: { kind: 'Reboot', key: '/var/x' } })])).toEqual([])
  expect(expired([...of(5, 0), done('e', 9, { nodeName: 'b' })])).toEqual([])
  const byPerson = { source: { kind: 'Person', key: 'x' } } as const
  expect(expired([...of(5, 40, byPerson), done('e', 90, { source: { kind: 'Person', key: 'y' } })])).toEqual([])
  expect(expired([...of(5, 0), done('e', 9, { nodeUID: 'new' })])).toEqual(['e'])
})

test("an agent's keys count together: it has only so many names for all of them", () => {
  expect(expired([...of(5, 0), done('e', 9, { source: { kind: 'File', key: '/var/y' } })])).toEqual(['e'])
})

test('what is open, or goes already, is never named', () => {
  const open = Array.from({ length: 9 }, (_, index) =>
    request(`o${index}`, 'a', { spec: { source: { kind: 'File', key: '/var/x' } }, status: { phase: 'Held' } }),
  )
  const going = of(5, 0).map((one) => ({ ...one, metadata: { ...one.metadata, deletionTimestamp: noon } }))
  expect(expired([...open, ...going, ...of(5, 3)])).toEqual([])
})
