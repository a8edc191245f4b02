import { expect, test } from 'vitest'
import type { MaintenanceBudget, MaintenanceRequest, MaintenanceRequestStatus } from '../api/index.ts'
import { decideLedger } from '../queue/index.ts'
import { queueRows, queueText } from './queue.ts'
import type { World } from './world.ts'

function request(name: string, status?: MaintenanceRequestStatus, spec: object = {}): MaintenanceRequest {
  return {
    metadata: { name, uid: name, creationTimestamp: '2026-03-01T10:00:00Z' },
    spec: {
      nodeName: `node-of-${name}`,
      nodeUID: 'u',
      source: { kind: 'Person', key: 'jdoe' },
      reason: `reason of ${name}`,
      want: 'Out',
      priority: 0,
      work: 'External',
      service: { cordon: true, drain: true },
      ...spec,
    },
    ...(status ? { status } : {}),
  }
}

function world(requests: readonly MaintenanceRequest[], waiting: Readonly<Record<string, number>> = {}): World {
  const lines = Object.entries(waiting).map(
    ([name, position]) =>
      [name, { position, for: 'Budget', message: 'node-1 is out since 2026-03-01 12:00 UTC' }] as const,
  )
  return { requests, decision: { waiting: new Map(lines) } } as unknown as World
}

const drained = {
  type: 'Drained',
  status: 'False',
  reason: 'Blocked',
  message: 'PodDisruptionBudget shop/web has nothing to give now',
  lastTransitionTime: '2026-03-01T10:00:00Z',
} as const

const busy = world(
  [
    request('waits-2', {
      phase: 'Queued',
      waiting: { position: 9, for: 'Budget', message: 'old news', since: '2026-03-01T10:00:00Z' },
    }),
    request('done', { phase: 'Done', outcome: 'Completed' }),
    request('drains', {
      phase: 'Claimed',
      conditions: [drained],
      drain: {
        startedAt: '2026-03-01T10:00:00Z',
        total: 5,
        left: 2,
        blockedBy: [{ pod: 'shop/web-1', pdb: 'shop/web', neverPasses: false }],
      },
    }),
    request('works', { phase: 'Granted' }),
    request('waits-1', { phase: 'Queued' }, { priority: 5 }),
    request('new'),
  ],
  { 'waits-1': 1, 'waits-2': 2, new: 3 },
)

test('those who are out come first, then the line with exact places', () => {
  expect(queueText(queueRows(busy))).toMatchInlineSnapshot(`
    "  out  Claimed    node-of-drains: draining, 2 of 5 pods left; shop/web-1: PodDisruptionBudget shop/web has nothing to give now [reason of drains]
      out  Granted    node-of-works: drained; the work may begin [reason of works]
        1  Queued     node-of-waits-1: node-1 is out since 2026-03-01 12:00 UTC [reason of waits-1]
        2  Queued     node-of-waits-2: node-1 is out since 2026-03-01 12:00 UTC [reason of waits-2]
        3  New        node-of-new: node-1 is out since 2026-03-01 12:00 UTC [reason of new]
    "
  `)
})

test('the same for programs', () => {
  expect(queueRows(busy)).toMatchInlineSnapshot(`
    [
      {
        "node": "node-of-drains",
        "phase": "Claimed",
        "position": null,
        "reason": "reason of drains",
        "request": "drains",
        "text": "node-of-drains: draining, 2 of 5 pods left; shop/web-1: PodDisruptionBudget shop/web has nothing to give now",
      },
      {
        "node": "node-of-works",
        "phase": "Granted",
        "position": null,
        "reason": "reason of works",
        "request": "works",
        "text": "node-of-works: drained; the work may begin",
      },
      {
        "node": "node-of-waits-1",
        "phase": "Queued",
        "position": 1,
        "reason": "reason of waits-1",
        "request": "waits-1",
        "text": "node-of-waits-1: node-1 is out since 2026-03-01 12:00 UTC",
      },
      {
        "node": "node-of-waits-2",
        "phase": "Queued",
        "position": 2,
        "reason": "reason of waits-2",
        "request": "waits-2",
        "text": "node-of-waits-2: node-1 is out since 2026-03-01 12:00 UTC",
      },
      {
        "node": "node-of-new",
        "phase": "New",
        "position": 3,
        "reason": "reason of new",
        "request": "new",
        "text": "node-of-new: node-1 is out since 2026-03-01 12:00 UTC",
      },
    ]
  `)
})

test('nobody in line is said in words', () => {
  expect(queueText(queueRows(world([request('done', { phase: 'Done' })])))).toBe('nobody asks for a node\n')
})

test('everybody in line has an exact place, also those whose status was written long ago', () => {
  const names = Array.from({ length: 15 }, (_, index) => `r${String(index).padStart(2, '0')}`)
  const at = '2026-03-01T10:00:00Z'
  const old = { phase: 'Queued', waiting: { position: 3, for: 'Budget', message: 'old news', since: at } } as const
  const requests = names.map((name) =>
    request(name, old, { nodeUID: `uid-of-${name}`, source: { kind: 'Person', key: name } }),
  )
  const nodes = names.map((name) => ({ metadata: { name: `node-of-${name}`, uid: `uid-of-${name}` } }))
  const conditions = [
    { type: 'LedgerReady', status: 'True', reason: 'Ready', message: 'ready', lastTransitionTime: at },
  ]
  const budget = {
    metadata: { name: 'cluster' },
    spec: { max: 0, controlPlaneMax: 1, countUnavailable: [], profiles: 'Off', onNodeLost: 'Hold' },
    status: { nextToken: 1, slots: [], conditions },
  } as unknown as MaintenanceBudget
  const gates = { windowOf: () => ({ isOpen: true }), blockerOf: () => undefined }
  const decision = decideLedger({ budget, requests, nodes, gates, now: at })
  const rows = queueRows({ budget, requests, nodes, windows: [], freezes: [], daemonSets: new Map(), decision })
  expect(rows.map(({ request: name, position }) => [name, position])).toEqual(
    names.map((name, index) => [name, index + 1]),
  )
  expect(new Set(rows.map(({ text }) => text.split(': ').slice(1).join(': ')))).toEqual(
    new Set(['the budget is 0: no node may leave service']),
  )
})
