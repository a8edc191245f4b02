import { describe, expect, test } from 'vitest'
import {
  type HeldReason,
  type MaintenanceRequest,
  type MaintenanceRequestStatus,
  type Phase,
  verbAnnotations,
} from '../api/index.ts'
import { decideRequest } from './decide-request.ts'
import { budget, condition, cordonedNode, earlier, heldSlot, noon, request, slot } from './fixture-world.ts'
import type { RequestStep, RequestWorld } from './request-steps.ts'
import { settingsOf } from './settings.ts'

const later = '2026-03-01T12:30:00.000Z'
const world = (one: MaintenanceRequest, parts: Partial<RequestWorld> = {}): RequestWorld => ({
  request: one,
  requests: [one],
  settings: settingsOf(one, budget().spec),
  ledgerUID: 'uid-ledger',
  isExclusivityBroken: false,
  slot: one.status?.phase === 'Queued' || one.status?.phase === 'Done' ? undefined : slot('a', 3, 'r'),
  node: cordonedNode('a'),
  podsOnNode: [],
  budgets: [],
  waiting: undefined,
  now: noon,
  ...parts,
})
const said = (verb: string, more: Record<string, string> = {}) => ({
  annotations: { [verbAnnotations.verb]: verb, ...more },
})
const inPhase = (phase: Phase, verb: string, more: Partial<MaintenanceRequestStatus> = {}) =>
  request('r', 'a', {
    metadata: said(verb),
    status: {
      phase,
      since: earlier,
      ...(phase === 'Queued' || phase === 'Done' ? {} : { slot: heldSlot(3) }),
      ...(phase === 'Held' ? { held: { from: 'Granted', reason: 'WorkDeadline', message: 'm' } } : {}),
      ...more,
    },
  })
function statusOf(step: RequestStep): MaintenanceRequestStatus {
  if (step.do !== 'writeStatus') throw new Error(`it does not write: ${JSON.stringify(step)}`)
  return step.status
}
const effect = (step: RequestStep) => (step.do === 'writeStatus' ? step.status.phase : step.do)

describe('every verb in every phase', () => {
  const ending: Record<Phase, string> = {
    Queued: 'Done',
    Claimed: 'Finishing',
    Granted: 'Finishing',
    Rebooting: 'Finishing',
    Finishing: 'Finishing',
    Held: 'Finishing',
    Done: 'removeVerb',
  }
  const cases = (Object.keys(ending) as Phase[]).flatMap((phase) => [
    ['retry', phase, phase === 'Held' ? 'Granted' : 'removeVerb'] as const,
    ...(['release', 'skip', 'abort'] as const).map((verb) => [verb, phase, ending[phase]] as const),
    ['frobnicate', phase, 'removeVerb'] as const,
    ['constructor', phase, 'removeVerb'] as const,
  ])

  test.for(cases)('%s in %s: %s, once', ([verb, phase, expected]) => {
    const one = inPhase(phase, verb)
    const step = decideRequest(world(one))
    expect(effect(step)).toBe(expected)
    if (step.do !== 'writeStatus') return
    // A crash before the word was removed: it is found again, and only removed.
    const again = { ...one, status: step.status }
    expect(decideRequest(world(again))).toEqual({ do: 'removeVerb' })
    const outcomes = { release: 'Released', skip: 'Skipped', abort: 'Aborted' } as const
    if (verb === 'retry') return
    const as = outcomes[verb as keyof typeof outcomes]
    if (phase === 'Queued') expect(step.status.outcome).toBe(as)
    else {
      const { annotations: _, ...metadata } = one.metadata
      const ended = decideRequest(world({ ...again, metadata }, { slot: undefined, node: undefined }))
      expect(statusOf(ended).phase).toBe('Done')
      expect(step.status.released?.as).toBe(as)
    }
  })
})

describe('a release', () => {
  test('notes who and why, at no greater length than can be stored', () => {
    const words = { [verbAnnotations.reason]: 'x'.repeat(999), [verbAnnotations.by]: 'ann' }
    const one = {
      ...inPhase('Held', 'release'),
      metadata: { ...inPhase('Held', 'release').metadata, ...said('release', words) },
    }
    const status = statusOf(decideRequest(world(one)))
    expect(status.released).toEqual({ as: 'Released', by: 'ann', reason: 'x'.repeat(256) })
    expect(status.history?.at(-1)).toMatchObject({ phase: 'Finishing', reason: 'Released', by: 'ann' })
    expect(status).not.toHaveProperty('held')
  })

  test('gives the node back although the permission lies there and the node is ill', () => {
    const one = request('r', 'a', {
      spec: { work: 'Host' },
      status: {
        phase: 'Finishing',
        since: noon,
        slot: heldSlot(3),
        conditions: [condition('PermissionGiven')],
        host: { permission: 'Present' },
        released: { as: 'Released' },
      },
    })
    expect(decideRequest(world(one, { node: cordonedNode('a', { isReady: false }) })).do).toBe('patchNode')
  })

  test('ends what would have gone back into the line', () => {
    const requeue = { count: 1, notBefore: later, isPending: true }
    const status = statusOf(decideRequest(world(inPhase('Finishing', 'skip', { requeue }))))
    expect(status).not.toHaveProperty('requeue')
    const { annotations: _, ...metadata } = inPhase('Finishing', 'skip').metadata
    const ended = decideRequest(
      world({ ...inPhase('Finishing', 'skip'), metadata, status }, { slot: undefined, node: cordonedNode('b') }),
    )
    expect(['patchNode', 'writeStatus']).toContain(ended.do)
  })

  test('of a request that has just got its slot gives that slot back', () => {
    const one = inPhase('Queued', 'release')
    expect(statusOf(decideRequest(world(one, { slot: slot('a', 3, 'r') }))).phase).toBe('Finishing')
  })
})

