import { expect, test } from 'vitest'
import { rebootSimulatedNode, setNotReady } from '../../src/dev/index.ts'
import { resources } from '../../src/kube/index.ts'
import { eventually, type Test } from '../support/e2e-cluster.ts'
import { type HostReport, type PlayedAgent, playAgent } from '../support/played-agent.ts'
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

const asks: HostReport = { request: 'Present', permission: 'Absent' }
const works: HostReport = { request: 'Present', permission: 'Present' }
const isDone: HostReport = { request: 'Absent', permission: 'Present' }
const isClear: HostReport = { request: 'Absent', permission: 'Absent' }

interface Played {
  readonly node: string
  readonly request: string
  readonly agent: PlayedAgent
  readonly token: number
}

/** A node with an agent that asked and was permitted. */
async function playGranted(test: Test, ground: QueueGround, spec: object = {}, onNode?: string): Promise<Played> {
  const node = onNode ?? (await ground.addNode())
  const agent = playAgent(test, ground, node)
  const { metadata } = await ground.ask(node, { work: 'Host', ...spec })
  await agent.report(metadata.name, asks)
  const { status } = await ground.untilPhase(metadata.name, 'Granted')
  return { node, request: metadata.name, agent, token: status?.slot?.token ?? 0 }
}

const bootOf = async (ground: QueueGround, node: string) => (await ground.node(node)).status?.nodeInfo?.bootID ?? ''

/** Until the node runs again, in another boot. Answers which. */
async function reboot(ground: QueueGround, node: string): Promise<string> {
  const bootID = await rebootSimulatedNode(ground.admin, node)
  await eventually(async () => {
    expect([await bootOf(ground, node), isReady(await ground.node(node))]).toEqual([bootID, true])
  }, patient)
  return bootID
}

const staysIn = (ground: QueueGround, request: string, phase: string) =>
  stays(async () => expect((await ground.request(request)).status?.phase).toBe(phase), 1_000)

async function untilHeld(ground: QueueGround, request: string, held: object) {
  const { status } = await ground.untilPhase(request, 'Held')
  expect(status?.held).toMatchObject(held)
  return status
}

test('host work ends when the host no longer asks, and the node is back when its permission is gone', async (context) => {
  const ground = await prepareQueue(context)
  await ground.startQueue()
  const { node, request, agent, token } = await playGranted(context, ground)
  await agent.report(request, { ...works, tokens: { inFile: token, highest: token } })
  await staysIn(ground, request, 'Granted')
  await agent.report(request, isDone)
  await ground.untilPhase(request, 'Finishing')
  await staysIn(ground, request, 'Finishing')
  expect(await cordonOf(ground, node)).toMatchObject({ isUnschedulable: true })
  await agent.report(request, isClear)
  const done = await ground.untilPhase(request, 'Done')
  expect(done.status).toMatchObject({ outcome: 'Completed', host: isClear })
  expect(await cordonOf(ground, node)).toEqual(inService)
})

test('a file that is removed during the drain ends the request, and no work ever begins', async (context) => {
  const ground = await prepareQueue(context)
  await ground.startQueue()
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'stuck', replicas: 1 })
  await createPdb(ground, 'none', 'stuck', { maxUnavailable: 0 })
  const agent = playAgent(context, ground, node)
  const { metadata } = await ground.ask(node, { work: 'Host' })
  await agent.report(metadata.name, asks)
  await eventually(async () => expect((await ground.request(metadata.name)).status?.drain?.left).toBe(1), patient)
  await agent.report(metadata.name, isClear)
  const { status } = await ground.untilPhase(metadata.name, 'Done')
  expect(status?.outcome).toBe('Withdrawn')
  expect(status?.history?.map(({ phase }) => phase)).toEqual(['Queued', 'Claimed', 'Finishing', 'Done'])
  expect(await cordonOf(ground, node)).toEqual(inService)
  await ground.untilRunning(node, 'stuck', 1)
})

