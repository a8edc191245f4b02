import { expect, test } from 'vitest'
import { maintenanceRequests } from '../../src/api/index.ts'
import { type EventNote, type PodObject, resources } from '../../src/kube/index.ts'
import { boundPod, eventually } from '../support/e2e-cluster.ts'
import {
  cordonOf,
  inService,
  listOf,
  patient,
  prepareQueue,
  type QueueGround,
  slotsOf,
  useCrds,
} from '../support/queue-cluster.ts'

useCrds()

const isGone = (ground: QueueGround, name: string) =>
  eventually(async () => {
    expect((await listOf(ground.admin, maintenanceRequests)).map(({ metadata }) => metadata.name)).not.toContain(name)
  }, patient)

test('a request goes through every phase, and the node ends as it was', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'web', replicas: 3 })
  await ground.startQueue()
  const { metadata } = await ground.ask(node)

  const granted = await ground.untilPhase(metadata.name, 'Granted')
  expect(await cordonOf(ground, node)).toEqual({
    isUnschedulable: true,
    owner: { request: metadata.uid, token: 1, since: expect.any(String) },
    prior: 'false',
  })
  expect(await ground.podsOn(node)).toEqual([])
  const { metadata: ledger, status } = await ground.budget()
  const [slot] = status?.slots ?? []
  expect(slot).toEqual({
    node,
    nodeUID: granted.spec.nodeUID,
    token: 1,
    takenAt: expect.any(String),
    requests: [metadata.name],
  })
  expect(granted.status?.slot).toEqual({ token: 1, ledgerUID: ledger.uid, takenAt: slot?.takenAt })
  expect(granted.status?.drain).toMatchObject({ total: 3, left: 0, blockedBy: [] })
  expect(granted.metadata.finalizers).toEqual(['fettle.dev/give-back'])

  await ground.want(metadata.name, 'Return')
  const done = await ground.untilPhase(metadata.name, 'Done')
  expect(done.status?.outcome).toBe('Completed')
  expect(done.status?.slot).toBeUndefined()
  expect(done.status?.history?.map(({ phase, reason }) => `${phase} ${reason}`)).toEqual([
    'Queued Accepted',
    'Claimed SlotTaken',
    'Granted Drained',
    'Finishing Return',
    'Done Completed',
  ])
  const times = done.status?.history?.map(({ time }) => time) ?? []
  expect(times).toEqual([...times].sort())
  expect(await cordonOf(ground, node)).toEqual(inService)
  expect(await slotsOf(ground)).toEqual([])
  await ground.untilRunning(node, 'web', 3)
})

test('the second waits, is told for whom, and gets its turn with the next token', async (context) => {
  const ground = await prepareQueue(context)
  const [first, second, third] = [await ground.addNode(), await ground.addNode(), await ground.addNode()]
  await ground.startQueue()
  const one = await ground.ask(first)
  await ground.untilPhase(one.metadata.name, 'Granted')
  const two = await ground.ask(second)
  await ground.untilPhase(two.metadata.name, 'Queued')
  // Names decide among equals of the same second; this one must not.
  const three = await ground.ask(third, { priority: -1 })
  const [slot] = await slotsOf(ground)
  const total = (await listOf(ground.admin, resources.nodes)).length
  for (const [position, { metadata }] of [two, three].entries())
    await eventually(
      async () =>
        expect((await ground.request(metadata.name)).status?.waiting).toEqual({
          position: position + 1,
          for: 'Budget',
          message: `1 of ${total} nodes may be out: ${first} is out since ${slot?.takenAt.slice(0, 16).replace('T', ' ')} UTC`,
          next: `fettle explain ${first}`,
          since: expect.any(String),
        }),
      patient,
    )
  expect(await cordonOf(ground, second)).toEqual(inService)

  await ground.want(one.metadata.name, 'Return')
  const granted = await ground.untilPhase(two.metadata.name, 'Granted')
  expect(granted.status?.slot?.token).toBe(2)
  expect(granted.status?.waiting).toBeUndefined()
  expect(await cordonOf(ground, first)).toEqual(inService)
  await eventually(async () => {
    const waiting = (await ground.request(three.metadata.name)).status?.waiting
    expect(waiting).toMatchObject({ position: 1, message: expect.stringContaining(`${second} is out since`) })
  }, patient)
})

