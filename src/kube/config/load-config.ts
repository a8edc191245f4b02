import { hasCode } from '../errors.ts'
import type { ClusterConfig } from './config.ts'
import { type InClusterOptions, loadInCluster } from './in-cluster.ts'
import { type KubeconfigOptions, loadKubeconfig } from './kubeconfig.ts'

/** The cluster that the surroundings point to, in kubectl's order: the named file, KUBECONFIG, ~/.kube/config, the pod's account. */
export async function loadConfig(
  options: KubeconfigOptions & Pick<InClusterOptions, 'folder'> = {},
): Promise<ClusterConfig> {
  const env = options.env ?? process.env
  try {
    return await loadKubeconfig(options)
  } catch (error) {
    const isInPod = Boolean(env['KUBERNETES_SERVICE_HOST'])
    if (hasCode(error, 'NoConfig') && options.path === undefined && options.context === undefined && isInPod) {
      return loadInCluster({
        env,
        ...(options.folder === undefined ? {} : { folder: options.folder }),
        ...(options.clock === undefined ? {} : { clock: options.clock }),
      })
    }
    throw error
  }
}
