import { type MaintenanceBudget, maintenanceBudgets } from '../../src/api/index.ts'
import { type KubeObject, type NodeObject, resources } from '../../src/kube/index.ts'
import { isReady, listOf } from './queue-cluster.ts'
import type { RealCluster } from './real-cluster.ts'
import { follow, permissionFile, type RealHost } from './real-host.ts'

export interface NodesOut {
  /** The most nodes that had a slot, were cordoned or not Ready at any moment. */
  readonly most: number
  /** Nodes in the order in which they got a slot, once for each slot. */
  readonly order: readonly string[]
}

/** Sees every stored version of the nodes and of the ledger. */
export function followNodesOut({ admin }: RealCluster): { stop(): Promise<NodesOut> } {
  const out = new Set<string>()
  const tokens = new Set<number>()
  const seen = { most: 0, order: [] as string[] }
  const nodes = follow<NodeObject>(admin, resources.nodes, (node) => {
    if (node.spec?.unschedulable || !isReady(node)) out.add(node.metadata.name ?? '')
    else out.delete(node.metadata.name ?? '')
    seen.most = Math.max(seen.most, out.size)
  })
  const ledger = follow<MaintenanceBudget>(admin, maintenanceBudgets, ({ status }) => {
    seen.most = Math.max(seen.most, status?.slots.length ?? 0)
    for (const { node, token } of status?.slots ?? [])
      if (!tokens.has(token)) {
        tokens.add(token)
        seen.order.push(node)
      }
  })
  return {
    async stop() {
      await Promise.all([nodes.stop(), ledger.stop()])
      return seen
    },
  }
}

/** Looks at the disk until it is stopped; answers whether a permission ever lay there. */
export function watchForPermission(host: RealHost): { stop(): boolean } {
  let isSeen = false
  const timer = setInterval(() => {
    isSeen ||= host.has(permissionFile)
  }, 5)
  return {
    stop() {
      clearInterval(timer)
      return isSeen
    },
  }
}

/** Names of the pods that a drain of the node makes leave. */
export async function podsToLeave({ admin }: RealCluster, { name }: RealHost): Promise<string[]> {
  const pods = await listOf<KubeObject>(admin, resources.pods, { fieldSelector: `spec.nodeName=${name}` })
  return pods.flatMap(({ metadata }) =>
    metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet') ? [] : [metadata.name ?? ''],
  )
}
