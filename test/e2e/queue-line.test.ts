import { expect, test } from 'vitest'
import { type MaintenanceRequest, maintenanceRequests } from '../../src/api/index.ts'
import type { KubeObject } from '../../src/kube/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { interceptWrites } from '../support/intercepted-client.ts'
import { listOf, patient, prepareQueue, type QueueGround, useCrds } from '../support/queue-cluster.ts'

useCrds()

const day = 24 * 3_600_000
const rack = 'e2e.fettle.dev/rack'

test('those at the head of a long line know their place; one claim is not a write for each of the others', async (context) => {
  const ground = await prepareQueue(context)
  const writes: string[] = []
  const noted = interceptWrites(ground.admin, (write, send) => {
    writes.push(write)
    return send()
  })
  const nodes = await Promise.all(Array.from({ length: 31 }, () => ground.addNode()))
  // The order is by priority: creation times are whole seconds.
  const line: string[] = []
  for (const [index, node] of nodes.entries())
    line.push((await ground.ask(node, { priority: 100 - index })).metadata.name)
  await ground.startQueue({ client: noted })
  const [first = '', ...others] = line
  await ground.untilPhase(first, 'Granted')
  const untilPlaces = (waiting: readonly string[], out: string | undefined) =>
    eventually(async () => {
      const requests = await listOf<MaintenanceRequest>(ground.admin, maintenanceRequests)
      const byName = new Map(requests.map((request) => [request.metadata.name, request.status?.waiting]))
      for (const [index, name] of waiting.entries())
        expect(byName.get(name), name).toMatchObject({
          position: index + 1,
          for: 'Budget',
          message: expect.stringContaining(`${out} is out since`),
        })
    }, patient)
  await untilPlaces(others, nodes[0])

  writes.length = 0
  await ground.want(first, 'Return')
  const [second = '', ...rest] = others
  await ground.untilPhase(second, 'Granted')
  await untilPlaces(rest.slice(0, 10), nodes[1])
  const told = rest.filter((name) => writes.includes(`replace maintenancerequests/${name}/status`))
  expect(told).toEqual(rest.slice(0, 10))
  // Those further back still know a place, if not the newest.
  for (const [index, name] of rest.slice(10).entries())
    expect((await ground.request(name)).status?.waiting?.position).toBe(index + 12)
})

test('who is passed for an hour by those that fit goes first from then on, and so does the next who was', async (context) => {
  const ground = await prepareQueue(context)
  const add = (value: string) => ground.addNode({ labels: { [rack]: value } })
  const [out, first, second, urgent, other] = (await Promise.all(['x', 'x', 'x', 'x', 'y'].map(add))) as [
    string,
    string,
    string,
    string,
    string,
  ]
  await ground.setBudget({ max: 9, limits: [{ name: 'racks', groupBy: rack, max: 1 }] })
  await ground.startQueue()
  const ask = async (node: string, priority: number) => (await ground.ask(node, { priority })).metadata.name
  const untilWaiting = (request: string, waiting: object) =>
    eventually(async () => {
      const { status } = await ground.request(request)
      expect(status?.waiting).toMatchObject(waiting)
      return status?.waiting
    }, patient)
  const blocking = await ask(out, 0)
  await ground.untilPhase(blocking, 'Granted')
  const starving = [await ask(first, -1), await ask(second, -2)] as const
  for (const request of starving)
    expect(await untilWaiting(request, { for: 'Budget' })).not.toHaveProperty('passedSince')
  await ground.untilPhase(await ask(other, -3), 'Granted')
  for (const request of starving) await untilWaiting(request, { for: 'Budget', passedSince: expect.any(String) })
  // An hour later.
  const passedSince = new Date(Date.now() - 3_600_000).toISOString()
  for (const request of starving) await ground.editStatus(maintenanceRequests, request, { waiting: { passedSince } })
  const last = await ask(urgent, 9)
  await untilWaiting(last, { for: 'Order', position: 3, next: `fettle explain ${starving[0]}` })
  await untilWaiting(starving[1], { for: 'Order', position: 2, passedSince })

  await ground.want(blocking, 'Return')
  const granted = await ground.untilPhase(starving[0], 'Granted')
  expect(granted.status).not.toHaveProperty('waiting')
  await untilWaiting(last, { for: 'Order', position: 2, next: `fettle explain ${starving[1]}` })
  await ground.want(starving[0], 'Return')
  await ground.untilPhase(starving[1], 'Granted')
})

test('of finished requests the last five of each node and source stay, and those of a month that no agent made', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  const now = Date.now()
  const ages = [1, 2, 3, 40, 50, 60, 70, 80]
  const finished = async (kind: string, key: string, days: number) => {
    const name = `${node}-${kind.toLowerCase()}-${key.slice(-1)}${days}`
    await createDone(ground, name, { node, kind, key, endedAt: new Date(now - days * day).toISOString() })
    return name
  }
  const byPerson: string[] = []
  for (const days of ages) byPerson.push(await finished('Person', 'jdoe', days))
  const recent: string[] = []
  for (const days of [1, 2, 3, 4, 5, 6, 29]) recent.push(await finished('Person', 'john', days))
  const byAgent: string[] = []
  for (const days of [1, 2, 3, 4, 5, 6, 29]) byAgent.push(await finished('File', '/var/a', days))
  // An agent's files count together: it has ten names for all of them.
  await finished('File', '/var/b', 400)
  const open = await ground.ask(node)
  await ground.startQueue()
  await ground.untilPhase(open.metadata.name, 'Granted')
  const kept = [...byPerson.slice(0, 5), ...recent, ...byAgent.slice(0, 5), open.metadata.name]
  await eventually(async () => {
    const left = (await listOf(ground.admin, maintenanceRequests)).map(({ metadata }) => metadata.name ?? '')
    expect(left.sort()).toEqual([...kept].sort())
  }, patient)
})

/** A request that ended some time ago, as it lies in a cluster. */
async function createDone(
  ground: QueueGround,
  name: string,
  about: { readonly node: string; readonly kind: string; readonly key: string; readonly endedAt: string },
): Promise<void> {
  const { kind, key, endedAt } = about
  const { uid: nodeUID } = (await ground.node(about.node)).metadata
  const spec = { nodeName: about.node, nodeUID, source: { kind, key }, reason: 'e2e', work: 'External', want: 'Return' }
  await ground.admin.create<KubeObject>(maintenanceRequests, {
    metadata: { name, finalizers: ['fettle.dev/give-back'] },
    spec,
  } as KubeObject)
  await ground.editStatus(maintenanceRequests, name, { phase: 'Done', outcome: 'Completed', since: endedAt })
}
