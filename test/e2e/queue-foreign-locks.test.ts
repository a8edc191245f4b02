import { describe, expect, test } from 'vitest'
import { type MaintenanceRequest, maintenanceRequests } from '../../src/api/index.ts'
import { type KubeClient, type KubeObject, resources } from '../../src/kube/index.ts'
import { eventually, type Test } from '../support/e2e-cluster.ts'
import { adminEntries, connectWith, writeKubeconfig } from '../support/e2e-identity.ts'
import { interceptWrites } from '../support/intercepted-client.ts'
import { playAgent } from '../support/played-agent.ts'
import {
  cordonOf,
  inService,
  listOf,
  patient,
  prepareQueue,
  type QueueGround,
  slotsOf,
  stays,
  useCrds,
} from '../support/queue-cluster.ts'

useCrds()

const keys = { kured: 'weave.works/kured-node-lock', kustodian: 'k8s.io/kustodian-node-lock' } as const
type Program = keyof typeof keys
const created = '2026-01-01T10:00:00.123456789Z'
const theirs = (nodeID: string) => ({ nodeID, metadata: { unschedulable: false }, created, TTL: 0 })

/** A DaemonSet of another program; no node of this cluster runs its pods. */
async function addDaemonSet(test: Test, { admin, namespace }: QueueGround, name: Program, lock?: object) {
  const labels = { app: name }
  await admin.create<KubeObject>(resources.daemonSets, {
    metadata: { name, namespace, ...(lock ? { annotations: { [keys[name]]: JSON.stringify(lock) } } : {}) },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { nodeSelector: { nowhere: 'none' }, containers: [{ name: 'main', image: 'none.invalid/nothing' }] },
      },
    },
  } as KubeObject)
  test.onTestFinished(() => removeDaemonSet(admin, namespace, name).catch(() => undefined))
}

const removeDaemonSet = (admin: KubeClient, namespace: string, name: string) =>
  admin.delete(resources.daemonSets, { namespace, name }, { uid: 'any' })

async function writeLock({ admin, namespace }: QueueGround, name: Program, lock: object | null): Promise<void> {
  const annotations = { [keys[name]]: lock && JSON.stringify(lock) }
  const ref = { namespace, name }
  await admin.patch(resources.daemonSets, ref, { type: 'merge', body: { metadata: { annotations } } })
}

async function lockOf({ admin, namespace }: QueueGround, name: Program): Promise<unknown> {
  const { metadata } = await admin.get<KubeObject>(resources.daemonSets, { namespace, name })
  const text = metadata.annotations?.[keys[name]]
  return text === undefined ? undefined : JSON.parse(text)
}

const untilLock = (ground: QueueGround, name: Program, expected: unknown) =>
  eventually(async () => expect(await lockOf(ground, name)).toEqual(expected), patient)

/** What the programs read of it; the name is that of no node, so none of their daemons takes it for its own. */
const oursFor = async (ground: QueueGround, node: string) => ({
  nodeID: `fettle/${node}`,
  metadata: { unschedulable: false },
  created: expect.stringMatching(/Z$/),
  TTL: expect.any(Number),
  fettle: (await ground.node(node)).metadata.uid,
})

const entry = ({ namespace }: QueueGround, program: 'Kured' | 'Kustodian', more: object) => ({
  program,
  namespace,
  ...more,
})

async function untilWaiting(ground: QueueGround, request: string, waiting: object): Promise<void> {
  await eventually(async () => {
    const { status } = await ground.request(request)
    expect(status?.waiting, JSON.stringify(status)).toMatchObject(waiting)
  }, patient)
}

