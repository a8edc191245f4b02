import type { MaintenanceRequest } from '../src/api/index.ts'
import {
  connect,
  type KubeClient,
  type KubeObject,
  loadKubeconfig,
  type NodeObject,
  type Resource,
  type WatchEvent,
  type WatchOptions,
} from '../src/kube/index.ts'
import { finalizer } from '../src/queue/index.ts'
import { interceptWrites } from '../test/support/intercepted-client.ts'
import { runInstance } from '../test/support/queue-instance.ts'
import { percentile } from './bench.ts'

/**
 * The controller's queue in a process of its own. Each event that calls for a write is timed from the moment it arrives
 * until the API server has accepted that write. Says when its caches are full, and its figures when it is told to end.
 */
const client = connect(await loadKubeconfig(), { component: 'bench' })
const waits: number[] = []
/** When the event came that a write of this name answers. */
const causes = new Map<string, number[]>()
const end = new AbortController()

function noteCause(resource: Resource, object: KubeObject): void {
  const write = writeFor(resource, object)
  if (write) causes.set(write, [...(causes.get(write) ?? []), performance.now()])
}

const owned = new Set<string>()

/** The write that this event calls for: a request taken in, a request that comes home, a slot that is free again. */
function writeFor(resource: Resource, object: KubeObject): string | undefined {
  const { name = '', finalizers = [] } = object.metadata
  if (resource.plural === 'maintenancerequests') {
    const { spec, status } = object as MaintenanceRequest
    if (!finalizers.includes(finalizer)) return `patch maintenancerequests/${name}`
    return spec.want === 'Return' && status?.phase === 'Granted'
      ? `replace maintenancerequests/${name}/status`
      : undefined
  }
  if (resource.plural !== 'nodes') return undefined
  const isOwned = (object as NodeObject).metadata.annotations?.['cordon.fettle.dev/queue'] !== undefined
  const wasOwned = owned.has(name)
  if (isOwned) owned.add(name)
  else owned.delete(name)
  return wasOwned && !isOwned ? 'replace maintenancebudgets/cluster/status' : undefined
}

async function* timed<T extends KubeObject>(
  resource: Resource,
  events: AsyncIterable<WatchEvent<T>>,
): AsyncGenerator<WatchEvent<T>> {
  for await (const event of events) {
    if (event.type === 'ADDED' || event.type === 'MODIFIED') noteCause(resource, event.object)
    yield event
  }
}

const writing = interceptWrites(client, async (write, send) => {
  const answer = await send()
  const now = performance.now()
  waits.push(...(causes.get(write) ?? []).map((at) => now - at))
  causes.delete(write)
  return answer
})
const measured: KubeClient = {
  ...writing,
  watch: <T extends KubeObject>(resource: Resource, options: WatchOptions) =>
    timed(resource, client.watch<T>(resource, options)),
}

// Whoever started it is gone, and with it the cluster.
process.once('disconnect', () => process.exit())
process.on('message', (message) => {
  if (message === 'begin') {
    waits.length = 0
    begunCpu = cpuSeconds()
  }
  if (message !== 'end') return
  process.send?.({
    decisionMsP50: percentile(waits, 0.5),
    decisionMsP99: percentile(waits, 0.99),
    decisions: waits.length,
    cpuSeconds: cpuSeconds() - begunCpu,
    rssMiB: process.memoryUsage.rss() / 2 ** 20,
  })
  end.abort(new Error('the bench is over'))
})

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}
let begunCpu = 0

await runInstance({ client: measured, signal: end.signal })
client.close()
process.disconnect()
