import { describe, expect, test } from 'vitest'
import { type MaintenanceRequest, type MaintenanceRequestStatus, type Phase, verbAnnotations } from '../api/index.ts'
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

  test.for([
    ['StillRequired', 'Reboot', 'Granted'],
    ['RebootNoEffect', 'Reboot', 'Granted'],
    ['ReturnDeadline', 'Reboot', 'Granted'],
    ['NodeLost', 'Reboot', 'Rebooting'],
    ['ReturnDeadline', 'Host', 'Rebooting'],
  ] as const)('of %s for work %s goes on in %s', ([reason, work, phase]) => {
    const held = { from: 'Rebooting', reason, message: 'm' } as const
    const one = inPhase('Held', 'retry', { held, host: { bootID: 'b' } })
    const status = statusOf(decideRequest(world({ ...one, spec: { ...one.spec, work } })))
    expect(status.phase).toBe(phase)
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
