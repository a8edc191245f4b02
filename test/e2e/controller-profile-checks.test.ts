import { randomBytes } from 'node:crypto'
import { describe, expect, type TestContext, test } from 'vitest'
import { type Lease, type NodeObject, type PodObject, resources } from '../../src/kube/index.ts'
import type { Fields } from '../../src/profiles/fields.ts'
import { createFor, nodeOf, passOf } from '../../src/profiles/fixture-pass.ts'
import { dataAnnotation, profileLabel, stateLabel } from '../../src/profiles/names.ts'
import type { Check, ClusterView, PassContext, Plugin } from '../../src/profiles/plugin.ts'
import { affinity } from '../../src/profiles/plugins/check/affinity.ts'
import { maxMaintenance } from '../../src/profiles/plugins/check/max-maintenance.ts'
import { prometheusInstant } from '../../src/profiles/plugins/check/prometheus-instant.ts'
import { stagger } from '../../src/profiles/plugins/check/stagger.ts'
import { boundPod, type Ground, prepareGround } from '../support/e2e-cluster.ts'
import { hasPrometheus, type Prometheus, startPrometheus } from '../support/prometheus.ts'
import { listOf, prepareQueue, type QueueGround, useCrds } from '../support/queue-cluster.ts'

useCrds()

async function askOf<F extends Fields>(
  plugin: Plugin<Check, F>,
  given: Parameters<typeof createFor<Check, F>>[1],
  pass: PassContext,
) {
  return await createFor(plugin, given).check(pass)
}

describe('stagger', () => {
  const hour = 3_600_000

  function turns(
    { admin, namespace, signal }: Ground,
    config: { readonly duration: number; readonly parallel?: number },
  ) {
    const check = createFor(stagger, { leaseName: 'turn', leaseNamespace: namespace, ...config })
    const sinceMs = Date.now() - hour
    const pass = (node: string, transitionMs = sinceMs) =>
      passOf({ node: nodeOf(node), nowMs: Date.now(), transitionMs, client: admin, signal })
    return {
      passes: async (node: string, transitionMs?: number) => (await check.check(pass(node, transitionMs))).isPassed,
      take: async (node: string) => await check.take?.(pass(node)),
      leases: async () => {
        const found = await listOf<Lease>(admin, resources.leases, { namespace })
        return found
          .map(({ metadata, spec }) => `${metadata.name} ${spec?.holderIdentity} ${spec?.leaseTransitions}`)
          .sort()
      },
    }
  }

  test('a Lease is created when it is taken, keeps others out, and goes to the next one when it has run out', async (context) => {
    const ground = await prepareGround(context)
    const { passes, take, leases } = turns(ground, { duration: 2_000 })
    expect(await passes('n1')).toBe(true)
    expect(await leases()).toEqual([])
    await take('n1')
    expect(await leases()).toEqual(['turn-0 n1 0'])
    // Carried out: the profile is in its new state from now on.
    expect([await passes('n1', Date.now()), await passes('n2')]).toEqual([false, false])
    // Not carried out, because somebody died in between.
    expect(await passes('n1')).toBe(true)
    await take('n1')
    expect(await leases()).toEqual(['turn-0 n1 0'])
    await expect.poll(() => passes('n2'), { timeout: 20_000, interval: 100 }).toBe(true)
    await take('n2')
    expect(await leases()).toEqual(['turn-0 n2 1'])
  })

  test.for([1, 2])(
    'of eight nodes at once exactly %d get a Lease, whether there is one already or not',
    async (parallel, context) => {
      const ground = await prepareGround(context)
      const { passes, take, leases } = turns(ground, { duration: 2_000, parallel })
      for (const round of [1, 2]) {
        const nodes = Array.from({ length: 8 }, (_, index) => `r${round}-${index}`)
        await expect.poll(() => passes('anybody'), { timeout: 20_000, interval: 100 }).toBe(true)
        // Until all of them have run out.
        if (round === 2) await new Promise((resolve) => setTimeout(resolve, 2_100))
        const taken = await Promise.allSettled(nodes.map(take))
        const winners = nodes.filter((_, index) => taken[index]?.status === 'fulfilled')
        expect(winners).toHaveLength(parallel)
        const held = (await leases()).map((text) => text.split(' ')[1])
        expect(new Set(held)).toEqual(new Set(winners))
        for (const one of taken)
          if (one.status === 'rejected') expect(String(one.reason)).toContain('other nodes have taken all Leases')
      }
    },
  )

  test('a Lease as the original leaves it is read and taken', async (context) => {
    const ground = await prepareGround(context)
    const { passes, take, leases } = turns(ground, { duration: hour })
    const past = new Date(Date.now() - 2 * hour).toISOString().replace('Z', '000Z')
    await ground.admin.create<Lease>(resources.leases, {
      metadata: { name: 'turn-0', namespace: ground.namespace },
      spec: { holderIdentity: 'n9', acquireTime: past, renewTime: past, leaseDurationSeconds: 3_600 },
    })
    expect(await passes('n1')).toBe(true)
    await take('n1')
    expect(await leases()).toEqual(['turn-0 n1 0'])
    expect(await passes('n2')).toBe(false)
  })
})