test('a reboot that the host announced with its token is waited for until node and host tell of the same new boot', async (context) => {
  const ground = await prepareQueue(context)
  await ground.setBudget({ timing: { minReadySeconds: 1 } })
  await ground.startQueue()
  const { node, request, agent, token } = await playGranted(context, ground, { deadlines: { maxReboots: 1 } })
  const before = await bootOf(ground, node)
  const intent = { token, fromBootID: before }
  await agent.report(request, { ...works, bootID: before, rebootIntent: { ...intent, token: token + 7 } })
  await staysIn(ground, request, 'Granted')
  await agent.report(request, { ...works, bootID: before, rebootIntent: intent })
  const { status } = await ground.untilPhase(request, 'Rebooting')
  expect(status?.reboots).toEqual({ count: 1, bootIDBefore: before })
  const after = await reboot(ground, node)
  await staysIn(ground, request, 'Rebooting')
  await agent.report(request, { ...works, bootID: after })
  const back = await ground.untilPhase(request, 'Granted')
  expect(back.status?.reboots).toEqual({ count: 1, bootIDBefore: before, bootIDAfter: after })
  expect(back.status?.slot?.token).toBe(token)

  // One more than it may.
  await agent.report(request, { ...works, bootID: after, rebootIntent: { token, fromBootID: after } })
  await untilHeld(ground, request, { from: 'Granted', reason: 'RebootLoop' })
  await agent.report(request, { ...isClear, bootID: after })
  expect((await ground.untilPhase(request, 'Done')).status?.outcome).toBe('Completed')
})

test('a reboot that was asked for is over when the node is back; until then nobody gives the node back', async (context) => {
  const ground = await prepareQueue(context)
  await ground.setBudget({ max: 2, timing: { minReadySeconds: 1 } })
  await ground.startQueue()
  const [plain, again] = [
    await playGranted(context, ground, { work: 'Reboot' }),
    await playGranted(context, ground, { work: 'Reboot' }),
  ]
  for (const { node, request, agent, token } of [plain, again]) {
    const bootID = await bootOf(ground, node)
    await agent.report(request, { ...asks, bootID, rebootIntent: { token, fromBootID: bootID } })
    await ground.untilPhase(request, 'Rebooting')
  }
  // The reason is gone, as a file in /run is, and the machine is only about to go down.
  await plain.agent.report(plain.request, { ...isClear, bootID: await bootOf(ground, plain.node) })
  await staysIn(ground, plain.request, 'Rebooting')
  expect(await cordonOf(ground, plain.node)).toMatchObject({ isUnschedulable: true })
  const [plainBoot, againBoot] = await Promise.all([reboot(ground, plain.node), reboot(ground, again.node)])
  await plain.agent.report(plain.request, { ...isClear, bootID: plainBoot })
  const done = await ground.untilPhase(plain.request, 'Done')
  expect(done.status).toMatchObject({ outcome: 'Completed', reboots: { count: 1, bootIDAfter: plainBoot } })
  expect(await cordonOf(ground, plain.node)).toEqual(inService)

  await again.agent.report(again.request, { ...asks, bootID: againBoot })
  await untilHeld(ground, again.request, { from: 'Rebooting', reason: 'StillRequired' })
  await again.agent.report(again.request, { ...isClear, bootID: againBoot })
  expect((await ground.untilPhase(again.request, 'Done')).status?.outcome).toBe('Completed')
})

test('a reboot without effect, and one that never ends, are told apart and held', async (context) => {
  const ground = await prepareQueue(context)
  await ground.setBudget({ max: 2, defaults: { deadlines: { return: '2s' } } })
  await ground.startQueue()
  const [same, away] = [await playGranted(context, ground), await playGranted(context, ground)]
  for (const { node, request, agent, token } of [same, away]) {
    await agent.beat()
    const bootID = await bootOf(ground, node)
    if (node === away.node) {
      await setNotReady(ground.admin, node, 'the machine is down')
      await eventually(async () => expect(isReady(await ground.node(node))).toBe(false), patient)
    }
    await eventually(async () => {
      const { status } = await ground.request(request)
      expect(status?.conditions?.find(({ type }) => type === 'HostAlive')?.status).toBe('True')
    }, patient)
    await agent.report(request, { ...works, bootID, rebootIntent: { token, fromBootID: bootID } })
    // Its new boot is the host's word alone.
    if (node === away.node) await agent.report(request, { ...works, bootID: 'another' })
  }
  await untilHeld(ground, same.request, { from: 'Rebooting', reason: 'RebootNoEffect' })
  await untilHeld(ground, away.request, {
    from: 'Rebooting',
    reason: 'ReturnDeadline',
    message: 'the node was not back for longer than 2s: no new boot was seen',
  })
  expect(await slotsOf(ground)).toHaveLength(2)
})

