import { describe, expect, test } from 'vitest'
import type { MaintenanceRequest } from '../api/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { node, request } from './fixture-world.ts'
import { mattersToLedger, mattersToLine } from './what-matters.ts'

const waits = { for: 'Budget', since: '2026-01-01T00:00:00.000Z', message: 'full', next: 'fettle lock' } as const

describe('a request', () => {
  const known = request('one', 'a', { status: { phase: 'Queued', waiting: { ...waits, position: 7 } } })
  const changed = (change: Partial<MaintenanceRequest>): MaintenanceRequest => ({
    ...known,
    ...change,
    metadata: { ...known.metadata, ...change.metadata, resourceVersion: '99' },
  })
  const status = (more: Partial<MaintenanceRequest['status'] & object>) =>
    changed({ status: { phase: 'Queued', ...known.status, ...more } })

  test.each([
    ['its place', status({ waiting: { ...waits, position: 6 } })],
    ['the sentence', status({ waiting: { ...waits, position: 7, message: 'still full' } })],
    ['nothing', changed({})],
  ])('that was told %s does not matter', (_, after) => expect(mattersToLine(after, known)).toBe(false))

  test.each<[string, MaintenanceRequest, MaintenanceRequest | undefined]>([
    ['is new', known, undefined],
    ['is passed', status({ waiting: { ...waits, position: 7, passedSince: waits.since } }), known],
    ['goes on', status({ phase: 'Claimed' }), known],
    ['wants its node back', changed({ spec: { ...known.spec, want: 'Return' } }), known],
    ['is deleted', changed({ metadata: { deletionTimestamp: waits.since } }), known],
    ['gets a verb', changed({ metadata: { annotations: { 'fettle.dev/verb': 'Retry' } } }), known],
    ['has its finalizer', changed({ metadata: { finalizers: ['x'] } }), known],
  ])('that %s matters', (_, after, before) => expect(mattersToLine(after, before)).toBe(true))
})

describe('a node', () => {
  const known = node('a', { labels: { zone: 'z1' } })
  const conditions = known.status?.conditions ?? []
  const changed = (change: Partial<NodeObject>): NodeObject => ({
    ...known,
    ...change,
    metadata: { ...known.metadata, ...change.metadata, resourceVersion: '99' },
  })

  test('that only says that it lives does not matter', () => {
    const beating = conditions.map((one) => ({ ...one, lastHeartbeatTime: '2026-01-01T00:05:00Z' }))
    expect(mattersToLedger(changed({ status: { ...known.status, conditions: beating } }), known)).toBe(false)
  })

  test.each<[string, NodeObject, NodeObject | undefined]>([
    ['is new', known, undefined],
    ['is not Ready', node('a', { labels: { zone: 'z1' }, isReady: false }), known],
    ['is cordoned', changed({ spec: { ...known.spec, unschedulable: true } }), known],
    ['moves to another group', changed({ metadata: { labels: { zone: 'z2' } } }), known],
    ['bears a mark', changed({ metadata: { annotations: { 'cordon.fettle.dev/queue': '{}' } } }), known],
    ['says something else', changed({ status: { conditions: [...conditions, sick] } }), known],
    ['is another one of the same name', changed({ metadata: { uid: 'another' } }), known],
  ])('that %s matters', (_, after, before) => expect(mattersToLedger(after, before)).toBe(true))
})

const sick = { type: 'Sick', status: 'True', reason: 'Disk' } as const
