import { expect, test } from 'vitest'
import { ApiError, type KubeClient } from '../../kube/index.ts'
import type { Clock } from '../../time/index.ts'
import type { KnownCatalog } from './catalog.ts'
import { withLateKinds } from './late-kinds.ts'

const widget = { apiVersion: 'example.org/v1', kind: 'Widget' }
const served = { group: 'example.org', version: 'v1', plural: 'widgets', kind: 'Widget', namespaced: true }
const empty: KnownCatalog = { kinds: [], unknown: [], versionsOf: () => [] }
const full: KnownCatalog = {
  ...empty,
  versionsOf: (group, kind) =>
    group === 'example.org' && kind === 'Widget' ? [{ resource: served, verbs: ['list'], isAggregated: false }] : [],
}

/** Discovery shows the kind at its n-th answer, and definitions are as given, or may not be read. */
function worldOf(servedAt: number, definitions: readonly object[] | undefined) {
  let nowMs = 0
  let looks = 0
  const clock: Clock = {
    now: () => nowMs,
    monotonic: () => nowMs,
    sleep: (ms) => {
      nowMs += ms
      return Promise.resolve()
    },
  }
  const resources = [
    {
      resource: 'widgets',
      responseKind: { kind: 'Widget' },
      scope: 'Namespaced',
      verbs: ['list', 'delete'],
    },
  ]
  const group = { metadata: { name: 'example.org' }, versions: [{ version: 'v1', resources }] }
  const request = ({ path }: { readonly path: string }) => {
    if (path.endsWith('customresourcedefinitions')) {
      if (definitions) return Promise.resolve({ items: definitions })
      return Promise.reject(new ApiError({ code: 'Forbidden', method: 'GET', path, seen: 'no' }))
    }
    if (path === '/apis') looks++
    const items = path === '/apis' && looks >= servedAt ? [group] : []
    return Promise.resolve({ kind: 'APIGroupDiscoveryList', items })
  }
  return { clock, client: { request } as Partial<KubeClient> as KubeClient, looks: () => looks }
}

const definition = { spec: { group: 'example.org', names: { kind: 'Widget' } } }
const signal = new AbortController().signal

test('a kind that is served costs no request', async () => {
  const { client, clock, looks } = worldOf(1, undefined)
  expect(await withLateKinds(client, clock, full, [widget], signal)).toBe(full)
  expect(looks()).toBe(0)
})

test('one that is defined is waited for', async () => {
  const { client, clock, looks } = worldOf(3, [definition])
  const catalog = await withLateKinds(client, clock, empty, [widget], signal)
  expect([looks(), catalog.unknown, catalog.versionsOf('example.org', 'Widget').length]).toEqual([3, [], 1])
})

test('and unknown if it does not come, never absent', async () => {
  const { client, clock } = worldOf(Number.POSITIVE_INFINITY, [definition])
  const { unknown } = await withLateKinds(client, clock, empty, [widget], signal)
  expect(unknown).toMatchObject([{ group: 'example.org', kind: 'Widget' }])
})

test('one that nobody defines is gone', async () => {
  const { client, clock } = worldOf(1, [])
  expect((await withLateKinds(client, clock, empty, [widget], signal)).unknown).toEqual([])
})

test('who may not read definitions does not know', async () => {
  const { client, clock, looks } = worldOf(1, undefined)
  const { unknown } = await withLateKinds(client, clock, empty, [widget], signal)
  expect([unknown.length, looks()]).toEqual([1, 0])
})