test.for([
  ['a script that fails', { ...works, failure: 'no space left' }, 'ScriptFailed', 'no space left'],
  ['a permission that cannot be written', { ...asks, failure: 'read-only' }, 'PermissionNotWritable', 'read-only'],
  ['a request that cannot be read', { ...asks, request: 'Unreadable' }, 'HostUnreadable', 'the file that asks'],
  ['a permission that cannot be read', { ...asks, permission: 'Unreadable' }, 'HostUnreadable', 'permits the work'],
  ['a permission of nobody', { ...asks, permission: 'Orphan' }, 'OrphanGrant', 'no request of this node'],
  ['a lie', { ...asks, tokens: { highest: 5_000_000 } }, 'HostUnreadable', 'obeyed token 5000000, and its slot has'],
] as const)('%s is held, and keeps its slot until a person decides', async ([, host, reason, message], context) => {
  const ground = await prepareQueue(context)
  await ground.startQueue()
  const { node, request, agent, token } = await playGranted(context, ground)
  await agent.report(request, host)
  await untilHeld(ground, request, { from: 'Granted', reason, message: expect.stringContaining(message) })
  expect(await slotsOf(ground)).toMatchObject([{ node, token, requests: [request] }])
  expect(await cordonOf(ground, node)).toMatchObject({ isUnschedulable: true })

  await ground.say(request, 'retry', 'look again')
  if (reason === 'ScriptFailed' || reason === 'PermissionNotWritable') {
    // A failure that a person has seen does not stop it again; another one does.
    await ground.untilPhase(request, 'Granted')
    await staysIn(ground, request, 'Granted')
    await agent.report(request, { ...host, failure: 'something else' })
  }
  await eventually(async () => {
    const { metadata, status } = await ground.request(request)
    expect([metadata.annotations ?? {}, status?.phase]).toEqual([{}, 'Held'])
  }, patient)
  await ground.say(request, 'release', 'it is mine now')
  expect((await ground.untilPhase(request, 'Done')).status?.outcome).toBe('Released')
  expect(await cordonOf(ground, node)).toEqual(inService)
})

test('a node that falls silent is told of at once and keeps its slot; past its deadline it is lost', async (context) => {
  const ground = await prepareQueue(context)
  const budget = { max: 3, timing: { heartbeatTimeout: '1s' } }
  await ground.setBudget(budget)
  await ground.startQueue()
  const alive = async (request: string) =>
    (await ground.request(request)).status?.conditions?.find(({ type }) => type === 'HostAlive')?.status
  const [working, overdue] = [
    await playGranted(context, ground),
    await playGranted(context, ground, { deadlines: { work: '5s' } }),
  ]
  await eventually(async () => expect(await alive(working.request)).toBe('False'), patient)
  expect((await ground.request(working.request)).status?.phase).toBe('Granted')
  await untilHeld(ground, overdue.request, { from: 'Granted', reason: 'NodeLost' })
  expect(await slotsOf(ground)).toHaveLength(2)
  await ground.setBudget({ ...budget, timing: { heartbeatTimeout: '30s' } })
  await working.agent.beat()
  await eventually(async () => expect(await alive(working.request)).toBe('True'), patient)

  // Without a slot it counts because it is down, so nobody else has its place.
  await ground.setBudget({ ...budget, onNodeLost: 'Continue' })
  const dead = await ground.addNode()
  await setNotReady(ground.admin, dead, 'the machine is down')
  await eventually(async () => expect(isReady(await ground.node(dead))).toBe(false), patient)
  const given = await playGranted(context, ground, { deadlines: { work: '5s' } }, dead)
  const { status } = await ground.untilPhase(given.request, 'Done')
  expect(status?.outcome).toBe('Released')
  expect(status?.history?.map(({ reason }) => reason)).toContain('NodeLost')
  await eventually(async () => {
    const { slots = [], limits = [] } = (await ground.budget()).status ?? {}
    expect(slots.map(({ node }) => node)).toEqual([working.node, overdue.node])
    expect(limits[0]).toEqual({ name: 'cluster', max: 3, out: 3, withoutSlot: [`${dead} NotReady`] })
  }, patient)
})

