import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { customResourceDefinitions } from '../src/api/index.ts'
import { adminKubeconfig, bringUp, connectTo, takeDown } from '../src/dev/index.ts'
import { runOk } from '../src/host/index.ts'
import { type KubeClient, type KubeObject, type NodeObject, ResourceCache, resources } from '../src/kube/index.ts'
import { dataAnnotation, profileLabel, stateLabel } from '../src/profiles/index.ts'
import { type Bench, type BenchOptions, type Metrics, medians, type Peer, ratios } from './bench.ts'
import { cpuSecondsOf, rssMiBOf } from './process-figures.ts'
import { createObjects } from './watch-objects.ts'

const clusterName = 'bench-profiles'
const quietSeconds = 10
const patienceMs = 300_000

/** All nodes at once: a reboot is needed, it is approved, it happens, it is over. Every step is a check and its triggers. */
const file = `intervals: {requeue: 10s}
instances:
  check:
  - {type: hasAnnotation, name: needed, config: {key: bench/needed, value: "true"}}
  - {type: hasAnnotation, name: approved, config: {key: bench/approved, value: "true"}}
  - {type: hasAnnotation, name: reboot_ok, config: {key: bench/reboot-ok, value: "true"}}
  trigger:
  - {type: alterAnnotation, name: take_approval, config: {key: bench/approved, remove: true}}
  - {type: alterAnnotation, name: allow_reboot, config: {key: bench/reboot-ok, value: "true"}}
  - {type: alterAnnotation, name: take_needed, config: {key: bench/needed, remove: true}}
  - {type: alterAnnotation, name: take_reboot, config: {key: bench/reboot-ok, remove: true}}
profiles:
- name: bench
  operational:
    transitions: [{check: needed, next: maintenance-required}]
  maintenance-required:
    transitions: [{check: approved, next: in-maintenance, trigger: take_approval && allow_reboot}]
  in-maintenance:
    transitions: [{check: reboot_ok, next: operational, trigger: take_needed && take_reboot}]
`

/** Whoever takes the nodes through it: how its process is started in a folder with `config/maintenance.yaml`. */
interface Contender {
  readonly command: string
  readonly args: readonly string[]
}

/**
 * From the last annotation to the last node that is operational again, by one profile, next to the original if it is
 * given, and to the floor: the same patches to the same nodes by a loop that decides nothing.
 */
export const profilesBench: Bench = async (options) => {
  const nodes = options.numbers['nodes'] ?? 500
  const report = { working: options.log, finished: options.log }
  const folder = mkdtempSync(join(tmpdir(), 'fettle-bench-'))
  await takeDown(clusterName, report)
  try {
    mkdirSync(join(folder, 'config'))
    writeFileSync(join(folder, 'config/maintenance.yaml'), file)
    await runOk([process.execPath, 'node_modules/.bin/tsx', 'scripts/build.ts', '--outdir', join(folder, 'dist')])
    const record = await bringUp(
      { name: clusterName, simulatedNodes: 0, zones: 1, realNodes: 0, components: ['etcd', 'kube-apiserver'] },
      report,
    )
    const client = await connectTo(record)
    const ours: Contender = {
      command: process.execPath,
      args: [
        join(folder, 'dist/fettle-controller.js'),
        'controller',
        `--kubeconfig=${adminKubeconfig(record)}`,
        '--namespace=default',
        '--http-port=0',
        '--log-level=warn',
      ],
    }
    try {
      for (const definition of customResourceDefinitions())
        await client.apply(resources.customResourceDefinitions, definition as KubeObject, { fieldManager: 'bench' })
      const growth: Record<string, Metrics> = {}
      for (const share of [0.25, 0.5]) {
        await prepareNodes(client, nodes * share, options)
        growth[String(share)] = medians([await runOnce(client, ours, folder, nodes * share)])
      }
      await prepareNodes(client, nodes, options)
      const contenders = new Map([['ours', ours], ...options.peers.map((peer) => asContender(peer, record))])
      const measured = await inTurns(client, contenders, folder, nodes, options)
      const { ours: mine = {}, floor = {}, ...peers } = measured
      return {
        bench: 'profiles',
        work: { nodes, transitions: nodes * 3, runs: options.runs, quietSeconds },
        ours: mine,
        floor,
        peers,
        ratios: ratios(mine, { ...peers, floor }),
        growth: { '0.25': growth['0.25'] ?? {}, '0.5': growth['0.5'] ?? {}, '1': mine },
      }
    } finally {
      client.close()
    }
  } finally {
    await takeDown(clusterName, report)
    rmSync(folder, { recursive: true, force: true })
  }
}

function asContender({ name, path }: Peer, record: Parameters<typeof adminKubeconfig>[0]): [string, Contender] {
  const addresses = ['--metrics-addr=127.0.0.1:0', '--health-addr=127.0.0.1:0']
  return [name, { command: path, args: [`--kubeconfig=${adminKubeconfig(record)}`, ...addresses] }]
}

