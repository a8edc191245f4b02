import { describe, expect, test } from 'vitest'
import type { MaintenanceRequest, MaintenanceRequestStatus } from '../api/index.ts'
import { type StatusSummary, statusText, summarise } from './status.ts'
import type { World } from './world.ts'

const nowMs = Date.parse('2026-03-01T12:00:00Z')

const node = (name: string, isReady: boolean) => ({
  metadata: { name, uid: name },
  status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
})

const request = (name: string, status: MaintenanceRequestStatus) =>
  ({
    metadata: { name, uid: name, creationTimestamp: '2026-03-01T10:00:00Z' },
    spec: { nodeName: `node-of-${name}`, reason: 'fan', priority: 0, want: 'Out' },
    status,
  }) as MaintenanceRequest

function world(
  requests: readonly MaintenanceRequest[],
  limits = { name: 'cluster', max: 2, out: 0, withoutSlot: [] as string[] },
): World {
  return {
    budget: { metadata: {}, spec: { max: '20%' } },
    requests,
    nodes: Array.from({ length: 10 }, (_, index) => node(`node-${index}`, index > 0)),
    windows: [],
    freezes: [],
    decision: { waiting: new Map(), next: { limits: [limits] } },
  } as unknown as World
}

const blocked = (pdb: string, neverPasses: boolean): MaintenanceRequestStatus => ({
  phase: 'Claimed',
  drain: { startedAt: '2026-03-01T10:00:00Z', total: 3, left: 1, blockedBy: [{ pod: 'shop/web-1', pdb, neverPasses }] },
})

/** The drain has said why its first pod does not leave. */
const because = (status: MaintenanceRequestStatus, message: string): MaintenanceRequestStatus => ({
  ...status,
  conditions: [
    { type: 'Drained', status: 'False', reason: 'Blocked', message, lastTransitionTime: '2026-03-01T10:00:00Z' },
  ],
})

const keepsData =
  'annotation fettle.dev/keep-data says that its data must not be lost: save it, then delete the pod yourself or take the annotation away'

test('a quiet cluster is three lines', () => {
  expect(statusText(summarise(world([]), nowMs))).toMatchInlineSnapshot(`
    "nodes   9 of 10 ready
    budget  0 of at most 2 out of service
    nobody asks for a node
    "
  `)
})

test('a freeze and closed windows that somebody waits for are a line each', () => {
  const quiet = world([])
  const window = (name: string, open: boolean) => ({
    metadata: { name },
    spec: {},
    status: { open, next: [{ start: '2026-03-03T02:00:00.000Z' }] },
  })
  const summary = summarise(
    {
      ...quiet,
      budget: { ...quiet.budget, spec: { ...quiet.budget.spec, defaults: { windows: ['night', 'day', 'nigth'] } } },
      windows: [window('night', false), window('day', true), window('unused', false)] as unknown as World['windows'],
      freezes: [{ metadata: { name: 'sale' }, spec: { reason: 'spring sale', until: '2026-03-02T00:00:00Z' } }],
    },
    nowMs,
  )
  expect(statusText(summary)).toMatchInlineSnapshot(`
    "nodes   9 of 10 ready
    budget  0 of at most 2 out of service
    frozen  MaintenanceFreeze sale stops all claims until 2026-03-02 00:00 UTC: spring sale
    windows night is closed until 2026-03-03 02:00 UTC; nigth does not exist, and so every list that names it is closed
    nobody asks for a node
    "
  `)
})

