import { readFileSync } from 'node:fs'
import { type KubeObject, resources } from '../kube/index.ts'
import { isReady } from './bring-up.ts'
import { adminKubeconfig, apiServerUrl, readRecord } from './cluster-record.ts'
import { runningComponents } from './components.ts'
import { connectTo } from './connect.ts'
import { controlPlaneComponents } from './control-plane.ts'
import { clusterFolder, clusterNames, places } from './places.ts'
import { simulatedLabel } from './simulated-nodes.ts'

export interface ClusterStatus {
  readonly name: string
  readonly state: 'running' | 'degraded' | 'stopped' | 'broken'
  /** One sentence for a person: what is wrong, and what to do. Empty when all is well. */
  readonly message: string
  readonly server: string
  readonly kubeconfig: string
  readonly components: readonly { readonly name: string; readonly pid: number | null; readonly memoryMiB: number }[]
  readonly nodes: { readonly ready: number; readonly total: number; readonly simulated: number; readonly real: number }
  readonly pods: { readonly running: number; readonly total: number }
}

export async function allStatuses(): Promise<ClusterStatus[]> {
  return Promise.all(clusterNames(places()).map(statusOf))
}

export async function statusOf(name: string): Promise<ClusterStatus> {
  const nothing = { nodes: { ready: 0, total: 0, simulated: 0, real: 0 }, pods: { running: 0, total: 0 } }
  const folder = clusterFolder(name)
  const running = runningComponents(folder)
  const components = controlPlaneComponents.map((component) => {
    const pid = running.find((process) => process.component === component)?.identity.pid ?? null
    return { name: component, pid, memoryMiB: pid ? residentMiB(pid) : 0 }
  })
  const record = readableRecord(name)
  if (!record) {
    const message = `its record is missing or unreadable; remove it with \`fettle dev down --name ${name}\``
    return { name, state: 'broken', message, server: '', kubeconfig: '', components, ...nothing }
  }
  const base = { name, server: apiServerUrl(record), kubeconfig: adminKubeconfig(record), components }
  const dead = components.filter(({ pid }) => pid === null).map((component) => component.name)
  if (dead.length === components.length)
    return { ...base, state: 'stopped', message: `start it with \`fettle dev start --name ${name}\``, ...nothing }
  const repair = `\`fettle dev start --name ${name}\` starts what is missing`
  try {
    const counts = await countObjects(record)
    if (dead.length === 0) return { ...base, state: 'running', message: '', ...counts }
    return { ...base, state: 'degraded', message: `${dead.join(', ')} not running; ${repair}`, ...counts }
  } catch (error) {
    const seen = error instanceof Error ? error.message : String(error)
    return {
      ...base,
      state: 'degraded',
      message: `${dead.join(', ') || 'API server'} not answering (${seen}); ${repair}`,
      ...nothing,
    }
  }
}

function readableRecord(name: string) {
  try {
    return readRecord(name, places())
  } catch {
    return undefined
  }
}

interface StatusObject extends KubeObject {
  readonly status?: {
    readonly phase?: string
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

async function countObjects(record: { readonly folder: string }): Promise<Pick<ClusterStatus, 'nodes' | 'pods'>> {
  const client = await connectTo(record)
  const options = { resourceVersion: '0', deadlineMs: 5_000 }
  const nodes = { ready: 0, total: 0, simulated: 0, real: 0 }
  const pods = { running: 0, total: 0 }
  try {
    for await (const page of client.list<StatusObject>(resources.nodes, options))
      for (const node of page.items) {
        nodes.total++
        if (isReady(node)) nodes.ready++
        if (node.metadata.labels?.[simulatedLabel]) nodes.simulated++
        else nodes.real++
      }
    for await (const page of client.list<StatusObject>(resources.pods, options))
      for (const pod of page.items) {
        pods.total++
        if (pod.status?.phase === 'Running') pods.running++
      }
  } finally {
    client.close()
  }
  return { nodes, pods }
}

function residentMiB(pid: number): number {
  try {
    const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))
    return Math.round(Number(line?.[1] ?? 0) / 1024)
  } catch {
    return 0
  }
}
