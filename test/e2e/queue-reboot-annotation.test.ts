import { expect, test } from 'vitest'
import { type MaintenanceRequest, maintenanceRequests, rebootAnnotation } from '../../src/api/index.ts'
import { adminKubeconfig, rebootSimulatedNode } from '../../src/dev/index.ts'
import { resources } from '../../src/kube/index.ts'
import { eventually, type Test } from '../support/e2e-cluster.ts'
import { fettle } from '../support/fettle-process.ts'
import { interceptWrites } from '../support/intercepted-client.ts'
import { playAgent } from '../support/played-agent.ts'
import {
  cordonOf,
  inService,
  isReady,
  listOf,
  patient,
  prepareQueue,
  type QueueGround,
  stays,
  useCrds,
} from '../support/queue-cluster.ts'

useCrds()

const annotate = (ground: QueueGround, node: string, reason: string | null) =>
  ground.admin.patch(
    resources.nodes,
    { name: node },
    { type: 'merge', body: { metadata: { annotations: { [rebootAnnotation]: reason } } } },
  )

const annotationOf = async (ground: QueueGround, node: string) =>
  (await ground.node(node)).metadata.annotations?.[rebootAnnotation]

const requestsFor = async (ground: QueueGround, node: string) =>
  (await listOf<MaintenanceRequest>(ground.admin, maintenanceRequests)).filter(({ spec }) => spec.nodeName === node)

async function untilAsked(ground: QueueGround, node: string): Promise<string> {
  return eventually(async () => {
    const [request, ...others] = await requestsFor(ground, node)
    expect(others).toEqual([])
    expect(request?.metadata.name).toMatch(new RegExp(`^${node}-annotation-[0-9a-f]{5}$`))
    return request?.metadata.name ?? ''
  }, patient)
}

const untilAnswered = (ground: QueueGround, node: string) =>
  eventually(async () => expect(await annotationOf(ground, node)).toBeUndefined(), patient)

/** The agent of the node does what a Reboot request asks for. */
async function playReboot(test: Test, ground: QueueGround, node: string, request: string): Promise<void> {
  const agent = playAgent(test, ground, node)
  const fromBootID = (await ground.node(node)).status?.nodeInfo?.bootID ?? ''
  await agent.report(request, { request: 'Present', permission: 'Absent', bootID: fromBootID })
  const { status } = await ground.untilPhase(request, 'Granted')
  const rebootIntent = { token: status?.slot?.token ?? 0, fromBootID }
  await agent.report(request, { request: 'Present', permission: 'Absent', bootID: fromBootID, rebootIntent })
  await ground.untilPhase(request, 'Rebooting')
  const bootID = await rebootSimulatedNode(ground.admin, node)
  await eventually(async () => {
    const seen = await ground.node(node)
    expect([seen.status?.nodeInfo?.bootID, isReady(seen)]).toEqual([bootID, true])
  }, patient)
  await agent.report(request, { request: 'Absent', permission: 'Absent', bootID, rebootIntent })
}

const quick = { timing: { minReadySeconds: 0 } }

test('an annotation on a node leads to one reboot in the ordinary line, and goes when that is over', async (context) => {
  const ground = await prepareQueue(context)
  await ground.setBudget(quick)
  await ground.startQueue()
  const node = await ground.addNode()
  await annotate(ground, node, 'kernel 6.12.9')
  const name = await untilAsked(ground, node)
  const { spec } = await ground.request(name)
  expect(spec).toMatchObject({
    source: { kind: 'Reboot', key: 'annotation' },
    work: 'Reboot',
    reason: 'kernel 6.12.9',
    nodeName: node,
  })
  await playReboot(context, ground, node, name)
  const done = await ground.untilPhase(name, 'Done')
  expect(done.status?.outcome).toBe('Completed')
  await untilAnswered(ground, node)
  expect(await cordonOf(ground, node)).toEqual(inService)
  expect(await requestsFor(ground, node)).toHaveLength(1)
})

