import type { MaintenanceRequest } from '../api/index.ts'
import { isOpen } from './order.ts'

/** How many finished requests of a node and source are kept however old they are. */
const keptPerSource = 5
/** What a person or a program of ours asked for is kept at least so long. */
const keptForMs = 30 * 24 * 3_600_000

/** Finished requests that nobody needs any more. */
export function expiredRequests(requests: Iterable<MaintenanceRequest>, nowMs: number): MaintenanceRequest[] {
  const bySource = new Map<string, MaintenanceRequest[]>()
  for (const request of requests) {
    if (isOpen(request) || request.metadata.deletionTimestamp) continue
    const { nodeName, source } = request.spec
    // An agent has ten names for each kind, whatever the keys.
    const key = JSON.stringify([nodeName, source.kind, ...(isByAgent(request) ? [] : [source.key])])
    bySource.set(key, [...(bySource.get(key) ?? []), request])
  }
  return [...bySource.values()].flatMap((finished) =>
    finished
      .sort((a, b) => endedAt(b) - endedAt(a))
      .slice(keptPerSource)
      .filter((request) => isByAgent(request) || endedAt(request) + keptForMs < nowMs),
  )
}

/** Made by the agent of its node, or for an annotation on it: as many as the node likes. */
export function isByAgent({ spec }: MaintenanceRequest): boolean {
  return spec.source.kind === 'File' || spec.source.kind === 'Reboot'
}

function endedAt({ status, metadata }: MaintenanceRequest): number {
  return Date.parse(status?.since ?? metadata.creationTimestamp ?? '') || 0
}
