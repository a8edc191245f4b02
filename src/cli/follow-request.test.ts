import { describe, expect, test } from 'vitest'
import type { MaintenanceRequest, MaintenanceRequestStatus, Outcome, Phase } from '../api/index.ts'
import type { ConnectedClient, WatchEvent } from '../kube/index.ts'
import type { CliContext } from './context.ts'
import {
  followRequest,
  type Journey,
  requestText,
  untilGranted,
  untilRebooted,
  untilReturned,
} from './follow-request.ts'

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
  let at = 0
  return {
    async *list() {
      const seen = states[at]
      yield { items: seen ? [seen] : [], resourceVersion: '1' }
    },
    async *watch(): AsyncGenerator<WatchEvent<MaintenanceRequest>> {
      while (++at < states.length) {
        const seen = states[at]
        yield seen ? { type: 'MODIFIED', object: seen } : { type: 'DELETED', object: request() }
      }
      at = states.length - 1
    },
  } as unknown as ConnectedClient
}

async function follow(
  journey: Journey,
  states: readonly (MaintenanceRequest | undefined)[],
  isTTY = false,
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
  const failure = await followRequest(telling(states), request(), journey, context).catch(
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
    expect((await follow(untilGranted, states, true)).replaceAll('\r\u001b[2K', '<clear>')).toMatchInlineSnapshot(`
      "  … node-7: waiting for the controller (0s)<clear>  … node-7: in line at 2: node-1 is out since 2026-03-01 12:00 UTC (0s)<clear>  … node-7: draining, 2 of 5 pods left (0s)<clear>  ✓ node-7: drained; the work may begin (0s)
      "
    `)
  })

  test('in a pipe says where it began and where it ended', async () => {
    const states = [request({ phase: 'Queued', waiting }), request({ phase: 'Claimed' }), request({ phase: 'Granted' })]
    expect(await follow(untilGranted, states)).toMatchInlineSnapshot(`
      "  … node-7: in line at 2: node-1 is out since 2026-03-01 12:00 UTC (0s)
        ✓ node-7: drained; the work may begin (0s)
      "
    `)
  })

  test('is over at once when it is there already', async () => {
    expect(await follow(untilGranted, [request({ phase: 'Granted' })])).toBe(
      '  ✓ node-7: drained; the work may begin (0s)\n',
    )
  })

  test('does not say that a node is back which others keep out', async () => {
    const done = request({ phase: 'Done', outcome: 'Completed' })
    expect(await follow({ ...untilReturned, remark: 'node-7 stays out of service: bob' }, [done])).toBe(
      '  ✓ node-7 stays out of service: bob (0s)\n',
    )
  })

  test('tells that it ended otherwise', async () => {
    const history = [{ time: at, phase: 'Done', reason: 'NodeGone', message: 'node node-7 does not exist' }] as const
    const states = [
      request({ phase: 'Queued' }),
      request({ phase: 'Done', outcome: 'NodeGone', history: [...history] }),
    ]
    expect(await follow(untilGranted, states)).toMatchInlineSnapshot(`
      "  … node-7: in line (0s)
      fault: r ended as NodeGone: node node-7 does not exist; next: \`kubectl get nodes\` lists the nodes that there are
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
    expect(await follow(untilGranted, [request({ phase: 'Held', held })])).toMatchInlineSnapshot(`
      "fault: r is held, DrainDeadline: the drain took longer than 30m; next: fettle node retry r
      "
    `)
  })

  test('tells that it was deleted, not where it was before', async () => {
    expect(await follow(untilGranted, [request({ phase: 'Queued', waiting }), undefined])).toMatchInlineSnapshot(`
      "  … node-7: in line at 2: node-1 is out since 2026-03-01 12:00 UTC (0s)
      fault: r ended: it was deleted
      "
    `)
    expect(await follow(untilGranted, [undefined])).toMatchInlineSnapshot(`
      "fault: r ended: it was deleted
      "
    `)
  })
})

const ended = (outcome: Outcome): MaintenanceRequest =>
  request({
    phase: 'Done',
    outcome,
    history: [{ time: at, phase: 'Done', reason: outcome, message: `because of ${outcome}` }],
  })

describe('the end of a request', () => {
  test('of a reboot is good only when the work was done', async () => {
    expect(await follow(untilRebooted, [ended('Completed')])).toBe('  ✓ node-7: back in service (0s)\n')
    const asked = ['Duplicate', 'Aborted', 'Skipped', 'Released', 'NodeGone', 'Withdrawn', 'Refused'] as const
    const said = await Promise.all(asked.map((outcome) => follow(untilRebooted, [ended(outcome)])))
    expect(said.join('')).toMatchInlineSnapshot(`
      "fault: r ended as Duplicate: because of Duplicate; next: \`fettle queue\` shows where the other request is
      fault: r ended as Aborted: because of Aborted; next: \`fettle node history node-7\` tells who ended it; ask anew if you still want it
      fault: r ended as Skipped: because of Skipped; next: \`fettle node history node-7\` tells who ended it; ask anew if you still want it
      fault: r ended as Released: because of Released; next: \`fettle node history node-7\` tells who ended it; ask anew if you still want it
      fault: r ended as NodeGone: because of NodeGone; next: \`kubectl get nodes\` lists the nodes that there are
      fault: r ended as Withdrawn: because of Withdrawn; next: \`fettle node history node-7\` tells who ended it; ask anew if you still want it
      fault: r ended as Refused: because of Refused; next: \`fettle node history node-7\` tells who ended it; ask anew if you still want it
      "
    `)
  })

  test('of a return is good also when the turn had not come, or the node is gone', async () => {
    for (const outcome of ['Completed', 'Withdrawn', 'NodeGone'] as const)
      expect(await follow(untilReturned, [ended(outcome)])).toMatch(/^ {2}✓ node-7: /)
    for (const outcome of ['Released', 'Skipped', 'Aborted', 'Duplicate'] as const)
      expect(await follow(untilReturned, [ended(outcome)])).toContain(`fault: r ended as ${outcome}`)
  })

  test('may be any where nobody minds how', async () => {
    expect(await follow({ goal: 'Done', outcomes: 'any' }, [ended('Skipped')])).toContain('✓ node-7: ended: Skipped')
  })
})