test('a node that has obeyed a higher number than its slot has gets a higher one', async (context) => {
  const ground = await prepareQueue(context)
  await ground.startQueue()
  const { node, request, agent, token } = await playGranted(context, ground)
  expect(token).toBe(1)
  await agent.report(request, { ...asks, tokens: { highest: 41 } })
  await eventually(async () => {
    expect((await ground.budget()).status).toMatchObject({ nextToken: 43, slots: [{ node, token: 42 }] })
    expect((await ground.request(request)).status).toMatchObject({ phase: 'Granted', slot: { token: 42 } })
  }, patient)
  // An order under the old number is not one.
  const bootID = await bootOf(ground, node)
  await agent.report(request, { ...works, tokens: { highest: 42 }, rebootIntent: { token: 1, fromBootID: bootID } })
  await staysIn(ground, request, 'Granted')
  expect((await ground.budget()).status?.nextToken).toBe(43)
})

test("a host's word alone makes no slot, and changes nothing for others", async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  await ground.setBudget({ max: 0 })
  await ground.startQueue()
  const agent = playAgent(context, ground, node)
  const { metadata } = await ground.ask(node, { work: 'Host' })
  const bootID = await bootOf(ground, node)
  await agent.report(metadata.name, {
    ...works,
    bootID,
    tokens: { inFile: 9, highest: 9 },
    rebootIntent: { token: 9, fromBootID: bootID },
  })
  await ground.untilPhase(metadata.name, 'Queued')
  await staysIn(ground, metadata.name, 'Queued')
  expect((await ground.budget()).status).toMatchObject({ nextToken: 1, slots: [] })
  expect(await cordonOf(ground, node)).toEqual(inService)
})

test('a reboot that joins host work waits until that work has ended and its permission is gone', async (context) => {
  const ground = await prepareQueue(context)
  await ground.startQueue()
  const { node, request, agent, token } = await playGranted(context, ground)
  await agent.report(request, works)
  const { metadata } = await ground.ask(node, {
    work: 'Reboot',
    source: { kind: 'Reboot', key: '/run/reboot-required' },
  })
  await agent.report(metadata.name, asks)
  const joined = await ground.untilPhase(metadata.name, 'Claimed')
  expect(joined.status?.slot?.token).toBe(token)
  await staysIn(ground, metadata.name, 'Claimed')
  await agent.report(request, isDone)
  await ground.untilPhase(request, 'Finishing')
  // The script may still be at its last line.
  await staysIn(ground, metadata.name, 'Claimed')
  expect((await ground.request(request)).status?.phase).toBe('Finishing')
  await agent.report(request, isClear)
  await ground.untilPhase(metadata.name, 'Granted')
  await ground.untilPhase(request, 'Done')
  expect(await slotsOf(ground)).toMatchObject([{ node, token, requests: [metadata.name] }])
  await agent.report(metadata.name, isClear)
  await ground.untilPhase(metadata.name, 'Done')
  expect(await cordonOf(ground, node)).toEqual(inService)
})

test('whoever shares a node with host work does not bring it back before the permission is gone', async (context) => {
  const ground = await prepareQueue(context)
  await ground.startQueue()
  const { node, request, agent } = await playGranted(context, ground)
  await agent.report(request, works)
  const { metadata } = await ground.ask(node)
  await ground.untilPhase(metadata.name, 'Granted')
  await agent.report(request, isDone)
  await ground.untilPhase(request, 'Finishing')
  await ground.want(metadata.name, 'Return')
  await eventually(async () => {
    expect(['Finishing', 'Done']).toContain((await ground.request(metadata.name)).status?.phase)
  }, patient)
  await stays(async () => {
    expect(await cordonOf(ground, node)).toMatchObject({ isUnschedulable: true })
    expect(await slotsOf(ground)).toHaveLength(1)
  }, 1_000)
  // Not even when somebody takes our mark off the node.
  const body = { metadata: { annotations: { 'cordon.fettle.dev/queue': null } } }
  await ground.admin.patch(resources.nodes, { name: node }, { type: 'merge', body })
  await stays(async () => expect(await slotsOf(ground)).toHaveLength(1), 1_000)
  await agent.report(request, isClear)
  await ground.untilPhase(request, 'Done')
  await ground.untilPhase(metadata.name, 'Done')
  expect(await cordonOf(ground, node)).toEqual(inService)
})
