import { expect, test } from 'vitest'
import { budgetName, type MaintenanceBudget, maintenanceBudgets } from '../../src/api/index.ts'
import { setNotReady } from '../../src/dev/index.ts'
import { type KubeObject, type NodeObject, type Resource, resources } from '../../src/kube/index.ts'
import { eventually, type Test } from '../support/e2e-cluster.ts'
import {
  cordonOf,
  inService,
  isReady,
  listOf,
  patient,
  prepareQueue,
  type QueueGround,
  slotsOf,
  stays,
  useCrds,
} from '../support/queue-cluster.ts'

useCrds()

const [rack, pool, parked] = ['e2e.fettle.dev/rack', 'e2e.fettle.dev/pool', 'e2e.fettle.dev/parked']

async function untilWaiting(ground: QueueGround, request: string, waiting: object): Promise<void> {
  await eventually(async () => expect((await ground.request(request)).status?.waiting).toMatchObject(waiting), patient)
}

async function figures(ground: QueueGround) {
  const limits = (await ground.budget()).status?.limits ?? []
  return Object.fromEntries(limits.map(({ name, ...figure }) => [name, figure]))
}

test('every limit that a node counts in must hold: by group, without the label, and by share of a selection', async (context) => {
  const ground = await prepareQueue(context)
  const add = (labels: Record<string, string>) => ground.addNode({ labels })
  const [first, second, other, bare, bareToo, gpu, gpuToo] = (await Promise.all([
    add({ [rack]: '1' }),
    add({ [rack]: '1' }),
    add({ [rack]: '2' }),
    add({}),
    add({}),
    add({ [rack]: '3', [pool]: 'gpu' }),
    add({ [rack]: '4', [pool]: 'gpu' }),
    add({ [rack]: '5', [pool]: 'gpu' }),
  ])) as [string, string, string, string, string, string, string, string]
  await ground.setBudget({
    max: 20,
    limits: [
      { name: 'racks', groupBy: rack, max: 1 },
      { name: 'gpus', nodeSelector: { matchLabels: { [pool]: 'gpu' } }, max: '50%' },
    ],
  })
  await ground.startQueue()
  const out = []
  for (const node of [first, other, bare, gpu]) out.push((await ground.ask(node)).metadata.name)
  for (const request of out) await ground.untilPhase(request, 'Granted')

  const bareNodes = (await listOf(ground.admin, resources.nodes)).length - 6
  for (const [node, message] of [
    [second, `1 of 2 nodes of racks 1 may be out: ${first} is out since`],
    [bareToo, `1 of ${bareNodes} nodes of racks (no label) may be out: ${bare} is out since`],
    [gpuToo, `1 of 3 nodes of gpus may be out: ${gpu} is out since`],
  ] as const)
    await untilWaiting(ground, (await ground.ask(node)).metadata.name, {
      for: 'Budget',
      message: expect.stringContaining(message),
    })
  expect(await figures(ground)).toMatchObject({
    cluster: { max: 20, out: 4, withoutSlot: [] },
    'racks/1': { max: 1, out: 1 },
    'racks/2': { max: 1, out: 1 },
    'racks/': { max: 1, out: 1 },
    'racks/4': { max: 1, out: 0 },
    gpus: { max: 1, out: 1 },
  })
  const [slot] = (await slotsOf(ground)).filter(({ node }) => node === first)
  expect(slot?.groups).toEqual({ racks: '1' })

  await ground.want(out[0] ?? '', 'Return')
  await eventually(async () => {
    const nodes = (await slotsOf(ground)).map(({ node }) => node)
    expect(nodes).toContain(second)
    expect(nodes).not.toContain(first)
  }, patient)
})

