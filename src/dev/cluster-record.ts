import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { DevFault } from './errors.ts'
import { withFolderLock } from './folder-lock.ts'
import { claimNetwork } from './network-claim.ts'
import { clusterFolder, clusterNames, type Places } from './places.ts'

/** What was decided once for a cluster and stays: it survives stop and start, and goes with down. */
export interface ClusterRecord {
  readonly name: string
  readonly folder: string
  /** Keeps the networks of clusters apart: the k of 10.89.k.0/24. */
  readonly index: number
  readonly ports: {
    readonly apiServer: number
    readonly etcdPeer: number
    readonly controllerManager: number
    readonly scheduler: number
    readonly kwok: number
  }
  /** Heartbeats of simulated nodes are this far apart at most; large clusters beat slower. */
  readonly nodeLeaseSeconds: number
  /** Kubeconfigs of the user's that also got this cluster's context; absolute paths. */
  readonly userKubeconfigs: readonly string[]
}

export function apiServerUrl(record: ClusterRecord): string {
  return `https://127.0.0.1:${record.ports.apiServer}`
}

export function adminKubeconfig(record: Pick<ClusterRecord, 'folder'>): string {
  return join(record.folder, 'kubeconfig')
}

function recordPath(folder: string): string {
  return join(folder, 'cluster.json')
}

export function readRecord(name: string, where: Places): ClusterRecord | undefined {
  const path = recordPath(clusterFolder(name, where))
  if (!existsSync(path)) return undefined
  const fault = (cause?: unknown) =>
    new DevFault(`${path} cannot be read; \`fettle dev down --name ${name}\` removes the cluster whole`, { cause })
  let value: unknown
  try {
    value = JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw fault(cause)
  }
  if (!isRecord(value)) throw fault()
  return value
}

/** Crashes, full disks and people leave all kinds of JSON behind. */
function isRecord(value: unknown): value is ClusterRecord {
  const { name, folder, index, ports, nodeLeaseSeconds, userKubeconfigs } = (value ?? {}) as Partial<ClusterRecord>
  return (
    typeof name === 'string' &&
    typeof folder === 'string' &&
    typeof index === 'number' &&
    typeof nodeLeaseSeconds === 'number' &&
    Array.isArray(userKubeconfigs) &&
    portNames.every((port) => typeof ports?.[port] === 'number')
  )
}

const portNames = ['apiServer', 'etcdPeer', 'controllerManager', 'scheduler', 'kwok'] as const

export function writeRecord(record: ClusterRecord): void {
  const path = recordPath(record.folder)
  writeFileSync(`${path}.part`, `${JSON.stringify(record, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${path}.part`, path)
}

/** Runs `work` alone: no other command brings this cluster up, or starts it, at the same time. */
export async function withClusterLock<T>(
  name: string,
  where: Places,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  mkdirSync(where.home, { recursive: true })
  return withFolderLock(clusterLock(name, where), signal, work)
}

/** Beside the cluster's folder and not in it: down removes that one while the lock is held. */
export function clusterLock(name: string, where: Places): string {
  return join(where.home, `${name}.lock`)
}

/** Settles the ports and the network of a new cluster. Two that start at once never get the same ones. */
export async function createRecord(
  name: string,
  options: { readonly nodeLeaseSeconds: number },
  where: Places,
): Promise<ClusterRecord> {
  const folder = clusterFolder(name, where)
  mkdirSync(where.home, { recursive: true })
  return withFolderLock(join(where.home, 'new-cluster.lock'), undefined, async () => {
    const others = clusterNames(where).flatMap((other) => {
      try {
        return readRecord(other, where) ?? []
      } catch {
        return []
      }
    })
    const taken = new Set(others.flatMap((other) => Object.values(other.ports)))
    const [apiServer = 0, etcdPeer = 0, controllerManager = 0, scheduler = 0, kwok = 0] = await freePorts(5, taken)
    // Before the claim: one whose folder does not exist counts as left over.
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const record: ClusterRecord = {
      name,
      folder,
      index: await claimNetwork(folder),
      ports: { apiServer, etcdPeer, controllerManager, scheduler, kwok },
      nodeLeaseSeconds: options.nodeLeaseSeconds,
      userKubeconfigs: [],
    }
    writeRecord(record)
    return record
  })
}

/**
 * Ports that nothing listens on now and that no other cluster counts on. They come from below the range that the
 * kernel gives to outgoing connections: a port of that range may be in use when a stopped cluster starts again.
 */
async function freePorts(count: number, taken: ReadonlySet<number>): Promise<number[]> {
  const [low, size] = [20_000, 12_000]
  const start = Math.floor(Math.random() * size)
  const ports: number[] = []
  for (let offset = 0; ports.length < count && offset < size; offset++) {
    const port = low + ((start + offset) % size)
    if (!taken.has(port) && (await isFree(port))) ports.push(port)
  }
  if (ports.length < count)
    throw new DevFault(`no ${count} free TCP ports on 127.0.0.1 between ${low} and ${low + size}`)
  return ports
}

export async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
