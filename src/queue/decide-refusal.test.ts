import { describe, expect, test } from 'vitest'
import type { MaintenanceBudget, MaintenanceRequest, RequestCondition } from '../api/index.ts'
import type { NodeObject } from '../kube/index.ts'
import { releasable } from './decide-releases.ts'
import { decideRequest } from './decide-request.ts'
import { budget, condition, cordonedNode, earlier, heldSlot, node, noon, request, slot } from './fixture-world.ts'
import type { RequestStep, RequestWorld } from './request-steps.ts'
import { settingsOf } from './settings.ts'

/** What becomes of a request whose node nobody lets the controller change. */

const sentence = 'admission webhook "nodes.example.com" denied the request: no'
const ago = (ms: number) => new Date(Date.parse(noon) - ms).toISOString()
const refused = (ms: number, type: RequestCondition['type'] = 'NodeRefused') =>
  condition(type, 'True', { reason: 'Forbidden', message: sentence, lastTransitionTime: ago(ms) })
const given = [condition('PermissionGiven'), condition('Drained')]

function world(
  phase: NonNullable<MaintenanceRequest['status']>['phase'],
  conditions: readonly RequestCondition[],
  more: {
    readonly node?: NodeObject
    readonly spec?: Partial<MaintenanceRequest['spec']>
    readonly status?: Partial<NonNullable<MaintenanceRequest['status']>>
    readonly budget?: Partial<MaintenanceBudget['spec']>
    readonly parts?: Partial<RequestWorld>
  } = {},
): RequestWorld {
  const status = { phase, since: earlier, slot: heldSlot(3), conditions: [...conditions], ...more.status }
  const one = request('r', 'a', { status, spec: more.spec ?? {} })
  return {
    request: one,
    requests: [one],
    settings: settingsOf(one, budget(more.budget).spec),
    ledgerUID: 'uid-ledger',
    isExclusivityBroken: false,
    slot: slot('a', 3, 'r'),
    node: more.node ?? node('a'),
    podsOnNode: [],
    budgets: [],
    waiting: undefined,
    now: noon,
    ...more.parts,
  }
}

/** The node as it says itself what is going on. */
function saying(one: NodeObject, messages: Readonly<Record<string, string>>): NodeObject {
  const reason = 'FettleMaintenance'
  const said = Object.entries(messages).map(([type, message]) => {
    return { type, status: 'True' as const, reason, message, lastTransitionTime: earlier }
  })
  return { ...one, status: { ...one.status, conditions: [...(one.status?.conditions ?? []), ...said] } }
}
const planned = (one: NodeObject) => saying(one, { MaintenancePlanned: 'new fan' })
const atWork = (one: NodeObject) => saying(one, { MaintenanceInProgress: 'new fan', Drained: 'all pods have left' })

function statusOf(step: RequestStep) {
  if (step.do !== 'writeStatus') throw new Error(`it does not write: ${JSON.stringify(step)}`)
  return step.status
}

describe('a cordon that is refused', () => {
  const claimed = (ms: number, drain: MaintenanceRequest['spec']['drain'] = {}) =>
    decideRequest(world('Claimed', [refused(ms)], { node: planned(node('a')), spec: { drain } }))

  test('is tried again until the deadline of the drain, and whoever asks why hears who is against it', () => {
    expect(claimed(1_799_000)).toMatchObject({
      do: 'patchNode',
      why: `no new pods may come; the API server refuses it: ${sentence}`,
    })
  })

  test.for(['Hold', 'ForceDelete', 'Continue'] as const)('is held then, also with onDeadline %s', (onDeadline) => {
    const status = statusOf(claimed(1_800_000, { onDeadline }))
    expect(status).toMatchObject({
      phase: 'Held',
      held: {
        from: 'Claimed',
        reason: 'DrainDeadline',
        message: `the node could not be cordoned for 30m: ${sentence}`,
        next: 'fettle node retry r, or fettle node release r',
      },
    })
    expect(status.conditions?.map(({ type }) => type)).toEqual(['Held'])
  })

  test('goes back into the line then, where the request says so', () => {
    expect(statusOf(claimed(1_800_000, { onDeadline: 'Requeue' }))).toMatchObject({
      phase: 'Finishing',
      requeue: { count: 1, isPending: true },
    })
  })

  test('leaves nothing behind once it is let pass: first that is written, then the drain goes on', () => {
    const draining = saying(planned(cordonedNode('a')), { DrainInProgress: 'pods are asked to leave' })
    const passed = decideRequest(world('Claimed', [condition('SlotHeld'), refused(1_800_000)], { node: draining }))
    expect(statusOf(passed)).toMatchObject({ phase: 'Claimed', since: earlier })
    expect(statusOf(passed).conditions?.map(({ type }) => type)).toEqual(['SlotHeld'])
    expect(statusOf(decideRequest(world('Claimed', [condition('SlotHeld')], { node: draining }))).phase).toBe('Granted')
  })
})