describe('a retry', () => {
  test('goes back to where it stopped, with fresh deadlines', () => {
    const drain = { startedAt: earlier, total: 2, left: 1, blockedBy: [] }
    const held = { from: 'Claimed', reason: 'DrainDeadline', message: 'm' } as const
    const conditions = [condition('Held')]
    const status = statusOf(decideRequest(world(inPhase('Held', 'retry', { held, drain, conditions }))))
    expect(status).toMatchObject({ phase: 'Claimed', since: noon })
    expect(status).not.toHaveProperty('drain')
    expect(status).not.toHaveProperty('held')
    expect(status.conditions).toMatchObject([{ type: 'Held', status: 'False' }])
  })

  test('counts reboots anew, and forgives the failure that was seen', () => {
    const more = {
      reboots: { count: 6, bootIDAfter: 'b' },
      host: { failure: 'exit 1', permission: 'Present' as const },
    }
    const status = statusOf(decideRequest(world(inPhase('Held', 'retry', more))))
    expect(status).toMatchObject({ reboots: { count: 0, bootIDAfter: 'b' }, dismissedFailure: 'exit 1' })
  })

  describe('of a reboot', () => {
    const intent = { token: 3, fromBootID: 'old' } as const
    const retried = (
      reason: HeldReason,
      host: NonNullable<MaintenanceRequestStatus['host']>,
      work: 'Reboot' | 'Host' = 'Reboot',
    ) => {
      const held = { from: 'Rebooting', reason, message: 'm' } as const
      const reboots = { count: 1, bootIDBefore: 'old' }
      const conditions = [condition('PermissionGiven')]
      const one = inPhase('Held', 'retry', { held, reboots, conditions, host: { permission: 'Absent', ...host } })
      const asked = { ...one, spec: { ...one.spec, work } }
      return { ...asked, metadata: request('r', 'a').metadata, status: statusOf(decideRequest(world(asked))) }
    }

    test.for(['ReturnDeadline', 'RebootNoEffect', 'NodeLost', 'HostUnreadable'] as const)(
      'that has taken place meanwhile waits for the proof, with a fresh deadline, and orders no other one: %s',
      (reason) => {
        const one = retried(reason, { bootID: 'new', rebootIntent: intent })
        expect(one.status).toMatchObject({
          phase: 'Rebooting',
          since: noon,
          reboots: { count: 1, bootIDBefore: 'old' },
        })
        const timing = { soak: '0s', lead: '0s', heartbeatTimeout: '60s', minReadySeconds: 0 }
        const mended = cordonedNode('a', { token: 3, bootID: 'new' })
        const settings = settingsOf(one, budget({ timing }).spec)
        const inProgress = { type: 'MaintenanceInProgress', status: 'True', reason: 'FettleMaintenance' } as const
        const conditions = [...(mended.status?.conditions ?? []), { ...inProgress, message: one.spec.reason }]
        const node = { ...mended, status: { ...mended.status, conditions } }
        expect(statusOf(decideRequest(world(one, { settings, node })))).toMatchObject({
          phase: 'Finishing',
          reboots: { count: 1, bootIDBefore: 'old', bootIDAfter: 'new' },
        })
      },
    )

    test.for(['ReturnDeadline', 'RebootNoEffect', 'NodeLost'] as const)(
      'whose order still stands waits for that order anew: %s',
      (reason) => {
        expect(retried(reason, { bootID: 'old', rebootIntent: intent }).status).toMatchObject({
          phase: 'Rebooting',
          reboots: { count: 1, bootIDBefore: 'old' },
        })
      },
    )

    test.for<readonly [string, NonNullable<MaintenanceRequestStatus['host']>, string]>([
      ['that nobody has ordered', { bootID: 'old' }, 'old'],
      [
        'that was ordered under a number that its slot has lost',
        { bootID: 'old', rebootIntent: { ...intent, token: 2 } },
        'old',
      ],
      ['that was taken back', { bootID: 'old', rebootIntent: { ...intent, takenBack: true } }, 'old'],
    ])('%s in a boot that it should have left begins anew: nothing would come of waiting', ([, host, boot]) => {
      for (const reason of ['ReturnDeadline', 'RebootNoEffect', 'NodeLost'] as const)
        expect(retried(reason, host).status).toMatchObject({
          phase: 'Granted',
          reboots: { count: 0, bootIDAfter: boot },
        })
    })

    test('that was not enough is another reboot, from the boot that came of it', () => {
      expect(retried('StillRequired', { bootID: 'new', rebootIntent: intent }).status).toMatchObject({
        phase: 'Granted',
        reboots: { count: 0, bootIDAfter: 'new' },
      })
    })

    test('of a host at work waits for the proof in any case', () => {
      expect(retried('ReturnDeadline', { bootID: 'old' }, 'Host').status.phase).toBe('Rebooting')
    })
  })

  test('proves the node anew: nobody watched it meanwhile', () => {
    const conditions = [condition('Returned', 'Unknown', { reason: 'Settling' }), condition('Held')]
    const status = statusOf(decideRequest(world(inPhase('Held', 'retry', { conditions }))))
    expect(status.conditions?.map(({ type }) => type)).toEqual(['Held'])
  })

  test('ends the wait for the next try, and nothing else in line', () => {
    const requeue = { count: 3, notBefore: later, isPending: false }
    const status = statusOf(decideRequest(world(inPhase('Queued', 'retry', { requeue }))))
    expect(status).toMatchObject({ phase: 'Queued', requeue: { count: 3, notBefore: noon } })
    expect(decideRequest(world({ ...inPhase('Queued', 'retry'), status }))).toEqual({ do: 'removeVerb' })
  })
})
