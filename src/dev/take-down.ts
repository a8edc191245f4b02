import { existsSync, readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { endProcess } from '../host/index.ts'
import type { DevReport } from './bring-up.ts'
import { type ClusterRecord, clusterLock, readRecord } from './cluster-record.ts'
import { runningComponents } from './components.ts'
import { controlPlaneComponents } from './control-plane.ts'
import { removeAbandonedLock } from './folder-lock.ts'
import { releaseNetwork } from './network-claim.ts'
import { clusterFolder, places } from './places.ts'
import { removeRealNodes, stopRealNodes } from './real-nodes.ts'
import { removeFromUserKubeconfigs } from './user-kubeconfig.ts'

/** Ends everything that the cluster runs, in the reverse of the order in which it starts; keeps its data. */
export async function stopCluster(name: string): Promise<void> {
  const record = readRecord(name, places())
  if (record) await stopRealNodes(record)
  await endComponents(clusterFolder(name), 10_000)
}

/**
 * Removes the cluster whole: processes, machines, network, files. It trusts the process table and the names of
 * things rather than its own record, so it also works after a crash that left the record half written.
 */
export async function takeDown(name: string, report: DevReport): Promise<boolean> {
  const folder = clusterFolder(name)
  const existed = existsSync(folder) || runningComponents(folder).length > 0
  const record = readableRecord(name)
  if (existed) report.working(`taking cluster ${name} down`)
  await removeRealNodes(name)
  await endComponents(folder, 2_000)
  const program = record && cachedControlPlane()
  if (record && program) await removeFromUserKubeconfigs(record, program)
  await rm(folder, { recursive: true, force: true })
  releaseNetwork(folder)
  await removeAbandonedLock(clusterLock(name, places()))
  if (existed) report.finished(`cluster ${name} is gone`)
  return existed
}

function readableRecord(name: string): ClusterRecord | undefined {
  try {
    return readRecord(name, places())
  } catch {
    return undefined
  }
}

/** Any version will do to edit a kubeconfig; down must never start a build. */
function cachedControlPlane(): string | undefined {
  const folder = join(places().cache, 'programs')
  if (!existsSync(folder)) return undefined
  const built = readdirSync(folder).find((name) => /^control-plane-[0-9a-f]{16}$/.test(name))
  return built && join(folder, built, 'control-plane')
}

async function endComponents(folder: string, graceMs: number): Promise<void> {
  const rank = (component: string) => (controlPlaneComponents as readonly string[]).indexOf(component)
  const running = runningComponents(folder).sort((a, b) => rank(b.component) - rank(a.component))
  // Clients of the API server go together, then the API server, then etcd: none is left shouting at a dead peer.
  const clients = running.filter(({ component }) => rank(component) !== 0 && rank(component) !== 1)
  await Promise.all(clients.map(({ identity }) => endProcess(identity, { graceMs })))
  for (const { identity } of running.filter((process) => !clients.includes(process)))
    await endProcess(identity, { graceMs })
}
