import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  budgetName,
  customResourceDefinitions,
  type MaintenanceRequest,
  maintenanceBudgets,
  maintenanceRequests,
} from '../src/api/index.ts'
import { adminKubeconfig, bringUp, connectTo, takeDown } from '../src/dev/index.ts'
import {
  type KubeClient,
  type KubeObject,
  type NodeObject,
  type ResourceCache,
  resources,
  SharedCaches,
} from '../src/kube/index.ts'
import { type Bench, type BenchOptions, type Metrics, medians, percentile, ratios } from './bench.ts'
import { countStolen } from './process-figures.ts'
import { createObjects } from './watch-objects.ts'

const clusterName = 'bench-queue'
const atOnce = 10
/**
 * Ends and new requests per second: 7,200 nodes in an hour, more than any fleet does. At 10 the API server itself, at about
 * 8 ms of CPU for each of a dozen writes, has nothing left on two cores, and every figure is its queue's.
 */
const perSecond = 2
const turns = 100

/**
 * How long the queue takes from an event to the accepted write that answers it, with many nodes and a long line. The
 * events come at a steady pace; what is measured is the answer to each of them.
 */
export const queueBench: Bench = async (options) => {
  const nodes = options.numbers['nodes'] ?? 5_000
  const requests = Math.round(nodes / 5)
  const report = { working: options.log, finished: options.log }
  await takeDown(clusterName, report)
  try {
    const record = await bringUp(
      { name: clusterName, simulatedNodes: 0, zones: 1, realNodes: 0, components: ['etcd', 'kube-apiserver'] },
      report,
    )
    const client = await connectTo(record)
    try {
      await installCrds(client)
      const growth: Record<string, Metrics> = {}
      const measure = async (share: number, runs: number) => {
        await createObjects(client, { nodes: nodes * share, pods: 0 }, options.log)
        return measureQueue(client, adminKubeconfig(record), nodes * share, Math.round(requests * share), {
          ...options,
          runs,
        })
      }
      for (const share of [0.25, 0.5]) growth[String(share)] = (await measure(share, 1)).ours
      const { ours, floor } = await measure(1, options.runs)
      return {
        bench: 'queue',
        work: {
          nodes,
          requests,
          atOnce,
          perSecond,
          runs: options.runs,
          decisionMs:
            'from a watch event to the accepted write; the floor is a read and then a write, with nothing to decide',
        },
        ours,
        floor,
        peers: {},
        ratios: ratios(ours, { floor }),
        growth: { '0.25': growth['0.25'] ?? {}, '0.5': growth['0.5'] ?? {}, '1': ours },
      }
    } finally {
      client.close()
    }
  } finally {
    await takeDown(clusterName, report)
  }
}

async function installCrds(client: KubeClient): Promise<void> {
  for (const definition of customResourceDefinitions())
    await client.apply(resources.customResourceDefinitions, definition as KubeObject, { fieldManager: 'bench' })
  for (const endAt = Date.now() + 30_000; ; await sleep(200))
    try {
      const spec = { max: atOnce, timing: { minReadySeconds: 0 } }
      await client.apply(maintenanceBudgets, { metadata: { name: budgetName }, spec } as KubeObject, {
        fieldManager: 'bench',
      })
      return
    } catch (error) {
      if (Date.now() > endAt) throw error
    }
}

async function measureQueue(
  client: KubeClient,
  kubeconfig: string,
  nodes: number,
  requests: number,
  options: BenchOptions,
): Promise<Measured> {
  const runs: Measured[] = []
  for (let run = 0; run < options.runs; run++) {
    const measured = await runOnce(client, kubeconfig, nodes, requests)
    options.log(`${nodes} nodes, ${requests} requests, run ${run + 1}: ${JSON.stringify(measured)}`)
    runs.push(measured)
  }
  return { ours: medians(runs.map(({ ours }) => ours)), floor: medians(runs.map(({ floor }) => floor)) }
}

interface Measured {
  readonly ours: Metrics
  readonly floor: Metrics
}