test('nodes that never count take no place and need none; a control plane node that is down is the one that may be out', async (context) => {
  const ground = await prepareQueue(context)
  const controlPlane = { 'node-role.kubernetes.io/control-plane': '' }
  const [idle, plain, down, guarded] = (await Promise.all([
    ground.addNode({ labels: { [parked]: 'true' }, isCordoned: true }),
    ground.addNode(),
    ground.addNode({ labels: controlPlane }),
    ground.addNode({ labels: controlPlane }),
  ])) as [string, string, string, string]
  await setNotReady(ground.admin, down, 'KubeletStopped')
  await eventually(async () => expect(isReady(await ground.node(down))).toBe(false), patient)
  const spec = { max: 2, ignoreNodes: { matchLabels: { [parked]: 'true' } } }
  await ground.setBudget(spec)
  await ground.startQueue()
  // Two are out with it; the parked one is neither counted nor stopped.
  await ground.untilPhase((await ground.ask(plain)).metadata.name, 'Granted')
  await ground.untilPhase((await ground.ask(idle)).metadata.name, 'Granted')
  expect(await figures(ground)).toMatchObject({
    cluster: { max: 2, out: 2, withoutSlot: [`${down} NotReady`] },
    'control-plane': { max: 1, out: 1, withoutSlot: [`${down} NotReady`] },
  })

  await ground.setBudget({ ...spec, max: 3 })
  const { metadata } = await ground.ask(guarded)
  await untilWaiting(ground, metadata.name, {
    for: 'Budget',
    message: `1 of 2 control-plane nodes may be out: ${down} is NotReady, without a slot`,
  })
  // Neither what is counted nor what is ignored loosens the guard of the control plane.
  await ground.setBudget({ max: 3, countUnavailable: [], ignoreNodes: { matchLabels: controlPlane } })
  await eventually(async () => {
    expect(await figures(ground)).toMatchObject({ cluster: { withoutSlot: [] }, 'control-plane': { out: 1 } })
  }, patient)
  await stays(async () => expect((await ground.request(metadata.name)).status?.phase).toBe('Queued'), 1_000)
  await setNotReady(ground.admin, down, undefined)
  await ground.untilPhase(metadata.name, 'Granted')
})

test('a node that came back rests: its request is over, its slot counts on, and then the next one goes', async (context) => {
  const ground = await prepareQueue(context)
  const rests = followRests(context, ground)
  const [resting, node, next] = (await Promise.all([0, 1, 2].map(() => ground.addNode()))) as [string, string, string]
  const bring = async (request: string) => {
    await ground.untilPhase(request, 'Granted')
    await ground.want(request, 'Return')
    const { status } = await ground.untilPhase(request, 'Done')
    expect(status?.outcome).toBe('Completed')
  }
  await ground.setBudget({ max: 2, timing: { soak: '1h' } })
  await ground.startQueue()
  await bring((await ground.ask(resting)).metadata.name)
  expect(await slotsOf(ground)).toMatchObject([{ node: resting, requests: [], soakUntil: expect.any(String) }])
  expect(await cordonOf(ground, resting)).toEqual(inService)

  await ground.setBudget({ max: 2, timing: { soak: '1s' } })
  const { metadata } = await ground.ask(node)
  await ground.untilPhase(metadata.name, 'Granted')
  const waiting = await ground.ask(next)
  await untilWaiting(ground, waiting.metadata.name, {
    for: 'Budget',
    message: expect.stringContaining(`${resting} is out since`),
  })
  await bring(metadata.name)
  const granted = await ground.untilPhase(waiting.metadata.name, 'Granted')
  const [until = '', takenAt = ''] = [rests.get(node), granted.status?.slot?.takenAt]
  expect(Date.parse(takenAt)).toBeGreaterThanOrEqual(Date.parse(until))
  expect((await slotsOf(ground)).map((slot) => slot.node)).toEqual([resting, next])
})

test('a node says what is going on, from the announcement before the cordon until it is back, and then nothing', async (context) => {
  const ground = await prepareQueue(context)
  const node = await ground.addNode()
  await ground.addWorkload(node, { app: 'web', replicas: 2 })
  const states = followNode(context, ground, node)
  await ground.setBudget({ timing: { lead: '2s' } })
  await ground.startQueue()
  const { metadata } = await ground.ask(node, { reason: 'a new disk' })
  const granted = await ground.untilPhase(metadata.name, 'Granted')
  const { owner } = await cordonOf(ground, node)
  const since = Date.parse((owner as { readonly since: string }).since)
  expect(since - Date.parse(granted.status?.slot?.takenAt ?? '')).toBeGreaterThanOrEqual(2_000)
  await eventually(() => expect(states.at(-1)).toBe('cordoned Drained MaintenanceInProgress'), patient)
  const said = (await ground.node(node)).status?.conditions?.find(({ type }) => type === 'MaintenanceInProgress')
  expect(said).toMatchObject({ status: 'True', message: 'a new disk' })

  await ground.want(metadata.name, 'Return')
  await ground.untilPhase(metadata.name, 'Done')
  await eventually(() => expect(states.at(-1)).toBe(''), patient)
  expect(states).toEqual([
    '',
    'MaintenancePlanned',
    'cordoned MaintenancePlanned',
    'cordoned DrainInProgress MaintenancePlanned',
    'cordoned Drained MaintenanceInProgress',
    'cordoned',
    '',
  ])
  expect(await cordonOf(ground, node)).toEqual(inService)
})