test('a node that was cordoned before ends cordoned, and its own cordon does not stand in its way', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode({ isCordoned: true })
  const other = await ground.addNode()
  await ground.startQueue()
  const waiting = await ground.ask(other)
  await eventually(async () => {
    expect((await ground.request(waiting.metadata.name)).status?.waiting?.message).toContain(
      `${node} is Cordoned, without a slot`,
    )
  }, patient)
  const { metadata } = await ground.ask(node)
  await ground.untilPhase(metadata.name, 'Granted')
  expect(await cordonOf(ground, node)).toMatchObject({ isUnschedulable: true, prior: 'true' })
  await ground.want(metadata.name, 'Return')
  await ground.untilPhase(metadata.name, 'Done')
  expect(await cordonOf(ground, node)).toEqual({ ...inService, isUnschedulable: true })
})

test.for(['Queued', 'Claimed', 'Granted', 'Done'] as const)(
  'a request that is deleted in phase %s is gone, and its node as before',
  async (phase, context) => {
    const ground = await prepareQueue(context)
    const [node, other] = [await ground.addNode(), await ground.addNode()]
    await ground.startQueue()
    if (phase === 'Queued') await ground.untilPhase((await ground.ask(other)).metadata.name, 'Granted')
    // Nothing would start it again: the drain waits for a person.
    if (phase === 'Claimed')
      await ground.admin.create<PodObject>(resources.pods, boundPod(ground.namespace, 'alone', node))
    const { metadata } = await ground.ask(node)
    if (phase === 'Done') {
      await ground.untilPhase(metadata.name, 'Granted')
      await ground.want(metadata.name, 'Return')
    }
    await ground.untilPhase(metadata.name, phase)
    if (phase === 'Claimed')
      await eventually(async () => expect((await cordonOf(ground, node)).isUnschedulable).toBe(true), patient)
    await ground.admin.delete(maintenanceRequests, { name: metadata.name }, { uid: metadata.uid ?? '' })
    await isGone(ground, metadata.name)
    expect(await cordonOf(ground, node)).toEqual(inService)
    expect((await slotsOf(ground)).map((slot) => slot.node)).toEqual(phase === 'Queued' ? [other] : [])
  },
)

test('whoever uncordons a node that is out is overruled, and the state before stays known', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  const told: EventNote[] = []
  await ground.startQueue({ recorder: { record: (note) => told.push(note) } })
  const { metadata } = await ground.ask(node)
  await ground.untilPhase(metadata.name, 'Granted')
  for (let round = 0; round < 3; round++) {
    const body = { spec: { unschedulable: null } }
    await ground.admin.patch(resources.nodes, { name: node }, { type: 'merge', body })
    await eventually(async () => expect((await cordonOf(ground, node)).isUnschedulable).toBe(true), patient)
  }
  const overruled = { type: 'Warning', regarding: expect.objectContaining({ kind: 'Node', name: node }) as object }
  await eventually(
    () =>
      expect(told.filter(({ reason }) => reason === 'MaintenanceCordonedAgain')).toEqual(
        Array.from({ length: 3 }, () => expect.objectContaining(overruled) as object),
      ),
    patient,
  )
  expect((await cordonOf(ground, node)).prior).toBe('false')
  await ground.want(metadata.name, 'Return')
  await ground.untilPhase(metadata.name, 'Done')
  expect(await cordonOf(ground, node)).toEqual(inService)
})

test('who asks twice for the same is told so, and does not share the slot', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  await ground.startQueue()
  const source = { kind: 'Person', key: 'jdoe-at-example' }
  const first = await ground.ask(node, { source })
  await ground.untilPhase(first.metadata.name, 'Granted')
  for (let round = 0; round < 5; round++) {
    const second = await ground.ask(node, { source, reason: 'again' })
    const done = await ground.untilPhase(second.metadata.name, 'Done')
    expect(done.status).toMatchObject({ outcome: 'Duplicate' })
    expect(done.status?.history?.at(-1)?.message).toBe(`${first.metadata.name} asks for the same already`)
  }
  expect((await slotsOf(ground)).map(({ requests }) => requests)).toEqual([[first.metadata.name]])
})

test('two who ask for different reasons share one slot, and the node is back with the last of them', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  await ground.startQueue()
  const first = await ground.ask(node)
  await ground.untilPhase(first.metadata.name, 'Granted')
  const second = await ground.ask(node)
  const joined = await ground.untilPhase(second.metadata.name, 'Granted')
  expect(joined.status?.slot?.token).toBe(1)
  await ground.want(first.metadata.name, 'Return')
  await ground.untilPhase(first.metadata.name, 'Done')
  expect(await cordonOf(ground, node)).toMatchObject({ isUnschedulable: true, prior: 'false' })
  expect((await slotsOf(ground)).map(({ requests }) => requests)).toEqual([[second.metadata.name]])
  await ground.want(second.metadata.name, 'Return')
  await ground.untilPhase(second.metadata.name, 'Done')
  expect(await cordonOf(ground, node)).toEqual(inService)
  expect(await slotsOf(ground)).toEqual([])
})