test('a controller that dies before the annotation is gone does not lead to a second reboot', async (context) => {
  const ground = await prepareQueue(context)
  await ground.setBudget(quick)
  const crash = new AbortController()
  const doomed = interceptWrites(ground.admin, async (write, send) => {
    crash.signal.throwIfAborted()
    const isTheEnd = write === `patch nodes/${node}` && (await requestsFor(ground, node))[0]?.status?.phase === 'Done'
    if (!isTheEnd) return send()
    crash.abort(new Error('the process died'))
    throw crash.signal.reason
  })
  const node = await ground.addNode()
  const first = await ground.startQueue({ client: doomed, signal: crash.signal })
  await annotate(ground, node, 'kernel')
  const name = await untilAsked(ground, node)
  await ground.say(name, 'skip', 'not today')
  await ground.untilPhase(name, 'Done')
  await eventually(async () => expect(crash.signal.aborted).toBe(true), patient)
  await first.stop()
  expect(await annotationOf(ground, node)).toBe('kernel')

  const { metadata } = await ground.request(name)
  await ground.startQueue()
  await untilAnswered(ground, node)
  expect((await requestsFor(ground, node)).map((one) => one.metadata.uid)).toEqual([metadata.uid])
})

test('a request that is deleted takes its annotation with it, and is not made anew', async (context) => {
  const ground = await prepareQueue(context)
  // Nobody may go: it waits in line.
  await ground.setBudget({ max: 0 })
  await ground.startQueue()
  const node = await ground.addNode()
  await annotate(ground, node, 'kernel')
  const name = await untilAsked(ground, node)
  await ground.untilPhase(name, 'Queued')
  await ground.admin.delete(maintenanceRequests, { name }, { uid: 'any' })
  await untilAnswered(ground, node)
  await eventually(async () => expect(await requestsFor(ground, node)).toEqual([]), patient)
  await stays(async () => expect(await requestsFor(ground, node)).toEqual([]), 1_000)
})

test('a person asks for a reboot by command, and follows it until the node is back', async (context) => {
  const ground = await prepareQueue(context)
  await ground.setBudget(quick)
  await ground.startQueue()
  const node = await ground.addNode()
  const command = fettle(['node', 'reboot', node, '--reason', 'kernel', '--kubeconfig', adminKubeconfig(ground.record)])
  const name = await eventually(async () => {
    const [request] = await requestsFor(ground, node)
    expect(request?.spec).toMatchObject({ source: { kind: 'Person' }, work: 'Reboot', reason: 'kernel' })
    return request?.metadata.name ?? ''
  }, patient)
  await playReboot(context, ground, node, name)
  const { code, stdout, stderr } = await command
  expect(code, stderr).toBe(0)
  expect(stdout).toBe(`${name}: asked for a reboot of ${node}\n`)
  expect(stderr).toContain(`✓ ${node}: back in service`)
  const missing = await fettle([
    'node',
    'reboot',
    'nobody',
    '--reason',
    'x',
    '--kubeconfig',
    adminKubeconfig(ground.record),
  ])
  expect(missing.code).not.toBe(0)
  expect(missing.stderr).toContain('there is no node nobody in this cluster')
})

test('finished requests of an agent go in seconds, so that their names are free: the last five stay', async (context) => {
  const ground = await prepareQueue(context)
  // Nobody may go: each ends as soon as it is taken back.
  await ground.setBudget({ max: 0 })
  await ground.startQueue()
  const node = await ground.addNode()
  const source = { kind: 'File', key: '/var/maintenance-required' }
  const names: string[] = []
  for (let round = 0; round < 7; round++) {
    const { metadata } = await ground.ask(node, { source, work: 'Host' })
    await ground.want(metadata.name, 'Return')
    await ground.untilPhase(metadata.name, 'Done')
    names.push(metadata.name)
  }
  await eventually(async () => {
    const left = new Set((await requestsFor(ground, node)).map(({ metadata }) => metadata.name))
    expect(left).toEqual(new Set(names.slice(-5)))
  }, patient)
})
