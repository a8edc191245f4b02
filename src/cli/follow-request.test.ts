import { describe, expect, test } from 'vitest'
import type { MaintenanceRequest, MaintenanceRequestStatus, Phase } from '../api/index.ts'
import type { ConnectedClient, WatchEvent } from '../kube/index.ts'
import type { CliContext } from './context.ts'
import { followRequest, requestText } from './follow-request.ts'

const at = '2026-03-01T10:00:00Z'

function request(status?: MaintenanceRequestStatus): MaintenanceRequest {
  return {
    metadata: { name: 'r', uid: 'u', resourceVersion: '1' },
    spec: {
      nodeName: 'node-7',
      nodeUID: 'n',
      source: { kind: 'Person', key: 'jdoe' },
      reason: 'fan',
      want: 'Out',
      priority: 0,
      work: 'External',
      service: { cordon: true, drain: true },
    },
    ...(status ? { status } : {}),
  }
}

const waiting = { position: 2, for: 'Budget', message: 'node-1 is out since 2026-03-01 12:00 UTC', since: at } as const
const drain = { startedAt: at, total: 5, left: 2, blockedBy: [] }
const undrained = (reason: string, message: string) => ({
  conditions: [{ type: 'Drained' as const, status: 'False' as const, reason, message, lastTransitionTime: at }],
})
const blocked: MaintenanceRequestStatus = {
  phase: 'Claimed',
  drain: { ...drain, blockedBy: [{ pod: 'shop/web-1', pdb: 'shop/web', neverPasses: true }] },
  ...undrained('Blocked', 'PodDisruptionBudget shop/web allows nothing'),
}

test.for<readonly [string, MaintenanceRequestStatus | undefined]>([
  ['node-7: waiting for the controller', undefined],
  ['node-7: in line', { phase: 'Queued' }],
  ['node-7: in line at 2: node-1 is out since 2026-03-01 12:00 UTC', { phase: 'Queued', waiting }],
  ['node-7: it is its turn', { phase: 'Claimed' }],
  ['node-7: draining, 2 of 5 pods left', { phase: 'Claimed', drain }],
  ['node-7: draining, 2 of 5 pods left; shop/web-1: PodDisruptionBudget shop/web allows nothing', blocked],
  [
    'node-7: all pods have left, but volumes are still attached: pv-1',
    {
      phase: 'Claimed',
      drain: { ...drain, total: 0, left: 0 },
      ...undrained('VolumesAttached', 'all pods have left, but volumes are still attached: pv-1'),
    },
  ],
  ['node-7: drained; the work may begin', { phase: 'Granted' }],
  ['node-7: not drained; the work may begin', { phase: 'Granted', ...undrained('NotRequested', 'nobody asked') }],
  ['node-7: reboots', { phase: 'Rebooting' }],
  [
    'node-7: held, WorkDeadline: too long',
    { phase: 'Held', held: { from: 'Granted', reason: 'WorkDeadline', message: 'too long' } },
  ],
  ['node-7: is given back', { phase: 'Finishing' }],
  ['node-7: back in service', { phase: 'Done', outcome: 'Completed' }],
  [
    'node-7: ended: Duplicate, q asks for the same already',
    {
      phase: 'Done',
      outcome: 'Duplicate',
      history: [{ time: at, phase: 'Done', reason: 'Duplicate', message: 'q asks for the same already' }],
    },
  ],
])('%s', ([text, status]) => {
  expect(requestText(request(status))).toBe(text)
})

/** An API server that tells these states one after the other; undefined is a deletion. */
function telling(states: readonly (MaintenanceRequest | undefined)[]): ConnectedClient {
  const [first, ...later] = states
  return {
    async *list() {
      yield { items: first ? [first] : [], resourceVersion: '1' }
    },
    async *watch(): AsyncGenerator<WatchEvent<MaintenanceRequest>> {
      for (const state of later)
        yield state ? { type: 'MODIFIED', object: state } : { type: 'DELETED', object: first ?? request() }
    },
  } as unknown as ConnectedClient
}

