import { expect, test } from 'vitest'
import { resources } from '../../src/kube/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { cordonOf, inService, patient, prepareQueue, slotsOf, stays, useCrds } from '../support/queue-cluster.ts'
import { withoutNode } from '../support/queue-views.ts'

useCrds()

test('a node that is deleted while it is out frees its slot, and the request tells', async (context) => {
  const ground = await prepareQueue(context)
  const [node, next] = [await ground.addNode(), await ground.addNode()]
  await ground.startQueue()
  const { metadata } = await ground.ask(node)
  await ground.untilPhase(metadata.name, 'Granted')
  const waiting = await ground.ask(next)
  const { metadata: gone } = await ground.node(node)
  await ground.admin.delete(resources.nodes, { name: node }, { uid: gone.uid ?? '' })
  const done = await ground.untilPhase(metadata.name, 'Done')
  expect(done.status?.outcome).toBe('NodeGone')
  expect(done.status?.history?.at(-1)?.message).toBe(`node ${node} with UID ${gone.uid} does not exist`)
  const granted = await ground.untilPhase(waiting.metadata.name, 'Granted')
  expect(granted.status?.slot?.token).toBe(2)
})

test('a request for a node that no longer has this UID ends, and the new node is not touched', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  await ground.startQueue()
  const stranger = '00000000-0000-4000-8000-000000000000'
  const { metadata } = await ground.ask(node, { nodeUID: stranger })
  expect((await ground.untilPhase(metadata.name, 'Done')).status?.outcome).toBe('NodeGone')
  expect(await cordonOf(ground, node)).toEqual(inService)
})

test('a request for a node that the watch has not shown yet waits for it', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  let isHidden = true
  await ground.startQueue({ see: (views) => withoutNode(views, () => isHidden && node) })
  const { metadata } = await ground.ask(node)
  await eventually(
    async () => expect((await ground.request(metadata.name)).metadata.finalizers).toHaveLength(1),
    patient,
  )
  await stays(async () => expect((await ground.request(metadata.name)).status?.phase).not.toBe('Done'), 3_000)
  isHidden = false
  // Its event, which a real watch would bring with it.
  await ground.admin.patch(
    resources.nodes,
    { name: node },
    { type: 'merge', body: { metadata: { labels: { x: '1' } } } },
  )
  await ground.untilPhase(metadata.name, 'Granted')
})

test('a node that the watch has lost makes no room for another', async (context) => {
  const ground = await prepareQueue(context)
  const [node, other] = [await ground.addNode(), await ground.addNode()]
  let isHidden = false
  await ground.startQueue({ see: (views) => withoutNode(views, () => isHidden && node) })
  const first = await ground.ask(node)
  await ground.untilPhase(first.metadata.name, 'Granted')
  isHidden = true
  const second = await ground.ask(other)
  await eventually(
    async () => expect((await ground.request(second.metadata.name)).metadata.finalizers).toHaveLength(1),
    patient,
  )
  await stays(
    async () => expect((await slotsOf(ground)).map(({ requests }) => requests)).toEqual([[first.metadata.name]]),
    3_000,
  )
  expect(await cordonOf(ground, other)).toEqual(inService)
})
