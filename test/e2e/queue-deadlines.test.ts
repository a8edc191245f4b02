import { expect, test } from 'vitest'
import { setNotReady } from '../../src/dev/index.ts'
import { resources } from '../../src/kube/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import {
  cordonOf,
  createPdb,
  inService,
  isReady,
  patient,
  prepareQueue,
  type QueueGround,
  slotsOf,
  stays,
  useCrds,
} from '../support/queue-cluster.ts'

useCrds()

/** A node whose only pod no budget lets go, and a request that gives its drain a second. */
async function askInVain(ground: QueueGround, onDeadline: 'Hold' | 'Requeue' | 'ForceDelete' | 'Continue') {
  const app = onDeadline.toLowerCase()
  const node = await ground.addNode()
  await ground.addWorkload(node, { app, replicas: 1 })
  await createPdb(ground, app, app, { maxUnavailable: 0 })
  const [pod] = await ground.podsOn(node)
  const { metadata } = await ground.ask(node, { drain: { deadline: '1s', onDeadline } })
  return { node, request: metadata.name, pod: pod?.metadata, pdb: app }
}

const removePdb = ({ admin, namespace }: QueueGround, name: string) =>
  admin.delete(resources.podDisruptionBudgets, { name, namespace }, { uid: 'any' })

test('a drain that takes too long is held, and names pod and PodDisruptionBudget; retry gives it a fresh deadline', async (context) => {
  const ground = await prepareQueue(context)
  await ground.startQueue()
  const { node, request, pod, pdb } = await askInVain(ground, 'Hold')
  const { status } = await ground.untilPhase(request, 'Held')
  expect(status?.held).toEqual({
    from: 'Claimed',
    reason: 'DrainDeadline',
    message: expect.stringMatching(new RegExp(`^1 pods? did not leave within 1s: .*${ground.namespace}/${pdb}`)),
    next: `fettle node retry ${request}, or fettle node release ${request}`,
  })
  expect(status?.drain?.blockedBy).toEqual([
    { pod: `${ground.namespace}/${pod?.name}`, pdb: `${ground.namespace}/${pdb}`, neverPasses: true },
  ])
  expect(status?.conditions?.find(({ type }) => type === 'Held')).toMatchObject({ status: 'True' })
  // Its budget can never pass, which was known before the cordon.
  expect(await cordonOf(ground, node)).toEqual(inService)
  expect((await slotsOf(ground)).map((slot) => slot.node)).toEqual([node])

  await removePdb(ground, pdb)
  await ground.say(request, 'retry', 'the budget is gone')
  const granted = await ground.untilPhase(request, 'Granted')
  expect(granted.status?.held).toBeUndefined()
  expect(granted.status?.conditions?.find(({ type }) => type === 'Held')).toMatchObject({ status: 'False' })
  expect(granted.status?.drain).toMatchObject({ total: 1, left: 0 })
})

test('a drain that takes too long gives the node back and waits longer for its next turn, unless a person says now', async (context) => {
  const ground = await prepareQueue(context)
  const other = await ground.addNode()
  await ground.startQueue()
  const { node, request, pdb } = await askInVain(ground, 'Requeue')
  const waiting = await eventually(async () => {
    const { status } = await ground.request(request)
    expect(status).toMatchObject({ phase: 'Queued', waiting: { for: 'Backoff' }, requeue: { count: 1 } })
    return status?.waiting
  }, patient)
  expect(Date.parse(waiting?.notBefore ?? '') - Date.now()).toBeGreaterThan(60_000)
  expect(waiting?.message).toMatch(/^its drain took too long once; it is tried again from /)
  expect(await cordonOf(ground, node)).toEqual(inService)
  await ground.untilRunning(node, pdb, 1)
  // Its place is free for others.
  const next = await ground.ask(other)
  await ground.untilPhase(next.metadata.name, 'Granted')
  await ground.want(next.metadata.name, 'Return')
  await ground.untilPhase(next.metadata.name, 'Done')

  await removePdb(ground, pdb)
  await ground.say(request, 'retry', 'it can go now')
  const { status } = await ground.untilPhase(request, 'Granted')
  expect(status?.history?.map(({ phase, reason }) => `${phase} ${reason}`)).toEqual([
    'Queued Accepted',
    'Claimed SlotTaken',
    'Finishing Requeue',
    'Queued Requeued',
    'Queued Retry',
    'Claimed SlotTaken',
    'Granted Drained',
  ])
  expect(status?.slot?.token).toBe(3)
})