async function follow(
  goal: Phase,
  states: readonly (MaintenanceRequest | undefined)[],
  isTTY = false,
  remark?: string,
): Promise<string> {
  let said = ''
  const context: CliContext = {
    out: () => undefined,
    err: () => undefined,
    progress: { isTTY, columns: 200, write: (text: string) => (said += text) },
    nowMs: () => 0,
    signal: new AbortController().signal,
    exitCode: () => undefined,
  }
  const failure = await followRequest(telling(states), request(), goal, context, remark).catch(
    (error: Error) => error.message,
  )
  return failure === undefined ? said : `${said}fault: ${failure}\n`
}

describe('following a request', () => {
  test('on a terminal shows each step on one line', async () => {
    const states = [
      request(),
      request({ phase: 'Queued', waiting }),
      request({ phase: 'Claimed', drain }),
      request({ phase: 'Granted' }),
    ]
    expect((await follow('Granted', states, true)).replaceAll('\r\u001b[2K', '<clear>')).toMatchInlineSnapshot(`
      "  … node-7: waiting for the controller (0s)<clear>  … node-7: in line at 2: node-1 is out since 2026-03-01 12:00 UTC (0s)<clear>  … node-7: draining, 2 of 5 pods left (0s)<clear>  ✓ node-7: drained; the work may begin (0s)
      "
    `)
  })

  test('in a pipe says where it began and where it ended', async () => {
    const states = [request({ phase: 'Queued', waiting }), request({ phase: 'Claimed' }), request({ phase: 'Granted' })]
    expect(await follow('Granted', states)).toMatchInlineSnapshot(`
      "  … node-7: in line at 2: node-1 is out since 2026-03-01 12:00 UTC (0s)
        ✓ node-7: drained; the work may begin (0s)
      "
    `)
  })

  test('is over at once when it is there already', async () => {
    expect(await follow('Granted', [request({ phase: 'Granted' })])).toBe(
      '  ✓ node-7: drained; the work may begin (0s)\n',
    )
  })

  test('does not say that a node is back which others keep out', async () => {
    const done = request({ phase: 'Done', outcome: 'Completed' })
    expect(await follow('Done', [done], false, 'node-7 stays out of service: bob')).toBe(
      '  ✓ node-7 stays out of service: bob (0s)\n',
    )
  })

  test('tells that it ended otherwise', async () => {
    const history = [{ time: at, phase: 'Done', reason: 'NodeGone', message: 'node node-7 does not exist' }] as const
    const states = [
      request({ phase: 'Queued' }),
      request({ phase: 'Done', outcome: 'NodeGone', history: [...history] }),
    ]
    expect(await follow('Granted', states)).toMatchInlineSnapshot(`
      "  … node-7: in line (0s)
      fault: r ended: node-7: ended: NodeGone, node node-7 does not exist
      "
    `)
  })

  test('tells that it is held', async () => {
    const held = {
      from: 'Claimed',
      reason: 'DrainDeadline',
      message: 'the drain took longer than 30m',
      next: 'fettle node retry r',
    } as const
    expect(await follow('Granted', [request({ phase: 'Held', held })])).toMatchInlineSnapshot(`
      "fault: r is held, DrainDeadline: the drain took longer than 30m; next: fettle node retry r
      "
    `)
  })

  test('tells that it was deleted, not where it was before', async () => {
    expect(await follow('Granted', [request({ phase: 'Queued', waiting }), undefined])).toMatchInlineSnapshot(`
      "  … node-7: in line at 2: node-1 is out since 2026-03-01 12:00 UTC (0s)
      fault: r ended: it was deleted
      "
    `)
    expect(await follow('Granted', [undefined])).toMatchInlineSnapshot(`
      "fault: r ended: it was deleted
      "
    `)
  })
})