describe('following a return', () => {
  const held = (since: string, from: Phase, reason: 'WorkDeadline' | 'Unhealthy' = 'WorkDeadline') =>
    request({ phase: 'Held', since, held: { from, reason, message: 'too long', next: 'fettle node retry r' } })
  const finishing = request({ phase: 'Finishing', since: '2026-03-01T10:00:09Z' })
  const done = request({ phase: 'Done', outcome: 'Completed' })

  test('goes past the stop that was there before it: the controller has only not heard yet', async () => {
    const stop = held(at, 'Granted')
    expect(await follow(untilReturned, [stop, stop, finishing, done])).toMatchInlineSnapshot(`
      "  … node-7: waiting for the controller (0s)
        … node-7: is given back (0s)
        ✓ node-7: back in service (0s)
      "
    `)
  })

  test('goes past a stop that comes in between, for it ends by itself too', async () => {
    const rebooting = request({ phase: 'Rebooting', since: at })
    const said = await follow(untilReturned, [rebooting, held('2026-03-01T10:00:05Z', 'Rebooting'), finishing, done])
    expect(said).toMatch(/✓ node-7: back in service/)
  })

  test('ends with a stop on the way home, which only a person ends', async () => {
    const unhealthy = held('2026-03-01T10:00:10Z', 'Finishing', 'Unhealthy')
    for (const states of [[unhealthy], [held(at, 'Granted'), finishing, unhealthy]])
      expect(await follow(untilReturned, states)).toContain(
        'fault: r is held, Unhealthy: too long; next: fettle node retry r',
      )
  })

  test('does not go past a stop for whoever waits for something else', async () => {
    expect(await follow(untilRebooted, [held(at, 'Granted')])).toContain('fault: r is held, WorkDeadline')
  })
})
