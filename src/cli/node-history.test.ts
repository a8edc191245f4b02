import { expect, test } from 'vitest'
import type { MaintenanceRequest, MaintenanceRequestStatus } from '../api/index.ts'
import { historyOf, historyText } from './node-history.ts'

const nowMs = Date.parse('2026-03-01T12:00:00Z')

function request(
  name: string,
  creationTimestamp: string,
  status: MaintenanceRequestStatus | undefined,
  spec: object = {},
): MaintenanceRequest {
  return {
    metadata: { name, uid: name, creationTimestamp },
    spec: {
      nodeName: 'node-7',
      nodeUID: 'n',
      source: { kind: 'Person', key: 'jdoe' },
      reason: 'replace the fan',
      want: 'Out',
      priority: 0,
      work: 'External',
      service: { cordon: true, drain: true },
      ...spec,
    },
    ...(status ? { status } : {}),
  }
}

const line = (time: string, phase: MaintenanceRequestStatus['phase'], message: string, more: object = {}) => ({
  time: `2026-03-01T${time}:00Z`,
  phase,
  reason: 'Because',
  message,
  ...more,
})

const completed = request(
  'first',
  '2026-03-01T10:00:00Z',
  {
    phase: 'Done',
    outcome: 'Completed',
    history: [
      line('10:00', 'Queued', 'asked by Person jdoe: replace the fan'),
      line('10:05', 'Claimed', 'slot 42 is taken'),
      line('10:07', 'Granted', 'all pods have left'),
      line('11:07', 'Held', 'the work took longer than 1h'),
      line('11:10', 'Granted', 'retry: nearly there', { by: 'jdoe-at-example' }),
      line('11:20', 'Finishing', 'somebody said: done, give it back'),
      line('11:21', 'Done', 'the work was done and the node is back'),
    ],
  },
  { requestedBy: 'jdoe-at-example' },
)

test('tells who asked, how long each phase took in all, and who decided what', () => {
  const later = request(
    'second',
    '2026-03-01T11:30:00Z',
    { phase: 'Queued', history: [line('11:30', 'Queued', 'asked by File /var/maintenance-required: kernel')] },
    { source: { kind: 'File', key: '/var/maintenance-required' }, reason: 'kernel' },
  )
  const other = request('other', '2026-03-01T09:00:00Z', { phase: 'Queued' }, { nodeName: 'node-8' })
  expect(historyText(historyOf([later, other, completed], 'node-7', nowMs))).toMatchInlineSnapshot(`
    "first  Completed
      asked 2026-03-01 10:00 UTC by jdoe-at-example: replace the fan
      took Queued 5m, Claimed 2m, Granted 1h10m, Held 3m, Finishing 1m
        2026-03-01 10:00 UTC  Queued     asked by Person jdoe: replace the fan
        2026-03-01 10:05 UTC  Claimed    slot 42 is taken
        2026-03-01 10:07 UTC  Granted    all pods have left
        2026-03-01 11:07 UTC  Held       the work took longer than 1h
        2026-03-01 11:10 UTC  Granted    retry: nearly there (jdoe-at-example)
        2026-03-01 11:20 UTC  Finishing  somebody said: done, give it back
        2026-03-01 11:21 UTC  Done       the work was done and the node is back
    second  Queued, not over
      asked 2026-03-01 11:30 UTC by File /var/maintenance-required: kernel
      took Queued 30m
        2026-03-01 11:30 UTC  Queued     asked by File /var/maintenance-required: kernel
    "
  `)
})

test('does not count what was folded away, and tells nodes of the same name apart', () => {
  const folded = request('folded', '2026-03-01T08:00:00Z', {
    phase: 'Granted',
    history: [
      line('08:00', 'Queued', '7 earlier lines', { reason: 'Folded', count: 7 }),
      line('11:00', 'Granted', 'all pods have left'),
    ],
  })
  const reborn = request('reborn', '2026-03-01T11:59:00Z', undefined, { nodeUID: 'm' })
  expect(historyText(historyOf([reborn, folded], 'node-7', nowMs))).toMatchInlineSnapshot(`
    "folded  Granted, not over
      asked 2026-03-01 08:00 UTC by jdoe: replace the fan, node with UID n
      took Granted 1h
        2026-03-01 08:00 UTC  Queued     7 earlier lines
        2026-03-01 11:00 UTC  Granted    all pods have left
    reborn  Queued, not over
      asked 2026-03-01 11:59 UTC by jdoe: replace the fan, node with UID m
    "
  `)
})

test('the same for programs', () => {
  const [entry] = historyOf([completed], 'node-7', nowMs)
  expect({ ...entry, lines: entry?.lines.length }).toEqual({
    request: 'first',
    node: 'node-7',
    nodeUID: 'n',
    askedAt: '2026-03-01T10:00:00Z',
    askedBy: 'jdoe-at-example',
    reason: 'replace the fan',
    phase: 'Done',
    outcome: 'Completed',
    phases: [
      { phase: 'Queued', ms: 300_000 },
      { phase: 'Claimed', ms: 120_000 },
      { phase: 'Granted', ms: 4_200_000 },
      { phase: 'Held', ms: 180_000 },
      { phase: 'Finishing', ms: 60_000 },
    ],
    lines: 7,
  })
})
