import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type MaintenanceRequest, maintenanceRequests } from '../src/api/index.ts'
import { adminKubeconfig, bringUp, connectTo, takeDown } from '../src/dev/index.ts'
import { runOk } from '../src/host/index.ts'
import { type KubeClient, type KubeObject, type NodeObject, resources } from '../src/kube/index.ts'
import { Witness } from '../test/load/witness.ts'
import { agentKubeconfig, agentToken } from '../test/support/agent-token.ts'
import { installCrds } from '../test/support/queue-cluster.ts'
import { type Bench, type Metrics, medians, percentile } from './bench.ts'
import { cpuSecondsOf, rssMiBOf } from './process-figures.ts'

const clusterName = 'bench-agent'
const nodeName = 'node-0'
const idleSeconds = 60
const files = 100

/**
 * What one agent costs the node that it runs on, and how soon a file becomes a request. The agent is the bundle that the
 * image has, as a process of this machine, on a folder of its own in place of the host's.
 */
export const agentBench: Bench = async (options) => {
  const report = { working: options.log, finished: options.log }
  const folder = mkdtempSync(join(tmpdir(), 'fettle-bench-agent-'))
  await takeDown(clusterName, report)
  try {
    await runOk([process.execPath, 'node_modules/.bin/tsx', 'scripts/build.ts', '--outdir', join(folder, 'dist')])
    const record = await bringUp(
      { name: clusterName, simulatedNodes: 0, zones: 1, realNodes: 0, components: ['etcd', 'kube-apiserver'] },
      report,
    )
    const client = await connectTo(record)
    try {
      await installCrds(client)
      await client.create<NodeObject>(resources.nodes, { metadata: { name: nodeName } })
      const token = await agentToken(client, nodeName)
      const kubeconfig = agentKubeconfig(adminKubeconfig(record), token, join(folder, 'kubeconfig'))
      const runs: Metrics[] = []
      for (let run = 0; run < options.runs; run++) {
        const metrics = await runOnce(client, folder, kubeconfig)
        options.log(`run ${run + 1}: ${JSON.stringify(metrics)}`)
        runs.push(metrics)
      }
      const ours = medians(runs)
      const work = { idleSeconds, files, node: process.version, runs: options.runs }
      // One agent has one node: there is no smaller share of the work.
      return { bench: 'agent', work, ours, peers: {}, ratios: {}, growth: { '0.25': ours, '0.5': ours, '1': ours } }
    } finally {
      client.close()
    }
  } finally {
    await takeDown(clusterName, report)
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runOnce(client: KubeClient, folder: string, kubeconfig: string): Promise<Metrics> {
  const host = mkdtempSync(join(folder, 'host-'))
  for (const name of ['var', 'run']) mkdirSync(join(host, name))
  const over = new AbortController()
  const writes = { count: 0 }
  const requests = new Witness<MaintenanceRequest>(client, maintenanceRequests, over.signal, () => writes.count++)
  const leases = new Witness<KubeObject>(client, resources.leases, over.signal, ({ metadata }) => {
    if (metadata.namespace === 'fettle-nodes') writes.count++
  })
  const agent = startAgent(folder, host, kubeconfig)
  try {
    await sleep(10_000)
    const [cpuBefore, writesBefore] = [cpuSecondsOf(agent.pid), writes.count]
    await sleep(idleSeconds * 1000)
    const cpuSecondsPerHour = ((cpuSecondsOf(agent.pid) - cpuBefore) * 3600) / idleSeconds
    const steadyStateWrites = writes.count - writesBefore
    const rssMiB = rssMiBOf(agent.pid)
    const waits: number[] = []
    for (let index = 0; index < files; index++) waits.push(await seenToRequest(client, requests, join(host, 'var')))
    return {
      rssMiB,
      cpuSecondsPerHour,
      steadyStateWrites,
      seenToRequestMsP50: percentile(waits, 0.5),
      seenToRequestMsP99: percentile(waits, 0.99),
    }
  } finally {
    agent.kill('SIGKILL')
    over.abort(new Error('the run is over'))
    await Promise.all([requests.ended, leases.ended])
  }
}

function startAgent(folder: string, host: string, kubeconfig: string): ChildProcess {
  const bundle = join(folder, 'dist/fettle-agent.js')
  const mounts = ['var', 'run'].map((name) => `--mount=/${name}=${join(host, name)}`)
  return spawn(
    process.execPath,
    [
      bundle,
      'agent',
      '--kubeconfig',
      kubeconfig,
      '--http-port=0',
      '--log-level=warn',
      '--reboot-method=none',
      ...mounts,
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
}

/** From the file to the request in the cluster; then both go, so that the next one is new. */
async function seenToRequest(
  client: KubeClient,
  requests: Witness<MaintenanceRequest>,
  folder: string,
): Promise<number> {
  const file = join(folder, 'maintenance-required')
  const name = `${nodeName}-file-0`
  const startedAt = performance.now()
  writeFileSync(file, '')
  if (!(await requests.until(name, (request) => request !== undefined, 30_000))) throw new Error('no request came')
  const ms = performance.now() - startedAt
  rmSync(file)
  // The agent has reported on it and rests.
  await requests.until(name, (request) => request?.status?.host?.request === 'Absent', 30_000)
  await client.delete(maintenanceRequests, { name }, { uid: 'any' })
  await requests.until(name, (request) => request === undefined, 30_000)
  await sleep(100)
  return ms
}
