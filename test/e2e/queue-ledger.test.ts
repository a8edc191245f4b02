import { expect, test } from 'vitest'
import {
  budgetName,
  type MaintenanceBudget,
  maintenanceBudgets,
  maintenanceRequests,
  releaseAnnotations,
} from '../../src/api/index.ts'
import { type KubeClient, type KubeObject, resources } from '../../src/kube/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import {
  cordonOf,
  createPdb,
  followLedger,
  inService,
  patient,
  prepareQueue,
  type QueueGround,
  slotsOf,
  stays,
  useCrds,
} from '../support/queue-cluster.ts'
import { withOldLedger, withoutRequests } from '../support/queue-views.ts'

useCrds()

async function grantedOn(ground: QueueGround, node: string) {
  const { metadata } = await ground.ask(node)
  return ground.untilPhase(metadata.name, 'Granted')
}

const budgetCondition = ({ status }: MaintenanceBudget, type: string) =>
  status?.conditions?.find((condition) => condition.type === type)

const annotate = (ground: QueueGround, node: string, annotations: object) =>
  ground.admin.patch(resources.nodes, { name: node }, { type: 'merge', body: { metadata: { annotations } } })

/** As a person frees a slot that no request stands for any more. */
async function releaseSlot(ground: QueueGround, node: string): Promise<void> {
  const { uid } = (await ground.node(node)).metadata
  const annotations = { [releaseAnnotations.slot]: uid, [releaseAnnotations.reason]: 'nobody is there' }
  const body = { metadata: { annotations } }
  await ground.admin.patch(maintenanceBudgets, { name: budgetName }, { type: 'merge', body })
}

test('a ledger that is torn away is made again with the slots that are held, and their tokens', async (context) => {
  const ground = await prepareQueue(context)
  const [node, other] = [await ground.addNode(), await ground.addNode()]
  await ground.startQueue()
  const granted = await grantedOn(ground, node)
  const { metadata: old } = await ground.budget()
  const ref = { name: budgetName }
  await ground.admin.delete(maintenanceBudgets, ref, { uid: old.uid ?? '' })
  await ground.admin.patch(maintenanceBudgets, ref, { type: 'merge', body: { metadata: { finalizers: [] } } })
  const next = await ground.ask(other)
  await eventually(async () => {
    const made = await ground.budget()
    expect(made.metadata.uid).not.toBe(old.uid)
    expect(made.metadata.finalizers).toEqual(['fettle.dev/ledger'])
    expect(made.status).toMatchObject({
      nextToken: 2,
      slots: [{ node, token: 1, requests: [granted.metadata.name], takenAt: granted.status?.slot?.takenAt }],
    })
    expect(budgetCondition(made, 'LedgerReady')).toMatchObject({ status: 'True' })
    expect(budgetCondition(made, 'ExclusivityBroken')).toMatchObject({ status: 'False' })
    const { status } = await ground.request(granted.metadata.name ?? '')
    expect(status).toMatchObject({ phase: 'Granted', slot: { token: 1, ledgerUID: made.metadata.uid } })
  }, patient)
  expect((await ground.request(next.metadata.name)).status?.phase ?? 'Queued').toBe('Queued')
  expect(await cordonOf(ground, other)).toEqual(inService)
  await ground.want(granted.metadata.name ?? '', 'Return')
  expect((await ground.untilPhase(next.metadata.name, 'Granted')).status?.slot?.token).toBe(2)
})

test('an older ledger that somebody restored gets back what it has lost, and gives no token twice', async (context) => {
  const ground = await prepareQueue(context)
  const [one, two, three, four] = (await Promise.all([0, 1, 2, 3].map(() => ground.addNode()))) as [
    string,
    string,
    string,
    string,
  ]
  await ground.setBudget({ max: 3 })
  await ground.startQueue()
  const first = await grantedOn(ground, one)
  const backup = (await ground.budget()).status
  const second = await grantedOn(ground, two)

  // Slots are missing.
  await ground.editStatus(maintenanceBudgets, budgetName, { nextToken: 1, slots: [] })
  await eventually(async () => {
    const { status } = await ground.budget()
    expect(status?.nextToken).toBe(3)
    expect(status?.slots.map(({ node, token }) => ({ node, token }))).toEqual(
      expect.arrayContaining([
        { node: one, token: 1 },
        { node: two, token: 2 },
      ]),
    )
  }, patient)
  // Only the number is older.
  await ground.editStatus(maintenanceBudgets, budgetName, { nextToken: 1 })
  expect((await grantedOn(ground, three)).status?.slot?.token).toBe(3)

  // It lists somebody who is long done.
  await ground.want(first.metadata.name ?? '', 'Return')
  await ground.untilPhase(first.metadata.name ?? '', 'Done')
  await ground.editStatus(maintenanceBudgets, budgetName, { nextToken: backup?.nextToken, slots: backup?.slots })
  await eventually(async () => {
    const { status } = await ground.budget()
    expect(status?.nextToken).toBe(4)
    expect(status?.slots.map(({ node }) => node).sort()).toEqual([two, three].sort())
  }, patient)
  expect((await ground.request(first.metadata.name ?? '')).status?.phase).toBe('Done')
  expect(await cordonOf(ground, one)).toEqual(inService)
  expect(budgetCondition(await ground.budget(), 'ExclusivityBroken')).toMatchObject({ status: 'False' })
  expect((await ground.request(second.metadata.name ?? '')).status).toMatchObject({ phase: 'Granted' })
  expect((await grantedOn(ground, four)).status?.slot?.token).toBe(4)
})

