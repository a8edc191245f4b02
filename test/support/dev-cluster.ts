import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  bringUp,
  controlPlaneProgram,
  killComponent,
  places,
  restartComponents,
  startFaultProxy,
  takeDown,
} from '../../src/dev/index.ts'
import type { SoakFaults } from '../load/soak-faults.ts'
import { plainReport } from './shared-cluster.ts'

export interface DevCluster {
  /** Straight to the API server. */
  readonly kubeconfigPath: string
  /** Through the proxy that breaks things. */
  readonly proxiedKubeconfigPath: string
  readonly proxy: SoakFaults
}

/** A cluster of its own for one piece of work, with everything that can be broken in it. */
export async function withDevCluster<T>(
  options: { readonly name: string; readonly simulatedNodes?: number },
  work: (cluster: DevCluster) => Promise<T>,
): Promise<T> {
  const report = plainReport()
  try {
    const record = await bringUp(
      { name: options.name, simulatedNodes: options.simulatedNodes ?? 0, zones: 1, realNodes: 0 },
      report,
    )
    const program = await controlPlaneProgram(report, places())
    const proxy = await startFaultProxy(record, { speakAs: 'admin' })
    const kubeconfigPath = join(record.folder, 'kubeconfig')
    const proxiedKubeconfigPath = join(record.folder, 'proxied.kubeconfig')
    writeFileSync(proxiedKubeconfigPath, proxiedKubeconfig(kubeconfigPath, proxy.url))
    const restart = async (component: 'etcd' | 'kube-apiserver') => {
      await killComponent(record, component)
      await restartComponents(record, program)
    }
    try {
      return await work({
        kubeconfigPath,
        proxiedKubeconfigPath,
        proxy: {
          cutWatches: () => void proxy.cutWatches(),
          stallWatches: () => void proxy.stallWatches(),
          injectStatus: (status, count) =>
            proxy.inject({
              status,
              count,
              ...(status === 410 ? { matches: ({ path }) => path.includes('watch=true') } : {}),
            }),
          blackout: (ms) => proxy.blackout(ms),
          restartApiServer: () => restart('kube-apiserver'),
          restartEtcd: () => restart('etcd'),
        },
      })
    } finally {
      await proxy.close()
    }
  } finally {
    await takeDown(options.name, report)
  }
}

interface Kubeconfig {
  clusters: { cluster: { server: string } }[]
  users: { user: object }[]
}

/** The proxy has the certificate; who talks to it needs none. */
function proxiedKubeconfig(path: string, server: string): string {
  const config = JSON.parse(readFileSync(path, 'utf8')) as Kubeconfig
  for (const { cluster } of config.clusters) cluster.server = server
  for (const user of config.users) user.user = {}
  return JSON.stringify(config)
}