const lifecycle = ['MaintenancePlanned', 'DrainInProgress', 'Drained', 'MaintenanceInProgress']

/** Each state of a node that differs from the one before it: whether it is cordoned, and what it says of its lifecycle. */
function followNode(test: Test, ground: QueueGround, name: string): readonly string[] {
  const states: string[] = []
  follow<NodeObject>(test, ground, resources.nodes, `metadata.name=${name}`, ({ spec, status }) => {
    const said = status?.conditions?.filter(({ type, status: is }) => lifecycle.includes(type) && is === 'True') ?? []
    const types = said.map(({ type }) => type).sort()
    const state = [...(spec?.unschedulable ? ['cordoned'] : []), ...types].join(' ')
    if (state !== states.at(-1)) states.push(state)
  })
  return states
}

/** Until when each node that came back was to rest, by the name of the node. */
function followRests(test: Test, ground: QueueGround): ReadonlyMap<string, string> {
  const rests = new Map<string, string>()
  follow<MaintenanceBudget>(test, ground, maintenanceBudgets, `metadata.name=${budgetName}`, ({ status }) => {
    for (const { node, soakUntil } of status?.slots ?? []) if (soakUntil) rests.set(node, soakUntil)
  })
  return rests
}

/** Sees every version of an object that is stored from now on. */
function follow<T extends KubeObject>(
  test: Test,
  { admin }: QueueGround,
  resource: Resource,
  fieldSelector: string,
  see: (object: T) => void,
): void {
  const stop = new AbortController()
  const watch = async () => {
    for await (const event of admin.watch<T>(resource, { signal: stop.signal, fieldSelector }))
      if (event.type !== 'BOOKMARK') see(event.object)
  }
  const watching = watch().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error
  })
  test.onTestFinished(async () => {
    stop.abort()
    await watching
  })
}

test('while another program holds its lock nobody goes; when it is free, over or gone, the line goes on', async (context) => {
  const ground = await prepareQueue(context)
  const { admin, namespace } = ground
  const held = {
    nodeID: 'node-1',
    metadata: { unschedulable: false },
    created: '2026-01-01T00:00:00.000000001Z',
    TTL: 0,
  }
  const ref = { name: 'kured', namespace }
  const lock = (key: string, value: object | string | null) => {
    const text = value === null || typeof value === 'string' ? value : JSON.stringify(value)
    const body = { metadata: { annotations: { [key]: text } } }
    return admin.patch(resources.daemonSets, ref, { type: 'merge', body })
  }
  await admin.create(resources.daemonSets, nowhere(ref))
  await ground.startQueue()
  const [kured, kustodian] = ['weave.works/kured-node-lock', 'k8s.io/kustodian-node-lock']
  for (const [key, value, message, free] of [
    [kured, held, `node node-1 holds the lock of kured on DaemonSet ${namespace}/kured`, null],
    [kured, { maxOwners: 2, locks: [held] }, 'node node-1 holds the lock of kured', { maxOwners: 2, locks: [] }],
    [kustodian, held, 'node node-1 holds the lock of Kustodian', { ...held, TTL: 1_000_000_000 }],
    [kustodian, 'who knows', 'cannot be read, so nobody knows whether it is held', ''],
  ] as const) {
    await lock(key, value)
    const node = await ground.addNode()
    const { metadata } = await ground.ask(node)
    await untilWaiting(ground, metadata.name, { for: 'ForeignLock', message: expect.stringContaining(message) })
    expect(await cordonOf(ground, node)).toEqual(inService)
    await lock(key, free)
    await ground.untilPhase(metadata.name, 'Granted')
    await ground.want(metadata.name, 'Return')
    await ground.untilPhase(metadata.name, 'Done')
  }
})

/** A DaemonSet that no node is right for. */
function nowhere({ name, namespace }: { readonly name: string; readonly namespace: string }): KubeObject {
  return {
    metadata: { name, namespace },
    spec: {
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          nodeSelector: { 'e2e.fettle.dev/none': 'true' },
          containers: [{ name: 'main', image: 'none.invalid/nothing' }],
        },
      },
    },
  } as KubeObject
}