/** One after the other in each round: a machine that is slow for some minutes is so for all of them. */
async function inTurns(
  client: KubeClient,
  contenders: ReadonlyMap<string, Contender>,
  folder: string,
  nodes: number,
  { runs, log }: BenchOptions,
): Promise<Readonly<Record<string, Metrics>>> {
  const measured: Record<string, Metrics[]> = {}
  for (let run = 0; run < runs; run++) {
    const note = (name: string, metrics: Metrics) => {
      log(`${nodes} nodes, run ${run + 1}, ${name}: ${JSON.stringify(metrics)}`)
      measured[name] = [...(measured[name] ?? []), metrics]
    }
    for (const [name, contender] of contenders) note(name, await runOnce(client, contender, folder, nodes))
    note('floor', { seconds: await patchOnly(client, nodes) })
  }
  return Object.fromEntries(Object.entries(measured).map(([name, each]) => [name, medians(each)]))
}

async function prepareNodes(client: KubeClient, nodes: number, { log }: BenchOptions): Promise<void> {
  await createObjects(client, { nodes, pods: 0 }, log)
}

async function runOnce(
  client: KubeClient,
  { command, args }: Contender,
  folder: string,
  nodes: number,
): Promise<Metrics> {
  const over = new AbortController()
  const anew = { [dataAnnotation]: null, 'bench/needed': null, 'bench/approved': null, 'bench/reboot-ok': null }
  await everyNode(nodes, (name) => patch(client, name, anew, { [profileLabel]: 'bench' }))
  const watched = new ResourceCache<NodeObject>({ client, resource: resources.nodes, signal: over.signal })
  await watched.waitForSync(over.signal)
  // As their users run them: what this bench does to the control plane's memory is not done to theirs.
  const { GOGC: _, ...env } = process.env
  const child = spawn(command, [...args], { cwd: folder, env, stdio: ['ignore', 'ignore', 'ignore'] })
  try {
    await until(watched, nodes, child, ({ metadata }) => metadata.annotations?.[dataAnnotation] !== undefined)
    await sleep(2_000)
    const writesBefore = await nodePatches(client)
    await sleep(quietSeconds * 1_000)
    const steadyStateWrites = (await nodePatches(client)) - writesBefore
    const cpuBefore = cpuSecondsOf(child.pid)
    await everyNode(nodes, (name) => patch(client, name, { 'bench/needed': 'true', 'bench/approved': 'true' }))
    const annotatedMs = performance.now()
    await until(watched, nodes, child, isThrough)
    const seconds = (performance.now() - annotatedMs) / 1_000
    return { seconds, cpuSeconds: cpuSecondsOf(child.pid) - cpuBefore, rssMiB: rssMiBOf(child.pid), steadyStateWrites }
  } finally {
    await stop(child)
    over.abort(new Error('the run is over'))
    await watched.ended
  }
}

function isThrough({ metadata: { annotations, labels } }: NodeObject): boolean {
  return annotations?.['bench/needed'] === undefined && labels?.[stateLabel] === 'operational'
}

async function until(
  watched: ResourceCache<NodeObject>,
  nodes: number,
  child: ChildProcess,
  isThere: (node: NodeObject) => boolean,
): Promise<void> {
  const endMs = performance.now() + patienceMs
  for (;;) {
    const there = [...watched.values()].filter(isThere).length
    if (there >= nodes) return
    if (child.exitCode !== null || performance.now() > endMs)
      throw new Error(`${there} of ${nodes} nodes are through; exit code of the contender: ${child.exitCode}`)
    await sleep(20)
  }
}

/**
 * The patches that a node gets on its way, with nodes side by side as we do it. All nodes take a step before one takes the
 * next: a patch of what the API server's own view does not show yet is computed twice.
 */
async function patchOnly(client: KubeClient, nodes: number): Promise<number> {
  await everyNode(nodes, (name) => patch(client, name, { 'bench/needed': 'true', 'bench/approved': 'true' }))
  const startedMs = performance.now()
  // That nothing changed since the last of them is written later, when nobody waits for it.
  const states = ['operational', 'maintenance-required', 'in-maintenance', 'operational'] as const
  for (let step = 1; step < states.length; step++)
    await everyNode(nodes, async (name) => {
      const [current, previous] = [states[step] ?? 'operational', states[step - 1]]
      const entry = { Transition: new Date().toISOString(), Current: current, Previous: previous }
      const data = JSON.stringify({ Profiles: { bench: entry }, Notifications: {} })
      await patch(client, name, { [dataAnnotation]: data }, { [stateLabel]: current })
    })
  return (performance.now() - startedMs) / 1_000
}

async function everyNode(nodes: number, work: (name: string) => Promise<void>): Promise<void> {
  let next = 0
  const worker = async () => {
    while (next < nodes) await work(`node-${next++}`)
  }
  await Promise.all(Array.from({ length: 32 }, worker))
}

async function patch(
  client: KubeClient,
  name: string,
  annotations: Readonly<Record<string, string | null>>,
  labels: Readonly<Record<string, string>> = {},
): Promise<void> {
  const body = { metadata: { annotations, labels } }
  const options = { fieldManager: 'bench', answer: 'metadata' } as const
  await client.patch(resources.nodes, { name }, { type: 'merge', body }, options)
}

/** As the API server itself counts them. */
async function nodePatches(client: KubeClient): Promise<number> {
  const text = await client.request<string>({ method: 'GET', path: '/metrics' })
  return text
    .split('\n')
    .filter((line) => /^apiserver_request_total\{.*resource="nodes".*verb="(PATCH|PUT)"/.test(line))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await Promise.race([ended, sleep(10_000)])
  child.kill('SIGKILL')
}