test('slots that come back over a limit stop everything that is not at work yet, until a person has decided', async (context) => {
  const ground = await prepareQueue(context)
  const [working, draining, restored, waiting] = (await Promise.all([0, 1, 2, 3].map(() => ground.addNode()))) as [
    string,
    string,
    string,
    string,
  ]
  await ground.addWorkload(draining, { app: 'stuck', replicas: 1 })
  await createPdb(ground, 'none', 'stuck', { maxUnavailable: 0 })
  await ground.setBudget({ max: 2 })
  await ground.startQueue()
  const atWork = await grantedOn(ground, working)
  const { metadata: claimed } = await ground.ask(draining)
  await eventually(async () => expect((await ground.request(claimed.name)).status?.drain?.left).toBe(1), patient)
  const { metadata: back } = await ground.ask(restored)
  await ground.untilPhase(back.name, 'Queued')
  const slot = { token: 17, ledgerUID: 'another', takenAt: new Date().toISOString() }
  await ground.editStatus(maintenanceRequests, back.name, { phase: 'Granted', waiting: null, slot })

  await eventually(async () => {
    const budget = await ground.budget()
    expect(budgetCondition(budget, 'ExclusivityBroken')).toMatchObject({ status: 'True' })
    expect(budget.status?.slots).toContainEqual(expect.objectContaining({ node: restored, token: 17 }))
    expect(budget.status?.nextToken).toBe(18)
    const { status } = await ground.request(back.name)
    expect(status?.slot).toMatchObject({ token: 17, ledgerUID: budget.metadata.uid })
  }, patient)
  const { status: held } = await ground.untilPhase(claimed.name, 'Held')
  expect(held?.held).toMatchObject({ from: 'Claimed', reason: 'ExclusivityBroken' })
  expect((await ground.request(atWork.metadata.name ?? '')).status?.phase).toBe('Granted')
  const { metadata: last } = await ground.ask(waiting)
  await eventually(async () => {
    const { status } = await ground.request(last.name)
    expect(status?.waiting).toMatchObject({ for: 'Budget', message: expect.stringContaining('a person has to decide') })
  }, patient)

  await ground.say(back.name, 'release', 'it was restored by mistake')
  await ground.untilPhase(back.name, 'Done')
  await eventually(async () => {
    expect(budgetCondition(await ground.budget(), 'ExclusivityBroken')).toMatchObject({ status: 'False' })
  }, patient)
  await ground.say(claimed.name, 'retry', 'go on')
  await ground.untilPhase(claimed.name, 'Claimed')
  await ground.want(atWork.metadata.name ?? '', 'Return')
  expect((await ground.untilPhase(last.name, 'Granted')).status?.slot?.token).toBe(18)
})

test('a slot whose request has vanished counts on, and a person frees it with its node', async (context) => {
  const ground = await prepareQueue(context)
  const [node, next] = [await ground.addNode(), await ground.addNode()]
  const queue = await ground.startQueue()
  const { metadata } = await grantedOn(ground, node)
  const name = metadata.name ?? ''
  await queue.stop()
  await ground.admin.delete(maintenanceRequests, { name }, { uid: metadata.uid ?? '' })
  await ground.admin.patch(maintenanceRequests, { name }, { type: 'merge', body: { metadata: { finalizers: [] } } })
  await ground.startQueue()
  await stays(async () => expect(await slotsOf(ground)).toMatchObject([{ node, token: 1, requests: [name] }]), 1_500)
  const waiting = await ground.ask(next)
  await eventually(async () => {
    const { status } = await ground.request(waiting.metadata.name)
    expect(status?.waiting?.message).toContain(`${node} is out since`)
  }, patient)
  expect(await cordonOf(ground, node)).toMatchObject({ isUnschedulable: true })

  await releaseSlot(ground, node)
  await ground.untilPhase(waiting.metadata.name, 'Granted')
  expect(await cordonOf(ground, node)).toEqual(inService)
  expect((await slotsOf(ground)).map((slot) => slot.node)).toEqual([next])
  await eventually(async () => expect((await ground.budget()).metadata.annotations ?? {}).toEqual({}), patient)
})

