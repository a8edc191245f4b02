import { describe, expect, test } from 'vitest'
import type { HeldReason, MaintenanceBudget, MaintenanceRequest, MaintenanceRequestStatus } from '../api/index.ts'
import { decideRequest } from './decide-request.ts'
import { budget, condition, cordonedNode, earlier, heldSlot, node, noon, request, slot } from './fixture-world.ts'
import type { RequestStep, RequestWorld } from './request-steps.ts'
import { settingsOf } from './settings.ts'

/** While a host works: its reports, its heartbeat, its deadlines and its reboots. */

type Host = NonNullable<MaintenanceRequestStatus['host']>

const inMs = (ms: number) => new Date(Date.parse(noon) + ms).toISOString()
const given = [condition('PermissionGiven')]
const out = (more: Parameters<typeof cordonedNode>[1] = {}) => {
  const one = cordonedNode('a', { readySince: earlier, bootID: 'boot-1', ...more })
  const said = {
    type: 'MaintenanceInProgress',
    status: 'True',
    reason: 'FettleMaintenance',
    message: 'new fan',
  } as const
  return { ...one, status: { ...one.status, conditions: [...(one.status?.conditions ?? []), said] } }
}
const host = (more: Host = {}): Host => ({
  request: 'Present',
  permission: 'Present',
  bootID: 'boot-1',
  tokens: { inFile: 3, highest: 3 },
  ...more,
})
const one = (
  status: Partial<MaintenanceRequestStatus> & Pick<MaintenanceRequestStatus, 'phase'>,
  spec: Partial<MaintenanceRequest['spec']> = {},
) =>
  request('r', 'a', {
    spec: { work: 'Host', ...spec },
    status: {
      since: inMs(-60_000),
      slot: heldSlot(3),
      conditions: given,
      reboots: { count: 0, bootIDAfter: 'boot-1' },
      host: host(),
      ...status,
    },
  })
const world = (
  which: MaintenanceRequest,
  parts: Partial<RequestWorld> = {},
  spec: Partial<MaintenanceBudget['spec']> = {},
): RequestWorld => ({
  request: which,
  requests: [which],
  settings: settingsOf(which, budget(spec).spec),
  ledgerUID: 'uid-ledger',
  isExclusivityBroken: false,
  slot: slot('a', 3, 'r'),
  node: out(),
  podsOnNode: [],
  budgets: [],
  waiting: undefined,
  now: noon,
  ...parts,
})
function statusOf(step: RequestStep): MaintenanceRequestStatus {
  if (step.do !== 'writeStatus') throw new Error(`it does not write: ${JSON.stringify(step)}`)
  return step.status
}
const outcomeOf = (step: RequestStep) =>
  step.do === 'writeStatus' ? (step.status.held?.reason ?? step.status.phase) : step.do