describe('a lock that is held too', () => {
  test('is taken before the slot, let go after it, and lets one node out at a time', async (context) => {
    const ground = await prepareQueue(context)
    await addDaemonSet(context, ground, 'kustodian')
    const writes: string[] = []
    const client = interceptWrites(ground.admin, async (write, send) => {
      const answer = await send()
      if (/daemonsets|maintenancebudgets/.test(write)) writes.push(write)
      return answer
    })
    await ground.setBudget({ max: 5, foreignLocks: [entry(ground, 'Kustodian', { hold: true })] })
    await ground.startQueue({ client })
    const [a, b] = [await ground.addNode(), await ground.addNode()]
    const first = await ground.ask(a)
    await ground.untilPhase(first.metadata.name, 'Granted')
    expect(await lockOf(ground, 'kustodian')).toEqual(await oursFor(ground, a))
    const second = await ground.ask(b)
    await untilWaiting(ground, second.metadata.name, {
      for: 'Budget',
      message: expect.stringContaining('may be out while the lock of another program is held with it'),
    })
    await ground.want(first.metadata.name, 'Return')
    await ground.untilPhase(second.metadata.name, 'Granted')
    expect(await lockOf(ground, 'kustodian')).toEqual(await oursFor(ground, b))
    await ground.want(second.metadata.name, 'Return')
    await ground.untilPhase(second.metadata.name, 'Done')
    await untilLock(ground, 'kustodian', undefined)
    expect(writes.filter((write) => write.includes('daemonsets'))).toHaveLength(4)
  })

  test('waits for who holds it, and lets the others of several be', async (context) => {
    const ground = await prepareQueue(context)
    const others = { maxOwners: 2, locks: [theirs('n1'), theirs('n2')] }
    await addDaemonSet(context, ground, 'kured', others)
    await ground.setBudget({ foreignLocks: [entry(ground, 'Kured', { hold: true })] })
    await ground.startQueue()
    const node = await ground.addNode()
    const { metadata } = await ground.ask(node)
    await untilWaiting(ground, metadata.name, {
      for: 'ForeignLock',
      message: `node n1 holds the lock of kured on DaemonSet ${ground.namespace}/kured`,
    })
    expect(await lockOf(ground, 'kured')).toEqual(others)
    await writeLock(ground, 'kured', { maxOwners: 2, locks: [theirs('n2')] })
    await ground.untilPhase(metadata.name, 'Granted')
    expect(await lockOf(ground, 'kured')).toEqual({ maxOwners: 2, locks: [theirs('n2'), await oursFor(ground, node)] })
    await ground.want(metadata.name, 'Return')
    await ground.untilPhase(metadata.name, 'Done')
    await untilLock(ground, 'kured', { maxOwners: 2, locks: [theirs('n2')] })
  })

  test('that was lost while the node is out is taken again', async (context) => {
    const ground = await prepareQueue(context)
    await addDaemonSet(context, ground, 'kustodian')
    await ground.setBudget({ foreignLocks: [entry(ground, 'Kustodian', { hold: true })] })
    await ground.startQueue()
    const node = await ground.addNode()
    const { metadata } = await ground.ask(node)
    await ground.untilPhase(metadata.name, 'Granted')
    await writeLock(ground, 'kustodian', null)
    await untilLock(ground, 'kustodian', await oursFor(ground, node))
  })

  test.for(['before it is sent', 'before the answer is seen'] as const)(
    'survives a controller that dies at its claim, %s',
    async (when, context) => {
      const ground = await prepareQueue(context)
      await addDaemonSet(context, ground, 'kustodian')
      await ground.setBudget({ foreignLocks: [entry(ground, 'Kustodian', { hold: true })] })
      const crash = new AbortController()
      let isLocked = false
      const doomed = interceptWrites(ground.admin, async (write, send) => {
        crash.signal.throwIfAborted()
        if (write.startsWith('patch daemonsets')) isLocked = true
        if (!isLocked || write !== 'replace maintenancebudgets/cluster/status') return send()
        if (when === 'before the answer is seen') await send()
        crash.abort(new Error('the process died'))
        throw crash.signal.reason
      })
      const first = await ground.startQueue({ client: doomed, signal: crash.signal })
      const node = await ground.addNode()
      const { metadata } = await ground.ask(node)
      await eventually(async () => expect(crash.signal.aborted).toBe(true), patient)
      await first.stop()
      expect(await lockOf(ground, 'kustodian')).toEqual(await oursFor(ground, node))
      const slots = await slotsOf(ground)
      expect(slots).toHaveLength(when === 'before it is sent' ? 0 : 1)
      // Nobody claims any more: the lock must not stay behind.
      await ground.want(metadata.name, 'Return')
      await ground.startQueue()
      await ground.untilPhase(metadata.name, 'Done')
      await untilLock(ground, 'kustodian', undefined)
      expect(await slotsOf(ground)).toEqual([])
      expect(await cordonOf(ground, node)).toEqual(inService)
    },
  )

  test('whose DaemonSet goes lets nobody out until it is back; where there never was one, nothing is held', async (context) => {
    const ground = await prepareQueue(context)
    await addDaemonSet(context, ground, 'kured')
    const held = (name: 'Kured' | 'Kustodian') =>
      ground.setBudget({ foreignLocks: [entry(ground, name, { hold: true })] })
    await held('Kured')
    await ground.startQueue()
    const node = await ground.addNode()
    const first = await ground.ask(node)
    await ground.untilPhase(first.metadata.name, 'Granted')
    await removeDaemonSet(ground.admin, ground.namespace, 'kured')
    await ground.want(first.metadata.name, 'Return')
    await ground.untilPhase(first.metadata.name, 'Done')
    const second = await ground.ask(node)
    await untilWaiting(ground, second.metadata.name, {
      for: 'ForeignLock',
      message: expect.stringContaining('is to be held, and the DaemonSet is gone'),
    })
    await addDaemonSet(context, ground, 'kured')
    await ground.untilPhase(second.metadata.name, 'Granted')
    await ground.want(second.metadata.name, 'Return')
    await ground.untilPhase(second.metadata.name, 'Done')
    await held('Kustodian')
    const third = await ground.ask(node)
    await ground.untilPhase(third.metadata.name, 'Granted')
  })

  test('that may not be written lets nobody out, and says which right is missing', async (context) => {
    const ground = await prepareQueue(context)
    await addDaemonSet(context, ground, 'kured')
    const powerless = writeKubeconfig(context, ground, { ...adminEntries(ground).user, as: 'nobody-in-particular' })
    const nobody = await connectWith(context, powerless)
    const client: KubeClient = {
      ...interceptWrites(ground.admin, (_, send) => send()),
      patch: (resource, ...rest) => (resource.plural === 'daemonsets' ? nobody : ground.admin).patch(resource, ...rest),
    }
    await ground.setBudget({ foreignLocks: [entry(ground, 'Kured', { hold: true })] })
    await ground.startQueue({ client })
    const { metadata } = await ground.ask(await ground.addNode())
    await untilWaiting(ground, metadata.name, {
      for: 'ForeignLock',
      message: expect.stringContaining('may not be written: let the controller get and patch this DaemonSet'),
    })
    // Nothing is written, and no token spent, by trying in vain.
    const before = await ground.budget()
    await stays(
      async () => expect((await ground.budget()).metadata.resourceVersion).toBe(before.metadata.resourceVersion),
      1_000,
    )
    expect(before.status).toMatchObject({ slots: [], nextToken: 1 })
  })
})