test('a request that is taken back and removed while its claim is on its way leaves no slot behind', async (context) => {
  const ground = await prepareQueue(context)
  const [node, next] = [await ground.addNode(), await ground.addNode()]
  const { metadata } = await ground.ask(node)
  let hasVanished = false
  const client: KubeClient = {
    ...ground.admin,
    replace: async (resource, object, options) => {
      const isClaim =
        resource === maintenanceBudgets && ((object as KubeObject as MaintenanceBudget).status?.slots.length ?? 0) > 0
      if (isClaim && !hasVanished) {
        hasVanished = true
        await ground.want(metadata.name, 'Return')
        await ground.untilPhase(metadata.name, 'Done')
        await ground.admin.delete(maintenanceRequests, { name: metadata.name }, { uid: metadata.uid ?? '' })
        await eventually(() => expect(ground.request(metadata.name)).rejects.toThrow(/not found/), patient)
      }
      return ground.admin.replace(resource, object, options)
    },
  }
  const ledger = followLedger(context, ground)
  await ground.startQueue({ client })
  await eventually(() => expect(hasVanished).toBe(true), patient)
  await ground.untilPhase((await ground.ask(next)).metadata.name, 'Granted')
  expect((await slotsOf(ground)).map((slot) => slot.node)).toEqual([next])
  expect(ledger.most).toBe(1)
})

test('a request goes home, and gets its turn, by the ledger itself and not by a view of it that is behind', async (context) => {
  const ground = await prepareQueue(context)
  const [node, other] = [await ground.addNode(), await ground.addNode()]
  await ground.setBudget({ max: 1 })
  const first = await ground.startQueue()
  const empty = await eventually(async () => {
    const budget = await ground.budget()
    expect(budget.status?.slots).toEqual([])
    return budget
  }, patient)
  const { metadata } = await grantedOn(ground, node)
  await first.stop()
  const second = await ground.startQueue({ see: (views) => withOldLedger(views, empty) })
  const name = metadata.name ?? ''
  await ground.want(name, 'Return')
  await ground.untilPhase(name, 'Finishing')
  // In that view its slot is freed already; then nothing would have to be proven any more.
  await stays(async () => expect(await cordonOf(ground, node)).toMatchObject({ isUnschedulable: true }), 1_500)
  expect((await ground.request(name)).status?.phase).toBe('Finishing')
  const listed = await ground.budget()
  await second.stop()
  const third = await ground.startQueue()
  await ground.untilPhase(name, 'Done')
  expect(await cordonOf(ground, node)).toEqual(inService)
  await third.stop()

  await ground.setBudget({ max: 0 })
  const waiting = await ground.ask(other)
  const slots = [{ ...listed.status?.slots[0], ...(await slotFor(ground, other)), requests: [waiting.metadata.name] }]
  const full = { ...listed, status: { ...listed.status, slots } } as MaintenanceBudget
  await ground.startQueue({ see: (views) => withOldLedger(views, full) })
  await ground.untilPhase(waiting.metadata.name, 'Queued')
  await stays(async () => {
    expect((await ground.request(waiting.metadata.name)).status?.phase).toBe('Queued')
  }, 1_500)
})

async function slotFor(ground: QueueGround, node: string) {
  return { node, nodeUID: (await ground.node(node)).metadata.uid ?? '' }
}

test('marks that somebody takes off or edits are put back, and the node ends as it was', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  await ground.startQueue()
  const { metadata } = await grantedOn(ground, node)
  const name = metadata.name ?? ''
  await annotate(ground, node, { 'cordon.fettle.dev/queue': null })
  await eventually(async () => {
    expect(await cordonOf(ground, node)).toMatchObject({ isUnschedulable: true, owner: { token: 1 }, prior: 'false' })
  }, patient)
  await ground.admin.patch(maintenanceRequests, { name }, { type: 'merge', body: { metadata: { finalizers: [] } } })
  await eventually(async () => {
    expect((await ground.request(name)).metadata.finalizers).toEqual(['fettle.dev/give-back'])
  }, patient)
  expect((await ground.request(name)).status?.phase).toBe('Granted')

  // In the words of the ledger it is out, whatever its status says: it goes its way again, under the same token.
  await ground.editStatus(maintenanceRequests, name, { phase: 'Queued' })
  const { status } = await ground.untilPhase(name, 'Granted')
  expect(status?.slot?.token).toBe(1)
  expect(await slotsOf(ground)).toMatchObject([{ node, token: 1, requests: [name] }])

  await ground.editStatus(maintenanceRequests, name, { phase: 'Done', outcome: 'Completed' })
  await eventually(async () => {
    expect(await slotsOf(ground)).toEqual([])
    expect(await cordonOf(ground, node)).toEqual(inService)
    expect((await ground.request(name)).status?.phase).toBe('Done')
  }, patient)
})

