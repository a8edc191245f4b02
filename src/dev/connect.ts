import { connect, type KubeClient, loadKubeconfig } from '../kube/index.ts'
import { adminKubeconfig, type ClusterRecord } from './cluster-record.ts'

/** A client with every right on an embedded cluster. */
export async function connectTo(record: Pick<ClusterRecord, 'folder'>): Promise<KubeClient> {
  return connect(await loadKubeconfig({ path: adminKubeconfig(record) }), { component: 'dev' })
}
