import { describe, expect, type TestContext, test } from 'vitest'
import { type MaintenanceRequest, maintenanceRequests } from '../../src/api/index.ts'
import { policyManifests } from '../../src/cli/install-manifests.ts'
import { peopleManifests } from '../../src/cli/install-people.ts'
import { controllerRbacManifests } from '../../src/cli/install-rbac.ts'
import type { Locks } from '../../src/cli/lock.ts'
import type { HistoryEntry } from '../../src/cli/node-history.ts'
import { adminKubeconfig } from '../../src/dev/index.ts'
import { resources } from '../../src/kube/index.ts'
import { bindClusterRole, eventually, requestToken } from '../support/e2e-cluster.ts'
import { adminEntries, connectWith, whoAmI, writeKubeconfig } from '../support/e2e-identity.ts'
import { type FettleResult, fettle } from '../support/fettle-process.ts'
import {
  cordonOf,
  createPdb,
  inService,
  patient,
  prepareQueue,
  type QueueGround,
  slotsOf,
  useCrds,
} from '../support/queue-cluster.ts'

useCrds()

const cli = (ground: QueueGround, ...args: string[]): Promise<FettleResult> =>
  fettle([...args, '--kubeconfig', adminKubeconfig(ground.record)])

/** The same where it must succeed. */
async function done(ground: QueueGround, ...args: string[]): Promise<FettleResult> {
  const result = await cli(ground, ...args)
  expect(result.code, `fettle ${args.join(' ')}: ${result.stderr}`).toBe(0)
  return result
}

/** A request that stopped: its drain met a budget that gives nothing. */
async function heldRequest(ground: QueueGround): Promise<{ readonly node: string; readonly request: string }> {
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'stuck', replicas: 1 })
  await createPdb(ground, 'none', 'stuck', { maxUnavailable: 0 })
  const { metadata } = await ground.ask(node, { drain: { deadline: '1s', onDeadline: 'Hold' } })
  await ground.untilPhase(metadata.name, 'Held')
  return { node, request: metadata.name }
}

async function allowEvictions({ admin, namespace }: QueueGround): Promise<void> {
  await admin.delete(resources.podDisruptionBudgets, { name: 'none', namespace }, { uid: 'any' })
}