describe('the repair of a cordon that is refused', () => {
  test.for(['Granted', 'Rebooting'] as const)('does not keep the deadline of %s from passing', (phase) => {
    const parts = (since: string) => ({ node: atWork(node('a')), status: { since }, spec: { work: 'Host' as const } })
    const conditions = [...given, refused(10_000)]
    expect(decideRequest(world(phase, conditions, parts(ago(60_000)))).do).toBe('patchNode')
    expect(statusOf(decideRequest(world(phase, conditions, parts(ago(7_200_000))))).phase).toBe('Held')
  })

  test('is tried again while it is held', () => {
    const held = { from: 'Granted', reason: 'WorkDeadline', message: 'late' } as const
    const step = decideRequest(world('Held', [...given, refused(1_000)], { node: atWork(node('a')), status: { held } }))
    expect(step.do).toBe('patchNode')
  })
})

describe('a node that nobody lets us put back', () => {
  const home = (conditions: readonly RequestCondition[], more: Parameters<typeof world>[2] = {}) =>
    decideRequest(world('Finishing', conditions, { node: cordonedNode('a', { token: 3 }), ...more }))

  test('is tried until the deadline of the return has passed since the first refusal, and held then', () => {
    expect(home([refused(899_000)])).toMatchObject({ do: 'patchNode', patch: { spec: { unschedulable: null } } })
    expect(statusOf(home([refused(900_000)]))).toMatchObject({
      phase: 'Held',
      held: { from: 'Finishing', reason: 'Unhealthy', message: `the node could not be put back for 15m: ${sentence}` },
    })
  })

  test('is held as well when a person has released it, and hears that person again', () => {
    const released = { as: 'Released', reason: 'release' } as const
    const held = statusOf(home([refused(900_000)], { status: { released } }))
    expect(held).toMatchObject({ phase: 'Held', released })
    const metadata = { ...request('r', 'a').metadata, annotations: { 'fettle.dev/verb': 'release' } }
    const again = { ...request('r', 'a', { status: held }), metadata }
    const step = decideRequest({ ...world('Held', []), request: again, node: cordonedNode('a', { token: 3 }) })
    expect(statusOf(step)).toMatchObject({ phase: 'Finishing', since: noon, released: { as: 'Released' } })
    const once = decideRequest({ ...world('Held', []), request: { ...again, status: statusOf(step) } })
    expect(once.do, 'and once').toBe('removeVerb')
  })
})

describe('what a node says of itself', () => {
  const unsaid = refused(1_000, 'NodeStatusRefused')

  test('holds nothing up when it is refused: the cordon, the work and the return go on without it', () => {
    expect(decideRequest(world('Claimed', [unsaid])).do).toBe('patchNode')
    expect(decideRequest(world('Granted', [...given, unsaid], { node: cordonedNode('a') })).do).toBe('nothing')
    const home = decideRequest(world('Finishing', [unsaid], { node: atWork(cordonedNode('a', { token: 3 })) }))
    expect(home).toMatchObject({ do: 'patchNode', patch: { spec: { unschedulable: null } } })
  })

  test('keeps no slot when nobody lets us take it back; a cordon does, and so does what was never tried', () => {
    const free = (one: NodeObject, ...conditions: RequestCondition[]) => {
      const { request: home } = world('Finishing', conditions)
      const ledger = budget({}, slot('a', 3, 'r'))
      const parts = { budget: ledger, requests: [home], nodes: [one], gates: {} as never, now: noon }
      return releasable(parts, new Map([['uid-a', one]]), new Map([['r', home]])).length === 1
    }
    expect(free(node('a'))).toBe(true)
    expect(free(atWork(node('a')), unsaid)).toBe(true)
    expect(free(atWork(node('a')))).toBe(false)
    expect(free(atWork(cordonedNode('a')), unsaid)).toBe(false)
  })

  test('is tried once more in the next phase', () => {
    const step = decideRequest(
      world('Granted', [...given, unsaid], { node: cordonedNode('a'), spec: { want: 'Return' } }),
    )
    expect(statusOf(step)).toMatchObject({ phase: 'Finishing' })
    expect(statusOf(step).conditions?.map(({ type }) => type)).toEqual(['PermissionGiven', 'Drained'])
  })
})