async function runOnce(client: KubeClient, kubeconfig: string, nodes: number, requests: number): Promise<Measured> {
  const over = new AbortController()
  const caches = new SharedCaches({ client, signal: over.signal })
  const line = new Line(client, nodes, caches.of<MaintenanceRequest>({ resource: maintenanceRequests }))
  await caches.waitForSync(over.signal)
  const child = fork(join(import.meta.dirname, 'queue-contender-ours.ts'), {
    execArgv: ['--import', 'tsx'],
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  try {
    await line.fill(requests)
    await line.untilCalm()
    child.send('begin')
    const stolenPercent = countStolen()
    const asked: number[] = []
    for (let turn = 0; turn < turns; turn++) {
      const startedMs = performance.now()
      const asking = line.ask().then(() => asked.push(performance.now() - startedMs))
      await Promise.all([line.endOne(), asking, sleep(1_000 / perSecond)])
    }
    await line.untilCalm()
    child.send('end')
    const [metrics] = (await once(child, 'message')) as [Metrics]
    return {
      ours: { ...metrics, stolenPercent: stolenPercent() },
      floor: { decisionMsP50: percentile(asked, 0.5), decisionMsP99: percentile(asked, 0.99) },
    }
  } finally {
    child.kill('SIGKILL')
    await line.empty()
    over.abort(new Error('the run is over'))
  }
}

/** Those who ask: as many at any time as were asked for. It watches, because lists would keep the API server busy. */
class Line {
  readonly #client: KubeClient
  readonly #nodes: number
  readonly #requests: ResourceCache<MaintenanceRequest>
  #next = 0

  constructor(client: KubeClient, nodes: number, requests: ResourceCache<MaintenanceRequest>) {
    this.#client = client
    this.#nodes = nodes
    this.#requests = requests
  }

  async fill(count: number): Promise<void> {
    for (let made = 0; made < count; made += 20)
      await Promise.all(Array.from({ length: Math.min(20, count - made) }, () => this.ask()))
  }

  async ask(): Promise<void> {
    const nodeName = `node-${this.#next % this.#nodes}`
    const name = `${nodeName}-bench-${this.#next++}`
    const { metadata } = await this.#client.get<NodeObject>(resources.nodes, { name: nodeName })
    await this.#client.create(maintenanceRequests, {
      metadata: { name },
      spec: {
        nodeName,
        nodeUID: metadata.uid,
        source: { kind: 'Person', key: name },
        reason: 'bench',
        work: 'External',
      },
    } as KubeObject)
  }

  /** Gives one node back, if one is out. */
  async endOne(): Promise<void> {
    const granted = [...this.#requests.values()].find(
      ({ spec, status }) => status?.phase === 'Granted' && spec.want === 'Out',
    )
    const name = granted?.metadata.name
    if (name)
      await this.#client.patch(maintenanceRequests, { name }, { type: 'merge', body: { spec: { want: 'Return' } } })
  }

  /** All have been taken in, and as many are out as may be. */
  async untilCalm(): Promise<void> {
    for (const endAt = Date.now() + 300_000; Date.now() < endAt; await sleep(500)) {
      const all = [...this.#requests.values()]
      const isTakenIn = all.every(({ status }) => status?.history !== undefined)
      const granted = all.filter(({ spec, status }) => status?.phase === 'Granted' && spec.want === 'Out')
      if (isTakenIn && granted.length === atOnce) return
    }
    throw new Error('the line does not become calm')
  }

  async empty(): Promise<void> {
    const all = [...this.#requests.values()]
    const remove = async ({ metadata: { name = '' } }: MaintenanceRequest) => {
      await this.#client.patch(maintenanceRequests, { name }, { type: 'merge', body: { metadata: { finalizers: [] } } })
      await this.#client.delete(maintenanceRequests, { name }, { uid: 'any' })
    }
    for (let done = 0; done < all.length; done += 20) await Promise.all(all.slice(done, done + 20).map(remove))
    for await (const page of this.#client.list<NodeObject>(resources.nodes))
      for (const { metadata } of page.items) {
        const { name = '', annotations = {} } = metadata
        if (annotations['cordon.fettle.dev/queue'] === undefined) continue
        const none = { 'cordon.fettle.dev/queue': null, 'fettle.dev/cordon-prior': null }
        const body = { metadata: { annotations: none }, spec: { unschedulable: null } }
        await this.#client.patch(resources.nodes, { name }, { type: 'merge', body })
      }
    await this.#client.patch(
      maintenanceBudgets,
      { name: budgetName },
      { type: 'merge', body: { status: { slots: [] } } },
      { subresource: 'status' },
    )
  }
}