describe('the report of a host', () => {
  test.for<readonly [Host, HeldReason | 'nothing' | 'Finishing', HeldReason | undefined, HeldReason | 'nothing']>([
    [{}, 'nothing', undefined, 'nothing'],
    [{ request: 'Absent' }, 'Finishing', undefined, 'nothing'],
    [{ request: 'Unreadable' }, 'HostUnreadable', 'HostUnreadable', 'HostUnreadable'],
    [{ permission: 'Unreadable' }, 'HostUnreadable', 'HostUnreadable', 'HostUnreadable'],
    [{ permission: 'Orphan' }, 'OrphanGrant', 'OrphanGrant', 'OrphanGrant'],
    [{ failure: 'exit 1' }, 'ScriptFailed', 'ScriptFailed', 'ScriptFailed'],
    [
      { failure: 'read-only', permission: 'Absent' },
      'PermissionNotWritable',
      'PermissionNotWritable',
      'PermissionNotWritable',
    ],
    [{ tokens: { highest: 1_000_004 } }, 'HostUnreadable', 'HostUnreadable', 'HostUnreadable'],
    [{ tokens: { highest: 1_000_003 } }, 'nothing', undefined, 'nothing'],
  ])('%j is answered in every phase', ([report, granted, claimed, rebooting]) => {
    expect(outcomeOf(decideRequest(world(one({ phase: 'Granted', host: host(report) }))))).toBe(granted)
    const waiting = one({ phase: 'Claimed', conditions: [], host: host(report) })
    if (claimed) expect(outcomeOf(decideRequest(world(waiting)))).toBe(claimed)
    const down = one({ phase: 'Rebooting', reboots: { count: 1, bootIDBefore: 'boot-1' }, host: host(report) })
    expect(outcomeOf(decideRequest(world(down)))).toBe(rebooting)
    const held = one({
      phase: 'Held',
      held: { from: 'Granted', reason: 'WorkDeadline', message: 'm' },
      host: host(report),
    })
    expect(outcomeOf(decideRequest(world(held)))).toBe(report.request === 'Absent' ? 'Finishing' : 'nothing')
  })

  test('a failure that a person has seen does not stop it again; another one does', () => {
    const seen = one({ phase: 'Granted', host: host({ failure: 'exit 1' }), dismissedFailure: 'exit 1' })
    expect(outcomeOf(decideRequest(world(seen)))).toBe('nothing')
    const again = one({ phase: 'Granted', host: host({ failure: 'exit 2' }), dismissedFailure: 'exit 1' })
    expect(outcomeOf(decideRequest(world(again)))).toBe('ScriptFailed')
    const silent = one({ phase: 'Granted', host: host({}), dismissedFailure: 'exit 1' })
    const forgotten = decideRequest(world(silent))
    expect(forgotten, 'the same words later mean that it happened again').toMatchObject({ do: 'writeStatus' })
    expect(forgotten).not.toHaveProperty('status.dismissedFailure')
  })

  test('of work outside the host is nobody to hear', () => {
    const external = one({ phase: 'Granted', host: host({ failure: 'x', request: 'Absent' }) }, { work: 'External' })
    expect(outcomeOf(decideRequest(world(external)))).toBe('nothing')
  })

  test('a host that asks no longer ends a request in line, or before the drain is over', () => {
    const queued = one({ phase: 'Queued', host: host({ request: 'Absent' }) })
    expect(statusOf(decideRequest(world(queued, { slot: undefined })))).toMatchObject({
      phase: 'Done',
      outcome: 'Withdrawn',
    })
    const claimed = one({ phase: 'Claimed', conditions: [], host: host({ request: 'Absent' }) })
    expect(statusOf(decideRequest(world(claimed))).phase).toBe('Finishing')
  })
})

