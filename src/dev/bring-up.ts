import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isNotFound, type KubeClient, resources } from '../kube/index.ts'
import { type BuildProgress, ensureBuilt } from './build.ts'
import { adminKubeconfig, type ClusterRecord, createRecord, readRecord, withClusterLock } from './cluster-record.ts'
import { runningComponents } from './components.ts'
import { connectTo } from './connect.ts'
import { type ControlPlaneComponent, prepareControlPlane, startControlPlane } from './control-plane.ts'
import { DevFault } from './errors.ts'
import { missingForRealNodes } from './machine/needs.ts'
import { clusterFolder, type Places, places } from './places.ts'
import { addRealNodes, realNodeNames, startRealNodes } from './real-nodes.ts'
import { addSimulatedNodes, taintSimulatedNodes } from './simulated-nodes.ts'
import { takeDown } from './take-down.ts'
import { addToUserKubeconfig } from './user-kubeconfig.ts'

/** What a person sees while a cluster comes up. */
export interface DevReport {
  readonly working: (text: string) => void
  readonly finished: (text: string) => void
}

export interface UpOptions {
  readonly name: string
  readonly simulatedNodes: number
  readonly zones: number
  readonly realNodes: number
  readonly userKubeconfig?: string
  /** Fewer than all, for benches that need only storage and API. */
  readonly components?: readonly ControlPlaneComponent[]
}

export async function controlPlaneProgram(report: DevReport, where: Places, signal?: AbortSignal): Promise<string> {
  const folder = await ensureBuilt('control-plane', where, (progress) => report.working(buildText(progress)), signal)
  return `${folder}/control-plane`
}

export function buildText({ target, done, total, usually }: BuildProgress): string {
  const share = total > 0 ? `${done} of about ${total} packages` : 'fetching modules'
  return `building ${target} once: ${share}; usually ${usually} on 2 cores`
}

/**
 * Brings a cluster up, or completes one that exists. A new cluster that does not come up, or is interrupted, is
 * taken down again; one that existed before is left as it is.
 */
export async function bringUp(options: UpOptions, report: DevReport, signal?: AbortSignal): Promise<ClusterRecord> {
  const where = places()
  if (process.platform !== 'linux')
    throw new DevFault(
      `the embedded cluster runs on Linux, this is ${process.platform}; every other command works with --kubeconfig`,
    )
  // Before anything is built or started: it takes minutes, and would all be for nothing.
  const missing = options.realNodes > 0 ? await missingForRealNodes() : []
  if (missing.length > 0) throw new DevFault(missing.join('\n'))
  return withClusterLock(options.name, where, signal, async () => {
    const existing = readRecord(options.name, where)
    if (!existing) assertNothingThere(options.name, where)
    try {
      return await complete(options, existing, report, where, signal)
    } catch (error) {
      if (!existing) await cleanUp(options.name, report)
      throw error
    }
  })
}

/** A cluster that lost its record still has its processes and data; under new ports they would only be in the way. */
function assertNothingThere(name: string, where: Places): void {
  const folder = clusterFolder(name, where)
  if (existsSync(join(folder, 'etcd', 'member')) || runningComponents(folder).length > 0)
    throw new DevFault(`cluster ${name} has lost its record; \`fettle dev down --name ${name}\` removes it whole`)
}

async function cleanUp(name: string, report: DevReport): Promise<void> {
  try {
    await takeDown(name, report)
  } catch (cause) {
    const seen = cause instanceof Error ? cause.message : String(cause)
    throw new DevFault(
      `cluster ${name} is not removed whole (${seen}); \`fettle dev down --name ${name}\` tries again`,
      {
        cause,
      },
    )
  }
}