describe('fettle node', () => {
  test('retry goes on where it stopped, release ends it, and history tells both with the name', async (context) => {
    const ground = await prepareQueue(context)
    await ground.startQueue()
    const { node, request } = await heldRequest(ground)
    await allowEvictions(ground)

    const retried = await done(ground, 'node', 'retry', node, '--reason', 'the budget is gone')
    expect(retried.stderr).toContain(`✓ ${node}: drained; the work may begin`)

    const unsure = await cli(ground, 'node', 'release', node, '--reason', 'enough')
    expect(unsure).toMatchObject({ code: 1, stdout: '' })
    expect(unsure.stderr).toContain(`${request} [e2e] is Granted. It ends as Released, and ${node} takes pods again`)
    expect(unsure.stderr).toContain('nobody is here to confirm this: say --yes. Nothing was changed.')
    expect((await ground.request(request)).status?.phase).toBe('Granted')

    await done(ground, 'node', 'release', node, '--reason', 'enough', '--yes')
    const { metadata, status } = await ground.untilPhase(request, 'Done')
    expect(status?.outcome).toBe('Released')
    expect(metadata.annotations ?? {}).toEqual({})
    expect(await cordonOf(ground, node)).toEqual(inService)
    expect(await slotsOf(ground)).toEqual([])

    const username = String((await whoAmI(ground.admin))['username'])
    const history = await cli(ground, 'node', 'history', node)
    expect(history.stdout).toMatch(new RegExp(`^${request} {2}Released\n`))
    expect(history.stdout).toMatch(new RegExp(`tried again: the budget is gone \\(${username}\\)\n`))
    const [entry, ...others] = JSON.parse(
      (await cli(ground, 'node', 'history', node, '-o', 'json')).stdout,
    ) as HistoryEntry[]
    expect(others).toEqual([])
    expect(entry).toMatchObject({ request, node, outcome: 'Released', phase: 'Done', reason: 'e2e' })
    expect(entry?.phases.map(({ phase }) => phase)).toEqual(['Queued', 'Claimed', 'Held', 'Granted', 'Finishing'])
  })

  test('names several requests of a node, and ends the one that is meant', async (context) => {
    const ground = await prepareQueue(context)
    await ground.startQueue()
    const node = await ground.addNode()
    const first = await ground.ask(node)
    await ground.untilPhase(first.metadata.name, 'Granted')
    const second = await ground.ask(node)
    await ground.untilPhase(second.metadata.name, 'Granted')

    const unclear = await cli(ground, 'node', 'skip', node, '--reason', 'later', '--yes')
    expect(unclear.code).toBe(1)
    expect(unclear.stderr).toContain(`2 requests for ${node} come into question; name one of them:`)
    for (const { metadata } of [first, second]) expect(unclear.stderr).toContain(`${metadata.name}  Granted  [e2e]`)

    await done(ground, 'node', 'skip', first.metadata.name, '--reason', 'later', '--yes')
    expect((await ground.request(first.metadata.name)).status).toMatchObject({ phase: 'Done', outcome: 'Skipped' })
    // The other one still needs the node.
    expect(await cordonOf(ground, node)).toMatchObject({ isUnschedulable: true })
    await done(ground, 'node', 'abort', node, '--reason', 'stop', '--yes')
    expect((await ground.request(second.metadata.name)).status).toMatchObject({ phase: 'Done', outcome: 'Aborted' })
    expect(await cordonOf(ground, node)).toEqual(inService)
  })

  test.for([
    [['retry', 'nobody', '--reason', 'x'], 'nobody is neither a request nor a node that anybody asks for'],
    [['release', 'nobody'], "required option '--reason <text>' not specified"],
    [['release', 'nobody', '--reason', ' '], 'Write a reason of at most 256 characters.'],
    [['history', 'nobody'], 'nobody has asked for nobody, as far as is known'],
  ] as const)('refuses %j', async ([args, sentence], context) => {
    const ground = await prepareQueue(context)
    const refused = await cli(ground, 'node', ...args)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain(sentence)
  })
})

describe('fettle lock', () => {
  test('shows who holds a slot, and frees one whose request is gone', async (context) => {
    const ground = await prepareQueue(context)
    const queue = await ground.startQueue()
    const node = await ground.addNode()
    const { metadata } = await ground.ask(node)
    const { name } = metadata
    await ground.untilPhase(name, 'Granted')
    const [slot] = await slotsOf(ground)
    const locks = JSON.parse((await cli(ground, 'lock', '-o', 'json')).stdout) as Locks
    expect(locks).toMatchObject({
      slots: [{ node, token: slot?.token, holders: [{ request: name, phase: 'Granted' }] }],
    })

    // Somebody tears the request away while nobody watches: finalizer and all.
    await queue.stop()
    await ground.admin.patch(maintenanceRequests, { name }, { type: 'merge', body: { metadata: { finalizers: [] } } })
    await ground.admin.delete(maintenanceRequests, { name }, { uid: metadata.uid ?? '' })
    await ground.startQueue()
    const shown = await cli(ground, 'lock')
    expect(shown.stdout).toContain(
      `  ${name} does not exist any more; \`fettle lock release ${node} --reason …\` frees`,
    )

    const released = await done(ground, 'lock', 'release', node, '--reason', 'its request was deleted', '--yes')
    expect(released.stderr).toContain(`✓ ${node}: slot ${slot?.token} is free`)
    expect(await slotsOf(ground)).toEqual([])
    expect(await cordonOf(ground, node)).toEqual(inService)
    await eventually(async () => expect((await ground.budget()).metadata.annotations ?? {}).toEqual({}), patient)
    const none = await cli(ground, 'lock', 'release', node, '--reason', 'again', '--yes')
    expect(none).toMatchObject({ code: 1 })
    expect(none.stderr).toContain(`${node} has no slot; \`fettle lock\` shows who has one`)
  })

  test('release ends the requests that hold the slot', async (context) => {
    const ground = await prepareQueue(context)
    await ground.startQueue()
    const node = await ground.addNode()
    const requests = [await ground.ask(node), await ground.ask(node)]
    for (const { metadata } of requests) await ground.untilPhase(metadata.name, 'Granted')
    await done(ground, 'lock', 'release', node, '--reason', 'both are done', '--yes')
    for (const { metadata } of requests)
      expect((await ground.request(metadata.name)).status).toMatchObject({ phase: 'Done', outcome: 'Released' })
    expect(await slotsOf(ground)).toEqual([])
    expect(await cordonOf(ground, node)).toEqual(inService)
  })
})