test('a drain that takes too long may delete what no budget lets go, or let the work begin all the same', async (context) => {
  const ground = await prepareQueue(context)
  await ground.setBudget({ max: 2 })
  await ground.startQueue()
  const [forced, undrained] = [await askInVain(ground, 'ForceDelete'), await askInVain(ground, 'Continue')]
  const drained = await ground.untilPhase(forced.request, 'Granted')
  expect(drained.status?.conditions?.find(({ type }) => type === 'Drained')).toMatchObject({ status: 'True' })
  expect(await ground.podsOn(forced.node)).toEqual([])

  const { status } = await ground.untilPhase(undrained.request, 'Granted')
  expect(status?.conditions?.find(({ type }) => type === 'Drained')).toMatchObject({
    status: 'False',
    reason: 'NotDrained',
    message: expect.stringContaining('the work begins all the same'),
  })
  expect((await ground.podsOn(undrained.node)).map(({ metadata }) => metadata.uid)).toEqual([undrained.pod?.uid])
  await eventually(async () => {
    const said = (await ground.node(undrained.node)).status?.conditions?.map(({ type }) => type)
    expect(said).toContain('MaintenanceInProgress')
    expect(said).not.toContain('Drained')
  }, patient)
})

test('work that takes too long is held with its slot; whoever is done then still says so', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  await ground.startQueue()
  const { metadata } = await ground.ask(node, { deadlines: { work: '1s' } })
  const { status } = await ground.untilPhase(metadata.name, 'Held')
  expect(status?.held).toMatchObject({
    from: 'Granted',
    reason: 'WorkDeadline',
    message: 'the work took longer than 1s',
  })
  expect(await cordonOf(ground, node)).toMatchObject({ isUnschedulable: true })
  expect(await slotsOf(ground)).toHaveLength(1)
  await ground.want(metadata.name, 'Return')
  const done = await ground.untilPhase(metadata.name, 'Done')
  expect(done.status).toMatchObject({ outcome: 'Completed' })
  expect(done.status?.conditions?.find(({ type }) => type === 'Held')).toMatchObject({ status: 'False' })
  expect(await cordonOf(ground, node)).toEqual(inService)
  expect(await slotsOf(ground)).toEqual([])
})

test('a node that is not well is not given back: it is waited for, then held, then proven or released', async (context) => {
  const ground = await prepareQueue(context)
  const [patiently, proven, released] = (await Promise.all([0, 1, 2].map(() => ground.addNode()))) as [
    string,
    string,
    string,
  ]
  await ground.setBudget({ max: 3, timing: { minReadySeconds: 1 } })
  await ground.startQueue()
  const requests = new Map<string, string>()
  for (const node of [patiently, proven, released]) {
    const deadlines = { return: node === patiently ? '15m' : '1s' }
    requests.set(node, (await ground.ask(node, { deadlines })).metadata.name)
  }
  const of = (node: string) => requests.get(node) ?? ''
  for (const node of requests.keys()) await ground.untilPhase(of(node), 'Granted')
  for (const node of requests.keys()) await setNotReady(ground.admin, node, 'the disk is full')
  for (const node of requests.keys())
    await eventually(async () => expect(isReady(await ground.node(node))).toBe(false), patient)
  for (const node of requests.keys()) await ground.want(of(node), 'Return')

  for (const node of [proven, released]) {
    const { status } = await ground.untilPhase(of(node), 'Held')
    expect(status?.held).toMatchObject({ from: 'Finishing', reason: 'Unhealthy', message: `${node} is not Ready` })
    expect(await cordonOf(ground, node)).toMatchObject({ isUnschedulable: true })
  }
  expect((await ground.request(of(patiently))).status?.phase).toBe('Finishing')
  expect(await slotsOf(ground)).toHaveLength(3)

  await ground.say(of(released), 'release', 'it is scrap')
  const gone = await ground.untilPhase(of(released), 'Done')
  expect(gone.status?.outcome).toBe('Released')
  expect(await cordonOf(ground, released)).toEqual(inService)

  for (const node of [proven, patiently]) await setNotReady(ground.admin, node, undefined)
  const back = await ground.untilPhase(of(patiently), 'Done')
  expect(back.status?.outcome).toBe('Completed')
  await eventually(async () => expect(isReady(await ground.node(proven))).toBe(true), patient)
  // Being well again is not a person's word.
  await stays(async () => expect((await ground.request(of(proven))).status?.phase).toBe('Held'), 500)
  await ground.say(of(proven), 'retry', 'the disk is empty')
  expect((await ground.untilPhase(of(proven), 'Done')).status?.outcome).toBe('Completed')
  expect(await slotsOf(ground)).toEqual([])
})