describe('the heartbeat', () => {
  const alive = (is: 'True' | 'False') => [...given, condition('HostAlive', is)]
  const beats = (silentMs: number | undefined, conditions = given) =>
    decideRequest(
      world(one({ phase: 'Granted', since: earlier, conditions }), silentMs === undefined ? {} : { silentMs }),
    )

  test('a heartbeat that ended with an earlier turn is no silence of this one', () => {
    const just = new Date(Date.parse(noon) - 10_000).toISOString()
    const step = decideRequest(
      world(one({ phase: 'Granted', since: just, conditions: given }), { silentMs: 3_600_000 }),
    )
    expect(step, 'and no sign of life either').toMatchObject({ do: 'nothing', lookAgainMs: 50_001 })
    const later = decideRequest(
      world(one({ phase: 'Granted', since: earlier, conditions: given }), { silentMs: 3_600_000 }),
    )
    expect(statusOf(later).conditions).toContainEqual(expect.objectContaining({ type: 'HostAlive', status: 'False' }))
  })

  test('is written once when it is heard, and once when it is not', () => {
    expect(statusOf(beats(0)).conditions).toContainEqual(expect.objectContaining({ type: 'HostAlive', status: 'True' }))
    expect(beats(60_000, alive('True')).do).toBe('nothing')
    expect(statusOf(beats(60_001, alive('True'))).conditions).toContainEqual(
      expect.objectContaining({ type: 'HostAlive', status: 'False', message: 'no heartbeat for longer than 1m' }),
    )
    expect(beats(9_000_000, alive('False')).do).toBe('nothing')
    expect(statusOf(beats(1, alive('False'))).conditions).toContainEqual(
      expect.objectContaining({ type: 'HostAlive', status: 'True' }),
    )
    expect(beats(undefined).do).toBe('nothing')
  })

  describe('of which no change was seen yet, because the controller is a new one,', () => {
    const unheard = (silentMs: number, conditions = given, since = earlier) =>
      decideRequest(world(one({ phase: 'Granted', since, conditions }), { silentMs, isUnheard: true }))

    test('declares nobody alive, and nobody dead before the time', () => {
      expect(unheard(0, alive('False'))).toMatchObject({ do: 'nothing', lookAgainMs: 60_001 })
      expect(unheard(60_000)).toMatchObject({ do: 'nothing', lookAgainMs: 1 })
      expect(unheard(60_000, alive('True')).do).toBe('nothing')
      expect(statusOf(unheard(60_001, alive('True'))).conditions).toContainEqual(
        expect.objectContaining({ type: 'HostAlive', status: 'False' }),
      )
    })

    test.for(['True', 'False'] as const)(
      'is waited for when the deadline has passed, whatever was known: %s',
      (said) => {
        const late = inMs(-7_200_000)
        expect(unheard(0, alive(said), late)).toMatchObject({ do: 'nothing', lookAgainMs: 60_001 })
        const heard = { silentMs: 5, isUnheard: false }
        const known = one({ phase: 'Granted', since: late, conditions: alive('True') })
        expect(outcomeOf(decideRequest(world(known, heard)))).toBe('WorkDeadline')
      },
    )

    test('leads to a lost node when it is still missing', () => {
      expect(outcomeOf(unheard(60_001, alive('False'), inMs(-7_200_000)))).toBe('NodeLost')
    })
  })

  test('is looked for in the moment when it is missed', () => {
    expect(beats(20_000, alive('True'))).toMatchObject({ lookAgainMs: 40_001 })
  })

  test('that is missing frees nothing before the deadline', () => {
    expect(outcomeOf(beats(3_600_000, alive('False')))).toBe('nothing')
  })

  test('is heard also while the permission is awaited back', () => {
    const step = decideRequest(world(one({ phase: 'Finishing', since: inMs(-120_000) }), { silentMs: 90_000 }))
    expect(statusOf(step).conditions).toContainEqual(expect.objectContaining({ type: 'HostAlive', status: 'False' }))
  })

  const lost = one({ phase: 'Granted', since: inMs(-7_200_000), conditions: alive('False') })
  const silent = { silentMs: 90_000 }

  test('that is missing at the deadline is a lost node', () => {
    expect(outcomeOf(decideRequest(world(lost, silent)))).toBe('NodeLost')
  })

  test('that is missing gives the slot free where the budget says so, if the node is down', () => {
    const spec = { onNodeLost: 'Continue' } as const
    const status = statusOf(decideRequest(world(lost, { ...silent, node: out({ isReady: false }) }, spec)))
    expect(status).toMatchObject({ phase: 'Finishing', released: { as: 'Released' } })
    const back = { ...lost, status }
    expect(decideRequest(world(back, { ...silent, node: cordonedNode('a', { isReady: false }) }, spec)).do).toBe(
      'patchNode',
    )
  })

  test('that is missing on a node that is Ready is held all the same: it would count nowhere', () => {
    expect(outcomeOf(decideRequest(world(lost, silent, { onNodeLost: 'Continue' })))).toBe('NodeLost')
  })
})

describe('the work deadline', () => {
  test.for(['Host', 'Reboot', 'External'] as const)('holds %s work that takes longer', (work) => {
    const late = (ms: number) => one({ phase: 'Granted', since: inMs(-ms) }, { work })
    expect(outcomeOf(decideRequest(world(late(7_200_000))))).toBe('WorkDeadline')
    expect(decideRequest(world(late(7_199_000)))).toMatchObject({ do: 'nothing', lookAgainMs: 1_000 })
  })

  test('does not matter to who is done', () => {
    const done = one({ phase: 'Granted', since: earlier, host: host({ request: 'Absent' }) })
    expect(outcomeOf(decideRequest(world(done)))).toBe('Finishing')
  })
})