test('with the rights of an installation: the controller answers, an operator does not abort', async (context) => {
  const ground = await prepareQueue(context)
  await installRights(context, ground)
  const token = await requestToken(ground.admin, { namespace: ground.namespace, name: 'fettle-controller' })
  const controller = await connectWith(context, writeKubeconfig(context, ground, { token }))
  const name = `operator-of-${ground.namespace}`
  await bindClusterRole(context, ground.admin, 'fettle-operator', { kind: 'User', name })
  const operator = writeKubeconfig(context, ground, { ...adminEntries(ground).user, as: name })
  const as = (...args: string[]) => fettle([...args, '--kubeconfig', operator])
  await ground.startQueue({ client: controller })
  const node = await ground.addNode()

  // Policies are in force a moment after they were made. Asked dryly: a request that came before would be in the way.
  const client = await connectWith(context, operator)
  const urgent = {
    metadata: { name: `${node}-urgent` },
    spec: {
      nodeName: node,
      nodeUID: (await ground.node(node)).metadata.uid ?? '',
      source: { kind: 'Person', key: 'tester' },
      requestedBy: name,
      reason: 'fan',
      work: 'External',
      priority: 1,
      want: 'Out',
      service: { cordon: true, drain: true },
    },
  } satisfies MaintenanceRequest
  const sentence = 'may not set a spec.priority above 0: it needs the verb prioritize'
  await eventually(
    () => expect(client.create(maintenanceRequests, urgent, { dryRun: true })).rejects.toThrow(sentence),
    patient,
  )
  const refused = await as('node', 'maintain', node, '--reason', 'fan', '--priority', '1', '--no-wait')
  expect(refused.stderr).toContain(sentence)
  expect(refused.code).toBe(1)
  const maintained = await as('node', 'maintain', node, '--reason', 'fan')
  expect(maintained.code, maintained.stderr).toBe(0)
  const request = maintained.stdout.split(':')[0] ?? ''

  const aborted = await as('node', 'abort', node, '--reason', 'stop', '--yes')
  expect(aborted.code).toBe(1)
  expect(aborted.stderr).toContain(
    'may not abort a request: it needs the verb abort on maintenancerequests.fettle.dev, which ClusterRole fettle-admin has',
  )
  const released = await as('node', 'release', node, '--reason', 'done', '--yes')
  expect(released.code, released.stderr).toBe(0)
  const { metadata, spec, status } = await ground.untilPhase(request, 'Done')
  expect(spec.requestedBy).toBe(name)
  expect(status?.history?.find(({ reason }) => reason === 'Released')).toMatchObject({ by: name })
  expect(metadata.annotations ?? {}).toEqual({})
  expect((await as('node', 'history', node)).stdout).toContain(`by ${name}: fan\n`)
})

/** Roles, policies and the controller's account as `fettle install` makes them; gone when the test is over. */
async function installRights(context: TestContext, ground: QueueGround): Promise<void> {
  const placement = { namespace: ground.namespace, version: '0.0.0', managedBy: 'e2e' }
  const manifests = [
    ...peopleManifests(placement),
    ...controllerRbacManifests(placement),
    ...policyManifests(placement),
  ]
  for (const { resource, object } of manifests) {
    const { name = '', namespace } = object.metadata
    await ground.admin.apply(resource, object, { fieldManager: 'e2e', force: true })
    context.onTestFinished(() =>
      ground.admin.delete(resource, { name, ...(namespace ? { namespace } : {}) }, { uid: 'any' }),
    )
  }
}