async function complete(
  options: UpOptions,
  existing: ClusterRecord | undefined,
  report: DevReport,
  where: Places,
  signal: AbortSignal | undefined,
): Promise<ClusterRecord> {
  const program = await controlPlaneProgram(report, where, signal)
  signal?.throwIfAborted()
  const record =
    existing ?? (await createRecord(options.name, { nodeLeaseSeconds: leaseSeconds(options.simulatedNodes) }, where))
  report.working('starting the control plane')
  await startMissing(record, program, report, signal, options.components)
  if (options.userKubeconfig) await addToUserKubeconfig(record, program, options.userKubeconfig)
  const client = await connectTo(record)
  try {
    if (options.realNodes > 0) await addRealNodes(record, { count: options.realNodes, program }, report, signal)
    await populate(record, client, options, report, signal)
    if (options.components?.includes('kube-controller-manager') ?? true) await waitForDefaultAccount(client, signal)
  } finally {
    client.close()
  }
  return record
}

/** Starts whatever of the cluster does not run: control plane, then the machines that it had. */
export async function startCluster(
  record: ClusterRecord,
  program: string,
  report: DevReport,
  signal?: AbortSignal,
): Promise<void> {
  await withClusterLock(record.name, places(), signal, () => startMissing(record, program, report, signal))
}

async function startMissing(
  record: ClusterRecord,
  program: string,
  report: DevReport,
  signal: AbortSignal | undefined,
  components?: readonly ControlPlaneComponent[],
): Promise<void> {
  await prepareControlPlane(record, program)
  await startControlPlane(record, program, components, signal)
  report.finished(`control plane of cluster ${record.name} is ready: ${adminKubeconfig(record)}`)
  await startRealNodes(record, program, report, signal)
}

async function populate(
  record: ClusterRecord,
  client: KubeClient,
  options: UpOptions,
  report: DevReport,
  signal: AbortSignal | undefined,
): Promise<void> {
  const tainted = realNodeNames(record).length > 0
  if (tainted) await taintSimulatedNodes(client)
  if (options.simulatedNodes === 0) return
  report.working(`adding ${options.simulatedNodes} simulated nodes`)
  await addSimulatedNodes(client, { count: options.simulatedNodes, zones: options.zones, tainted })
  await waitForReadyNodes(client, options.simulatedNodes + realNodeNames(record).length, report, signal)
}

/** Pods are refused while their namespace has no default account, and the controller that makes it needs a moment. */
async function waitForDefaultAccount(client: KubeClient, signal: AbortSignal | undefined): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt++) {
    signal?.throwIfAborted()
    try {
      await client.get(resources.serviceAccounts, { namespace: 'default', name: 'default' })
      return
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    await sleep(100)
  }
  throw new DevFault(
    'the controller manager made no default account in 30 s: see `fettle dev logs kube-controller-manager`',
  )
}

/** Small clusters notice a dead node within 40 s; in large ones heartbeats would be most of the traffic. */
export function leaseSeconds(simulatedNodes: number): number {
  return Math.max(40, Math.ceil(simulatedNodes / 12.5))
}

interface NodeWithConditions {
  readonly metadata: { readonly name?: string }
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] }
}

export function isReady(node: NodeWithConditions): boolean {
  return node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false
}

export async function waitForReadyNodes(
  client: KubeClient,
  count: number,
  report: DevReport,
  signal?: AbortSignal,
): Promise<void> {
  let ready = 0
  let lastProgressAt = Date.now()
  while (ready < count) {
    signal?.throwIfAborted()
    let seen = 0
    for await (const page of client.list<NodeWithConditions>(resources.nodes, { resourceVersion: '0' }))
      seen += page.items.filter(isReady).length
    if (seen > ready) lastProgressAt = Date.now()
    ready = seen
    report.working(`${ready} of ${count} nodes are ready`)
    if (Date.now() - lastProgressAt > 120_000)
      throw new DevFault(
        `only ${ready} of ${count} nodes are ready, and no more in two minutes: see \`fettle dev logs kwok\``,
      )
    if (ready < count) await sleep(250)
  }
  report.finished(`${count} nodes are ready`)
}
