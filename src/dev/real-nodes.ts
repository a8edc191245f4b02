import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startDetached } from '../host/index.ts'
import { isNotFound, type KubeClient, type NodeObject, resources } from '../kube/index.ts'
import { buildText, type DevReport, isReady } from './bring-up.ts'
import { ensureBuilt } from './build.ts'
import { certificateFolder, issueCertificates } from './certificates.ts'
import type { ClusterRecord } from './cluster-record.ts'
import { markedEnvironment, runningComponents } from './components.ts'
import { connectTo } from './connect.ts'
import { controlPlaneComponents, logPath } from './control-plane.ts'
import { DevFault } from './errors.ts'
import {
  isMachineRunning,
  machineLogPath,
  rebootMachine,
  removeAllMachines,
  removeMachine,
  startMachine,
  stopMachine,
} from './machine/machine.ts'
import { hostAddress, maximumMachines } from './machine/names.ts'
import { missingForRealNodes } from './machine/needs.ts'
import { createClusterNetwork } from './machine/network.ts'
import { prepareRealNodes } from './machine/prepare.ts'
import type { Machine, StartOptions } from './machine/root.ts'
import { allowWatches } from './machine/watches.ts'
import { clusterFolder, places } from './places.ts'

/** Real nodes as part of a cluster: which there are, and how they come, go and return. */

const machineFolder = (record: Pick<ClusterRecord, 'folder'>) => join(record.folder, 'machines')

/** Names of network namespaces and cgroups are the host's: clusters of the same name in two homes must differ. */
function scopeOf(folder: string, name: string): string {
  return `${name}-${createHash('sha256').update(folder).digest('hex').slice(0, 4)}`
}

export function realNodeNames(record: Pick<ClusterRecord, 'folder'>): string[] {
  const folder = machineFolder(record)
  if (!existsSync(folder)) return []
  return readdirSync(folder).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
}

export function realNode(record: ClusterRecord, name: string): Machine {
  const number = Number(/^real-(\d+)$/.exec(name)?.[1])
  if (!(number >= 1 && number <= maximumMachines)) throw new DevFault(`${name} is not the name of a real node`)
  return {
    cluster: scopeOf(record.folder, record.name),
    clusterIndex: record.index,
    number,
    name,
    folder: join(machineFolder(record), name),
  }
}

/** The log of a component of the control plane or, under its name, of a real node. */
export function logPathOf(record: ClusterRecord, name: string): string {
  const machines = realNodeNames(record)
  const logs = [...controlPlaneComponents, ...(machines.length > 0 ? ['forward'] : [])].map((component) => ({
    of: component as string,
    path: logPath(record, component),
  }))
  logs.push(...machines.map((machine) => ({ of: machine, path: machineLogPath(realNode(record, machine)) })))
  const found = logs.find((log) => log.of === name && existsSync(log.path))
  if (found) return found.path
  throw new DevFault(`cluster ${record.name} has no log of ${name}; it can have ${logs.map(({ of }) => of).join(', ')}`)
}

/** Adds machines until there are `count`, and waits until all are Ready. */
export async function addRealNodes(
  record: ClusterRecord,
  options: { readonly count: number; readonly program: string },
  report: DevReport,
  signal?: AbortSignal,
): Promise<void> {
  if (options.count > maximumMachines) throw new DevFault(`a cluster has at most ${maximumMachines} real nodes`)
  const names = realNodeNames(record)
  for (let number = 1; names.length < options.count; number++)
    if (!names.includes(`real-${number}`)) names.push(`real-${number}`)
  await startMachines(record, names, options.program, report, signal)
}

/** Boots the machines that the cluster already has. */
export async function startRealNodes(
  record: ClusterRecord,
  program: string,
  report: DevReport,
  signal?: AbortSignal,
): Promise<void> {
  const names = realNodeNames(record)
  if (names.length > 0) await startMachines(record, names, program, report, signal)
}

async function startMachines(
  record: ClusterRecord,
  names: readonly string[],
  program: string,
  report: DevReport,
  signal: AbortSignal | undefined,
): Promise<void> {
  const missing = await missingForRealNodes()
  if (missing.length > 0) throw new DevFault(missing.join('\n'))
  const watches = allowWatches()
  if (watches) report.working(watches)
  const options = await startOptions(record, program, report, signal)
  await createClusterNetwork(scopeOf(record.folder, record.name), record.index)
  await startForward(record, program)
  for (const name of names) {
    report.working(`booting ${name}`)
    await startMachine(realNode(record, name), options)
  }
  const client = await connectTo(record)
  try {
    for (const name of names) await waitUntilReady(record, client, name, report, signal)
  } finally {
    client.close()
  }
  report.finished(`real ${names.length === 1 ? 'node is' : 'nodes are'} ready: ${names.join(', ')}`)
}

