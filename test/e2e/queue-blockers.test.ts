import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { type KubeClient, type PodObject, resources } from '../../src/kube/index.ts'
import { boundPod, eventually, type Test } from '../support/e2e-cluster.ts'
import { hasPrometheus, startPrometheus } from '../support/prometheus.ts'
import {
  cordonOf,
  inService,
  patient,
  prepareQueue,
  type QueueGround,
  slotsOf,
  stays,
  useCrds,
} from '../support/queue-cluster.ts'

useCrds()

/** Until the request is told by this sentence what blocks it. Its node is still in service. */
async function untilBlocked(ground: QueueGround, request: string, message: string | RegExp): Promise<void> {
  const seen = await eventually(async () => {
    const seen = await ground.request(request)
    expect(seen.status).toMatchObject({
      phase: 'Queued',
      waiting: { for: 'Blocker', position: 1, message: expect.stringMatching(message), next: expect.any(String) },
    })
    return seen
  }, patient)
  expect(await slotsOf(ground)).toEqual([])
  expect(await cordonOf(ground, seen.spec.nodeName)).toEqual(inService)
}

async function listen(test: Test, reply: RequestListener): Promise<string> {
  const server = createServer(reply)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function setCondition(admin: KubeClient, name: string, type: string, status: string): Promise<void> {
  await admin.patch(
    resources.nodes,
    { name },
    { type: 'strategic', body: { status: { conditions: [{ type, status, reason: 'E2e', message: 'e2e' }] } } },
    { subresource: 'status' },
  )
}

test.skipIf(!hasPrometheus)(
  'a claim waits for an alert of a real Prometheus, and goes on by itself when it is over',
  async (context) => {
    const ground = await prepareQueue(context)
    const prometheus = await startPrometheus(context)
    await prometheus.setAlerts({ alert: 'DiskFull', isPending: true })
    await ground.setBudget({ blockers: [{ name: 'calm', alerts: { url: prometheus.url, ignore: 'Watchdog' } }] })
    await ground.startQueue()
    const { metadata } = await ground.ask(await ground.addNode())
    await untilBlocked(ground, metadata.name, /^blocker calm: alert DiskFull is pending$/)
    await prometheus.setAlerts({ alert: 'Watchdog' })
    await ground.untilPhase(metadata.name, 'Granted')
  },
)

test('a claim waits for a pod on its node, and not for one on another', async (context) => {
  const ground = await prepareQueue(context)
  const { admin, namespace } = ground
  const [busy, idle] = [await ground.addNode(), await ground.addNode()]
  const labels = { job: 'backup' }
  const created = await admin.create<PodObject>(
    resources.pods,
    boundPod(namespace, 'backup', busy, { metadata: { labels } }),
  )
  await ground.setBudget({ blockers: [{ name: 'backups', pods: { selector: { matchLabels: labels } } }] })
  await ground.startQueue()
  const [first, second] = [await ground.ask(busy), await ground.ask(idle)]
  await ground.untilPhase(second.metadata.name, 'Granted')
  await ground.want(second.metadata.name, 'Return')
  await ground.untilPhase(second.metadata.name, 'Done')
  await untilBlocked(ground, first.metadata.name, `blocker backups: pod ${namespace}/backup is`)
  await admin.delete(
    resources.pods,
    { name: 'backup', namespace },
    { uid: created.metadata.uid ?? '', gracePeriodSeconds: 0 },
  )
  await ground.untilPhase(first.metadata.name, 'Granted')
})

test('a claim waits for a condition of any node', async (context) => {
  const ground = await prepareQueue(context)
  const [sick, node] = [await ground.addNode(), await ground.addNode()]
  await setCondition(ground.admin, sick, 'DiskProblem', 'True')
  await ground.setBudget({ blockers: [{ name: 'disks', nodeCondition: { type: 'DiskProblem', anyNode: true } }] })
  await ground.startQueue()
  const { metadata } = await ground.ask(node)
  await untilBlocked(ground, metadata.name, `blocker disks: condition DiskProblem of node ${sick} is True`)
  await setCondition(ground.admin, sick, 'DiskProblem', 'False')
  await ground.untilPhase(metadata.name, 'Granted')
})

test('a claim waits for a hook, a further request of the node does not, and nobody is asked about nothing', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  let [allow, questions] = [false, 0]
  const bodies: string[] = []
  const url = await listen(context, (incoming, answer) => {
    let body = ''
    incoming.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk
    })
    incoming.on('end', () => {
      questions++
      bodies.push(body)
      answer.end(JSON.stringify({ allow, message: 'not on a Friday' }))
    })
  })
  await ground.setBudget({ blockers: [{ name: 'board', hook: { url } }] })
  await ground.startQueue()
  await stays(async () => expect(questions).toBe(0), 500)
  const { metadata } = await ground.ask(node)
  await untilBlocked(ground, metadata.name, /^blocker board: not on a Friday$/)
  expect(JSON.parse(bodies[0] ?? '')).toMatchObject({
    blocker: 'board',
    node: { name: node },
    request: { name: metadata.name, uid: metadata.uid, reason: 'e2e' },
  })
  allow = true
  // An edited blocker is another one: it is asked at once.
  await ground.setBudget({ blockers: [{ name: 'board', hook: { url, deadline: '6s' } }] })
  await ground.untilPhase(metadata.name, 'Granted')
  allow = false
  const asked = questions
  const further = await ground.ask(node)
  await ground.untilPhase(further.metadata.name, 'Granted')
  expect(questions).toBe(asked)
})

test('while a hook does not answer, nodes are given back and nothing leaves', async (context) => {
  const ground = await prepareQueue(context)
  const [out, node] = [await ground.addNode(), await ground.addNode()]
  await ground.setBudget({ max: 2 })
  await ground.startQueue()
  const first = await ground.ask(out)
  await ground.untilPhase(first.metadata.name, 'Granted')
  let questions = 0
  const url = await listen(context, () => questions++)
  await ground.setBudget({ max: 2, blockers: [{ name: 'board', hook: { url, deadline: '30s' } }] })
  const second = await ground.ask(node)
  await eventually(async () => {
    const { status } = await ground.request(second.metadata.name)
    expect(status?.waiting).toMatchObject({ for: 'Blocker', message: 'blocker board has not answered yet' })
  }, patient)
  await ground.want(first.metadata.name, 'Return')
  await ground.untilPhase(first.metadata.name, 'Done')
  expect((await ground.request(second.metadata.name)).status?.phase).toBe('Queued')
  expect(questions).toBe(1)
  await ground.setBudget({ max: 2, blockers: [] })
  await ground.untilPhase(second.metadata.name, 'Granted')
})
