import { randomBytes } from 'node:crypto'
import { userInfo } from 'node:os'
import { type MaintenanceRequest, maintenanceRequests } from '../api/index.ts'
import { type ConnectedClient, isNotFound, type NodeObject, resources } from '../kube/index.ts'
import { notInstalled } from './cluster-options.ts'
import { CliFault } from './context.ts'
import type { DrainOptions } from './drain-options.ts'
import { userName } from './user-name.ts'

export interface Wish extends DrainOptions {
  readonly reason: string
  readonly work: 'External' | 'Reboot'
  readonly priority: number
  /** Why windows do not count for it. */
  readonly bypassWindow?: string
}

/** A person asks for a node. A reboot is another thing than the same person's maintenance: neither is a duplicate of the other. */
export async function askForNode(
  client: ConnectedClient,
  name: string,
  { reason, work, priority, stopDaemonset, bypassWindow }: Wish,
): Promise<MaintenanceRequest> {
  const node = await client.get<NodeObject>(resources.nodes, { name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
    throw new CliFault(`there is no node ${name} in this cluster; \`kubectl get nodes\` lists them`)
  })
  const requestedBy = await userName(client)
  const { username } = userInfo()
  const request = {
    metadata: { name: `${name}-person-${randomBytes(4).toString('hex').slice(0, 5)}` },
    spec: {
      nodeName: name,
      nodeUID: node.metadata.uid ?? '',
      source: { kind: 'Person', key: work === 'Reboot' ? `${username} reboot` : username },
      ...(requestedBy ? { requestedBy } : {}),
      reason,
      want: 'Out',
      priority,
      work,
      service: { cordon: true, drain: true },
      ...(bypassWindow === undefined ? {} : { bypassWindow }),
      ...(stopDaemonset ? { drain: { stopDaemonSets: [...stopDaemonset] } } : {}),
    },
  } satisfies MaintenanceRequest
  return client
    .create<MaintenanceRequest>(maintenanceRequests, request, { fieldManager: 'fettle-cli' })
    .catch(notInstalled)
}
