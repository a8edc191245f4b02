import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build } from 'esbuild'
import { adminKubeconfig, bringUp, connectTo, takeDown } from '../src/dev/index.ts'
import { type Bench, type BenchOptions, type Metrics, medians, ratios } from './bench.ts'
import { createObjects, touchPods } from './watch-objects.ts'

const clusterName = 'bench-watch'
const burst = 5_000

/** How a contender is run. `turns` measures the longest turn of the event loop and nothing else: measuring costs. */
type Mode = 'cost' | 'turns'

/**
 * A controller's view of a large cluster: list and watch all nodes and pods with an index of pods by node, then
 * follow a burst of changes. Each contender is a bundled file in a fresh process, as a controller would be shipped.
 */
export const watchBench: Bench = async (options) => {
  const nodes = options.numbers['nodes'] ?? 5_000
  const pods = options.numbers['pods'] ?? 50_000
  const report = { working: options.log, finished: options.log }
  const folder = await mkdtemp(join(tmpdir(), 'fettle-bench-'))
  await takeDown(clusterName, report)
  try {
    const record = await bringUp(
      { name: clusterName, simulatedNodes: 0, zones: 1, realNodes: 0, components: ['etcd', 'kube-apiserver'] },
      report,
    )
    const client = await connectTo(record)
    const contenders = await bundleContenders(folder)
    const measure = (contender: string, share: number, runs: number) =>
      measureContender(contenders, contender, adminKubeconfig(record), () => touchPods(client, burst, pods * share), {
        ...options,
        runs,
      })
    try {
      const growth: Record<string, Metrics> = {}
      for (const share of [0.25, 0.5]) {
        await createObjects(client, { nodes: nodes * share, pods: pods * share }, options.log)
        growth[String(share)] = await measure('ours', share, 1)
      }
      await createObjects(client, { nodes, pods }, options.log)
      const ours = await measure('ours', 1, options.runs)
      const peers = { 'client-node': await measure('client-node', 1, options.runs) }
      const floor = await measure('floor', 1, options.runs)
      return {
        bench: 'watch',
        work: {
          nodes,
          pods,
          changes: burst,
          runs: options.runs,
          eventsPerSecond: 'changes delivered per second of CPU that the process spent on them',
          longestBlockMs: 'CPU time of the longest single turn of the event loop during the first sync',
        },
        ours,
        floor,
        peers,
        ratios: ratios(ours, peers),
        growth: { '0.25': growth['0.25'] ?? {}, '0.5': growth['0.5'] ?? {}, '1': ours },
      }
    } finally {
      client.close()
    }
  } finally {
    await takeDown(clusterName, report)
    await rm(folder, { recursive: true, force: true })
  }
}

async function bundleContenders(folder: string): Promise<string> {
  const names = ['ours', 'client-node', 'floor']
  await build({
    entryPoints: Object.fromEntries(
      names.map((name) => [name, join(import.meta.dirname, `watch-contender-${name}.ts`)]),
    ),
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    logLevel: 'error',
    banner: {
      js: "import { createRequire as createRequireOf } from 'node:module'; const require = createRequireOf(import.meta.url);",
    },
  })
  return folder
}

async function measureContender(
  folder: string,
  contender: string,
  kubeconfig: string,
  touch: () => Promise<void>,
  options: BenchOptions,
): Promise<Metrics> {
  const runs: Metrics[] = []
  for (let run = 0; run < options.runs; run++) {
    const cost = await runContender(folder, contender, kubeconfig, touch, 'cost')
    const turns = await runContender(folder, contender, kubeconfig, touch, 'turns')
    runs.push({ ...cost, ...turns })
    options.log(`${contender}, run ${run + 1}: ${JSON.stringify({ ...cost, ...turns })}`)
  }
  return medians(runs)
}

/** The contender says when it has synced, gets the changes, says its figures and ends. */
async function runContender(
  folder: string,
  contender: string,
  kubeconfig: string,
  touch: () => Promise<void>,
  mode: Mode,
): Promise<Metrics> {
  const child = spawn(process.execPath, [join(folder, `${contender}.mjs`)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, KUBECONFIG: kubeconfig, BENCH_MODE: mode, BENCH_CHANGES: String(burst) },
  })
  const deadline = setTimeout(() => child.kill('SIGKILL'), 5 * 60_000)
  let metrics: Metrics | undefined
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const message = JSON.parse(line) as { readonly synced?: true; readonly metrics?: Metrics }
      if (message.synced) await touch()
      if (message.metrics) metrics = message.metrics
    }
  } finally {
    clearTimeout(deadline)
    child.kill('SIGKILL')
  }
  if (!metrics) throw new Error(`${contender} ended without figures`)
  return metrics
}