/** Builds and fetches everything that machines are made of, once. */
export async function prepareMachines(
  report: DevReport,
  signal?: AbortSignal,
): Promise<Pick<StartOptions, 'programs' | 'prepared'>> {
  const where = places()
  const built = (target: 'node' | 'containerd' | 'pause') =>
    ensureBuilt(target, where, (progress) => report.working(buildText(progress)), signal)
  // One after the other: on two cores side by side takes as long and shows less.
  const [node, containerd, pause] = [await built('node'), await built('containerd'), await built('pause')]
  const programs = {
    node: join(node, 'node'),
    containerd: join(containerd, 'containerd'),
    containerdShim: join(containerd, 'containerd-shim-runc-v2'),
    ctr: join(containerd, 'ctr'),
    pause: join(pause, 'pause'),
  }
  const prepared = await prepareRealNodes({
    cacheDir: where.cache,
    programs,
    log: (line) => report.working(line),
    ...(signal ? { signal } : {}),
  })
  return { programs, prepared }
}

async function startOptions(
  record: ClusterRecord,
  program: string,
  report: DevReport,
  signal: AbortSignal | undefined,
): Promise<StartOptions> {
  return {
    ...(await prepareMachines(report, signal)),
    apiServerPort: record.ports.apiServer,
    caPem: readFileSync(join(certificateFolder(record), 'ca.crt'), 'utf8'),
    issueCertificate: async (order) => {
      const [issued] = await issueCertificates(record, program, [{ name: certificateOf(order.commonName), ...order }])
      if (!issued) throw new DevFault(`no certificate was issued for ${order.commonName}`)
      return issued
    },
    ...(signal ? { signal } : {}),
  }
}

/** Lets the machines reach the API server, which itself listens on loopback only. */
async function startForward(record: ClusterRecord, program: string): Promise<void> {
  if (runningComponents(record.folder).some(({ component }) => component === 'forward')) return
  const port = record.ports.apiServer
  await startDetached([program, 'forward', `--listen=${hostAddress(record.index)}:${port}`, `--to=127.0.0.1:${port}`], {
    logPath: logPath(record, 'forward'),
    env: markedEnvironment(record.folder, 'forward'),
  })
}

async function waitUntilReady(
  record: ClusterRecord,
  client: KubeClient,
  name: string,
  report: DevReport,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let attempt = 0; attempt < 600; attempt++) {
    signal?.throwIfAborted()
    const node = await client.get<NodeObject>(resources.nodes, { name }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined
      throw error
    })
    if (node && isReady(node) && !isKeptFree(node)) return
    report.working(`waiting for the kubelet of ${name}`)
    await sleep(200)
  }
  throw new DevFault(`${name} is not Ready after two minutes; see ${machineLogPath(realNode(record, name))}`)
}

/** The taint of a node that was not ready stays for a moment longer, and no pod goes there before it is gone. */
function isKeptFree({ spec }: NodeObject): boolean {
  return spec?.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready') ?? false
}

export async function stopRealNodes(record: ClusterRecord): Promise<void> {
  await Promise.all(realNodeNames(record).map((name) => stopMachine(realNode(record, name))))
  await removeAllMachines(scopeOf(record.folder, record.name))
}

/** Powers the machine off and deletes it with its identity; its Node object is the caller's. */
export async function removeRealNode(record: ClusterRecord, name: string): Promise<void> {
  await removeMachine(realNode(record, name))
  for (const ending of ['crt', 'key'])
    rmSync(join(certificateFolder(record), `${certificateOf(`system:node:${name}`)}.${ending}`), { force: true })
}

function certificateOf(commonName: string): string {
  return commonName.replaceAll(':', '-')
}

export async function rebootRealNode(record: ClusterRecord, name: string): Promise<void> {
  const machine = realNode(record, name)
  if (!isMachineRunning(machine))
    throw new DevFault(`${name} is off; \`fettle dev start --name ${record.name}\` boots it`)
  await rebootMachine(machine)
}

/** Removes everything that machines of a cluster of this name may have left on the host. Files go with the cluster's. */
export async function removeRealNodes(name: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  await removeAllMachines(scopeOf(clusterFolder(name), name))
}