describe('a reboot', () => {
  const intent = { token: 3, fromBootID: 'boot-1' }
  const rebooting = (more: Partial<MaintenanceRequestStatus> = {}, spec: Partial<MaintenanceRequest['spec']> = {}) =>
    one({ phase: 'Rebooting', reboots: { count: 1, bootIDBefore: 'boot-1' }, ...more }, spec)
  const back = { host: host({ bootID: 'boot-2' }) }
  const often = { count: 5, bootIDAfter: 'boot-1' }
  const fresh = { node: out({ bootID: 'boot-2', readySince: noon }) }
  const settling = (since: string) => [
    ...given,
    condition('Returned', 'Unknown', { reason: 'Settling', lastTransitionTime: since }),
  ]

  test('begins when the host has stored that it means to, under our token', () => {
    const told = one({ phase: 'Granted', host: host({ rebootIntent: intent }) })
    expect(statusOf(decideRequest(world(told)))).toMatchObject({
      phase: 'Rebooting',
      reboots: { count: 1, bootIDBefore: 'boot-1' },
    })
    const others = one({ phase: 'Granted', host: host({ rebootIntent: { ...intent, token: 2 } }) })
    expect(outcomeOf(decideRequest(world(others)))).toBe('nothing')
    const old = one({ phase: 'Granted', host: host({ rebootIntent: { token: 3, fromBootID: 'boot-0' } }) })
    expect(outcomeOf(decideRequest(world(old)))).toBe('nothing')
  })

  test('begins also when nobody knew the boot before', () => {
    const { reboots: _, ...told } = one({ phase: 'Granted', host: host({ rebootIntent: intent }) }).status ?? {
      phase: 'Granted' as const,
    }
    const blind = { ...one({ phase: 'Granted' }), status: told }
    expect(statusOf(decideRequest(world(blind)))).toMatchObject({
      phase: 'Rebooting',
      reboots: { bootIDBefore: 'boot-1' },
    })
  })

  test('that the script did by itself counts as well', () => {
    const done = one({ phase: 'Granted', host: host({ bootID: 'boot-2' }) })
    expect(statusOf(decideRequest(world(done))).history?.at(-1)?.message).toBe('the host has rebooted by itself')
  })

  const planned = cordonedNode('a', { bootID: 'boot-1' })
  const said = ['MaintenancePlanned', 'DrainInProgress'].map((type) => ({
    type,
    status: 'True' as const,
    reason: 'FettleMaintenance',
    message: type === 'DrainInProgress' ? 'pods are asked to leave' : 'new fan',
  }))
  /** All has been said and done before the permission. */
  const drained = {
    ...planned,
    status: { ...planned.status, conditions: [...(planned.status?.conditions ?? []), ...said] },
  }

  test('before the permission is none of the work: the boot that the host knows is the first', () => {
    const claimed = one({
      phase: 'Claimed',
      conditions: [],
      reboots: undefined,
      host: host({ bootID: 'boot-2', permission: 'Absent' }),
    })
    expect(statusOf(decideRequest(world(claimed, { node: drained })))).toMatchObject({
      phase: 'Granted',
      reboots: { count: 0, bootIDAfter: 'boot-2' },
    })
  })

  describe('that somebody else in the slot got first', () => {
    const person = { kind: 'Person', key: 'p' } as const
    const machine = { kind: 'Reboot', key: '/var/run/reboot-required' } as const
    const claimed = (source: MaintenanceRequest['spec']['source'], report: Host) =>
      one(
        { phase: 'Claimed', conditions: [], host: host({ permission: 'Absent', ...report }) },
        { work: 'Reboot', source },
      )

    test('counts from the moment its own turn came', () => {
      const queued = one({ phase: 'Queued', reboots: { count: 0, bootIDAfter: 'boot-0' } }, { work: 'Reboot' })
      const status = statusOf(decideRequest(world(queued)))
      expect(status).toMatchObject({ phase: 'Claimed', reboots: { count: 0, bootIDAfter: 'boot-1' } })
    })

    test.for([person, machine])('is enough for %o, before its own begins', (source) => {
      const served = claimed(source, { request: 'Absent', bootID: 'boot-2' })
      const status = statusOf(decideRequest(world(served, fresh)))
      expect(status.phase).toBe('Finishing')
      const over = statusOf(decideRequest(world({ ...served, status }, { slot: undefined, node: node('a') })))
      expect(over).toMatchObject({ phase: 'Done', outcome: 'Completed' })
      expect(over.history?.at(-1)?.message).toBe('the node has rebooted since its turn came')
    })

    test('is enough for a person whose turn begins before the host has told of it; a machine that still asks gets its own', () => {
      const granting = (source: typeof person | typeof machine, report: Host) =>
        statusOf(decideRequest(world(claimed(source, report), { node: drained }))).reboots
      expect(granting(person, { bootID: 'boot-2' })).toEqual({ count: 0, bootIDAfter: 'boot-1' })
      expect(granting(machine, { bootID: 'boot-2' })).toEqual({ count: 0, bootIDAfter: 'boot-2' })
    })
  })

  test.for([
    ['a person', { host: host({ rebootIntent: intent }) }, { want: 'Return' }],
    ['the host', { host: host({ rebootIntent: intent, request: 'Absent', permission: 'Absent' }) }, {}],
    ['the host, in its new boot', { host: host({ bootID: 'boot-2', request: 'Absent', permission: 'Absent' }) }, {}],
    ['the host, once too often', { host: host({ bootID: 'boot-2', request: 'Absent' }), reboots: often }, {}],
  ] as const)('that nobody looked at before %s was done comes first all the same', ([, status, spec]) => {
    for (const work of ['Host', 'Reboot'] as const)
      expect(statusOf(decideRequest(world(one({ phase: 'Granted', ...status }, { work, ...spec }))))).toMatchObject({
        phase: 'Rebooting',
        reboots: { bootIDBefore: 'boot-1' },
      })
  })

  test('too often is a loop', () => {
    const often = one({
      phase: 'Granted',
      host: host({ rebootIntent: intent }),
      reboots: { count: 5, bootIDAfter: 'boot-1' },
    })
    expect(outcomeOf(decideRequest(world(often)))).toBe('RebootLoop')
  })

  test('is proven by node and host together, for long enough', () => {
    for (const [node, report] of [
      ['boot-2', 'boot-1'],
      ['boot-1', 'boot-2'],
      ['boot-3', 'boot-2'],
    ] as const) {
      const half = decideRequest(world(rebooting({ host: host({ bootID: report }) }), { node: out({ bootID: node }) }))
      expect(half).toMatchObject({ do: 'nothing', why: 'the node is rebooting', lookAgainMs: 840_000 })
    }
    const first = statusOf(decideRequest(world(rebooting(back), fresh)))
    expect(first.conditions).toContainEqual(
      expect.objectContaining({ type: 'Returned', status: 'Unknown', reason: 'Settling' }),
    )
    const waits = decideRequest(world(rebooting({ ...back, conditions: settling(inMs(-29_000)) }), fresh))
    expect(waits).toMatchObject({ do: 'nothing', lookAgainMs: 1_000 })
    const proven = statusOf(decideRequest(world(rebooting({ ...back, conditions: settling(inMs(-30_000)) }), fresh)))
    expect(proven).toMatchObject({
      phase: 'Granted',
      reboots: { count: 1, bootIDBefore: 'boot-1', bootIDAfter: 'boot-2' },
    })
  })

  test('has to be proven anew when the node was not well in between', () => {
    const conditions = settling(inMs(-29_000))
    for (const node of [
      out({ bootID: 'boot-2', isReady: false }),
      out({ bootID: 'boot-2', taints: ['readiness.k8s.io/x'] }),
    ]) {
      const status = statusOf(decideRequest(world(rebooting({ ...back, conditions }), { node })))
      expect(status.conditions).toContainEqual(
        expect.objectContaining({ type: 'Returned', status: 'False', reason: 'NotWell' }),
      )
      const again = decideRequest(world(rebooting({ ...back, conditions: status.conditions }), { node }))
      expect(again.do).toBe('nothing')
    }
  })

  test('needs no waiting where no time is asked for', () => {
    const timing = { soak: '0s', lead: '0s', heartbeatTimeout: '60s', minReadySeconds: 0 }
    expect(statusOf(decideRequest(world(rebooting(back), fresh, { timing }))).phase).toBe('Granted')
  })

  test('ends a Reboot request, unless the node still asks for one', () => {
    const conditions = settling(earlier)
    const gone = rebooting(
      { conditions, host: host({ bootID: 'boot-2', request: 'Absent', permission: 'Absent' }) },
      { work: 'Reboot' },
    )
    expect(statusOf(decideRequest(world(gone, fresh))).phase).toBe('Finishing')
    const still = rebooting({ conditions, host: host({ bootID: 'boot-2', permission: 'Absent' }) }, { work: 'Reboot' })
    expect(outcomeOf(decideRequest(world(still, fresh)))).toBe('StillRequired')
  })

  describe('that is tried again', () => {
    const retried = (reason: HeldReason, report: Host, bootID: string) => {
      const held = { from: 'Rebooting', reason, message: 'm' } as const
      const stopped = one(
        {
          phase: 'Held',
          held,
          reboots: { count: 1, bootIDBefore: 'boot-1' },
          host: host({ permission: 'Absent', rebootIntent: { token: 3, fromBootID: 'boot-1' }, ...report }),
        },
        { work: 'Reboot' },
      )
      const told = { ...stopped, metadata: { ...stopped.metadata, annotations: { 'fettle.dev/verb': 'retry' } } }
      const status = statusOf(decideRequest(world(told, { node: out({ bootID }) })))
      return { ...stopped, status }
    }

    test('does not stop at once for what it stopped for before, and counts a new order', () => {
      const which = retried('StillRequired', { bootID: 'boot-2' }, 'boot-2')
      expect(which.status).toMatchObject({ phase: 'Granted', reboots: { count: 0, bootIDAfter: 'boot-2' } })
      expect(decideRequest(world(which, fresh)).do).toBe('nothing')
      const ordered = host({ ...which.status.host, rebootIntent: { token: 3, fromBootID: 'boot-2' } })
      const going = statusOf(decideRequest(world({ ...which, status: { ...which.status, host: ordered } }, fresh)))
      expect(going).toMatchObject({ phase: 'Rebooting', reboots: { count: 1, bootIDBefore: 'boot-2' } })
    })

    test('ends when the host asks no longer', () => {
      const which = retried('StillRequired', { bootID: 'boot-2', request: 'Absent' }, 'boot-2')
      expect(statusOf(decideRequest(world(which, fresh))).phase).toBe('Finishing')
    })

    test.for(['RebootNoEffect', 'ReturnDeadline'] as const)('after %s in the same boot waits for it anew', (reason) => {
      const which = retried(reason, {}, 'boot-1')
      // The order for this boot stands, and the host carries it out as soon as it may.
      expect(which.status).toMatchObject({
        phase: 'Rebooting',
        since: noon,
        reboots: { count: 1, bootIDBefore: 'boot-1' },
      })
      expect(outcomeOf(decideRequest(world(which)))).toBe('nothing')
    })

    test('goes by the node when the host never told its boot', () => {
      const stopped = one(
        { phase: 'Held', held: { from: 'Rebooting', reason: 'ReturnDeadline', message: 'm' }, host: {} },
        { work: 'Reboot' },
      )
      const told = { ...stopped, metadata: { ...stopped.metadata, annotations: { 'fettle.dev/verb': 'retry' } } }
      const status = statusOf(decideRequest(world(told, { node: out({ bootID: 'boot-7' }) })))
      expect(status.reboots).toEqual({ count: 0, bootIDAfter: 'boot-7' })
    })
  })

  test.for<readonly [string, Partial<MaintenanceRequest['spec']>, Host, object]>([
    ['the host asks no longer', { work: 'Reboot' }, { request: 'Absent' }, {}],
    ['somebody wants it back', { want: 'Return' }, {}, {}],
    ['it is deleted', {}, {}, { deletionTimestamp: noon }],
  ])('is waited for although %s: the machine may still go down', ([, spec, report, metadata]) => {
    const which = rebooting({ host: host(report) }, spec)
    expect(outcomeOf(decideRequest(world({ ...which, metadata: { ...which.metadata, ...metadata } })))).toBe('nothing')
    const later = { ...which, metadata: { ...which.metadata, ...metadata } }
    const held = { ...later, status: statusOf(decideRequest(world(later, { now: inMs(3_600_000) }))) }
    expect(held.status.phase).toBe('Held')
    expect(outcomeOf(decideRequest(world(held)))).toBe('Finishing')
  })

  test('that is taken back before the order leads back to the work, and does not count', () => {
    const takenBack = { rebootIntent: { token: 3, fromBootID: 'boot-1', takenBack: true } } as const
    const step = decideRequest(world(rebooting({ host: host(takenBack) })))
    expect(step).toMatchObject({ status: { phase: 'Granted', reboots: { count: 0, bootIDAfter: 'boot-1' } } })
    const inWork = one({ phase: 'Granted', host: host(takenBack) })
    expect(outcomeOf(decideRequest(world(inWork))), 'and is no new one').toBe('nothing')
  })

  test('that did not happen, and one that nobody came back from, are told apart', () => {
    const late = { since: inMs(-900_000) }
    const aliveHere = [...given, condition('HostAlive')]
    expect(outcomeOf(decideRequest(world(rebooting({ ...late, conditions: aliveHere }))))).toBe('RebootNoEffect')
    expect(outcomeOf(decideRequest(world(rebooting(late), { node: out({ isReady: false }) })))).toBe('ReturnDeadline')
    const unheard = { silentMs: 10_000, isUnheard: true }
    expect(
      decideRequest(world(rebooting({ ...late, conditions: aliveHere }), unheard)),
      'not before a new controller has heard it, or has waited for it',
    ).toMatchObject({ do: 'nothing', lookAgainMs: 50_001 })
    const silent = [...given, condition('HostAlive', 'False')]
    expect(outcomeOf(decideRequest(world(rebooting({ ...late, conditions: silent }), { silentMs: 90_000 })))).toBe(
      'NodeLost',
    )
    const sick = rebooting({ ...late, ...back })
    expect(outcomeOf(decideRequest(world(sick, { node: out({ bootID: 'boot-2', isReady: false }) })))).toBe(
      'ReturnDeadline',
    )
  })
})

