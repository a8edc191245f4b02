import { expect, test } from 'vitest'
import { resources } from '../../src/kube/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { interceptWrites } from '../support/intercepted-client.ts'
import {
  cordonOf,
  inService,
  patient,
  prepareQueue,
  type QueueGround,
  stays,
  useCrds,
} from '../support/queue-cluster.ts'

useCrds()

const taint = { key: 'example.com/soon', value: 'fettle', effect: 'PreferNoSchedule' } as const
const queuedTaint = 'fettle.dev/queued-taint'

const taintsOf = async (ground: QueueGround, node: string) => {
  const { metadata, spec } = await ground.node(node)
  return { note: metadata.annotations?.[queuedTaint], taints: spec?.taints ?? [] }
}

const untilTaints = (ground: QueueGround, node: string, expected: object) =>
  eventually(async () => expect(await taintsOf(ground, node)).toEqual(expected), patient)

const none = { note: undefined, taints: [] }

test('a node that waits has a soft taint, until it is its turn or nobody wants it marked', async (context) => {
  const ground = await prepareQueue(context)
  await ground.setBudget({ max: 1, marks: { taintWhileQueued: taint.key } })
  await ground.startQueue()
  const [out, waiting] = [await ground.addNode(), await ground.addNode()]
  const first = await ground.ask(out)
  await ground.untilPhase(first.metadata.name, 'Granted')
  const second = await ground.ask(waiting)
  await untilTaints(ground, waiting, { note: taint.key, taints: [taint] })

  await ground.setBudget({ max: 1 })
  await untilTaints(ground, waiting, none)
  await ground.setBudget({ max: 1, marks: { taintWhileQueued: taint.key } })
  await untilTaints(ground, waiting, { note: taint.key, taints: [taint] })

  await ground.want(first.metadata.name, 'Return')
  await ground.untilPhase(second.metadata.name, 'Granted')
  await eventually(async () => {
    const { note, taints } = await taintsOf(ground, waiting)
    expect([note, taints.filter(({ key }) => key === taint.key)]).toEqual([undefined, []])
  }, patient)
})

test("somebody else's taint under the same key stays as it is, and what is written once is not written again", async (context) => {
  const ground = await prepareQueue(context)
  const writes: string[] = []
  const client = interceptWrites(ground.admin, async (write, send) => {
    const answer = await send()
    writes.push(write)
    return answer
  })
  // Nobody may go: both wait.
  await ground.setBudget({ max: 0, marks: { taintWhileQueued: taint.key } })
  await ground.startQueue({ client })
  const [theirs, ours] = [await ground.addNode(), await ground.addNode()]
  const byHand = { ...taint, value: 'mine' }
  const body = { spec: { taints: [byHand] } }
  await ground.admin.patch(resources.nodes, { name: theirs }, { type: 'merge', body })
  const requests = [await ground.ask(theirs), await ground.ask(ours)]
  await untilTaints(ground, ours, { note: taint.key, taints: [taint] })
  await stays(async () => {
    expect(await taintsOf(ground, theirs)).toEqual({ note: undefined, taints: [byHand] })
  }, 1_000)
  for (const { metadata } of requests) await ground.want(metadata.name, 'Return')
  await untilTaints(ground, ours, none)
  expect(await taintsOf(ground, theirs)).toEqual({ note: undefined, taints: [byHand] })
  expect(writes.filter((write) => write === `patch nodes/${theirs}`)).toEqual([])
  expect(writes.filter((write) => write === `patch nodes/${ours}`)).toHaveLength(2)
})

const kured = ['weave.works/kured-reboot-in-progress', 'weave.works/kured-most-recent-reboot-needed'] as const
const kustodian = ['k8s.io/maintenance-in-progress', 'k8s.io/most-recent-maintenance-needed'] as const

async function marksOf(ground: QueueGround, node: string) {
  const { labels = {}, annotations = {} } = (await ground.node(node)).metadata
  return { state: labels['example.com/state'], annotations: [...kured, ...kustodian].map((key) => annotations[key]) }
}

const marks = {
  labelsWhileOut: { 'example.com/state': 'out' },
  labelsAfter: { 'example.com/state': 'back' },
  annotationsOf: ['Kured', 'Kustodian'],
}
const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)

test('labels and annotations of other programs come and go in the writes that cordon and restore', async (context) => {
  const ground = await prepareQueue(context)
  const writes: string[] = []
  const client = interceptWrites(ground.admin, async (write, send) => {
    const answer = await send()
    writes.push(write)
    return answer
  })
  await ground.setBudget({ marks })
  await ground.startQueue({ client })
  const node = await ground.addNode()
  const { metadata } = await ground.ask(node)
  await ground.untilPhase(metadata.name, 'Granted')
  expect(await marksOf(ground, node)).toEqual({ state: 'out', annotations: [time, time, time, time] })
  await ground.want(metadata.name, 'Return')
  await ground.untilPhase(metadata.name, 'Done')
  expect(await marksOf(ground, node)).toEqual({ state: 'back', annotations: [undefined, time, undefined, time] })
  expect(await cordonOf(ground, node)).toEqual(inService)
  expect(writes.filter((write) => write === `patch nodes/${node}`)).toHaveLength(2)
})

test('a node that comes back after the setting went bears nothing of it any more', async (context) => {
  const ground = await prepareQueue(context)
  await ground.setBudget({ marks })
  await ground.startQueue()
  const node = await ground.addNode()
  const { metadata } = await ground.ask(node)
  await ground.untilPhase(metadata.name, 'Granted')
  await ground.setBudget({})
  await ground.want(metadata.name, 'Return')
  await ground.untilPhase(metadata.name, 'Done')
  expect(await marksOf(ground, node)).toEqual({ state: undefined, annotations: [undefined, time, undefined, time] })
})