/** What a controller would see: read once, as a whole. */
async function viewOf({ admin, namespace }: QueueGround): Promise<ClusterView & { node(name: string): NodeObject }> {
  const nodes = await listOf<NodeObject>(admin, resources.nodes, { labelSelector: `e2e.fettle.dev/queue=${namespace}` })
  const pods = await listOf<PodObject>(admin, resources.pods, { namespace })
  return {
    nodes: () => nodes,
    podsOn: (name) => pods.filter(({ spec }) => spec?.nodeName === name),
    node(name) {
      const found = nodes.find(({ metadata }) => metadata.name === name)
      if (!found) throw new Error(`there is no node ${name}`)
      return found
    },
  }
}

async function setState({ admin }: Ground, name: string, state: string): Promise<void> {
  const entry = { Transition: new Date().toISOString(), Current: state, Previous: state }
  const annotations = { [dataAnnotation]: JSON.stringify({ Profiles: { block: entry }, Notifications: {} }) }
  await admin.patch(resources.nodes, { name }, { type: 'merge', body: { metadata: { annotations } } })
}

async function addAffinityPod({ admin, namespace }: Ground, nodeName: string): Promise<void> {
  const preference = { matchExpressions: [{ key: stateLabel, operator: 'In', values: ['operational'] }] }
  const preferredDuringSchedulingIgnoredDuringExecution = [{ weight: 1, preference }]
  const pod = boundPod(namespace, `p-${randomBytes(3).toString('hex')}`, nodeName)
  const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution }
  await admin.create<PodObject>(resources.pods, {
    ...pod,
    spec: { ...pod.spec, affinity: { nodeAffinity } },
  } as PodObject)
}

test('affinity: a node with pods that prefer operational nodes waits for one without', async (context) => {
  const ground = await prepareQueue(context)
  const [one, other] = [await ground.addNode(), await ground.addNode()]
  for (const name of [one, other]) await setState(ground, name, 'maintenance-required')
  const ask = async (name: string, minOperational = 0) => {
    const cluster = await viewOf(ground)
    const pass = passOf({ node: cluster.node(name), profile: 'block', state: 'maintenance-required' })
    return askOf(affinity, { minOperational }, { ...pass, cluster })
  }
  await ground.admin.create(resources.pods, boundPod(ground.namespace, 'plain', one))
  expect([(await ask(one)).isPassed, (await ask(other)).isPassed]).toEqual([true, true])
  await addAffinityPod(ground, one)
  expect(await ask(one)).toEqual({
    isPassed: false,
    info: { reason: `node ${other} has no pods that prefer operational nodes, and goes first` },
  })
  expect((await ask(other)).isPassed).toBe(true)
  await addAffinityPod(ground, other)
  expect([(await ask(one)).isPassed, (await ask(other)).isPassed]).toEqual([true, true])
  const third = await ground.addNode()
  await setState(ground, third, 'maintenance-required')
  expect((await ask(one, 1)).isPassed).toBe(false)
  await setState(ground, third, 'operational')
  expect((await ask(one, 1)).isPassed).toBe(true)
})