describe('the proof at the end', () => {
  const home = (more: Partial<MaintenanceRequestStatus> = {}, spec: Partial<MaintenanceRequest['spec']> = {}) =>
    one({ phase: 'Finishing', host: host({ request: 'Absent', permission: 'Absent' }), ...more }, spec)
  const bare = (more: Parameters<typeof cordonedNode>[1] = {}) => cordonedNode('a', { readySince: earlier, ...more })
  const restores = (step: RequestStep) => step.do === 'patchNode'

  test('waits for the permission to go, and holds when it does not', () => {
    const still = home({ host: host({ request: 'Absent' }) })
    expect(decideRequest(world(still, { node: bare() }))).toMatchObject({ do: 'nothing', lookAgainMs: 840_000 })
    const late = home({ since: inMs(-900_000), host: host({ request: 'Absent' }) })
    expect(outcomeOf(decideRequest(world(late, { node: bare() })))).toBe('Unhealthy')
  })

  test('is given at once by a node that never went away', () => {
    expect(restores(decideRequest(world(home(), { node: bare() })))).toBe(true)
    expect(restores(decideRequest(world(home({}, { work: 'External' }), { node: bare() })))).toBe(true)
  })

  test('takes its time on a node that went away and came back', () => {
    const step = decideRequest(world(home(), { node: bare({ readySince: noon }) }))
    expect(statusOf(step).conditions).toContainEqual(expect.objectContaining({ type: 'Returned', reason: 'Settling' }))
    const conditions = [
      ...given,
      condition('Returned', 'Unknown', { reason: 'Settling', lastTransitionTime: inMs(-30_000) }),
    ]
    expect(restores(decideRequest(world(home({ conditions }), { node: bare({ readySince: noon }) })))).toBe(true)
  })

  test('takes its time on a node of a person that is in another boot, whatever its clock says', () => {
    const away = home({}, { work: 'External', want: 'Return' })
    const step = decideRequest(world(away, { node: bare({ bootID: 'boot-2' }) }))
    expect(statusOf(step).conditions).toContainEqual(expect.objectContaining({ type: 'Returned', reason: 'Settling' }))
    expect(restores(decideRequest(world(away, { node: bare({ bootID: 'boot-1' }) })))).toBe(true)
  })

  test('is asked of a machine that went down while it was drained, though nobody had worked there', () => {
    const crashed = home({ conditions: [], host: host({ request: 'Absent', permission: 'Absent', bootID: 'boot-2' }) })
    for (const more of [{ bootID: 'boot-2', isReady: false }, { bootID: 'boot-1' }])
      expect(decideRequest(world(crashed, { node: bare(more) })).do).toBe('nothing')
    const step = decideRequest(world(crashed, { node: bare({ bootID: 'boot-2' }) }))
    expect(statusOf(step).conditions).toContainEqual(expect.objectContaining({ type: 'Returned', reason: 'Settling' }))
  })

  test('waits for a machine that was told to reboot', () => {
    const rebootIntent = { token: 3, fromBootID: 'boot-1' }
    const told = (more: Partial<typeof rebootIntent> & { readonly takenBack?: true } = {}) =>
      home({ host: host({ request: 'Absent', permission: 'Absent', rebootIntent: { ...rebootIntent, ...more } }) })
    expect(decideRequest(world(told(), { node: bare() }))).toMatchObject({
      do: 'nothing',
      why: 'a was told to reboot, and has not done so yet',
    })
    for (const over of [{ takenBack: true as const }, { token: 2 }, { fromBootID: 'boot-0' }])
      expect(restores(decideRequest(world(told(over), { node: bare() })))).toBe(true)
  })

  test('waits for the permission to go on a node that was not cordoned, too', () => {
    const service = { cordon: false, drain: false }
    const still = home({ host: host({ request: 'Absent' }) }, { service })
    expect(decideRequest(world(still, { node: node('a') }))).toMatchObject({ do: 'nothing', lookAgainMs: 840_000 })
    const late = home({ since: inMs(-900_000), host: host({ request: 'Absent' }) }, { service })
    expect(outcomeOf(decideRequest(world(late, { node: node('a') })))).toBe('Unhealthy')
    expect(decideRequest(world(home({}, { service }), { node: node('a', { isReady: false }) }))).toMatchObject({
      do: 'nothing',
      why: 'the ledger frees the slot',
    })
  })

  test('is asked anew when the node fell ill after it was found well', () => {
    const conditions = [...given, condition('Returned', 'True', { reason: 'NewBoot' })]
    const ill = statusOf(decideRequest(world(home({ conditions }), { node: bare({ isReady: false }) })))
    expect(ill.conditions).toContainEqual(expect.objectContaining({ type: 'Returned', status: 'False' }))
    const well = decideRequest(world(home({ conditions: ill.conditions }), { node: bare({ readySince: noon }) }))
    expect(statusOf(well).conditions).toContainEqual(expect.objectContaining({ type: 'Returned', reason: 'Settling' }))
  })

  test.for([
    ['is not Ready', { isReady: false }],
    ['is not fit yet', { taints: ['readiness.k8s.io/network'] }],
  ] as const)('holds in the end when the node %s', ([, more]) => {
    expect(decideRequest(world(home(), { node: bare(more) })).do).toBe('nothing')
    expect(outcomeOf(decideRequest(world(home({ since: inMs(-900_000) }), { node: bare(more) })))).toBe('Unhealthy')
  })

  test('is not asked for where nobody worked, or where a person took the node back', () => {
    const ill = { node: bare({ isReady: false }) }
    expect(restores(decideRequest(world(home({ conditions: [] }), ill)))).toBe(true)
    expect(restores(decideRequest(world(home({ released: { as: 'Released' }, host: host() }), ill)))).toBe(true)
  })

  test('that failed stays held until a person speaks, whatever the host says', () => {
    const held = { from: 'Finishing', reason: 'Unhealthy', message: 'm' } as const
    expect(outcomeOf(decideRequest(world(home({ phase: 'Held', held }))))).toBe('nothing')
  })
})
