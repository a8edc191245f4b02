import { setTimeout as sleep } from 'node:timers/promises'
import { type MaintenanceRequest, maintenanceRequests } from '../../api/index.ts'
import { rebootSimulatedNode } from '../../dev/index.ts'
import { type KubeClient, type NodeObject, resources } from '../../kube/index.ts'
import { isReady, type QueueViews } from '../../queue/index.ts'

/** Asks for every node, and does the work on each whose turn it is: a reboot, then back. */
export async function askForAllNodes(client: KubeClient, nodes: readonly NodeObject[]): Promise<void> {
  for (const [index, { metadata }] of nodes.entries()) {
    const request = {
      metadata: { name: `${metadata.name}-person-demo0` },
      spec: {
        nodeName: metadata.name ?? '',
        nodeUID: metadata.uid ?? '',
        source: { kind: 'Person', key: 'demo' },
        reason: 'kernel 6.12.9',
        want: 'Out',
        // Made in one second they would have no order of their own.
        priority: nodes.length - index,
        work: 'External',
        service: { cordon: true, drain: true },
      },
    } satisfies MaintenanceRequest
    await client.create<MaintenanceRequest>(maintenanceRequests, request)
  }
}

/** The work of the demo's technician. Each granted node is rebooted once and handed back when it is Ready again. */
export class Technician {
  readonly #client: KubeClient
  readonly #views: QueueViews
  readonly #visits = new Map<string, Promise<void>>()

  constructor(client: KubeClient, views: QueueViews) {
    this.#client = client
    this.#views = views
  }

  /** Starts on every node that may be worked on. Throws what went wrong on any. */
  async visit(signal: AbortSignal): Promise<void> {
    for (const request of this.#views.requests.values()) {
      const { name = '' } = request.metadata
      if (request.status?.phase === 'Granted' && !this.#visits.has(name))
        this.#visits.set(name, this.#work(request, signal))
    }
    await Promise.race([Promise.all(this.#visits.values()), sleep(0)])
  }

  async #work({ metadata, spec }: MaintenanceRequest, signal: AbortSignal): Promise<void> {
    const bootID = await rebootSimulatedNode(this.#client, spec.nodeName)
    for (let attempt = 0; attempt < 300; attempt++) {
      signal.throwIfAborted()
      const node = await this.#client.get<NodeObject>(resources.nodes, { name: spec.nodeName })
      if (node.status?.nodeInfo?.bootID === bootID && isReady(node)) break
      await sleep(200)
    }
    await this.#client.patch(
      maintenanceRequests,
      { name: metadata.name ?? '' },
      { type: 'merge', body: { spec: { want: 'Return' } } },
    )
  }
}

/** From the request until its turn, the longest of all. */
export function longestWaitSeconds(requests: Iterable<MaintenanceRequest>): number {
  let longest = 0
  for (const { metadata, status } of requests) {
    const claimedAt = status?.history?.find(({ phase }) => phase === 'Claimed')?.time
    if (claimedAt)
      longest = Math.max(longest, (Date.parse(claimedAt) - Date.parse(metadata.creationTimestamp ?? claimedAt)) / 1000)
  }
  return longest
}
