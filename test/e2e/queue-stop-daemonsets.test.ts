import { expect, test } from 'vitest'
import { adminKubeconfig } from '../../src/dev/index.ts'
import { type KubeObject, type PodObject, resources } from '../../src/kube/index.ts'
import { eventually } from '../support/e2e-cluster.ts'
import { fettle } from '../support/fettle-process.ts'
import { interceptWrites } from '../support/intercepted-client.ts'
import {
  cordonOf,
  inService,
  listOf,
  patient,
  pinnedTo,
  prepareQueue,
  type QueueGround,
  stays,
  useCrds,
} from '../support/queue-cluster.ts'

useCrds()

const taintKey = 'drain.fettle.dev/stopped-daemonsets'
const taint = { key: taintKey, value: 'queue', effect: 'NoSchedule' }
const appOf = ({ metadata }: PodObject) => metadata.labels?.['app']

/** A DaemonSet of this node alone; answers the UID of its pod when it runs. */
async function addDaemonSet(ground: QueueGround, node: string, app: string, tolerations: object[] = []) {
  const { admin, namespace } = ground
  await admin.create(resources.daemonSets, {
    metadata: { name: app, namespace },
    spec: {
      selector: { matchLabels: { app } },
      template: { metadata: { labels: { app } }, spec: { ...pinnedTo(node), tolerations } },
    },
  } as KubeObject)
  return uidOf(ground, node, app)
}

async function uidOf(ground: QueueGround, node: string, app: string): Promise<string> {
  const [pod] = await ground.untilRunning(node, app, 1)
  return pod?.metadata.uid ?? ''
}

async function stopTaints(ground: QueueGround, node: string) {
  return ((await ground.node(node)).spec?.taints ?? []).filter(({ key }) => key === taintKey)
}

/** Pods of an app, those that no node runs included. */
async function podsOf({ admin, namespace }: QueueGround, app: string): Promise<PodObject[]> {
  return listOf<PodObject>(admin, resources.pods, { namespace, labelSelector: `app=${app}` })
}

test('a DaemonSet to stop leaves after all others, stays away while the node is out, and comes back with it', async (context) => {
  const ground = await prepareQueue(context)
  const { admin, namespace } = ground
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'web', replicas: 3 })
  const shipper = await addDaemonSet(ground, node, 'shipper')
  const bystander = await addDaemonSet(ground, node, 'bystander')
  await ground.setBudget({ defaults: { drain: { stopDaemonSets: [{ namespace, name: 'shipper' }] } } })
  const atItsTurn: ReadonlySet<string | undefined>[] = []
  const watching = interceptWrites(admin, async (write, send) => {
    if (write === `evict ${shipper}`) atItsTurn.push(new Set((await ground.podsOn(node)).map(appOf)))
    return send()
  })
  await ground.startQueue({ client: watching })
  const { metadata } = await ground.ask(node)
  const granted = await ground.untilPhase(metadata.name, 'Granted')
  expect(atItsTurn).toEqual([new Set(['shipper', 'bystander'])])
  expect(granted.status?.drain).toMatchObject({ total: 4, left: 0 })
  expect(await stopTaints(ground, node)).toEqual([taint])
  await stays(async () => {
    expect(await podsOf(ground, 'shipper')).toEqual([])
    expect((await ground.podsOn(node)).map((pod) => pod.metadata.uid)).toEqual([bystander])
  }, 3_000)

  await ground.want(metadata.name, 'Return')
  await ground.untilPhase(metadata.name, 'Done')
  expect(await cordonOf(ground, node)).toEqual(inService)
  expect(await stopTaints(ground, node)).toEqual([])
  expect(await uidOf(ground, node, 'shipper')).not.toBe(shipper)
  expect(await uidOf(ground, node, 'bystander')).toBe(bystander)
})