describe('a maintenance that another program has begun', () => {
  async function untilImported(ground: QueueGround, node: string): Promise<MaintenanceRequest> {
    return eventually(async () => {
      const all = await listOf<MaintenanceRequest>(ground.admin, maintenanceRequests)
      const [found, ...others] = all.filter(({ spec }) => spec.nodeName === node)
      expect(others).toEqual([])
      expect(found?.metadata.name).toMatch(new RegExp(`^${node}-imported-[0-9a-f]{5}$`))
      if (!found) throw new Error('there is none')
      return found
    }, patient)
  }

  test('is taken over: it goes on here, others wait, and its lock goes with it', async (context) => {
    const ground = await prepareQueue(context)
    // Cordoned by that program, and schedulable before.
    const [node, other] = [await ground.addNode({ isCordoned: true }), await ground.addNode()]
    await addDaemonSet(context, ground, 'kustodian', theirs(node))
    await ground.setBudget({ max: 5, foreignLocks: [entry(ground, 'Kustodian', { takeOver: true })] })
    await ground.startQueue()
    const { metadata, spec } = await untilImported(ground, node)
    const name = metadata.name ?? ''
    expect(spec).toMatchObject({
      source: { kind: 'Imported', key: `Kustodian ${ground.namespace}/kustodian` },
      work: 'Host',
    })
    const waiting = await ground.ask(other)
    await untilWaiting(ground, waiting.metadata.name, {
      for: 'ForeignLock',
      message: expect.stringContaining(`node ${node} holds the lock of Kustodian`),
    })
    const agent = playAgent(context, ground, node)
    await agent.report(name, { request: 'Present', permission: 'Present' })
    await ground.untilPhase(name, 'Granted')
    expect(await lockOf(ground, 'kustodian')).toEqual(theirs(node))
    await agent.report(name, { request: 'Absent', permission: 'Absent' })
    await ground.untilPhase(name, 'Done')
    await untilLock(ground, 'kustodian', undefined)
    expect(await cordonOf(ground, node)).toEqual(inService)
    await ground.untilPhase(waiting.metadata.name, 'Granted')
  })

  test('of kured ends by a word, and a new lock of the same node is a new one', async (context) => {
    const ground = await prepareQueue(context)
    const node = await ground.addNode()
    await addDaemonSet(context, ground, 'kured', theirs(node))
    await ground.setBudget({ foreignLocks: [entry(ground, 'Kured', { takeOver: true, hold: true })] })
    await ground.startQueue()
    const { metadata, spec } = await untilImported(ground, node)
    expect(spec.work).toBe('External')
    await ground.untilPhase(metadata.name ?? '', 'Granted')
    expect(await lockOf(ground, 'kured')).toEqual(theirs(node))
    // Deleted, it goes home and takes its lock with it; it is not made anew.
    await ground.admin.delete(maintenanceRequests, { name: metadata.name ?? '' }, { uid: 'any' })
    await untilLock(ground, 'kured', undefined)
    await eventually(async () => expect(await listOf(ground.admin, maintenanceRequests)).toEqual([]), patient)
    await writeLock(ground, 'kured', { ...theirs(node), created: '2026-01-02T10:00:00Z' })
    expect((await untilImported(ground, node)).metadata.name).not.toBe(metadata.name)
  })
})
