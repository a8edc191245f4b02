import { expect, test } from 'vitest'
import { type KubeClient, resources } from '../../src/kube/index.ts'
import { systemClock } from '../../src/time/index.ts'
import { connectThroughProxy, eventually } from '../support/e2e-cluster.ts'
import { patient, prepareQueue, type QueueGround, slotsOf, stays, useCrds } from '../support/queue-cluster.ts'

useCrds()

test('nobody is claimed on a view of nodes that stands still, though its connection looks open; a quiet one stops nobody', async (context) => {
  const ground = await prepareQueue(context)
  const { admin } = ground
  const { client: proxied, proxy } = await connectThroughProxy(context, ground)
  // Nodes alone come through the proxy: all other views stay alive, and new requests are heard of.
  const client: KubeClient = {
    ...admin,
    watch: (resource, options) => (resource === resources.nodes ? proxied : admin).watch(resource, options),
  }
  let jumpMs = 0
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + jumpMs }
  await ground.setBudget({ max: 1, countUnavailable: ['Cordoned'] })
  const [first, second, other] = [await ground.addNode(), await ground.addNode(), await ground.addNode()]
  await ground.startQueue({ client, clock })
  await eventually(() => expect(proxy.openWatches).toBe(1), patient)

  // Silent for more than a minute, as every watch of a small cluster is now and then, but true.
  jumpMs += 61_000
  const quick = await ground.ask(first)
  await ground.untilPhase(quick.metadata.name, 'Granted')
  await ground.want(quick.metadata.name, 'Return')
  await ground.untilPhase(quick.metadata.name, 'Done')
  await eventually(async () => expect(await slotsOf(ground)).toEqual([]), patient)

  expect(proxy.stallWatches()).toBe(1)
  // The one place is taken, and the controller does not hear of it.
  await cordon(ground, other, true)
  jumpMs += 61_000
  const { metadata } = await ground.ask(second)
  await untilWaiting(ground, metadata.name, 'StaleView', /^the view of nodes is \d+ s old: its watch stands still$/)
  await stays(async () => expect(await slotsOf(ground)).toEqual([]), 2_000)

  expect(proxy.cutWatches()).toBe(1)
  await untilWaiting(ground, metadata.name, 'Budget', new RegExp(other))
  expect(await slotsOf(ground)).toEqual([])
  await cordon(ground, other, false)
  await ground.untilPhase(metadata.name, 'Granted')
})

async function cordon({ admin }: QueueGround, name: string, unschedulable: boolean): Promise<void> {
  await admin.patch(resources.nodes, { name }, { type: 'merge', body: { spec: { unschedulable } } })
}

async function untilWaiting(ground: QueueGround, name: string, why: string, message: RegExp): Promise<void> {
  await eventually(async () => {
    const { status } = await ground.request(name)
    expect(status?.waiting?.for, JSON.stringify(status)).toBe(why)
    expect(status?.waiting?.message).toMatch(message)
  }, patient)
}