test('a busy one tells who is out without a slot, who needs a person, and how many are not shown', () => {
  const held = {
    from: 'Granted',
    reason: 'WorkDeadline',
    message: 'the work took longer than 2h',
    next: 'fettle node retry late',
  } as const
  const requests = [
    request('stuck', blocked('shop/web', true)),
    request('alone', because(blocked('', true), keepsData)),
    request('patient', blocked('shop/db', false)),
    request('late', { phase: 'Held', held }),
    ...[1, 2, 3, 4].map((index) => request(`more-${index}`, { phase: 'Granted' })),
    request('done', { ...blocked('shop/web', true), phase: 'Done' }),
  ]
  const summary = summarise(
    world(requests, { name: 'cluster', max: 2, out: 9, withoutSlot: ['node-0 NotReady'] }),
    nowMs,
  )
  expect(statusText(summary)).toMatchInlineSnapshot(`
    "nodes   9 of 10 ready
    budget  9 of at most 2 out of service (without a slot: node-0 NotReady)
      out  Claimed    node-of-alone: draining, 1 of 3 pods left; shop/web-1: annotation fettle.dev/keep-data says that its data must not be lost: save it, then delete the pod yourself or take the annotation away [fan]
      out  Held       node-of-late: held, WorkDeadline: the work took longer than 2h [fan]
      out  Granted    node-of-more-1: drained; the work may begin [fan]
      out  Granted    node-of-more-2: drained; the work may begin [fan]
      out  Granted    node-of-more-3: drained; the work may begin [fan]
      out  Granted    node-of-more-4: drained; the work may begin [fan]
           … and 2 more; \`fettle queue\` shows all
    needs a person: stuck: shop/web-1 never leaves while PodDisruptionBudget shop/web stays as it is
    needs a person: alone: shop/web-1 cannot leave: annotation fettle.dev/keep-data says that its data must not be lost: save it, then delete the pod yourself or take the annotation away
    needs a person: late is held, WorkDeadline: the work took longer than 2h; fettle node retry late
    "
  `)
})

describe('a pod that no budget keeps', () => {
  const sentences = (status: MaintenanceRequestStatus) => summarise(world([request('r', status)]), nowMs).needsPerson
  const [web, db] = [
    { pod: 'shop/web-1', pdb: '', neverPasses: true },
    { pod: 'shop/db-0', pdb: '', neverPasses: true },
  ]
  const waitsFor = (blockedBy: readonly object[]) =>
    ({ ...blocked('', true), drain: { ...blocked('', true).drain, blockedBy } }) as MaintenanceRequestStatus

  test('is told with the reason that the drain gave, and never to be deleted for want of another one', () => {
    const unoffered = 'the settings of the drain ask for EvictionRequest, which this server does not offer'
    expect(sentences(because(waitsFor([web, db]), unoffered))).toEqual([
      `r: shop/web-1 cannot leave: ${unoffered}`,
      'r: shop/db-0 cannot leave; `fettle explain r` says why',
    ])
  })

  test('does not get the reason of another pod, or of another time', () => {
    const later = { pod: 'shop/api-1', pdb: 'shop/api', neverPasses: false }
    const why = 'PodDisruptionBudget shop/api has nothing to give now'
    const unknown = ['r: shop/db-0 cannot leave; `fettle explain r` says why']
    expect(sentences(because(waitsFor([later, db]), why))).toEqual(unknown)
    expect(sentences(waitsFor([db]))).toEqual(unknown)
  })

  test("is nobody else's business once the drain is over", () => {
    expect(sentences({ ...because(waitsFor([db]), keepsData), phase: 'Finishing' })).toEqual([])
  })
})

test('a node that nobody lets be changed needs a person, wherever its request is', () => {
  const at = new Date(nowMs).toISOString()
  const message = 'admission webhook "policy.example" denied the request: nodes are frozen'
  const refused = {
    type: 'NodeRefused',
    status: 'True',
    reason: 'Forbidden',
    message,
    lastTransitionTime: at,
  } as const
  for (const phase of ['Claimed', 'Finishing'] as const) {
    const { needsPerson, queue } = summarise(world([request('r', { phase, conditions: [refused] })]), nowMs)
    expect([needsPerson, queue.map(({ text }) => text)]).toEqual([
      [`r: the API server refuses to change its node: ${message}`],
      [`node-of-r: is ${phase}; the API server refuses to change it: ${message}`],
    ])
  }
})

test('the same for programs', () => {
  expect(summarise(world([request('stuck', blocked('shop/web', true))]), nowMs)).toMatchInlineSnapshot(`
    {
      "budget": {
        "max": 2,
        "out": 0,
        "withoutSlot": [],
      },
      "closedWindows": [],
      "frozen": null,
      "needsPerson": [
        "stuck: shop/web-1 never leaves while PodDisruptionBudget shop/web stays as it is",
      ],
      "nodes": {
        "ready": 9,
        "total": 10,
      },
      "queue": [
        {
          "node": "node-of-stuck",
          "phase": "Claimed",
          "position": null,
          "reason": "fan",
          "request": "stuck",
          "text": "node-of-stuck: draining, 1 of 3 pods left",
        },
      ],
    }
  `)
})

test('a budget in percent is shown as what it comes to', () => {
  const { budget }: StatusSummary = summarise(world([]), nowMs)
  expect(budget.max).toBe(2)
})
