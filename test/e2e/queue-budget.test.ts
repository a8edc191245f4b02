import { expect, test } from 'vitest'
import { maintenanceBudgets } from '../../src/api/index.ts'
import { setNotReady } from '../../src/dev/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import {
  cordonOf,
  inService,
  isReady,
  patient,
  prepareQueue,
  slotsOf,
  stays,
  useCrds,
} from '../support/queue-cluster.ts'

useCrds()

test('requests that waited for the controller are served by priority, whoever is taken in first', async (context) => {
  const ground = await prepareQueue(context)
  const names = await Promise.all([0, 1, 2, 3, 4, 5].map(() => ground.addNode()))
  const asked = []
  for (const [index, name] of names.entries()) asked.push(await ground.ask(name, { priority: index }))
  const urgent = asked.at(-1)?.metadata.name ?? ''
  await ground.startQueue()
  await ground.untilPhase(urgent, 'Granted')
  expect((await slotsOf(ground)).map(({ requests, token }) => ({ requests, token }))).toEqual([
    { requests: [urgent], token: 1 },
  ])
})

test('a budget of 0 stops claims, and who is out may still come back', async (context) => {
  const ground = await prepareQueue(context)
  const [out, node] = [await ground.addNode(), await ground.addNode()]
  await ground.startQueue()
  const first = await ground.ask(out)
  await ground.untilPhase(first.metadata.name, 'Granted')
  await ground.setBudget({ max: 0 })
  const { metadata } = await ground.ask(node)
  await eventually(async () => {
    expect((await ground.request(metadata.name)).status?.waiting).toMatchObject({
      for: 'Budget',
      message: 'the budget is 0: no node may leave service',
    })
  }, patient)
  await ground.want(first.metadata.name, 'Return')
  await ground.untilPhase(first.metadata.name, 'Done')
  expect(await slotsOf(ground)).toEqual([])
  await stays(async () => expect((await ground.request(metadata.name)).status?.phase).toBe('Queued'), 1_000)
  await ground.setBudget({ max: 1 })
  await ground.untilPhase(metadata.name, 'Granted')
})

test('a node that is NotReady counts, is named, and may itself be maintained', async (context) => {
  const ground = await prepareQueue(context)
  const [broken, node] = [await ground.addNode(), await ground.addNode()]
  await setNotReady(ground.admin, broken, 'KubeletStopped')
  await eventually(async () => expect(isReady(await ground.node(broken))).toBe(false), patient)
  await ground.startQueue()
  const { metadata } = await ground.ask(node)
  await eventually(async () => {
    const { status } = await ground.request(metadata.name)
    expect(status?.waiting?.message).toContain(`${broken} is NotReady, without a slot`)
  }, patient)
  expect((await ground.budget()).status?.limits).toEqual([
    { name: 'cluster', max: 1, out: 1, withoutSlot: [`${broken} NotReady`] },
  ])
  const repair = await ground.ask(broken)
  await ground.untilPhase(repair.metadata.name, 'Granted')
  await setNotReady(ground.admin, broken, undefined)
  await ground.want(repair.metadata.name, 'Return')
  await ground.untilPhase(metadata.name, 'Granted')
})

test('of control-plane nodes one is out, even if the budget has room', async (context) => {
  const ground = await prepareQueue(context)
  const labels = { 'node-role.kubernetes.io/control-plane': '' }
  const [one, two, worker] = [
    await ground.addNode({ labels }),
    await ground.addNode({ labels }),
    await ground.addNode(),
  ]
  await ground.setBudget({ max: 5 })
  await ground.startQueue()
  const first = await ground.ask(one)
  await ground.untilPhase(first.metadata.name, 'Granted')
  const second = await ground.ask(two)
  const third = await ground.ask(worker)
  await ground.untilPhase(third.metadata.name, 'Granted')
  const { status } = await ground.request(second.metadata.name)
  expect(status?.waiting).toMatchObject({
    position: 1,
    message: expect.stringMatching(new RegExp(`^1 of 2 control-plane nodes may be out: ${one} is out since`)),
  })
})

test('a ledger that is deleted stays until no slot is held, lets nobody out, and comes back with its defaults', async (context) => {
  const ground = await prepareQueue(context)
  const [node, other] = [await ground.addNode(), await ground.addNode()]
  await ground.setBudget({ max: 2 })
  await ground.startQueue()
  const { metadata } = await ground.ask(node)
  await ground.untilPhase(metadata.name, 'Granted')
  const { metadata: old } = await ground.budget()
  expect(old.finalizers).toEqual(['fettle.dev/ledger'])
  await ground.admin.delete(maintenanceBudgets, { name: 'cluster' }, { uid: old.uid ?? '' })
  const next = await ground.ask(other)
  await eventually(async () => {
    expect((await ground.request(next.metadata.name)).status?.waiting).toMatchObject({
      for: 'Budget',
      message: 'MaintenanceBudget cluster is being deleted; it comes back with its defaults once no slot is held',
    })
  }, patient)
  expect((await ground.budget()).metadata.uid).toBe(old.uid)
  expect(await slotsOf(ground)).toMatchObject([{ node, token: 1 }])
  expect(await cordonOf(ground, other)).toEqual(inService)
  await ground.want(metadata.name, 'Return')
  await ground.untilPhase(next.metadata.name, 'Granted')
  const { metadata: made, spec } = await ground.budget()
  expect(made.uid).not.toBe(old.uid)
  expect(spec.max).toBe(1)
})
