import { expect, test } from 'vitest'
import { type Phase, type RequestVerb, verbAnnotations } from '../../src/api/index.ts'
import { setNotReady } from '../../src/dev/index.ts'
import { type PodObject, resources } from '../../src/kube/index.ts'
import { boundPod, eventually } from '../support/e2e-cluster.ts'
import {
  cordonOf,
  createPdb,
  inService,
  isReady,
  patient,
  prepareQueue,
  type QueueGround,
  slotsOf,
  useCrds,
} from '../support/queue-cluster.ts'

useCrds()

const phases = ['Queued', 'Claimed', 'Granted', 'Held', 'Finishing'] as const

/** Brings a new request into a phase in which it stays by itself. */
async function stuckIn(ground: QueueGround, phase: (typeof phases)[number]) {
  const node = await ground.addNode()
  const app = `stuck-${node}`
  // Nothing would start it again: the drain waits for a person.
  if (phase === 'Claimed') await ground.admin.create<PodObject>(resources.pods, boundPod(ground.namespace, app, node))
  if (phase === 'Held') {
    await ground.addWorkload(node, { app, replicas: 1 })
    await createPdb(ground, app, app, { maxUnavailable: 0 })
  }
  const drain = { deadline: phase === 'Held' ? '1s' : '1h' }
  const { metadata } = await ground.ask(node, { drain, windows: phase === 'Queued' ? ['there-is-none'] : [] })
  if (phase === 'Finishing') {
    await ground.untilPhase(metadata.name, 'Granted')
    await setNotReady(ground.admin, node, 'the disk is full')
    await eventually(async () => expect(isReady(await ground.node(node))).toBe(false), patient)
    await ground.want(metadata.name, 'Return')
  }
  await ground.untilPhase(metadata.name, phase)
  if (phase === 'Claimed')
    await eventually(async () => expect((await cordonOf(ground, node)).isUnschedulable).toBe(true), patient)
  return { node, request: metadata.name }
}

const wordsOn = async (ground: QueueGround, request: string) =>
  Object.keys((await ground.request(request)).metadata.annotations ?? {}).filter((key) =>
    Object.values<string>(verbAnnotations).includes(key),
  )

const outcomes = { release: 'Released', skip: 'Skipped', abort: 'Aborted' } as const

test('release, skip and abort end a request in whatever phase it is, once, and tell who and why', async (context) => {
  const ground = await prepareQueue(context)
  await ground.setBudget({ max: 20 })
  await ground.startQueue()
  const cases = Object.entries(outcomes).flatMap(([verb, outcome]) =>
    phases.map((phase) => ({ verb: verb as RequestVerb, outcome, phase })),
  )
  const stuck = await Promise.all(cases.map(async (one) => ({ ...one, ...(await stuckIn(ground, one.phase)) })))
  for (const { request, verb } of stuck) await ground.say(request, verb, 'the plan has changed')
  for (const { node, request, verb, outcome, phase } of stuck) {
    const what = `${verb} in ${phase}`
    const { status } = await ground.untilPhase(request, 'Done')
    expect(status?.outcome, what).toBe(outcome)
    const told = status?.history?.filter(({ message }) => message.includes('the plan has changed')) ?? []
    expect(
      told.map(({ phase: entered, reason }) => `${entered} ${reason}`),
      what,
    ).toEqual([...(phase === 'Queued' ? [] : [`Finishing ${outcome}`]), `Done ${outcome}`])
    expect(told[0]?.message).toBe(`${verb} by jdoe-at-example: the plan has changed`)
    expect(status?.held).toBeUndefined()
    await eventually(async () => expect(await wordsOn(ground, request), what).toEqual([]), patient)
    expect(await cordonOf(ground, node), what).toEqual(inService)
  }
  expect(await slotsOf(ground)).toEqual([])
})

test('retry goes on where it stopped, and elsewhere changes nothing but is taken off', async (context) => {
  const ground = await prepareQueue(context)
  await ground.setBudget({ max: 20 })
  await ground.startQueue()
  const stuck = await Promise.all(phases.map((phase) => stuckIn(ground, phase)))
  const before = new Map<string, readonly object[]>()
  for (const { request } of stuck) before.set(request, (await ground.request(request)).status?.history ?? [])
  for (const { request } of stuck) await ground.say(request, 'retry', 'now')
  for (const [index, { request }] of stuck.entries()) {
    await eventually(async () => expect(await wordsOn(ground, request)).toEqual([]), patient)
    const { status } = await ground.request(request)
    const added = status?.history?.slice(before.get(request)?.length) ?? []
    if (phases[index] !== 'Held') {
      expect(status?.phase).toBe(phases[index])
      expect(added).toEqual([])
      continue
    }
    expect(added[0]).toMatchObject({ phase: 'Claimed', reason: 'Retry', message: 'tried again: now' })
    expect(added[0]).toMatchObject({ by: 'jdoe-at-example' })
    // Its pods still do not leave, and it has a second again.
    const held = await ground.untilPhase(request, 'Held')
    expect(held.status?.history?.at(-1)?.reason).toBe('DrainDeadline')
  }
})

test('a word that nobody knows, and one on a request that is over, are taken off and change nothing', async (context) => {
  const ground = await prepareQueue(context)
  await ground.setBudget({ max: 2 })
  await ground.startQueue()
  const [open, over] = [await stuckIn(ground, 'Granted'), await stuckIn(ground, 'Granted')]
  await ground.want(over.request, 'Return')
  await ground.untilPhase(over.request, 'Done')
  const phaseOf = async (request: string): Promise<Phase | undefined> => (await ground.request(request)).status?.phase
  for (const [request, verb, phase] of [
    [open.request, 'explode' as RequestVerb, 'Granted'],
    [over.request, 'release', 'Done'],
  ] as const) {
    const { status } = await ground.request(request)
    await ground.say(request, verb, 'because')
    await eventually(async () => expect(await wordsOn(ground, request)).toEqual([]), patient)
    expect(await phaseOf(request)).toBe(phase)
    expect((await ground.request(request)).status).toEqual(status)
  }
})
