import { connect, loadKubeconfig, type NodeObject, type PodObject, resources, SharedCaches } from '../src/kube/index.ts'
import { startMeter } from './watch-meter.ts'

/** Our caches as the controller opens them: trimmed objects, pods found by their node. */
const meter = startMeter()
const client = connect(await loadKubeconfig(), { component: 'bench' })
const signal = new AbortController().signal
const caches = new SharedCaches({ client, signal, onError: (error) => console.error(error) })
const nodes = caches.of<NodeObject>({ resource: resources.nodes })
const pods = caches.of<PodObject>({
  resource: resources.pods,
  indexes: { node: (pod) => pod.spec?.nodeName },
})
let seen = 0
await Promise.all([nodes.waitForSync(signal), pods.waitForSync(signal)])
pods.subscribe((event) => {
  if (event.type === 'updated' && ++seen === meter.changes) meter.finished()
})
meter.synced()