test('a DaemonSet that tolerates everything stays, and preview and status say so; a name that nobody has is a warning', async (context) => {
  const ground = await prepareQueue(context)
  const { namespace, record } = ground
  const node = await ground.addNode()
  const shipper = await addDaemonSet(ground, node, 'shipper')
  const stubborn = await addDaemonSet(ground, node, 'stubborn', [{ operator: 'Exists' }])
  const names = ['shipper', 'stubborn', 'shiper']
  const why = `DaemonSet ${namespace}/stubborn cannot be stopped: it tolerates the taint ${taintKey} and would start its pod again; write keys into its tolerations, or take it off the list`

  const { code, stdout, stderr } = await fettle([
    ...['node', 'drain', node, '--preview', '--kubeconfig', adminKubeconfig(record), '-o', 'json'],
    ...names.flatMap((name) => ['--stop-daemonset', `${namespace}/${name}`]),
  ])
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({
    pods: [
      {
        pod: expect.stringContaining(`${namespace}/shipper-`) as string,
        leaves: 'now',
        dryRun: 'accepted',
        why: 'DaemonSet shipper is to be stopped: it goes last, and starts again when the node is back',
      },
      { pod: expect.stringContaining(`${namespace}/stubborn-`) as string, leaves: 'stays', why },
    ],
    warnings: [
      `DaemonSet ${namespace}/shiper is to be stopped, and does not exist: look at its namespace and its name`,
    ],
  })
  expect(await uidOf(ground, node, 'shipper')).toBe(shipper)

  await ground.startQueue()
  const drain = { stopDaemonSets: names.map((name) => ({ namespace, name })) }
  const { metadata } = await ground.ask(node, { drain })
  const { status } = await ground.untilPhase(metadata.name, 'Granted')
  expect(status?.conditions?.find(({ type }) => type === 'Drained')).toMatchObject({
    status: 'True',
    message: `all pods have left; ${why}`,
  })
  expect((await ground.podsOn(node)).map((pod) => pod.metadata.uid)).toEqual([stubborn])
})

test('wherever the controller dies, the pod is evicted once and the taint goes with the cordon', async (context) => {
  const ground = await prepareQueue(context)
  const { admin, namespace } = ground
  const node = await ground.addNode()
  await addDaemonSet(ground, node, 'shipper')
  const drain = { stopDaemonSets: [{ namespace, name: 'shipper' }] }
  // The cordon brings the taint and is the first change of the node; the second one gives it back.
  for (const [nth, write, when] of [
    [1, `patch nodes/${node}`, 'before the answer is seen'],
    [1, 'evict', 'before it is sent'],
    [1, 'evict', 'before the answer is seen'],
    [2, `patch nodes/${node}`, 'before it is sent'],
    [2, `patch nodes/${node}`, 'before the answer is seen'],
  ] as const) {
    const before = await uidOf(ground, node, 'shipper')
    const evictions: string[] = []
    const counting = interceptWrites(admin, async (sent, send) => {
      const answer = await send()
      if (sent.startsWith('evict ')) evictions.push(sent)
      return answer
    })
    const crash = new AbortController()
    let seen = 0
    const doomed = interceptWrites(counting, async (sent, send) => {
      crash.signal.throwIfAborted()
      if (!sent.startsWith(write) || sent.endsWith('/status') || ++seen < nth) return send()
      if (when === 'before the answer is seen') await send()
      crash.abort(new Error('the process died'))
      throw crash.signal.reason
    })
    const first = await ground.startQueue({ client: doomed, signal: crash.signal })
    const { metadata } = await ground.ask(node, { drain })
    if (nth === 2) {
      await ground.untilPhase(metadata.name, 'Granted')
      await ground.want(metadata.name, 'Return')
    }
    await eventually(async () => expect(crash.signal.aborted).toBe(true), patient)
    const second = await ground.startQueue({ client: counting })
    if (nth === 1) {
      await ground.untilPhase(metadata.name, 'Granted')
      await ground.want(metadata.name, 'Return')
    }
    await ground.untilPhase(metadata.name, 'Done')
    expect(await cordonOf(ground, node)).toEqual(inService)
    expect(await stopTaints(ground, node)).toEqual([])
    expect(evictions).toEqual([`evict ${before}`])
    await Promise.all([first.stop(), second.stop()])
  }
}, 180_000)

test('a list in a request that does not cordon is refused with a sentence', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  const service = { cordon: false, drain: true }
  const drain = { stopDaemonSets: [{ namespace: 'kube-system', name: 'log' }] }
  await expect(ground.ask(node, { service, drain })).rejects.toThrow(
    'stopDaemonSets does nothing unless service.cordon and service.drain are true',
  )
  await ground.ask(node, { service, drain: { stopDaemonSets: [] } })
})
