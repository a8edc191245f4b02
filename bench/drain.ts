import { adminKubeconfig, bringUp, type ClusterRecord, connectTo, takeDown } from '../src/dev/index.ts'
import type { KubeClient } from '../src/kube/index.ts'
import { type Bench, type BenchOptions, type Metrics, medians, ratios, round } from './bench.ts'
import { type Contender, kubectlContender, oursContender } from './drain-contenders.ts'
import { cases, type DrainCase, emptyNodes, followPods, layOut, target } from './drain-pods.ts'

const clusterName = 'bench-drain'

/**
 * From the wish to drain a node until its last pod is gone, with PodDisruptionBudgets and without, for pods that
 * stop at once and pods that take 2 to 10 s. The floor is the slowest pod: from the moment it was told to stop until it
 * was gone.
 */
export const drainBench: Bench = async (options) => {
  const pods = options.numbers['pods'] ?? 100
  const report = { working: options.log, finished: options.log }
  await takeDown(clusterName, report)
  try {
    const record = await bringUp({ name: clusterName, simulatedNodes: 4, zones: 1, realNodes: 0 }, report)
    const client = await connectTo(record)
    const ours = await oursContender(client, adminKubeconfig(record))
    try {
      // The first drain would be timed together with the start of the controller.
      await drainOnce(ours, client, cases[0] as DrainCase, 5)
      const growth: Record<string, Metrics> = {}
      for (const share of [0.25, 0.5])
        growth[String(share)] = (await measure(ours, client, Math.round(pods * share), { ...options, runs: 1 })).metrics
      const mine = await measure(ours, client, pods, options)
      const peers: Record<string, Metrics> = {}
      for (const { name, path } of options.peers)
        peers[name] = (await measure(await peer(name, path, client, record), client, pods, options)).metrics
      return {
        bench: 'drain',
        work: {
          pods,
          runs: options.runs,
          instantMs: 'pods that stop at once',
          slowMs: 'pods that take 2 to 10 s to stop',
          slowOverFloor: 'slowMs, over what the slowest pod took to stop',
          guardedMs: 'pods that stop at once, of which a tenth may be out at a time (PodDisruptionBudget)',
        },
        ours: mine.metrics,
        floor: mine.floor,
        peers,
        ratios: ratios(mine.metrics, peers),
        growth: { '0.25': growth['0.25'] ?? {}, '0.5': growth['0.5'] ?? {}, '1': mine.metrics },
      }
    } finally {
      await ours.stop()
      client.close()
    }
  } finally {
    await takeDown(clusterName, report)
  }
}

async function peer(name: string, path: string, client: KubeClient, record: ClusterRecord): Promise<Contender> {
  if (name === 'kubectl') return kubectlContender(client, path, adminKubeconfig(record))
  throw new Error(`--peer: only kubectl can drain a node here, not '${name}'`)
}

async function measure(
  contender: Contender,
  client: KubeClient,
  pods: number,
  options: BenchOptions,
): Promise<{ readonly metrics: Metrics; readonly floor: Metrics }> {
  const runs: Metrics[] = []
  const floors: Metrics[] = []
  for (let run = 0; run < options.runs; run++) {
    const metrics: Record<string, number> = {}
    const floor: Record<string, number> = {}
    for (const one of cases) {
      const { ms, slowestMs } = await drainOnce(contender, client, one, pods)
      metrics[one.metric] = ms
      floor[one.metric] = slowestMs
      if (one.metric === 'slowMs') metrics['slowOverFloor'] = round(ms / slowestMs)
    }
    options.log(`run ${run + 1}: ${JSON.stringify(metrics)}, slowest pods: ${JSON.stringify(floor)}`)
    runs.push(metrics)
    floors.push(floor)
  }
  return { metrics: medians(runs), floor: medians(floors) }
}

async function drainOnce(contender: Contender, client: KubeClient, one: DrainCase, pods: number) {
  await layOut(client, one, pods)
  const stop = new AbortController()
  try {
    const followed = await followPods(client, target, stop.signal)
    const startedAt = performance.now()
    const [{ lastGoneAt, slowestMs }] = await Promise.all([followed.empty, contender.drain()])
    return { ms: round(lastGoneAt - startedAt), slowestMs: round(slowestMs) }
  } finally {
    stop.abort()
    await contender.giveBack()
    await emptyNodes(client)
  }
}