test('whoever writes a phase or a slot into a request gets no permission by it', async (context) => {
  const ground = await prepareQueue(context)
  const [node, other] = [await ground.addNode(), await ground.addNode()]
  await ground.addWorkload(node, { app: 'web', replicas: 1 })
  await ground.startQueue()
  const first = await grantedOn(ground, other)
  const { metadata } = await ground.ask(node)
  await ground.untilPhase(metadata.name, 'Queued')
  await ground.editStatus(maintenanceRequests, metadata.name, { phase: 'Granted' })
  await ground.untilPhase(metadata.name, 'Queued')
  expect(await slotsOf(ground)).toHaveLength(1)
  await ground.want(first.metadata.name ?? '', 'Return')
  const { status } = await ground.untilPhase(metadata.name, 'Granted')
  expect(status).toMatchObject({ slot: { token: 2 }, drain: { total: 1, left: 0 } })
  expect(await ground.podsOn(node)).toEqual([])
})

test('a slot that is written into a queued request is put back with its token, and goes the whole way from there', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'web', replicas: 1 })
  await ground.setBudget({ max: 0 })
  await ground.startQueue()
  const { metadata } = await ground.ask(node)
  await ground.untilPhase(metadata.name, 'Queued')
  const slot = { token: 5, ledgerUID: 'another', takenAt: new Date().toISOString() }
  await ground.editStatus(maintenanceRequests, metadata.name, { slot })
  const { status } = await ground.untilPhase(metadata.name, 'Granted')
  expect(status).toMatchObject({ slot: { token: 5 }, drain: { total: 1, left: 0 } })
  expect((await ground.budget()).status).toMatchObject({ nextToken: 6, slots: [{ node, token: 5 }] })
})

test('a cordon of ours that no request stands for is a slot that a person frees; one that cannot be read is none', async (context) => {
  const ground = await prepareQueue(context)
  const [node, strange, next] = [await ground.addNode(), await ground.addNode(), await ground.addNode()]
  await ground.setBudget({ max: 2 })
  await ground.startQueue()
  const mark = (token: number, since: string) => ({
    'cordon.fettle.dev/queue': JSON.stringify({ request: 'long gone', token, since }),
    'fettle.dev/cordon-prior': 'false',
  })
  await annotate(ground, strange, mark(0, 'Sun, 15 Nov 2026 22:00:00 GMT'))
  await annotate(ground, node, mark(8, '2026-11-15T22:00:00Z'))
  const { metadata } = await ground.ask(next)
  const { status } = await ground.untilPhase(metadata.name, 'Granted')
  expect(status?.slot?.token).toBe(9)
  expect((await slotsOf(ground)).map((slot) => [slot.node, slot.token, slot.requests])).toEqual([
    [node, 8, []],
    [next, 9, [metadata.name]],
  ])
  await releaseSlot(ground, node)
  await eventually(async () => expect((await slotsOf(ground)).map((slot) => slot.node)).toEqual([next]), patient)
  expect(await cordonOf(ground, node)).toEqual(inService)
})

test('a cordon whose request is over makes no slot, even if the watch has not shown the request yet', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  const first = await ground.startQueue()
  const { metadata } = await ground.ask(node)
  const { status } = await ground.untilPhase(metadata.name, 'Granted')
  await ground.want(metadata.name, 'Return')
  await ground.untilPhase(metadata.name, 'Done')
  await eventually(async () => expect(await slotsOf(ground)).toEqual([]), patient)
  await first.stop()
  // As one leaves it behind that knew less, and marked the node once more.
  const claim = { request: metadata.uid, token: status?.slot?.token, since: status?.slot?.takenAt }
  await annotate(ground, node, {
    'cordon.fettle.dev/queue': JSON.stringify(claim),
    'fettle.dev/cordon-prior': 'false',
  })
  let isHidden = true
  await ground.startQueue({ see: (views) => withoutRequests(views, () => isHidden) })
  await stays(async () => expect(await slotsOf(ground)).toEqual([]), 2_000)
  isHidden = false
  // Its event, which a real watch would bring with it.
  const body = { metadata: { labels: { x: '1' } } }
  await ground.admin.patch(maintenanceRequests, { name: metadata.name }, { type: 'merge', body })
  await eventually(async () => expect(await cordonOf(ground, node)).toEqual(inService), patient)
  expect(await slotsOf(ground)).toEqual([])
})