test('maxMaintenance: a label that somebody took away does not make room', async (context) => {
  const ground = await prepareQueue(context)
  const labels = { [stateLabel]: 'in-maintenance', [profileLabel]: 'block' }
  const [one, other] = [await ground.addNode({ labels }), await ground.addNode()]
  await setState(ground, one, 'in-maintenance')
  const ask = async () => {
    const cluster = await viewOf(ground)
    return askOf(maxMaintenance, { max: 1 }, { ...passOf({ node: cluster.node(other) }), cluster })
  }
  const full = { isPassed: false, info: { scope: 'cluster', maintained: 1, max: 1, nodes: [one] } }
  expect(await ask()).toEqual(full)
  const body = { metadata: { labels: { [stateLabel]: null } } }
  await ground.admin.patch(resources.nodes, { name: one }, { type: 'merge', body })
  expect(await ask()).toEqual(full)
  await setState(ground, one, 'operational')
  expect(await ask()).toMatchObject({ isPassed: true })
})

describe.skipIf(!hasPrometheus)('prometheusInstant (needs a Prometheus)', () => {
  async function ask(prometheus: Prometheus, config: object, context: TestContext) {
    const pass = passOf({ nowMs: Date.now(), signal: context.signal })
    return askOf(prometheusInstant, { url: prometheus.url, query: 'vector(1)', expr: 'value == 1', ...config }, pass)
  }

  test('a real Prometheus answers, refuses, and is gone', { timeout: 180_000 }, async (context) => {
    const prometheus = await startPrometheus(context)
    await prometheus.setAlerts({ alert: 'DiskFull' })
    const passes = async (config: object) => (await ask(prometheus, config, context)).isPassed
    expect(await ask(prometheus, {}, context)).toEqual({
      isPassed: true,
      info: { url: `${prometheus.url}/`, query: 'vector(1)', expr: 'value == 1', value: 1 },
    })
    expect(await passes({ expr: 'value < 1' })).toBe(false)
    expect(await passes({ expr: 'value - 1' })).toBe(false)
    expect(await passes({ expr: 'value in [1,2]' })).toBe(true)
    expect(await passes({ query: 'vector(1) / 0', expr: 'value > 1e300' })).toBe(true)
    expect(await passes({ query: 'count(ALERTS{alertname="DiskFull",alertstate="firing"})' })).toBe(true)
    expect(await passes({ query: 'ALERTS{alertname="Other"}', onEmpty: 'pass' })).toBe(true)
    expect(await passes({ query: 'ALERTS{alertname="Other"}', onEmpty: 'fail' })).toBe(false)
    await expect(passes({ query: 'no_such_metric' })).rejects.toThrow('the query gives no sample')
    await expect(passes({ query: 'scalar(vector(1))' })).rejects.toThrow('the query gives a scalar')
    await expect(passes({ query: 'vector(1) or label_replace(vector(2), "a", "b", "", "")' })).rejects.toThrow(
      '2 samples',
    )
    await expect(passes({ query: 'sum(' })).rejects.toThrow(/refuses the query: .*parse error/)
    await expect(passes({ url: `${prometheus.url}/nowhere` })).rejects.toThrow('answered 404')
    await prometheus.stop()
    await expect(passes({})).rejects.toThrow(`${prometheus.url} cannot be asked: ECONNREFUSED`)
  })
})
