import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BuiltImage, buildImage } from '../../scripts/image/build-image.ts'
import {
  adminKubeconfig,
  type ClusterRecord,
  places,
  readRecord,
  realNode,
  realNodeNames,
} from '../../src/dev/index.ts'
import { importImage } from '../../src/dev/machine/machine.ts'
import { imageArchitecture } from '../../src/dev/machine/oci-image.ts'
import { type ConnectedClient, connect, loadKubeconfig, type PodObject, resources } from '../../src/kube/index.ts'
import { type FettleResult, fettle, temporaryHome } from './fettle-process.ts'
import { plainReport } from './shared-cluster.ts'

/** A cluster with real nodes that know our image, and some simulated ones. */
export interface RealCluster {
  readonly record: ClusterRecord
  /** Names of its real nodes. */
  readonly nodes: readonly string[]
  readonly kubeconfig: string
  readonly admin: ConnectedClient
  readonly image: BuiltImage
  /** The program, told which cluster it is about. */
  fettle(...args: string[]): Promise<FettleResult>
  kubectl(...args: string[]): Promise<string>
  /** `fettle dev`, told which cluster it is about. */
  dev(...args: string[]): Promise<FettleResult>
  remove(): Promise<void>
}

export const realNodes = ['real-1', 'real-2'] as const

export async function bringUpRealCluster(
  name: string,
  simulatedNodes: number,
  count: number = realNodes.length,
): Promise<RealCluster> {
  const home = temporaryHome()
  const folder = mkdtempSync(join(tmpdir(), 'fettle-image-test-'))
  const inHome = (...args: string[]) => fettle(args, { home: home.path, deadlineMs: 400_000 })
  const clean = async () => {
    await home.remove()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    const image = await buildTestImage(join(folder, 'image.tar'))
    const sizes = ['--nodes', String(simulatedNodes), '--real-nodes', String(count)]
    const up = await inHome('dev', 'up', '--name', name, ...sizes)
    const record = readRecord(name, places({ ...process.env, FETTLE_HOME: home.path }))
    if (up.code !== 0 || !record) throw new Error(`no cluster ${name}: ${up.stderr}`)
    const nodes = realNodeNames(record)
    for (const node of nodes) await importImage(realNode(record, node), join(folder, 'image.tar'))
    const kubeconfig = adminKubeconfig(record)
    const admin = connect(await loadKubeconfig({ path: kubeconfig }), { component: 'e2e' })
    return {
      record,
      nodes,
      kubeconfig,
      admin,
      image,
      fettle: (...args) => inHome(...args, '--kubeconfig', kubeconfig),
      dev: (...args) => inHome('dev', ...args, '--name', name),
      kubectl: async (...args) => {
        const { stdout, stderr } = await inHome('dev', 'kubectl', '--name', name, '--', ...args)
        return stdout + stderr
      },
      remove: async () => {
        admin.close()
        await clean()
      },
    }
  } catch (error) {
    await clean()
    throw error
  }
}

export function buildTestImage(out: string): Promise<BuiltImage> {
  return buildImage({
    out,
    tag: 'e2e',
    architecture: imageArchitecture(),
    cacheDir: places().cache,
    log: plainReport().working,
  })
}

interface RunningPod extends PodObject {
  readonly status?: PodObject['status'] & {
    readonly containerStatuses?: readonly {
      readonly ready: boolean
      readonly restartCount: number
      readonly image: string
    }[]
  }
}

/** `component node image ready restarts` of every pod of ours, sorted. */
export async function podsOf(admin: ConnectedClient, namespace = 'fettle-system'): Promise<string[]> {
  const lines: string[] = []
  for await (const page of admin.list<RunningPod>(resources.pods, { namespace }))
    for (const { metadata, spec, status } of page.items) {
      const component = metadata.labels?.['app.kubernetes.io/component']
      const [container] = status?.containerStatuses ?? []
      const health = `${container?.ready === true ? 'ready' : 'not ready'}, ${container?.restartCount} restarts`
      lines.push(`${component} on ${spec?.nodeName} from ${container?.image}: ${health}`)
    }
  return lines.sort()
}
